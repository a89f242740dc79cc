"""Parsing of request bodies from JSON to frozen values.

The names are from Databricks' SQL Statement Execution API 2.0. Fields with a meaning only in a cloud (`warehouse_id`,
`query_tags`) are accepted and ignored; a field outside that API is rejected with an error that names it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from catalog.conditions import InvalidField, MalformedBody, SessionNotFound
from catalog.errors import ECHO_MAX
from engine.runtime.parameters import Parameter

WAIT_MAX_S = 50.0
# Characters of a text that is read while its editor waits.
EDITOR_TEXT_MAX = 1 << 20
_WAIT_DEFAULT_S = 10.0
_LONG_MAX = 2**63 - 1
_Option = TypeVar("_Option", bound=StrEnum)


class Disposition(StrEnum):
    INLINE = "INLINE"
    EXTERNAL_LINKS = "EXTERNAL_LINKS"
    INLINE_OR_EXTERNAL_LINKS = "INLINE_OR_EXTERNAL_LINKS"


class Format(StrEnum):
    JSON_ARRAY = "JSON_ARRAY"
    ARROW_STREAM = "ARROW_STREAM"
    CSV = "CSV"


class Compression(StrEnum):
    """Compression for Arrow streams, each as a separate frame. Databricks has no ZSTD."""

    NONE = "NONE"
    LZ4_FRAME = "LZ4_FRAME"
    ZSTD = "ZSTD"


class OnWaitTimeout(StrEnum):
    CONTINUE = "CONTINUE"
    CANCEL = "CANCEL"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRequest:
    """`POST /api/2.0/sql/statements`. Without `session_id` the statement gets its own session."""

    text: str
    session_id: uuid.UUID | None = None
    catalog: str | None = None
    schema: str | None = None
    parameters: tuple[Parameter, ...] = ()
    row_limit: int | None = None
    byte_limit: int | None = None
    disposition: Disposition = Disposition.INLINE
    format: Format = Format.JSON_ARRAY
    compression: Compression = Compression.NONE
    wait_timeout_s: float = _WAIT_DEFAULT_S
    on_wait_timeout: OnWaitTimeout = OnWaitTimeout.CONTINUE


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """`POST /api/2.0/sql/sessions`."""

    catalog: str | None
    schema: str | None
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlace:
    """`PATCH /api/2.0/sql/sessions/{id}`: at least one is set."""

    catalog: str | None
    schema: str | None


class TokenScope(StrEnum):
    SQL = "sql"
    READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """`POST /api/2.0/token/create`."""

    comment: str
    lifetime_s: int | None
    scope: TokenScope


class RequestObject:
    """A JSON object whose members are read one by one, each with its type."""

    def __init__(self, members: object, known: Collection[str], where: str = "") -> None:
        if not isinstance(members, dict):
            raise InvalidField(where, "must be an object") if where else MalformedBody("it is another JSON value")
        for name in members:
            if name not in known:
                near = get_close_matches(name[:ECHO_MAX], known, n=1, cutoff=0.0)
                hint = f"; the nearest known one is {near[0]}" if near else ""
                raise InvalidField(where + name, f"does not exist{hint}")
        self._members = members
        self._where = where

    def text(self, name: str) -> str | None:
        """Returns a string; None if it is missing or null. Raises `InvalidField`, also for unpaired surrogates."""
        value = self._members.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "must be a string")
        return self._encodable(name, value)

    def whole_number(self, name: str, *, least: int = 1) -> int | None:
        """Returns an integer from `least` up to 64 bits; None if it is missing or null. Raises `InvalidField`."""
        value = self._members.get(name)
        # `type` rather than `isinstance`: Python's bool is an int, JSON's true is no
        # number.
        if value is not None and (type(value) is not int or not least <= value <= _LONG_MAX):
            raise self.wrong(name, f"must be a whole number of at least {least} and at most 64 bits")
        return value

    def option(self, name: str, default: _Option) -> _Option:
        """Returns a member of the default's enum; `default` if it is missing or null. Raises `InvalidField`."""
        value = self._members.get(name)
        if value is None:
            return default
        found = next((member for member in type(default) if member == value), None)
        if found is None:
            raise self.wrong(name, f"must be one of {', '.join(type(default))}")
        return found

    def strings(self, name: str) -> dict[str, str]:
        """Returns an object of strings; an empty one if it is missing or null. Raises `InvalidField`."""
        value = self._members.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self.wrong(name, "must be an object of strings")
        return {self._encodable(name, key): self._encodable(name, item) for key, item in value.items()}

    def member(self, name: str, known: Collection[str]) -> RequestObject:
        """Returns the object in a member, empty without it."""
        value = self._members.get(name)
        return RequestObject({} if value is None else value, known, f"{self._where}{name}.")

    def json_text(self, name: str, bytes_max: int) -> str | None:
        """Returns an object's JSON for storage."""
        value = self._members.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "must be an object")
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            raise self.wrong(name, "has a number that is not JSON, or is nested too deeply") from None
        if len(self._encodable(name, text).encode()) > bytes_max:
            raise self.wrong(name, f"must have at most {bytes_max >> 10} KiB as JSON")
        return text

    def value(self, name: str) -> object:
        """Returns any JSON value."""
        value = self._members.get(name)
        self._encodable(name, json.dumps(value, ensure_ascii=False))
        return value

    def names(self) -> tuple[str, ...]:
        """Returns the members that the object has, also with null."""
        return tuple(self._members)

    def items(self, name: str, known: Collection[str]) -> Iterator[RequestObject]:
        """Yields the objects in a list, with their positions in messages; none if it is missing or null.

        `known` are the objects' members. Raises `InvalidField`.
        """
        value = self._members.get(name)
        if not isinstance(value, list | None):
            raise self.wrong(name, "must be a list")
        for position, item in enumerate(value or []):
            yield RequestObject(item, known, f"{self._where}{name}[{position}].")

    def wrong(self, name: str, problem: str) -> InvalidField:
        """Returns the error for a member, by its path in the body."""
        return InvalidField(self._where + name, problem)

    def _encodable(self, name: str, text: str) -> str:
        try:
            # JSON's escapes can spell half of a surrogate pair, which no UTF-8 text can
            # contain: it would fail far from here, in the audit log or in Spark.
            text.encode()
        except UnicodeEncodeError:
            raise self.wrong(name, "has half of a surrogate pair, which is no Unicode text") from None
        return text


