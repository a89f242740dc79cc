"""All table formats' planners and writers, by the format's catalog name."""

from __future__ import annotations

from typing import Final

from catalog.names import ICEBERG
from engine.execution.writes.staged_write import FormatWriters
from engine.formats.delta.planning.planner import DeltaPlanner
from engine.formats.delta.writing.writer import DeltaWriter
from engine.formats.iceberg.planning.planner import IcebergPlanner
from engine.formats.iceberg.procedures.writer import IcebergWriter
from engine.statements.format_planning import FormatPlanners
from engine.tables.formats import DEFAULT_FORMAT

PLANNERS: Final[FormatPlanners] = {DEFAULT_FORMAT: DeltaPlanner(), ICEBERG: IcebergPlanner()}
WRITERS: Final[FormatWriters] = {DEFAULT_FORMAT: DeltaWriter(), ICEBERG: IcebergWriter()}
