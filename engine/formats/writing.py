"""The interface for writes that are specific to a table format: executes its planner's plans
(`engine.formats.planning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.format_plan import FormatPlan
from engine.spark.execution_context import ExecutionContext


class FormatWriter(Protocol):
    """Writes the plans of one format."""

    def write(self, plan: FormatPlan, context: ExecutionContext) -> AbstractContextManager[StagedWrite]:
        """Stages the write for `plan` when the block is entered; it persists if the block commits it."""
        ...


# Writers by the format's catalog name.
FormatWriters: TypeAlias = Mapping[str, FormatWriter]
