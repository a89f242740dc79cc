"""MERGE: rows of a source change, remove and add rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from catalog.names import fold
from engine.runtime.statement import Statement
from engine.sql.query.values import EXPRESSION, Assignment, Query, TargetQuery


class ClauseKind(Enum):
    """Which rows a clause is for."""

    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """`DELETE`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAction:
    """`UPDATE SET column = value, …`, `INSERT (columns) VALUES (values)`: `values` has a column for each assignment,
    after the number of the clause that the row is for.
    """

    assignments: tuple[Assignment, ...]
    values: TargetQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class StarAction:
    """`UPDATE SET *`, `INSERT *`: each column becomes the one of the source that has its name; `values` as above."""

    values: TargetQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    kind: ClauseKind
    action: DeleteAction | SetAction | StarAction
    condition: str | None = field(default=None, metadata=EXPRESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Statement):
    """`MERGE [WITH SCHEMA EVOLUTION] INTO t [AS alias] USING source [AS source_alias] ON condition clauses`

    `source` is all of the source, `is_table` whether that is a table and nothing else; `source_parts` is its name if it
    has no alias.

    `pairs` are the rows of the table with those of the source that they match, `unmatched` those that match none (None
    where no clause is for them). Both select first the number of the clause that a row is for, counted from 1 over all
    clauses; NULL is none.
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
        """Whether a last name alone means both the table and the source."""
        if self.alias is not None or self.source_parts is None:
            return False
        return fold(self.table_parts[-1]) == fold(self.source_parts[-1])

    @property
    def queries(self) -> tuple[Query, ...]:
        """All that name relations, in an order that binding and planning share."""
        return (self.source, *(target.query for target in self.target_queries))

    @property
    def target_queries(self) -> tuple[TargetQuery, ...]:
        targets = [self.pairs, *([self.unmatched] if self.unmatched else [])]
        actions = (clause.action for clause in self.clauses)
        return (*targets, *(action.values for action in actions if not isinstance(action, DeleteAction)))
