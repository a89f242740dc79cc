"""The statements that the front end answers itself, as values: settings, transactions, cursors, prepared statements and
COPY. Pure.

:func:`parse_command` returns None for any other text, which is the engine's. A statement that only resembles one of
these, as `SET spark.sql.ansi.enabled = true` or a script that begins with BEGIN, is the engine's too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from catalog.conditions import PostgresFeatureNotSupported

_COMMENTS = re.compile(r"(?s)(?:\s|--[^\n]*+(?:\n|$)|/\*.*?\*/)*+")
_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|[A-Za-z_\x80-\U0010ffff][\w$]*)'
_FLAGS = re.IGNORECASE | re.DOTALL | re.VERBOSE


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes of a transaction, each None if it is not given."""

    isolation: str | None = None
    is_read_only: bool | None = None
    is_deferrable: bool | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN, START TRANSACTION."""

    modes: Modes = Modes()


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """SET TRANSACTION; with `is_default` SET SESSION CHARACTERISTICS, for later transactions."""

    modes: Modes
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT, END; with `chains` another block begins."""

    chains: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK, ABORT; with `chains` another block begins."""

    chains: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint:
    name: str


@dataclass(frozen=True, slots=True)
class ReleaseSavepoint:
    name: str


@dataclass(frozen=True, slots=True)
class RollbackToSavepoint:
    name: str


@dataclass(frozen=True, slots=True)
class SetParameter:
    """SET; `value` is None for DEFAULT, `is_local` until the end of the block."""

    name: str
    value: str | None
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class ResetParameter:
    """RESET; `name` is empty for ALL."""

    name: str


@dataclass(frozen=True, slots=True)
class ShowParameter:
    """SHOW; `name` is empty for ALL."""

    name: str


@dataclass(frozen=True, slots=True)
class NoEffect:
    """A statement that changes nothing here, with the tag of its completion."""

    tag: str


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE … CURSOR: `offset` is the place of `query` in the text. Without NO SCROLL the cursor can move backward,
    since its rows are held.
    """

    name: str
    query: str
    offset: int
    is_binary: bool = False
    can_scroll: bool = False
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH or MOVE: `count` rows forward, or backward if it is negative; None for all. With `is_absolute` to the
    row `count`.
    """

    name: str
    count: int | None
    is_backward: bool = False
    is_absolute: bool = False
    is_relative: bool = False
    moves: bool = False


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """CLOSE; `name` is empty for ALL."""

    name: str


@dataclass(frozen=True, slots=True)
class Prepare:
    name: str
    types: tuple[str, ...]
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class ExecutePrepared:
    """EXECUTE with its arguments as SQL, which begin at `offset` of the text."""

    name: str
    arguments: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE; `name` is empty for ALL."""

    name: str


