"""MERGE: changes, deletes and inserts rows in a table from a source."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from catalog.names import fold
from engine.runtime.statement import Statement
from engine.sql.query.values import EXPRESSION, Assignment, Query, TargetQuery


class ClauseKind(Enum):
    """The rows that a clause applies to."""

    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """`DELETE`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAction:
    """`UPDATE SET column = value, …`, `INSERT (columns) VALUES (values)`: `values` has a column for each assignment,
    after the row's clause number.
    """

    assignments: tuple[Assignment, ...]
    values: TargetQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class StarAction:
    """`UPDATE SET *`, `INSERT *`: each column is assigned the source column with its name; `values` as above."""

    values: TargetQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    kind: ClauseKind
    action: DeleteAction | SetAction | StarAction
    condition: str | None = field(default=None, metadata=EXPRESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Statement):
    """`MERGE [WITH SCHEMA EVOLUTION] INTO t [AS alias] USING source [AS source_alias] ON condition clauses`

    `source` is the entire source, `is_table` True if that is just a table; `source_parts` is its name if it has no
    alias.

    `pairs` are the matched pairs of target and source rows, `unmatched` the target rows without a match (None if no
    clause applies to them). Both first select the row's clause number, counted from 1 over all clauses; NULL means no
    clause.
    """

    table_parts: tuple[str, ...]
    source: Query
    is_table: bool
    source_alias: str
    condition: str = field(metadata=EXPRESSION)
    clauses: tuple[MergeClause, ...]
    pairs: TargetQuery
    unmatched: TargetQuery | None
    alias: str | None = None
    source_parts: tuple[str, ...] | None = None
    schema_evolution: bool = False

    @property
    def is_of_one_name(self) -> bool:
        """Returns True if the same last name denotes both the table and the source."""
        if self.alias is not None or self.source_parts is None:
            return False
        return fold(self.table_parts[-1]) == fold(self.source_parts[-1])

    @property
    def queries(self) -> tuple[Query, ...]:
        """Returns all queries with relation names, in the order that binding and planning share."""
        return (self.source, *(target.query for target in self.target_queries))

    @property
    def target_queries(self) -> tuple[TargetQuery, ...]:
        """Returns the queries that read the target: matched pairs, unmatched rows, then the clauses' values."""
        targets = [self.pairs, *([self.unmatched] if self.unmatched else [])]
        actions = (clause.action for clause in self.clauses)
        return (*targets, *(action.values for action in actions if not isinstance(action, DeleteAction)))
