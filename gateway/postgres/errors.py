"""Errors and notices as PostgreSQL's clients read them: severity, SQLSTATE, message, hint and position.

The message begins with the condition, as on the other front ends. The position is a character in the client's text; an
error inside a view, or in a text that another statement runs, has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from catalog.conditions import ConcurrentModification
from catalog.errors import Position, SqlError
from engine.sql.postgres_text import AdaptedText
from gateway.observability.status import describe
from gateway.postgres.messages import message, string

# After these the connection ends: authentication, no database, too many connections, shutdown.
_FATAL_CLASSES = ("28", "3D000", "57P")
# States of the engine for which PostgreSQL's clients know another one.
# Spark's SQLSTATE for an invalid value of a setting is PostgreSQL's for a missing indicator of a null.
_STATES = {"HY008": "57014", "HYT00": "57014", "08S01": "08006", "22022": "22023"}
_TEXT = "postgres_text"
_SERIALIZATION_FAILURE = "40001"


@dataclass(frozen=True, slots=True)
class SentText:
    """A statement's text as the engine has it, and its place in what the client sent."""

    adapted: AdaptedText
    whole: str
    offset: int = 0

    def place(self, position: Position) -> int | None:
        """Returns the index of a position's character in the client's text; None for a position elsewhere."""
        if position.view or position.inside:
            return None
        lines = self.adapted.text.split("\n")
        if position.line > len(lines):
            return None
        in_text = sum(len(line) + 1 for line in lines[: position.line - 1]) + position.column - 1
        return self.offset + self.adapted.origin(in_text)


@contextmanager
def positions_in(sent: SentText) -> Iterator[None]:
    """Notes on an error with a position, raised in its block, that the position is in `sent`."""
    try:
        yield
    except SqlError as error:
        if error.position is None or text_of(error) is not None:
            raise
        # A copy: statements that wait for the same work share the error.
        noted = error.at(error.position)
        vars(noted)[_TEXT] = sent
        raise noted from error


def text_of(error: BaseException) -> SentText | None:
    """Returns the text in which the position of `error` is, if it was noted."""
    found = vars(error).get(_TEXT)
    return found if isinstance(found, SentText) else None


def error_response(error: BaseException, sent: SentText | None = None, *, is_fatal: bool = False) -> bytes:
    """Returns ErrorResponse for `error`, whose position is in `sent`."""
    place = None
    if isinstance(error, SqlError) and error.position is not None and sent is not None:
        place = sent.place(error.position)
        if place is not None:
            error = error.at(Position.in_text(sent.whole, place))
    failure = describe(error)
    text = error.message if isinstance(error, SqlError) else failure.message
    excerpt = "" if failure.position is None or place is not None else f"\n{failure.position.excerpt}"
    fields = {
        b"S": "FATAL" if is_fatal else "ERROR",
        b"V": "FATAL" if is_fatal else "ERROR",
        b"C": _state(error, failure.sqlstate),
        b"M": f"[{failure.condition}] {text} SQLSTATE: {failure.sqlstate}{excerpt}",
        b"H": failure.hint,
        b"P": "" if place is None else str(place + 1),
    }
    return _fields(b"E", fields)


def _state(error: BaseException, sqlstate: str) -> str:
    # Clients run a transaction again after a serialization failure.
    if isinstance(error, ConcurrentModification):
        return _SERIALIZATION_FAILURE
    return _STATES.get(sqlstate, sqlstate)


def notice(text: str, sqlstate: str = "00000", severity: str = "NOTICE") -> bytes:
    """Returns a NoticeResponse with the given severity, which is WARNING or NOTICE."""
    return _fields(b"N", {b"S": severity, b"V": severity, b"C": sqlstate, b"M": text})


def is_fatal(error: BaseException) -> bool:
    """Returns True if the connection ends after `error`."""
    return isinstance(error, SqlError) and error.sqlstate.startswith(_FATAL_CLASSES)


def _fields(kind: bytes, fields: dict[bytes, str]) -> bytes:
    return message(kind, *(name + string(value) for name, value in fields.items() if value), b"\0")
