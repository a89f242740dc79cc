"""Rows that are deleted by their values, found before a statement changes other rows of the table.

Statements know rows by their places. Where a format deletes rows by values (Iceberg's equality deletes), no file can be
read by itself: a query looks for the rows that are deleted so, and the statement is planned on a snapshot whose files
have them marked (`engine.tables.snapshot.UnmarkedRows`). These marks are for reading; those that the statement writes
hold them too. What is written again is written without the rows, and newer than the deletes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.binding.bound import BoundTable
from engine.errors.table_errors import naming
from engine.execution.writes.found_rows import answered_places
from engine.execution.writes.marked_rows import RowSet
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.target_reads import bitmaps
from engine.spark.run import Run
from engine.sql.query.composed import Names
from engine.storage.deletion_vectors import Rows
from engine.tables.scan import PLACE_FILE, PLACE_ROW, ComposedScan
from engine.tables.snapshot import TableSnapshot


def marked_snapshot(table: BoundTable, run: Run | None) -> TableSnapshot:
    """The snapshot whose files tell all deleted rows; without a `run` none of those that they do not tell."""
    relation = Names(table.snapshot.schema.names).new("deleted")
    with naming(table.label):
        unmarked = table.snapshot.unmarked_rows(relation, table.label)
        if unmarked is None:
            return table.snapshot
        return unmarked.marked({} if run is None else _find(table, unmarked.places, run))


def _find(table: BoundTable, places: ComposedScan, run: Run) -> Mapping[int, Rows]:
    text = bitmaps(f"SELECT {PLACE_FILE} AS f, 0 AS k, {PLACE_ROW} + 1 AS i FROM ({places.text}\n)")
    scans = (replace(part.scan, name=table.own_label, is_hidden=table.is_policed) for part in places.parts)
    found: dict[int, RowSet] = {}
    read = ReadPlan(text=text, scans=tuple(scans))
    for file, _, number, bitmap, _ in answered_places(read, replace(run, parameters=()), "deleted"):
        found.setdefault(file, RowSet()).add(number, bitmap)
    return {file: rows.indices() for file, rows in found.items()}