@dataclass(frozen=True, slots=True)
class Discard:
    kind: str


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY. `query` is a query, or the table `table` with its `columns` as SQL; `options` are in lower case."""

    query: str
    offset: int
    table: str
    columns: str
    is_from: bool
    options: Mapping[str, str]

    @property
    def target_text(self) -> str:
        """Returns an INSERT with the table and the columns of COPY FROM."""
        return f"INSERT INTO {self.table} {f'({self.columns}) ' if self.columns else ''}VALUES (NULL)"


Command = (
    Begin | SetTransaction | Commit | Rollback | Savepoint | ReleaseSavepoint | RollbackToSavepoint | SetParameter
    | ResetParameter | ShowParameter | NoEffect | Declare | Fetch | CloseCursor | Prepare | ExecutePrepared | Deallocate
    | Discard | Copy
)  # fmt: skip
_Make = Callable[[re.Match[str]], Command | None]


def unquote(name: str) -> str:
    """Returns a name without its quotes; a name without quotes is folded to lower case."""
    if name[:1] in ('"', "`"):
        return name[1:-1].replace(name[0] * 2, name[0])
    return name.lower()


def _value(text: str) -> str | None:
    """Returns the value of SET; None for DEFAULT."""
    text = text.strip()
    if text.upper() == "DEFAULT":
        return None
    pieces = [_unquoted_value(piece) for piece in re.findall(r"E?'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|[^,\s][^,]*", text)]
    return ", ".join(pieces)


def _unquoted_value(piece: str) -> str:
    piece = piece.strip()
    quoted = re.fullmatch(r"E?'(.*)'", piece, re.DOTALL)
    if quoted is not None:
        return quoted[1].replace("''", "'")
    return piece[1:-1] if piece[:1] == '"' else piece


def _set(found: re.Match[str]) -> Command | None:
    name = found["name"]
    if "." in name:
        return None
    return SetParameter(name, _value(found["value"]), (found["scope"] or "").upper() == "LOCAL")


def _set_zone(found: re.Match[str]) -> Command:
    text = found["value"].strip()
    value = None if text.upper() in ("LOCAL", "DEFAULT") else _value(text)
    return SetParameter("TimeZone", value, (found["scope"] or "").upper() == "LOCAL")


def _set_role(found: re.Match[str]) -> Command:
    value = found["value"].strip()
    if value.upper() not in ("DEFAULT", "NONE"):
        raise PostgresFeatureNotSupported("Changing the user of a session", "Connect as the other user.")
    return NoEffect("SET")


def _show(found: re.Match[str]) -> Command | None:
    name = re.sub(r"\s+", " ", found["name"].strip()).strip('"').lower()
    known = {"transaction isolation level": "transaction_isolation", "time zone": "TimeZone", "all": ""}
    if name in known:
        return ShowParameter(known[name])
    # SHOW TABLES and others are the engine's.
    return ShowParameter(name) if re.fullmatch(r"[a-z_]+", name) and name not in _ENGINE_SHOWS else None


_ENGINE_SHOWS = frozenset(
    "tables databases schemas namespaces catalogs views functions columns partitions grants users groups volumes "
    "procedures collations variables tblproperties locks policies tags tokens shares extensions connections".split()
)


def _declare(found: re.Match[str]) -> Command:
    options = found["options"].upper().split()
    can_scroll = "NO" not in options
    holds = (found["hold"] or "").upper().split()[:1] == ["WITH"]
    is_binary = "BINARY" in options
    return Declare(unquote(found["name"]), found["query"], found.start("query"), is_binary, can_scroll, holds)


def _fetch(found: re.Match[str]) -> Command:
    name, moves = unquote(found["name"]), found["verb"].upper() == "MOVE"
    words = re.sub(r"\s+", " ", (found["direction"] or "").strip().upper())
    number = re.search(r"-?\d+$", words)
    count = None if number is None else int(number[0])
    head = re.sub(r" ?-?\d+$", "", words)
    match head:
        case "" | "NEXT" | "FORWARD":
            amount = 1 if count is None else count
            return Fetch(name, abs(amount), is_backward=amount < 0, moves=moves)
        case "ALL" | "FORWARD ALL":
            return Fetch(name, None, moves=moves)
        case "PRIOR" | "BACKWARD":
            amount = 1 if count is None else count
            return Fetch(name, abs(amount), is_backward=amount >= 0, moves=moves)
        case "BACKWARD ALL":
            return Fetch(name, None, is_backward=True, moves=moves)
        case "FIRST":
            return Fetch(name, 1, is_absolute=True, moves=moves)
        case "LAST":
            return Fetch(name, -1, is_absolute=True, moves=moves)
        case "ABSOLUTE":
            return Fetch(name, count or 0, is_absolute=True, moves=moves)
        case _:  # RELATIVE
            return Fetch(name, count or 0, is_relative=True, moves=moves)


def _prepare(found: re.Match[str]) -> Command:
    types = tuple(one.strip() for one in (found["types"] or "").split(",") if one.strip())
    return Prepare(unquote(found["name"]), types, found["text"], found.start("text"))


def _execute(found: re.Match[str]) -> Command | None:
    if found["name"].upper() == "IMMEDIATE":
        return None
    arguments = found["arguments"] or ""
    offset = found.start("arguments") + len(arguments) - len(arguments.lstrip()) if arguments else 0
    return ExecutePrepared(unquote(found["name"]), arguments.strip(), offset)


def _all_or_name(found: re.Match[str]) -> str:
    return "" if found["name"].upper() == "ALL" else unquote(found["name"])


def _copy(found: re.Match[str]) -> Command | None:
    is_from = found["direction"].upper() == "FROM"
    if found["place"].upper() not in ("STDIN", "STDOUT"):
        raise PostgresFeatureNotSupported("COPY with a file or a program of the server", "Use STDIN or STDOUT.")
    query = found["query"]
    if query is not None and is_from:
        return None
    columns = found["columns"] or ""
    text = query if query is not None else f"SELECT {columns or '*'} FROM {found['table']}"
    offset = found.start("query") if query is not None else 0
    return Copy(text, offset, found["table"] or "", columns, is_from, _copy_options(found["options"] or ""))


_COPY_FLAGS = frozenset({"csv", "binary", "header", "freeze"})


def _copy_options(text: str) -> Mapping[str, str]:
    """Parses `(FORMAT csv, HEADER)`, and the older `WITH CSV HEADER DELIMITER ','`."""
    text = re.sub(r"^\s*WITH\b", "", text, flags=re.IGNORECASE).strip()
    found: dict[str, str] = {}
    if text.startswith("("):
        for piece in re.findall(r"(?:E?'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|\([^)]*\)|[^,'\"(])+", text[1:-1]):
            key, _, value = piece.strip().partition(" ")
            found[key.lower()] = _copy_value(value.strip())
        return MappingProxyType(found)
    words = re.findall(r"E?'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|[^\s]+", text)
    while words:
        key = words.pop(0).lower()
        if key in ("csv", "binary"):
            found["format"] = key
        elif key in _COPY_FLAGS:
            found[key] = ""
        else:
            if words and words[0].upper() == "AS":
                words.pop(0)
            found[key] = _copy_value(words.pop(0) if words else "")
    return MappingProxyType(found)


def _copy_value(text: str) -> str:
    quoted = re.fullmatch(r"(E?)'(.*)'", text, _FLAGS)
    if quoted is None:
        return text.strip('"')
    value = quoted[2].replace("''", "'")
    if not quoted[1] and value not in ("\\t",):
        return value
    return value.replace("\\t", "\t").replace("\\\\", "\\").replace("\\x01", "\x01")


_LEVEL = (
    r"(?:ISOLATION\s+LEVEL\s+(?:SERIALIZABLE|REPEATABLE\s+READ|READ\s+(?:UN)?COMMITTED)"
    r"|READ\s+(?:ONLY|WRITE)|(?:NOT\s+)?DEFERRABLE)"
)
_MODES = rf"(?P<modes>\s+{_LEVEL}(?:\s*(?:,\s*)?{_LEVEL})*)?"
_END = r"(?:\s+(?:WORK|TRANSACTION))?(?P<chain>\s+AND\s+(?:NO\s+)?CHAIN)?"
_DIRECTION = r"""(?:NEXT|PRIOR|FIRST|LAST|(?:ABSOLUTE|RELATIVE)\s+-?\d+|FORWARD\s+(?:ALL|-?\d+)|FORWARD|BACKWARD\s+ALL
    |BACKWARD\s+-?\d+|BACKWARD|ALL|-?\d+)"""


def _modes(found: re.Match[str]) -> Modes:
    """Returns the modes; the last one of each kind counts."""
    isolation: str | None = None
    is_read_only = is_deferrable = None
    for one in re.findall(_LEVEL, found["modes"] or "", _FLAGS):
        words = one.upper().split()
        if words[0] == "ISOLATION":
            isolation = " ".join(words[2:]).lower()
        elif words[0] == "READ":
            is_read_only = words[1] == "ONLY"
        else:
            is_deferrable = words[0] != "NOT"
    return Modes(isolation, is_read_only, is_deferrable)


def _chains(found: re.Match[str]) -> bool:
    return bool(found["chain"]) and "NO" not in found["chain"].upper().split()


def _forms(*forms: tuple[str, _Make]) -> tuple[tuple[re.Pattern[str], _Make], ...]:
    return tuple((re.compile(pattern, _FLAGS), make) for pattern, make in forms)


_BEGIN = _forms(
    (rf"(?:BEGIN(?:\s+(?:WORK|TRANSACTION))?|START\s+TRANSACTION){_MODES}", lambda found: Begin(_modes(found))),
)
_END_FORMS = _forms((rf"(?:COMMIT|END){_END}", lambda found: Commit(_chains(found))))
_FORMS: Mapping[str, tuple[tuple[re.Pattern[str], _Make], ...]] = MappingProxyType(
    {
        "BEGIN": _BEGIN,
        "START": _BEGIN,
        "COMMIT": _END_FORMS,
        "END": _END_FORMS,
        "ABORT": _forms((rf"ABORT{_END}", lambda found: Rollback(_chains(found)))),
        "ROLLBACK": _forms(
            (
                rf"ROLLBACK(?:\s+(?:WORK|TRANSACTION))?\s+TO\s+(?:SAVEPOINT\s+)?(?P<name>{_NAME})",
                lambda found: RollbackToSavepoint(unquote(found["name"])),
            ),
            (rf"ROLLBACK{_END}", lambda found: Rollback(_chains(found))),
        ),
        "SAVEPOINT": _forms((rf"SAVEPOINT\s+(?P<name>{_NAME})", lambda found: Savepoint(unquote(found["name"])))),
        "RELEASE": _forms(
            (rf"RELEASE\s+(?:SAVEPOINT\s+)?(?P<name>{_NAME})", lambda found: ReleaseSavepoint(unquote(found["name"])))
        ),
        "SET": _forms(
            (
                rf"SET\s+SESSION\s+CHARACTERISTICS\s+AS\s+TRANSACTION{_MODES}",
                lambda found: SetTransaction(_modes(found), is_default=True),
            ),
            (rf"SET\s+(?:LOCAL\s+)?TRANSACTION{_MODES}", lambda found: SetTransaction(_modes(found))),
            (r"SET\s+CONSTRAINTS\s+.*", lambda found: NoEffect("SET CONSTRAINTS")),
            (r"SET\s+(?:SESSION\s+|LOCAL\s+)?(?:SESSION\s+AUTHORIZATION|ROLE)\s+(?P<value>.+)", _set_role),
            (r"SET\s+(?:(?P<scope>SESSION|LOCAL)\s+)?TIME\s+ZONE\s+(?P<value>.+)", _set_zone),
            (r"SET\s+NAMES\s+(?P<value>.+)", lambda found: SetParameter("client_encoding", _value(found["value"]))),
            (
                r"SET\s+(?:(?P<scope>SESSION|LOCAL)\s+)?(?P<name>[A-Za-z_][\w.]*)\s*(?:=|\s TO\s)\s*(?P<value>.+)",
                _set,
            ),
        ),
        "RESET": _forms(
            (r"RESET\s+SESSION\s+AUTHORIZATION|RESET\s+ROLE", lambda found: NoEffect("RESET")),
            (r"RESET\s+ALL", lambda found: ResetParameter("")),
            (r"RESET\s+TIME\s+ZONE", lambda found: ResetParameter("TimeZone")),
            (r"RESET\s+(?P<name>[A-Za-z_]+)", lambda found: ResetParameter(found["name"])),
        ),
        "SHOW": _forms((r'SHOW\s+(?P<name>"?[A-Za-z_]+"?|TRANSACTION\s+ISOLATION\s+LEVEL|TIME\s+ZONE)', _show)),
        "DECLARE": _forms(
            (
                rf"DECLARE\s+(?P<name>{_NAME})(?P<options>(?:\s+(?:BINARY|ASENSITIVE|INSENSITIVE|NO\s+SCROLL|SCROLL))*)"
                r"\s+CURSOR(?P<hold>\s+WITH(?:OUT)?\s+HOLD)?\s+FOR\s+(?P<query>.+)",
                lambda found: _declare(found),
            )
        ),
        "FETCH": _forms(
            (
                rf"(?P<verb>FETCH)(?:\s+(?P<direction>{_DIRECTION}))?(?:\s+(?:FROM|IN))?\s+(?P<name>{_NAME})",
                _fetch,
            )
        ),
        "MOVE": _forms(
            (rf"(?P<verb>MOVE)(?:\s+(?P<direction>{_DIRECTION}))?(?:\s+(?:FROM|IN))?\s+(?P<name>{_NAME})", _fetch)
        ),
        "CLOSE": _forms((rf"CLOSE\s+(?P<name>{_NAME})", lambda found: CloseCursor(_all_or_name(found)))),
        "PREPARE": _forms((rf"PREPARE\s+(?P<name>{_NAME})(?:\s*\((?P<types>[^)]*)\))?\s+AS\s+(?P<text>.+)", _prepare)),
        "EXECUTE": _forms((rf"EXECUTE\s+(?P<name>{_NAME})(?:\s*\((?P<arguments>.*)\))?", _execute)),
        "DEALLOCATE": _forms(
            (rf"DEALLOCATE\s+(?:PREPARE\s+)?(?P<name>{_NAME})", lambda found: Deallocate(_all_or_name(found)))
        ),
        "DISCARD": _forms(
            (r"DISCARD\s+(?P<kind>ALL|PLANS|SEQUENCES|TEMP|TEMPORARY)", lambda found: Discard(found["kind"].upper()))
        ),
        "UNLISTEN": _forms((rf"UNLISTEN\s+(?:\*|{_NAME})", lambda found: NoEffect("UNLISTEN"))),
        "COPY": _forms(
            (
                rf"COPY\s*(?:\(\s*(?P<query>.+)\)|\s(?P<table>{_NAME}(?:\s*\.\s*{_NAME})*)\s*(?:\((?P<columns>[^)]*)\))?)"
                r"\s*(?P<direction>TO|FROM)\s+(?P<place>STDIN|STDOUT|PROGRAM|'(?:[^']|'')*')(?P<options>\s+.*|\(.*)?",
                _copy,
            )
        ),
    }
)


def is_blank(text: str) -> bool:
    """Returns True for a text of spaces and comments."""
    begin = _COMMENTS.match(text)
    return begin is not None and begin.end() == len(text)


def is_begin(text: str) -> bool:
    """Returns True for a text of one BEGIN or START TRANSACTION."""
    begin, text = _COMMENTS.match(text), text.rstrip(" \t\r\n;")
    at = begin.end() if begin else 0
    return any(pattern.fullmatch(text, at) for pattern, _ in _BEGIN)


def parse_command(text: str) -> Command | None:
    """Returns the statement; None for one of the engine's. Raises `PostgresFeatureNotSupported`."""
    begin, text = _COMMENTS.match(text), text.rstrip(" \t\r\n;")
    at = begin.end() if begin else 0
    word = re.compile(r"[A-Za-z]+").match(text, at)
    for pattern, make in _FORMS.get(word[0].upper(), ()) if word else ():
        if (found := pattern.fullmatch(text, at)) is not None:
            return make(found)
    return None
