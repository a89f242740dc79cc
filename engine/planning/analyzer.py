"""Define what the analyze stage asks Spark: columns and variables of a query, without running a job.

A plan is made of values: what a table gets from a query is known when it is planned.
"""

from __future__ import annotations

from typing import Protocol

from engine.binding.bound import BoundStatement
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.reads import QueryColumn, ReadPlan


class Analyzer(Protocol):
    """Asks Spark's analyzer, under the guard."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        """The columns that `plan` would answer; nothing runs."""

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        """The names of the session variables that `plan` reads; nothing runs."""


def with_columns(bound: BoundStatement, source: ReadPlan, analyzer: Analyzer) -> AnalyzedStatement:
    """The statement with the columns of its query. Raises Spark's analysis errors, and what the guard refuses."""
    return AnalyzedStatement(bound=bound, source=source, columns=analyzer.columns_of(source))
