"""The configuration parameters of PostgreSQL that its clients read and set, as a table.

Most have no effect here beyond being read again, and take only values that are true of this server. The time zone, the
search path and the statement timeout are those of the session. Dotted names are settings of the engine, which are not
in the table. Parameters that PostgreSQL reports to clients on each change are reported here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from catalog.conditions import ParameterNotRecognized, ParameterReadOnly, ParameterValueInvalid
from gateway.postgres.catalog.resources import SERVER_VERSION, SERVER_VERSION_NUM

VERSION_TEXT = f"PostgreSQL {SERVER_VERSION} (delta-gateway)"
TIME_ZONE, SEARCH_PATH, STATEMENT_TIMEOUT = "TimeZone", "search_path", "statement_timeout"
IDLE_IN_TRANSACTION = "idle_in_transaction_session_timeout"
APPLICATION_NAME = "application_name"
_NAME_MAX = 63
_DURATION = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*")
_UNITS_MS = {None: 1.0, "us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_BOOLEANS = {"on": "on", "true": "on", "yes": "on", "1": "on", "off": "off", "false": "off", "no": "off", "0": "off"}
_LEVELS = frozenset({"serializable", "repeatable read", "read committed", "read uncommitted"})
_MESSAGES = frozenset("debug5 debug4 debug3 debug2 debug1 log notice warning error".split())

# Returns the value to store, or None for an invalid one.
Check = Callable[[str], str | None]


def parse_duration_ms(text: str) -> float | None:
    """Parses a duration; a number without a unit has milliseconds. Returns None for another text."""
    found = _DURATION.fullmatch(text)
    return None if found is None else float(found[1]) * _UNITS_MS[found[2]]


def _duration(text: str) -> str | None:
    value = parse_duration_ms(text)
    return None if value is None or not 0 <= value < 1 << 31 else text.strip()


def _boolean(text: str) -> str | None:
    return _BOOLEANS.get(text.lower())


def _only(*values: str) -> Check:
    def check(text: str) -> str | None:
        folded = text.lower().replace(" ", "")
        return values[0] if folded in {value.lower().replace(" ", "") for value in values} else None

    return check


def _one_of(values: frozenset[str]) -> Check:
    return lambda text: text.lower() if text.lower() in values else None


def _number(text: str) -> str | None:
    return text.strip() if re.fullmatch(r"\s*-?\d+(\.\d+)?\s*(B|kB|MB|GB|TB)?\s*", text) else None


def _encoding(text: str) -> str | None:
    return "UTF8" if text.strip("'\"").lower().replace("-", "") in ("utf8", "unicode") else None


def _text(text: str) -> str | None:
    return text


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. `check` is None for one that no client can set; `expected` describes valid values."""

    name: str
    default: str
    check: Check | None = None
    expected: str = ""
    is_reported: bool = False


def _fixed(name: str, value: str, *, is_reported: bool = False) -> Parameter:
    return Parameter(name, value, None, is_reported=is_reported)


def _flag(name: str, default: str, *, is_reported: bool = False) -> Parameter:
    return Parameter(name, default, _boolean, "on or off", is_reported)


def _time_limit(name: str) -> Parameter:
    return Parameter(name, "0", _duration, "a duration such as 5000 (milliseconds), 30s or 5min")


