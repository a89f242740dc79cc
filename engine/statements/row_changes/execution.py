"""Snapshots whose files have all deleted rows marked, for statements that change rows one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from engine.binding.bound import BoundStatement, BoundTable
from engine.execution.writes.dml.unmarked_rows import marked_snapshot
from engine.runtime.statement import Statement
from engine.spark.run import Run
from engine.statements.explain.statement import ExplainWrite, RowStatement
from engine.statements.insert.statement import Insert
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.statement import Delete, Update


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
