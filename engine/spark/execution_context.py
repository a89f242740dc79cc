"""The execution context: the state that the stages of a running statement share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from catalog.conditions import StatementNotSupported
from engine.binding.sources import Sources
from engine.binding.statement_lineage import StatementLineage
from engine.concurrency.retry import RetryPolicy
from engine.planning.plans.expression_checks import Examination
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.runtime.settings import TIME_ZONE
from engine.runtime.time_zones import find_zone
from engine.spark.query import ExecSession


@dataclass(slots=True)
class Subject:
    """The tables that the statement reads or writes: their format, if any, whose conditions name errors, and the
    lineage of what it commits.
    """

    format: str | None = None
    lineage: StatementLineage = field(default_factory=StatementLineage)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """One run of a statement: the front end's request, the session's state and Spark session, and the engine's sources.

    `parameters` are the values of the parameter markers in the statement's own text.
    """

    request: StatementRequest
    state: SessionState
    sources: Sources
    executor: ExecSession
    parameters: Sequence[Parameter] = ()
    subject: Subject = field(default_factory=Subject)

    @property
    def retries(self) -> RetryPolicy:
        """Returns the retry policy for the statement's commits."""
        return RetryPolicy(
            cancel=self.request.cancel, on_retry=self.request.on_retry, write_queue=self.sources.write_queue
        )

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        """Returns the result columns of `plan`; nothing runs."""
        return tuple(self.executor.columns_of(plan, self.request, self.parameters))

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        """Returns the names of the session variables that `plan` reads; nothing runs."""
        return self.executor.variables_read(plan, self.request)

    def setting(self, key: str) -> str | None:
        """Returns the value or default of a Spark setting in the session; None if it has neither."""
        return self.executor.get_setting(key)

    def examine(self, plan: ReadPlan) -> Examination:
        """Returns the column types and dependencies of `plan`; nothing runs."""
        return self.executor.examine(plan, self.request, self.parameters)

    def session_zone(self, purpose: str) -> tzinfo:
        """Returns the time zone in which timestamps without a zone are read.

        Raises `StatementNotSupported` for a zone that only Java has; `purpose` completes the error message.
        """
        name = self.executor.get_setting(TIME_ZONE) or "UTC"
        zone = find_zone(name)
        if zone is None:
            raise StatementNotSupported(f"{purpose} in the time zone {name}")
        return zone

    def evaluate(self, plan: ReadPlan) -> tuple[Any, ...]:
        """Returns the values of the only row of `plan`, which has no parameter markers."""
        return only_row(self, plan, ())

    def compute(self, plan: ReadPlan) -> None:
        """Computes the rows of `plan`, which has no parameter markers, and raises the errors of its expressions.

        The values are not converted: Python has no object for some of them, such as dates in the year 0.
        """
        _compute(self, plan, ())

    def values_of(self, expressions: str) -> tuple[Any, ...]:
        """Returns the values of a list of constant expressions, in the session's time zone.

        The expressions may have named parameter markers.
        """
        named = tuple(item for item in self.parameters if item.name is not None)
        return only_row(self, ReadPlan(text=f"SELECT {expressions}", scans=()), named)


def _compute(context: ExecutionContext, plan: ReadPlan, parameters: Sequence[Parameter]) -> pa.Table:
    result = context.executor.run_query(plan, context.request, parameters)
    try:
        return pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()


def only_row(context: ExecutionContext, plan: ReadPlan, parameters: Sequence[Parameter]) -> tuple[Any, ...]:
    """Returns the values of the only row of `plan`."""
    table = _compute(context, plan, parameters)
    (row,) = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return row
