"""The door to what a format of tables writes by itself: plans that its own planner made (`engine.formats.planning`)."""

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
        """What `plan` writes is staged when the block is entered, and stays if the block commits it."""
        ...


FormatWriters: TypeAlias = Mapping[str, FormatWriter]
"""By the format's name in the catalog."""
