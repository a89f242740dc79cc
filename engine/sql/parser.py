"""Guard parsing: whatever the text, the result is a statement or a `SqlError` that says what is wrong and where."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from catalog.conditions import SeveralStatements, StatementSyntaxError, StatementTooComplex, StatementTooLong
from catalog.errors import SqlError
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_HEADS, SyntaxFailure, tokenize
from engine.sql.query.query import parse_query
from engine.sql.query.values import Query

_FRAMES_MAX = 8000
"""Nested calls of Python. sqlglot needs some twenty for each level of a statement, so Python's own limit of 1000 would
stop at forty nested function calls; these are a tenth of what a thread's stack of 8 MB holds."""

sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES_MAX))

_Parsed = TypeVar("_Parsed")


def guarded(text: str, parse_text: Callable[[str], _Parsed]) -> _Parsed:
    """What `parse_text` makes of `text`; every failure is a `SqlError`."""
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
    """Returns the error for a place in `text`."""
    return StatementSyntaxError(reason).at(text, offset)


def parse_stored_query(text: str) -> Query | None:
    """The query that a view keeps as its text; None if it begins as no query does."""

    def parse_text(text: str) -> Query | None:
        cursor = Cursor(text, tokenize(text))
        return parse_query(cursor) if next(iter(cursor.words(1)), "") in QUERY_HEADS else None

    return guarded(text, parse_text)


def several_statements(text: str, offset: int) -> SqlError:
    return SeveralStatements().at(text, len(text) - len(text[offset:].lstrip()))
