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

_EXCERPT_CHARS_MAX = 120

_NUL_SHOWN = "\N{SYMBOL FOR NULL}"

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
    """The error for a place in `text`, with its line and a mark below the place."""
    offset = min(offset, len(text))
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    column = offset - line_start
    shown_from = max(0, column - _EXCERPT_CHARS_MAX // 2)
    shown = line[shown_from : shown_from + _EXCERPT_CHARS_MAX].replace("\0", _NUL_SHOWN)
    mark = "".join("\t" if char == "\t" else " " for char in shown[: column - shown_from]) + "^"
    return StatementSyntaxError(
        reason=reason, line=text.count("\n", 0, offset) + 1, column=column + 1, excerpt=f"{shown}\n{mark}"
    )


def parse_stored_query(text: str) -> Query | None:
    """The query that a view keeps as its text; None if it begins as no query does."""

    def parse_text(text: str) -> Query | None:
        cursor = Cursor(text, tokenize(text))
        return parse_query(cursor) if next(iter(cursor.words(1)), "") in QUERY_HEADS else None

    return guarded(text, parse_text)


def several_statements(text: str, offset: int) -> SqlError:
    return SeveralStatements(line=text.count("\n", 0, offset) + 1, column=offset - text.rfind("\n", 0, offset))
