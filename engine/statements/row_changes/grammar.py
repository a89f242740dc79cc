"""Parses DELETE and UPDATE (Spark's `deleteFromTable` and `updateTable` rules), with or without a preceding WITH.

The affected rows, and their new values, are queries over the table (`TargetQuery`), composed from the statement's own
expressions: so these may contain subqueries, whose tables are bound as in any query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from catalog.conditions import UnsupportedClause
from catalog.names import quote
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.composed import ComposedQuery, marker_places
from engine.sql.query.names import read_table, read_table_or_path
from engine.sql.query.values import Assignment, Span, TargetQuery
from engine.statements.row_changes.statement import Delete, TruncateTable, Update

# Words that cannot be an alias.
_ENDS = frozenset({"SET", "WHERE", "USING", "WHEN", "ON"})


def parse_delete(cursor: Cursor, ctes: Span | None = None) -> Delete:
    """Parses the text after DELETE FROM: `t [[AS] alias] [WHERE condition]`."""
    table = read_table(cursor)
    alias = read_target_alias(cursor, "a DELETE")
    condition = _take_condition(cursor)
    composer = TargetComposer(cursor.text, ctes, table, alias)
    return Delete(
        table_parts=table,
        alias=alias,
        condition=None if condition is None else composer.text(condition),
        rows=composer.rows(condition),
    )


def parse_update(cursor: Cursor, ctes: Span | None = None) -> Update:
    """Parses the text after UPDATE: `t [[AS] alias] SET column = value, … [WHERE condition]`."""
    table = read_table(cursor)
    alias = read_target_alias(cursor, "an UPDATE")
    cursor.read("SET")
    composer = TargetComposer(cursor.text, ctes, table, alias)
    assignments = read_assignments(cursor, composer, (("WHERE",),))
    condition = _take_condition(cursor)
    return Update(
        table_parts=table,
        alias=alias,
        assignments=tuple(assignment for assignment, _ in assignments),
        condition=None if condition is None else composer.text(condition),
        rows=composer.rows(condition),
        values=composer.values([span for _, span in assignments]),
    )


def read_target_alias(cursor: Cursor, statement: str) -> str | None:
    """Reads `[AS] alias` after a table's name; None without one.

    `statement` is named in errors. Raises `UnsupportedClause` for table options, `WITH (…)`.
    """
    if cursor.words(2) == ["WITH", "("]:
        raise UnsupportedClause(f"WITH (…) after the table of {statement}", "Use settings of the session instead.")
    named = cursor.take("AS") or (cursor.is_name() and not _ENDS.intersection(cursor.words(1)))
    return cursor.read_name() if named else None


def read_assignments(
    cursor: Cursor, composer: TargetComposer, stops: tuple[tuple[str, ...], ...]
) -> list[tuple[Assignment, Span | None]]:
    """Reads `column = value, …`, with each value's position; None for DEFAULT."""
    found: list[tuple[Assignment, Span | None]] = []
    while not found or cursor.take(","):
        path = cursor.read_names()
        cursor.read("=")
        span = read_value(cursor, stops)
        shown = "DEFAULT" if span is None else composer.text(span)
        found.append((Assignment(path=path, text=shown, is_default=span is None), span))
    return found


def read_value(cursor: Cursor, stops: tuple[tuple[str, ...], ...]) -> Span | None:
    """Reads an expression; None for DEFAULT alone."""
    start = cursor.offset
    text = cursor.read_text(*stops)
    return None if text.upper() == "DEFAULT" else Span(start, start + len(text))


def _take_condition(cursor: Cursor) -> Span | None:
    if not cursor.take("WHERE"):
        return None
    start = cursor.offset
    return Span(start, start + len(cursor.read_text(what="a condition")))


class TargetComposer:
    """Composes queries over a statement's table."""

    def __init__(self, text: str, ctes: Span | None, table: tuple[str, ...], alias: str | None) -> None:
        self._text = text
        self._ctes = ctes
        self._markers = marker_places(text)
        self._table = ".".join(map(quote, table))
        self._alias = "" if alias is None else f" AS {quote(alias)}"

    def text(self, span: Span) -> str:
        """Returns a part of the statement as used in composed queries."""
        composed = ComposedQuery(self._text, self._markers)
        return composed.text_of(span)

    def rows(self, condition: Span | None) -> TargetQuery:
        """Returns `SELECT … FROM t WHERE condition`, with the select list to be inserted; its value is the
        condition.
        """
        composed = self.begin()
        composed.own("SELECT ")
        items = composed.own("1")
        target = self.from_target(composed)
        if condition is None:
            return composed.over_target(items, target)
        composed.own(" WHERE ")
        where = composed.in_parentheses(condition)
        return replace(composed.over_target(items, target), values=(where,))

    def values(self, expressions: list[Span | None]) -> TargetQuery:
        """Returns `SELECT value, … FROM t`, with the list to be extended; NULL for a value that the table
        determines.
        """
        composed = self.begin()
        composed.own("SELECT ")
        values = []
        for number, span in enumerate(expressions):
            composed.own(", " if number else "")
            if span is None:
                composed.own("NULL")
            else:
                values.append(composed.in_parentheses(span))
        items = composed.own("")
        return replace(composed.over_target(items, self.from_target(composed)), values=tuple(values))

    def begin(self) -> ComposedQuery:
        """Starts a query with the statement's WITH clause."""
        composed = ComposedQuery(self._text, self._markers)
        if self._ctes is not None:
            composed.piece(self._ctes)
            composed.own("\n")
        return composed

    def from_target(self, composed: ComposedQuery) -> Span:
        """Appends `FROM table [AS alias]` to the query; returns the span of the table's name in it."""
        composed.own(" FROM ")
        target = composed.own(self._table)
        composed.own(self._alias)
        return target


def parse_truncate_table(cursor: Cursor) -> TruncateTable:
    """Parses the text after TRUNCATE TABLE. Raises `UnsupportedClause` for PARTITION."""
    table = read_table_or_path(cursor)
    if cursor.take("PARTITION"):
        raise UnsupportedClause("PARTITION in TRUNCATE TABLE", "Use DELETE FROM with a condition on the partition.")
    return TruncateTable(table_parts=table)


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Delete | Update | TruncateTable]] = MappingProxyType(
    {("DELETE", "FROM"): parse_delete, ("UPDATE",): parse_update, ("TRUNCATE", "TABLE"): parse_truncate_table}
)
