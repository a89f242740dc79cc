"""Analyzed statements, and the interface through which the analyze stage asks Spark for columns without running a job.

The analyze stage alone makes an :class:`AnalyzedStatement`. A plan is made of values: what a table gets from a query is
known when it is planned, the rows of an INSERT and the values of DEFAULT among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from engine.binding.bound import BoundStatement
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.sql.expressions import Expression
from engine.sql.query.source_text import joined
from engine.sql.query.splice import Edit


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


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRows:
    """`condition` is that of REPLACE WHERE; `evolves`: columns of the query that the table lacks are added to it."""

    defaults: DefaultValues
    condition: Expression | None
    evolves: bool

    @property
    def rows(self) -> WritePlan:
        """Of the first part."""
        return self.defaults.parts[0].rows

    @property
    def edits(self) -> list[Edit]:
        """Of the query's text, where it says DEFAULT."""
        return self.defaults.edits

    def sources(self, source: ReadPlan) -> tuple[ReadPlan, ...]:
        """Of each part the query (with the edits), without the columns that it leaves to the table."""
        return tuple(part.of(source) for part in self.defaults.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRows:
    """Rows of a query of `width` columns, of which `kept` are given, others are left to the table; None: all are given.

    `number` is in the query's last column for these rows; None: all rows.
    """

    rows: WritePlan
    kept: tuple[int, ...] | None = None
    width: int = 0
    number: int | None = None

    def of(self, source: ReadPlan) -> ReadPlan:
        """Of the query with the edits: these rows, without the columns that are left to the table."""
        if self.kept is None:
            return source
        names = ", ".join(f"c{at}" for at in range(self.width))
        kept = ", ".join(f"c{at}" for at in self.kept)
        where = "" if self.number is None else f" WHERE c{self.width - 1} = {self.number}"
        text = joined((f"SELECT {kept} FROM (", source.text, f"\n) AS given({names}){where}"))
        return replace(source, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultValues:
    """The `parts` of the rows, one at least, and the `edits` of the query's text."""

    parts: tuple[GivenRows, ...]
    edits: list[Edit]