_ISOLATION = "serializable, repeatable read, read committed or read uncommitted"
_TABLE = (
    _fixed("server_version", SERVER_VERSION, is_reported=True),
    _fixed("server_version_num", SERVER_VERSION_NUM),
    _fixed("server_encoding", "UTF8", is_reported=True),
    _fixed("integer_datetimes", "on", is_reported=True),
    _fixed("is_superuser", "off", is_reported=True),
    _fixed("session_authorization", "", is_reported=True),
    _fixed("in_hot_standby", "off", is_reported=True),
    _fixed("scram_iterations", "65536", is_reported=True),
    _fixed("max_index_keys", "32"),
    _fixed("max_identifier_length", "255"),
    _fixed("block_size", "8192"),
    _fixed("lc_collate", "C"),
    _fixed("lc_ctype", "C"),
    Parameter("client_encoding", "UTF8", _encoding, "UTF8", is_reported=True),
    Parameter("DateStyle", "ISO, MDY", _only("ISO, MDY", "ISO", "ISO, DMY", "ISO, YMD"), "ISO", is_reported=True),
    Parameter("IntervalStyle", "postgres", _only("postgres"), "postgres", is_reported=True),
    # Strings are Spark's, in which a backslash escapes.
    Parameter("standard_conforming_strings", "off", _only("off", "false", "0"), "off", is_reported=True),
    Parameter(TIME_ZONE, "UTC", _text, is_reported=True),
    Parameter(APPLICATION_NAME, "", lambda text: text[:_NAME_MAX], is_reported=True),
    _flag("default_transaction_read_only", "off", is_reported=True),
    Parameter(SEARCH_PATH, "default", _text, is_reported=True),
    _time_limit(STATEMENT_TIMEOUT),
    _time_limit("lock_timeout"),
    _time_limit(IDLE_IN_TRANSACTION),
    _time_limit("idle_session_timeout"),
    _time_limit("transaction_timeout"),
    Parameter("default_transaction_isolation", "repeatable read", _one_of(_LEVELS), _ISOLATION),
    Parameter("transaction_isolation", "repeatable read", _one_of(_LEVELS), _ISOLATION),
    _flag("transaction_read_only", "off"),
    _flag("default_transaction_deferrable", "off"),
    _flag("transaction_deferrable", "off"),
    Parameter("client_min_messages", "notice", _one_of(_MESSAGES), "notice, warning or error"),
    Parameter("extra_float_digits", "1", _number, "a number"),
    Parameter("bytea_output", "hex", _only("hex"), "hex"),
    _flag("escape_string_warning", "off"),
    _flag("jit", "off"),
    _flag("row_security", "on"),
    Parameter("synchronous_commit", "on", _boolean, "on or off"),
    _flag("check_function_bodies", "on"),
    *(
        _flag(f"enable_{name}", "on")
        for name in ("seqscan", "indexscan", "bitmapscan", "hashjoin", "mergejoin", "sort")
    ),
    _flag("geqo", "on"),
    Parameter("work_mem", "4MB", _number, "a size"),
    Parameter("maintenance_work_mem", "64MB", _number, "a size"),
    Parameter(
        "plan_cache_mode", "auto", _one_of(frozenset({"auto", "force_custom_plan", "force_generic_plan"})), "auto"
    ),
    Parameter("xmloption", "content", _one_of(frozenset({"content", "document"})), "content"),
)
PARAMETERS: Mapping[str, Parameter] = {one.name.lower(): one for one in _TABLE}


def find_parameter(name: str) -> Parameter:
    """Returns the parameter; raises `ParameterNotRecognized`."""
    found = PARAMETERS.get(name.lower())
    if found is None:
        raise ParameterNotRecognized(name)
    return found


@dataclass(slots=True)
class Parameters:
    """A session's values; `initial` are those of the connection, to which RESET returns. Not thread-safe."""

    initial: dict[str, str] = field(default_factory=dict)
    _values: dict[str, str] = field(default_factory=dict)
    _reported: dict[str, str] = field(default_factory=dict)
    # Whether a value may have changed since the reported ones were sent.
    _may_differ: bool = True

    def get(self, name: str) -> str:
        """Returns a value; raises `ParameterNotRecognized`."""
        one = find_parameter(name)
        return self._values.get(one.name, self.initial.get(one.name, one.default))

    def set(self, name: str, value: str) -> str:
        """Sets a value; returns the parameter's name. Raises `ParameterReadOnly`, `ParameterValueInvalid`."""
        one = find_parameter(name)
        self._values[one.name], self._may_differ = self.checked(one, value), True
        return one.name

    def checked(self, one: Parameter, value: str) -> str:
        """Returns a value in the form in which it is stored."""
        if one.check is None:
            if value.lower() == self.get(one.name).lower():
                return self.get(one.name)
            raise ParameterReadOnly(one.name)
        found = one.check(value)
        if found is None:
            raise ParameterValueInvalid(one.name, value, one.expected)
        return found

    def reset(self, name: str) -> str:
        """Resets a value to that of the connection; returns the parameter's name."""
        one = find_parameter(name)
        self._values.pop(one.name, None)
        self._may_differ = True
        return one.name

    def snapshot(self) -> dict[str, str]:
        """Returns the values that were set, for `restore`."""
        return dict(self._values)

    def restore(self, values: Mapping[str, str]) -> None:
        self._values, self._may_differ = dict(values), True

    def all(self) -> Iterator[tuple[str, str]]:
        """Yields the names with their values, in the order of the names."""
        for key in sorted(PARAMETERS):
            yield PARAMETERS[key].name, self.get(key)

    def changes(self) -> Iterator[tuple[str, str]]:
        """Yields the reported parameters whose values have changed since the last call."""
        if not self._may_differ:
            return
        self._may_differ = False
        for one in PARAMETERS.values():
            if one.is_reported and self._reported.get(one.name) != (value := self.get(one.name)):
                self._reported[one.name] = value
                yield one.name, value

    @property
    def statement_timeout_s(self) -> float | None:
        """Returns the time limit of a statement; None for none."""
        return self._limit_s(STATEMENT_TIMEOUT)

    @property
    def idle_in_transaction_s(self) -> float | None:
        """Returns how long a client may send nothing in a transaction block; None for no limit."""
        return self._limit_s(IDLE_IN_TRANSACTION)

    def _limit_s(self, name: str) -> float | None:
        found = parse_duration_ms(self.get(name))
        return found / 1000 if found else None
