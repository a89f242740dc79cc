"""Finds the positions of rows removed by equality deletes
(`engine.statements.row_changes.planning_equality_deletes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.binding.bound import BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.deleted_rows import RowSet
from engine.execution.writes.matched_rows import answered_places
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.target_reads import bitmaps, rows_deleted_by_value
from engine.spark.execution_context import ExecutionContext
from engine.storage.deletion_vectors import Rows
from engine.tables.scan import PLACE_FILE, PLACE_ROW, ComposedScan
from engine.tables.snapshot import TableSnapshot


def resolve_equality_deletes(table: BoundTable, context: ExecutionContext) -> TableSnapshot:
    """Returns the snapshot with positions for all deleted rows. Raises Spark's errors for the files."""
    unresolved = rows_deleted_by_value(table)
    if unresolved is None:
        return table.snapshot
    with name_table_in_errors(table.label):
        return unresolved.with_deletes(_positions(table, unresolved.places, context))


def _positions(table: BoundTable, places: ComposedScan, context: ExecutionContext) -> Mapping[int, Rows]:
    text = bitmaps(f"SELECT {PLACE_FILE} AS f, 0 AS k, {PLACE_ROW} + 1 AS i FROM ({places.text}\n)")
    scans = (replace(part.scan, name=table.visible_label, is_hidden=table.is_protected) for part in places.parts)
    found: dict[int, RowSet] = {}
    read = ReadPlan(text=text, scans=tuple(scans))
    for file, _, number, bitmap, _ in answered_places(read, replace(context, parameters=()), "deleted"):
        found.setdefault(file, RowSet()).add(number, bitmap)
    return {file: rows.indices() for file, rows in found.items()}
