"""Statements that write rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.runtime.statement import Statement
from engine.sql.query.values import EXPRESSION, Query, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionItem:
    """`column = value` of a PARTITION clause, the value as text (`DEFAULT` too); None is a dynamic column."""

    column: str
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWhere:
    """`REPLACE WHERE condition`: the rows that match it go, and the new ones must match it."""

    condition: str = field(metadata=EXPRESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceUsing:
    """`REPLACE USING (columns)`: rows go that equal a new one in these columns."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceOn:
    """`REPLACE ON condition`, between the target under its alias and the source under its own, if they have any."""

    condition: str = field(metadata=EXPRESSION)
    source_alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultMarker:
    """DEFAULT in the place of a value: `row` and `column` count those of the source from 0, `span` is in its text."""

    row: int
    column: int
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The `markers` of a source, and in how many rows of VALUES, or lists of SELECT, they could be.

    `row_ends` are where each row of VALUES could have one more value; empty if the source is not VALUES alone, with
    parentheses around each row.
    """

    markers: tuple[DefaultMarker, ...] = ()
    rows: int = 0
    row_ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Statement):
    """`INSERT [WITH SCHEMA EVOLUTION] INTO|OVERWRITE t [PARTITION …] [BY NAME | (columns)] [REPLACE …] query`

    `source` has its own text; a WITH clause before INSERT is part of it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsert:
    """`[WITH …] FROM source INSERT … INSERT …`: each has the common clauses in its own source."""

    inserts: tuple[Insert, ...]
