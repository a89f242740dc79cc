"""CREATE TABLE … LIKE: a table without rows that is defined as another one is.

Columns, partitioning, clustering, properties, constraints and the comment are the other table's; what tells of its own
past (ids of columns, widened types, high-water marks) is not, and its protocol is the weakest that carries all of it.
Of a table of another format, whose properties mean nothing here, columns, partitioning and the comment are taken over.
"""

from __future__ import annotations

from engine.binding.bound import BoundStatement
from engine.delta.definition.like_tables import define_like, define_like_other
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.planning.plans.ddl import CreateTablePlan
from engine.statements.create_table.planning import plan_create_like
from engine.statements.create_table.statement import CreateTableLike
from engine.tables.snapshot import TableSnapshot


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    """Raises as `plan_create_like`, `define_like` and `define_like_other`."""
    return plan_create_like(bound, statement, _defined)


def _defined(label: str, snapshot: TableSnapshot, written: dict[str, str]) -> Definition:
    if isinstance(snapshot, Snapshot):
        return define_like(label, snapshot.config, written)
    return define_like_other(label, snapshot.schema, snapshot.details, written)
