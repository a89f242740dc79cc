"""Probes, asked of a session's Spark."""

from __future__ import annotations

from dataclasses import dataclass

from engine.exec.query import ExecSession
from engine.plan.rules.probes import Examination
from engine.plans.reads import ReadPlan
from engine.runtime.context import StatementContext


@dataclass(frozen=True, slots=True)
class SparkProber:
    """See :class:`engine.plan.rules.probes.Prober`."""

    executor: ExecSession
    context: StatementContext

    def examine(self, plan: ReadPlan) -> Examination:
        return self.executor.examine(plan, self.context)

    def evaluate(self, plan: ReadPlan) -> None:
        self.executor.run_query(plan, self.context).close()
