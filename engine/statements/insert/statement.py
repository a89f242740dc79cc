"""Statements that write rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.runtime.statement import Statement
from engine.sql.query.values import EXPRESSION, Query, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionItem:
    """`column = value` in a PARTITION clause, the value as text (`DEFAULT` too); None is a dynamic partition column."""

    column: str
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWhere:
    """`REPLACE WHERE condition`: deletes matching rows; the new rows must match."""

    condition: str = field(metadata=EXPRESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceUsing:
    """`REPLACE USING (columns)`: deletes rows that equal a new row in these columns."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceOn:
    """`REPLACE ON condition`, between the target and the source under their aliases, if any."""

    condition: str = field(metadata=EXPRESSION)
    source_alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultMarker:
    """DEFAULT in place of a value: `row` and `column` count from 0 in the source, `span` is in its text."""

    row: int
    column: int
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """A source's `markers`, and the number of VALUES rows or SELECT lists that may contain them.

    `row_ends` are the positions at which each VALUES row could have another value; empty if the source is not VALUES
    alone, with parentheses around each row.
    """

    markers: tuple[DefaultMarker, ...] = ()
    rows: int = 0
    row_ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Statement):
    """`INSERT [WITH SCHEMA EVOLUTION] INTO|OVERWRITE t [PARTITION …] [BY NAME | (columns)] [REPLACE …] query`

    `source` has its own text; a WITH clause before INSERT is part of it. With `has_only_defaults` (DEFAULT VALUES) it
    is one row with one DEFAULT, for a column that the planner chooses.
    """

    table_parts: tuple[str, ...]
    source: Query
    overwrite: bool = False
    alias: str | None = None
    columns: tuple[str, ...] = ()
    by_name: bool = False
    partition: tuple[PartitionItem, ...] = ()
    if_not_exists: bool = False
    replace: ReplaceWhere | ReplaceUsing | ReplaceOn | None = None
    schema_evolution: bool = False
    defaults: Defaults = Defaults()
    has_only_defaults: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsert:
    """`[WITH …] FROM source INSERT … INSERT …`: each INSERT has the common clauses in its own source."""

    inserts: tuple[Insert, ...]
