"""Guarded parsing: for any text, the result is a statement or a `SqlError` with the reason and the position."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from catalog.conditions import SeveralStatements, StatementSyntaxError, StatementTooComplex, StatementTooLong
from catalog.errors import SqlError
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS, SyntaxFailure, tokenize
from engine.sql.query.query import parse_query
from engine.sql.query.source_text import position_in
from engine.sql.query.values import Query

# Maximum nesting of Python calls. sqlglot needs about twenty for each level in a statement, so Python's own limit
# (1000) would stop at forty nested function calls; 8000 use a tenth of a thread's 8 MB stack.
_FRAMES_MAX = 8000

sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES_MAX))

_Parsed = TypeVar("_Parsed")


def parse_guarded(text: str, parse_text: Callable[[str], _Parsed]) -> _Parsed:
    """Returns the result of `parse_text(text)`; each failure becomes a `SqlError`."""
    if len(text) > TEXT_LENGTH_MAX:
        raise StatementTooLong(len(text), TEXT_LENGTH_MAX)
    if "\0" in text:
        raise syntax_error(text, "the text has a NUL character", text.index("\0"))
    try:
        return parse_text(text)
    except SyntaxFailure as failure:
        raise syntax_error(text, failure.reason, failure.offset) from None
    except RecursionError:
        raise StatementTooComplex() from None


def syntax_error(text: str, reason: str, offset: int) -> StatementSyntaxError:
    """Returns the error for a position in `text`."""
    error = StatementSyntaxError(reason)
    error.position = position_in(text, offset)
    return error


def parse_stored_query(text: str) -> Query | None:
    """Parses a view's stored query text; returns None if it does not begin as a query."""

    def parse_text(text: str) -> Query | None:
        cursor = Cursor(text, tokenize(text))
        return parse_query(cursor) if next(iter(cursor.words(1)), "") in QUERY_LEADING_WORDS else None

    return parse_guarded(text, parse_text)


def several_statements(text: str, offset: int) -> SqlError:
    """Returns the error for a second statement, at the first word at or after `offset`."""
    error = SeveralStatements()
    error.position = position_in(text, len(text) - len(text[offset:].lstrip()))
    return error