_STATEMENT_FIELDS = frozenset(
    ("statement", "session_id", "warehouse_id", "catalog", "schema", "parameters", "row_limit", "byte_limit")
    + ("disposition", "format", "wait_timeout", "on_wait_timeout", "query_tags", "result_compression")
)
_PARAMETER_FIELDS = frozenset(("name", "value", "type", "ordinal"))
_SESSION_FIELDS = frozenset(("warehouse_id", "catalog", "schema", "session_confs", "execution_mode"))


def parse_statement_request(content: bytes) -> StatementRequest:
    """Parses the body of a submitted statement.

    Raises `InvalidField`, also for members that exclude each other, and `MalformedBody`.
    """
    body = RequestObject(parse_json(content), _STATEMENT_FIELDS)
    text, session_text = body.text("statement"), body.text("session_id")
    if not text:
        raise body.wrong("statement", "must be given and not be empty")
    request = StatementRequest(
        text=text,
        session_id=parse_handle(session_text) if session_text is not None else None,
        catalog=body.text("catalog"),
        schema=body.text("schema"),
        parameters=parse_parameters(body),
        row_limit=body.whole_number("row_limit", least=0),
        byte_limit=body.whole_number("byte_limit"),
        disposition=body.option("disposition", Disposition.INLINE),
        format=body.option("format", Format.JSON_ARRAY),
        compression=body.option("result_compression", Compression.NONE),
        wait_timeout_s=parse_wait("wait_timeout", body.text("wait_timeout"), _WAIT_DEFAULT_S),
        on_wait_timeout=body.option("on_wait_timeout", OnWaitTimeout.CONTINUE),
    )
    if request.session_id and (request.catalog or request.schema):
        raise body.wrong("catalog" if request.catalog else "schema", "belongs to the session where session_id is given")
    if request.format is Format.CSV and request.disposition is Disposition.INLINE:
        raise body.wrong("format", "can be CSV with the disposition EXTERNAL_LINKS only")
    if request.on_wait_timeout is OnWaitTimeout.CANCEL and not request.wait_timeout_s:
        raise body.wrong("on_wait_timeout", "can be CANCEL only where wait_timeout is more than 0s")
    return request


