"""A statement whose query Spark has analysed. Made by the analyze stage alone."""

from __future__ import annotations

from dataclasses import dataclass

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
