"""One run of a statement in its session's Spark: what the stages ask of Spark besides the plan's own work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from catalog.conditions import StatementNotSupported
from engine.concurrency.retry import RetryPolicy
from engine.concurrency.turns import Turns
from engine.planning.plans.expression_checks import Examination
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.runtime.context import StatementContext
from engine.runtime.parameters import Parameter
from engine.runtime.settings import TIME_ZONE
from engine.runtime.time_zones import find_zone
from engine.spark.query import ExecSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`parameters` are for the markers of the statement's own text, `turns` those of `RetryPolicy`."""

    executor: ExecSession
    context: StatementContext
    parameters: Sequence[Parameter] = ()
    turns: Turns | None = None

    @property
    def retries(self) -> RetryPolicy:
        """Of its commits."""
        return RetryPolicy(cancel=self.context.cancel, on_loss=self.context.on_loss, turns=self.turns)

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        """The columns that `plan` would answer; nothing runs."""
        return tuple(self.executor.columns_of(plan, self.context, self.parameters))

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        """The names of the session variables that `plan` reads; nothing runs."""
        return self.executor.variables_read(plan, self.context)

    def examine(self, plan: ReadPlan) -> Examination:
        """The types of `plan`, and what its values depend on; nothing runs."""
        return self.executor.examine(plan, self.context, self.parameters)

    def session_zone(self, purpose: str) -> tzinfo:
        """The zone in which timestamps without one are read. Raises `StatementNotSupported` for one that only Java
        knows; `purpose` is what it is needed for.
        """
        name = self.executor.get_setting(TIME_ZONE) or "UTC"
        zone = find_zone(name)
        if zone is None:
            raise StatementNotSupported(f"{purpose} in the time zone {name}")
        return zone

    def evaluate(self, plan: ReadPlan) -> tuple[Any, ...]:
        """The values of the only row of `plan`, which has no markers."""
        return only_row(self, plan, ())

    def compute(self, plan: ReadPlan) -> None:
        """Computes the rows of `plan`, which has no markers, and raises what that raises. Python may have no object for
        their values: the year 0, say.
        """
        _computed(self, plan, ())

    def values_of(self, expressions: str) -> tuple[Any, ...]:
        """The values of a list of expressions without columns, in the session's zone; they may have named markers."""
        named = tuple(item for item in self.parameters if item.name is not None)
        return only_row(self, ReadPlan(text=f"SELECT {expressions}", scans=()), named)


def _computed(run: Run, plan: ReadPlan, parameters: Sequence[Parameter]) -> pa.Table:
    result = run.executor.run_query(plan, run.context, parameters)
    try:
        return pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()


def only_row(run: Run, plan: ReadPlan, parameters: Sequence[Parameter]) -> tuple[Any, ...]:
    table = _computed(run, plan, parameters)
    (row,) = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return row
