"""Finds rows deleted by equality deletes before a statement changes other rows in the table.

Row-level changes identify rows by file and position. If a format deletes rows by value (Iceberg's equality deletes),
the metadata does not contain the positions of the deleted rows. The plan for such a statement is an
:class:`EqualityDeletesPlan`, whose query finds them; then the statement is planned again, on a snapshot whose files
have these rows in their deletion vectors (`engine.tables.snapshot.UnresolvedDeletes`). Those vectors are for reading.
The vectors that the statement writes include them, and rewritten files do not contain the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from engine.binding.bound import BoundStatement, BoundTable
from engine.planning.plans.reads import EqualityDeletesPlan
from engine.planning.reads.target_reads import rows_deleted_by_value
from engine.runtime.statement import Statement
from engine.statements.explain.statement import ExplainWrite, RowStatement
from engine.statements.insert.statement import Insert
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.statement import Delete, Update
from engine.tables.snapshot import TableSnapshot


def with_resolved_deletes(
    bound: BoundStatement, resolved: TableSnapshot | None
) -> BoundStatement | EqualityDeletesPlan:
    """Returns the statement on a snapshot that has all deleted rows by position, or the plan that finds these rows.

    `resolved` is the outcome of that plan on the same snapshot. EXPLAIN finds no rows.
    """
    table, statement = bound.target, bound.statement
    if not isinstance(table, BoundTable) or not _changes_rows(statement):
        return bound
    unresolved = rows_deleted_by_value(table)
    if unresolved is None:
        return bound
    if isinstance(statement, ExplainWrite):
        return _on_snapshot(bound, table, unresolved.with_deletes({}))
    return EqualityDeletesPlan(table) if resolved is None else _on_snapshot(bound, table, resolved)


def _on_snapshot(bound: BoundStatement, table: BoundTable, snapshot: TableSnapshot) -> BoundStatement:
    relations = tuple(
        replace(relation, snapshot=snapshot)
        if isinstance(relation, BoundTable) and relation.snapshot is table.snapshot
        else relation
        for relation in bound.relations
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
