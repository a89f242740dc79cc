"""Analyzed statements, and the interface through which the analyze stage requests columns from Spark without running a
job.

Only the analyze stage creates an :class:`AnalyzedStatement`. A plan consists of values: the columns that a query writes
to a table are resolved at planning, including INSERT rows and DEFAULT values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from engine.binding.bound import BoundStatement
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.sql.expressions import Expression
from engine.sql.query.source_text import join_texts
from engine.sql.query.splice import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedStatement:
    """An authorized statement; an attribute is None if the statement does not have it, or if its plan does not depend
    on it.

    `source` is its query over scans of the pinned tables, `columns` the query's columns according to Spark, and
    `insert` describes an INSERT's rows, whose parts except the first have `more_sources`; `variables` are the session
    variables that a view's query reads.
    """

    bound: BoundStatement
    source: ReadPlan | None = None
    columns: tuple[QueryColumn, ...] | None = None
    insert: InsertRows | None = None
    more_sources: tuple[ReadPlan, ...] = ()
    variables: tuple[str, ...] = ()
    # Spark's value of the setting that the statement shows.
    setting: str | None = None

    @property
    def query(self) -> ReadPlan:
        """Returns the source of a statement that has a query."""
        assert self.source is not None
        return self.source


class Analyzer(Protocol):
    """An interface to Spark's analyzer, under the guard."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        """Returns the columns of `plan`; nothing runs."""

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        """Returns the names of the session variables that `plan` reads; nothing runs."""

    def setting(self, key: str) -> str | None:
        """Returns the value or default of a Spark setting in the session; None if it has neither."""


def with_columns(bound: BoundStatement, source: ReadPlan, analyzer: Analyzer) -> AnalyzedStatement:
    """Returns the statement with its query's columns. Raises Spark's analysis errors, and errors from the guard."""
    return AnalyzedStatement(bound=bound, source=source, columns=analyzer.columns_of(source))


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRows:
    """The rows of an INSERT. `condition` is the REPLACE WHERE condition; `evolves`: query columns that are missing in
    the table are added to it.
    """

    defaults: DefaultValues
    condition: Expression | None
    evolves: bool

    @property
    def rows(self) -> WritePlan:
        """Returns the first part's rows."""
        return self.defaults.parts[0].rows

    @property
    def edits(self) -> list[Edit]:
        """Returns the edits of the query's text for DEFAULT."""
        return self.defaults.edits

    def sources(self, source: ReadPlan) -> tuple[ReadPlan, ...]:
        """Returns the edited query for each part, without the columns that it leaves to the table."""
        return tuple(part.of(source) for part in self.defaults.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRows:
    """Rows of a query with `width` columns; the columns `selected_columns` are written, others are left to the table;
    None: all are written.

    The query's last column has `number` for these rows; None: all rows.
    """

    rows: WritePlan
    selected_columns: tuple[int, ...] | None = None
    width: int = 0
    number: int | None = None

    def of(self, source: ReadPlan) -> ReadPlan:
        """Returns these rows of the edited query, without the columns that are left to the table."""
        if self.selected_columns is None:
            return source
        names = ", ".join(f"c{at}" for at in range(self.width))
        selected_columns = ", ".join(f"c{at}" for at in self.selected_columns)
        where = "" if self.number is None else f" WHERE c{self.width - 1} = {self.number}"
        text = join_texts((f"SELECT {selected_columns} FROM (", source.text, f"\n) AS given({names}){where}"))
        return replace(source, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultValues:
    """The rows' `parts`, at least one, and the `edits` of the query's text."""

    parts: tuple[GivenRows, ...]
    edits: list[Edit]
