"""Parses EXPLAIN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import UnsupportedClause
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.dialect.refusals import WORDS_MAX, refused_kind
from engine.sql.dialect.words import hint
from engine.sql.query.query import is_query, parse_query
from engine.sql.query.values import ExplainMode, Span
from engine.statements.explain.statement import Explain, ExplainWrite, RowStatement
from engine.statements.insert.grammar import parse_insert
from engine.statements.merge.grammar import parse_merge
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.grammar import parse_delete, parse_update
from engine.statements.row_changes.statement import Delete, Update

_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")


_NO_QUERIES = frozenset({"ANALYZE", "DESC", "DESCRIBE", "EXPLAIN", "RESET", "SET", "SHOW", "USE"})


# Statements that may follow a WITH clause, besides INSERT.
_AFTER_WITH: Mapping[tuple[str, ...], Callable[[Cursor, Span | None], Delete | Merge | Update]] = MappingProxyType(
    {("DELETE", "FROM"): parse_delete, ("MERGE",): parse_merge, ("UPDATE",): parse_update}
)


def parse_explained(cursor: Cursor) -> RowStatement | None:
    """Parses the statement at `cursor` to its end if it changes rows; EXPLAIN supports these."""
    if cursor.take("INSERT"):
        return parse_insert(cursor)
    statement = parse_after_with(cursor, cursor.place_after_with())
    if statement is not None:
        cursor.read_rest()
    return statement


def parse_after_with(cursor: Cursor, body: int | None) -> Delete | Merge | Update | None:
    """Parses the statement at `body`, or at `cursor` without a WITH clause; returns None for a query."""
    after = cursor.copy()
    if body is not None:
        after.skip_to(body)
    for words, parse in _AFTER_WITH.items():
        if after.take(*words):
            statement = parse(after, None if body is None else Span(cursor.offset, body))
            after.ensure_done()
            return statement
    return None


def parse_explain(cursor: Cursor) -> Explain | ExplainWrite:
    """Parses `EXPLAIN [EXTENDED|CODEGEN|COST|FORMATTED] query | INSERT … | DELETE … | UPDATE … | MERGE …`"""
    mode = ExplainMode.SIMPLE
    if cursor.words(1) == ["LOGICAL"]:
        raise UnsupportedClause("EXPLAIN LOGICAL", "Use EXPLAIN EXTENDED, which shows the logical plans too.")
    word = cursor.take_any(*_MODES)
    if word is not None:
        mode = ExplainMode(word.lower())
    inner = parse_explained(cursor)
    if inner is not None:
        return ExplainWrite(mode=mode, inner=inner)
    if not is_query(cursor):
        first = next(iter(cursor.words(1)), "")
        kind = refused_kind(cursor.words(WORDS_MAX)) or (first if first in _NO_QUERIES else None)
        if kind is None:
            raise cursor.fail(
                f"a query is expected after EXPLAIN{hint(first, sorted(QUERY_LEADING_WORDS | set(_MODES)))}"
            )
        raise unsupported_statement(f"EXPLAIN {kind}")
    return Explain(mode=mode, inner=parse_query(cursor))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Explain | ExplainWrite]] = MappingProxyType(
    {("EXPLAIN",): parse_explain}
)
