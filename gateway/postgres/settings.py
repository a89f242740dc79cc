"""The configuration parameters of PostgreSQL that its clients read and set, as a table.

Most have no effect here beyond being read again, and take only values that are true of this server. The time zone, the
search path and the statement timeout are those of the session. Dotted names are settings of the engine, which are not
in the table. Parameters that PostgreSQL reports to clients on each change are reported here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from zoneinfo import available_timezones

from catalog.conditions import ParameterNotRecognized, ParameterReadOnly, ParameterValueInvalid
from gateway.postgres.catalog.resources import SERVER_VERSION, SERVER_VERSION_NUM

VERSION_TEXT = f"PostgreSQL {SERVER_VERSION} (delta-gateway)"
TIME_ZONE, SEARCH_PATH, STATEMENT_TIMEOUT = "TimeZone", "search_path", "statement_timeout"
IDLE_IN_TRANSACTION, IDLE_SESSION = "idle_in_transaction_session_timeout", "idle_session_timeout"
ISOLATION, READ_ONLY, DEFERRABLE = "transaction_isolation", "transaction_read_only", "transaction_deferrable"
# The parameters of one transaction, whose values before it is begun are those of `default_…`.
TRANSACTION_MODES = (ISOLATION, READ_ONLY, DEFERRABLE)
APPLICATION_NAME = "application_name"
STANDARD_STRINGS = "standard_conforming_strings"
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


@cache
def _zones() -> Mapping[str, str]:
    return {name.lower(): name for name in available_timezones()}


def _zone(text: str) -> str:
    """Returns a time zone with the spelling of its name, whose case is of no importance in PostgreSQL."""
    return _zones().get(text.lower(), text)


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


def default_of(mode: str) -> str:
    """Returns the parameter with the value for new transactions."""
    return f"default_{mode}"


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
    _fixed("max_prepared_transactions", "0"),
    _fixed("block_size", "8192"),
    _fixed("lc_collate", "C"),
    _fixed("lc_ctype", "C"),
    Parameter("client_encoding", "UTF8", _encoding, "UTF8", is_reported=True),
    Parameter("DateStyle", "ISO, MDY", _only("ISO, MDY", "ISO", "ISO, DMY", "ISO, YMD"), "ISO", is_reported=True),
    Parameter("IntervalStyle", "postgres", _only("postgres"), "postgres", is_reported=True),
    # Strings are Spark's, in which a backslash escapes, except in PostgreSQL's dialect.
    Parameter(STANDARD_STRINGS, "off", _boolean, is_reported=True),
    Parameter(TIME_ZONE, "UTC", _zone, is_reported=True),
    Parameter(APPLICATION_NAME, "", lambda text: text[:_NAME_MAX], is_reported=True),
    _flag(default_of(READ_ONLY), "off", is_reported=True),
    Parameter(SEARCH_PATH, "default", _text, is_reported=True),
    _time_limit(STATEMENT_TIMEOUT),
    _time_limit("lock_timeout"),
    _time_limit(IDLE_IN_TRANSACTION),
    _time_limit(IDLE_SESSION),
    _time_limit("transaction_timeout"),
    Parameter(default_of(ISOLATION), "repeatable read", _one_of(_LEVELS), _ISOLATION),
    Parameter(ISOLATION, "repeatable read", _one_of(_LEVELS), _ISOLATION),
    _flag(READ_ONLY, "off"),
    _flag(default_of(DEFERRABLE), "off"),
    _flag(DEFERRABLE, "off"),
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


@dataclass(frozen=True, slots=True)
class SetValues:
    """The values that were set, and, for those of SET LOCAL, the values after the transaction (None: not set)."""

    values: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Parameters:
    """A session's values; `initial` are those of the connection, to which RESET returns. Not thread-safe."""

    initial: dict[str, str] = field(default_factory=dict)
    _set: SetValues = field(default_factory=SetValues)
    _reported: dict[str, str] = field(default_factory=dict)
    # Whether a value may have changed since the reported ones were sent.
    _may_differ: bool = True

    def get(self, name: str) -> str:
        """Returns a value; raises `ParameterNotRecognized`."""
        return self._get(find_parameter(name), self._set.values)

    def _get(self, one: Parameter, values: Mapping[str, str]) -> str:
        if one.name in TRANSACTION_MODES and one.name not in values:
            one = find_parameter(default_of(one.name))
        return values.get(one.name, self.initial.get(one.name, one.default))

    def set(self, name: str, value: str | None, *, is_local: bool = False) -> str:
        """Sets a value, or resets it to that of the connection (None); with `is_local` until the transaction's end.
        Returns the parameter's name. Raises `ParameterReadOnly`, `ParameterValueInvalid`.
        """
        one = find_parameter(name)
        stored = None if value is None else self.checked(one, value)
        values, after = dict(self._set.values), dict(self._set.after)
        if is_local:
            after.setdefault(one.name, values.get(one.name))
        else:
            after.pop(one.name, None)
        _put(values, one.name, stored)
        self.restore(SetValues(values, after))
        return one.name

    def checked(self, one: Parameter, value: str) -> str:
        """Returns a value in the form in which it is stored."""
        if one.check is None:
            if value.lower() == self.get(one.name).lower():
                return self.get(one.name)
            raise ParameterReadOnly(one.name)
        found = one.check(value)
        if one.name == STANDARD_STRINGS and found != self.initial.get(one.name, one.default):
            raise ParameterValueInvalid(one.name, value, self.initial.get(one.name, one.default))
        if found is None:
            raise ParameterValueInvalid(one.name, value, one.expected)
        return found

    def end_transaction(self) -> None:
        """Ends the values of SET LOCAL."""
        values = dict(self._set.values)
        for name, value in self._set.after.items():
            _put(values, name, value)
        self.restore(SetValues(values))

    def snapshot(self) -> SetValues:
        """Returns the values that were set, for `restore`."""
        return self._set

    def restore(self, values: SetValues) -> None:
        """Sets the values that were in effect before, for example at a savepoint."""
        self._set, self._may_differ = values, True

    def has_changed(self, name: str, before: SetValues) -> bool:
        """Returns True if a parameter had another value when `before` was returned."""
        return self.get(name) != self._get(find_parameter(name), before.values)

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
    def is_read_only(self) -> bool:
        """Returns True in a transaction that may change nothing."""
        return self.get(READ_ONLY) == "on"

    @property
    def statement_timeout_s(self) -> float | None:
        """Returns the time limit of a statement; None for none."""
        return self._limit_s(STATEMENT_TIMEOUT)

    @property
    def idle_in_transaction_s(self) -> float | None:
        """Returns how long a client may send nothing in a transaction block; None for no limit."""
        return self._limit_s(IDLE_IN_TRANSACTION)

    @property
    def idle_session_s(self) -> float | None:
        """Returns how long a client may send nothing outside of a transaction block; None for no limit."""
        return self._limit_s(IDLE_SESSION)

    def _limit_s(self, name: str) -> float | None:
        found = parse_duration_ms(self.get(name))
        return found / 1000 if found else None


def _put(values: dict[str, str], name: str, value: str | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