def parse_session_request(content: bytes) -> SessionRequest:
    """Parses the body for a new session. Raises `InvalidField`, `MalformedBody`."""
    body = RequestObject(parse_json(content), _SESSION_FIELDS)
    return SessionRequest(
        catalog=body.text("catalog"), schema=body.text("schema"), settings=body.strings("session_confs")
    )


def parse_session_place(content: bytes) -> SessionPlace:
    """Parses the body with a catalog, a schema, or both. Raises `InvalidField`, `MalformedBody`."""
    body = RequestObject(parse_json(content), ("catalog", "schema"))
    place = SessionPlace(catalog=body.text("catalog") or None, schema=body.text("schema") or None)
    if place.catalog is None and place.schema is None:
        raise body.wrong("catalog", "must be given, or schema")
    return place


def parse_editor_text(content: bytes, characters_max: int = EDITOR_TEXT_MAX) -> str:
    """Parses the text of a request about an editor's text, which may be empty."""
    body = RequestObject(parse_json(content), ("statement",))
    text = body.text("statement")
    if text is None:
        raise body.wrong("statement", "must be given")
    if len(text) > characters_max:
        raise body.wrong("statement", f"must have at most {characters_max >> 10} Ki characters")
    return text


def parse_new_token(content: bytes) -> NewToken:
    """Parses the body for a new token; `lifetime_seconds` is optional. Raises `InvalidField`, `MalformedBody`."""
    body = RequestObject(parse_json(content), frozenset(("comment", "lifetime_seconds", "scope")))
    return NewToken(
        comment=body.text("comment") or "",
        lifetime_s=body.whole_number("lifetime_seconds"),
        scope=body.option("scope", TokenScope.SQL),
    )


def parse_token_id(content: bytes) -> str:
    """Parses the body of `POST /api/2.0/token/delete`."""
    return RequestObject(parse_json(content), frozenset(("token_id",))).text("token_id") or ""


def parse_handle(text: str) -> uuid.UUID:
    """Parses a session id; a malformed one is a session that does not exist."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise SessionNotFound() from None


def parse_wait(name: str, text: str | None, default: float) -> float:
    """Parses seconds, from `10s`."""
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,2}s", text) or float(text[:-1]) > WAIT_MAX_S:
        raise InvalidField(name, f"must be whole seconds from 0s to {WAIT_MAX_S:g}s")
    return float(text[:-1])


def parse_parameters(body: RequestObject) -> tuple[Parameter, ...]:
    """Returns named parameters by name; unnamed ones in the order of `ordinal`, or as sent."""
    positional: list[tuple[int, Parameter]] = []
    for position, item in enumerate(body.items("parameters", _PARAMETER_FIELDS), 1):
        parameter = Parameter(value=item.text("value"), sql_type=item.text("type") or "string", name=item.text("name"))
        positional.append((item.whole_number("ordinal") or position, parameter))
    return tuple(parameter for _, parameter in sorted(positional, key=lambda pair: pair[0]))


def parse_json(content: bytes) -> object:
    """Parses a body of JSON. Raises `MalformedBody`."""
    try:
        return json.loads(content)
    except RecursionError:
        raise MalformedBody("it is nested too deeply") from None
    except ValueError as error:
        raise MalformedBody(str(error)) from None
