"""Rows that are deleted by their values, found before a statement changes other rows of the table.

Statements know rows by their places. Where a format deletes rows by values (Iceberg's equality deletes), no file can be
read by itself: a query looks for the rows that are deleted so, and the statement is planned on a snapshot whose files
have them marked (`engine.tables.snapshot.UnmarkedRows`). These marks are for reading; those that the statement writes
hold them too. What is written again is written without the rows, and newer than the deletes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from engine.binding.bound import BoundStatement, BoundTable
from engine.errors.table_errors import naming
from engine.execution.writes.found_rows import answered_places
from engine.execution.writes.marked_rows import RowSet
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.target_reads import bitmaps
from engine.runtime.statement import Statement
from engine.spark.run import Run
from engine.sql.query.composed import Names
from engine.statements.explain.statement import ExplainWrite, RowStatement
from engine.statements.insert.statement import Insert
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.statement import Delete, Update
from engine.storage.deletion_vectors import Rows
from engine.tables.scan import PLACE_FILE, PLACE_ROW, ComposedScan
from engine.tables.snapshot import TableSnapshot


def with_marks(bound: BoundStatement, run: Run) -> BoundStatement:
    """The statement on snapshots whose files tell all deleted rows, where it changes rows of its target one by one. For
    EXPLAIN nothing is looked for. Raises what Spark says of the files.
    """
    table, statement = bound.target, bound.statement
    explains = isinstance(statement, ExplainWrite)
    if not isinstance(table, BoundTable) or not _changes_rows(statement):
        return bound
    snapshot = marked_snapshot(table, None if explains else run)
    if snapshot is table.snapshot:
        return bound
    relations = tuple(
        replace(each, snapshot=snapshot) if isinstance(each, BoundTable) and each.snapshot is table.snapshot else each
        for each in bound.relations
    )
    return replace(bound, target=replace(table, snapshot=snapshot), relations=relations)


def marked_snapshot(table: BoundTable, run: Run | None) -> TableSnapshot:
    """The snapshot whose files tell all deleted rows; without a `run` none of those that they do not tell."""
    relation = Names(table.snapshot.schema.names).new("deleted")
    with naming(table.label):
        unmarked = table.snapshot.unmarked_rows(relation, table.label)
        if unmarked is None:
            return table.snapshot
        return unmarked.marked({} if run is None else _find(table, unmarked.places, run))


def _changes_rows(statement: Statement) -> bool:
    written = statement.inner if isinstance(statement, ExplainWrite) else statement
    if not isinstance(written, RowStatement):
        return False
    match written:
        case Delete() | Update() | Merge():
            return True
        case Insert(overwrite=overwrite, partition=partition, replace=replaced):
            return replaced is not None or (overwrite and bool(partition))
        case _:
            assert_never(written)


def _find(table: BoundTable, places: ComposedScan, run: Run) -> Mapping[int, Rows]:
    text = bitmaps(f"SELECT {PLACE_FILE} AS f, 0 AS k, {PLACE_ROW} + 1 AS i FROM ({places.text}\n)")
    scans = (replace(part.scan, name=table.own_label, is_hidden=table.is_policed) for part in places.parts)
    found: dict[int, RowSet] = {}
    read = ReadPlan(text=text, scans=tuple(scans))
    for file, _, number, bitmap, _ in answered_places(read, replace(run, parameters=()), "deleted"):
        found.setdefault(file, RowSet()).add(number, bitmap)
    return {file: rows.indices() for file, rows in found.items()}
