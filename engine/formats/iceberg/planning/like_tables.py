"""CREATE TABLE … LIKE … USING iceberg: an Iceberg table without rows that is defined as another table is."""

from __future__ import annotations

from engine.binding.bound import BoundStatement
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.like_tables import define_like, define_like_other
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.planning.plans.ddl import CreateTablePlan
from engine.statements.create_table.planning import plan_create_like
from engine.statements.create_table.statement import CreateTableLike
from engine.tables.snapshot import TableSnapshot


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    """Raises as `plan_create_like`, `define_like` and `define_like_other`."""
    return plan_create_like(bound, statement, _defined)


def _defined(label: str, snapshot: TableSnapshot, written: dict[str, str]) -> IcebergDefinition:
    if isinstance(snapshot, IcebergSnapshot):
        return define_like(label, snapshot.definition, written)
    columns = snapshot.partition_columns
    return define_like_other(label, snapshot.schema, columns, snapshot.details, snapshot.checks, written)
