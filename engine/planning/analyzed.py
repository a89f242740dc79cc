"""Analyzed statements, and the interface through which the analyze stage asks Spark for columns without running a job.

The analyze stage alone makes an :class:`AnalyzedStatement`. A plan is made of values: what a table gets from a query is
known when it is planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.binding.bound import BoundStatement
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.planning.rules.insert_rows import InsertRows


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedStatement:
    """An authorised statement; what is None the statement does not have, or its plan does not depend on.

    `source` is its query over scans of the pinned tables, `columns` what Spark says that the query answers, and
    `insert` what an INSERT says of the rows, whose parts but the first have `more_sources`; `variables` are the session
    variables that the query of a view reads.
    """

    bound: BoundStatement
    source: ReadPlan | None = None
    columns: tuple[QueryColumn, ...] | None = None
    insert: InsertRows | None = None
    more_sources: tuple[ReadPlan, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def query(self) -> ReadPlan:
        """The source of a statement that has a query."""
        assert self.source is not None
        return self.source


class Analyzer(Protocol):
    """Asks Spark's analyzer, under the guard."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        """The columns that `plan` would answer; nothing runs."""

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        """The names of the session variables that `plan` reads; nothing runs."""


def with_columns(bound: BoundStatement, source: ReadPlan, analyzer: Analyzer) -> AnalyzedStatement:
    """The statement with the columns of its query. Raises Spark's analysis errors, and what the guard refuses."""
    return AnalyzedStatement(bound=bound, source=source, columns=analyzer.columns_of(source))
