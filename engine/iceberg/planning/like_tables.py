"""CREATE TABLE … LIKE … USING iceberg: an Iceberg table without rows that is defined as another table is."""

from __future__ import annotations

from engine.bind.bound import BoundStatement, BoundTable
from engine.errors.definition_errors import LocationNotEmpty
from engine.iceberg.definition.like_tables import define_like, define_like_other
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.plan.ddl.table_ddl import describe_creation, free_name, new_entry, tolerated
from engine.plans.ddl import CreateTablePlan
from engine.statements.tables import CreateTableLike


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    """Raises `TableAlreadyExists`, `LocationNotEmpty`, and as `define_like` and `define_like_other`."""
    (source,) = bound.relations
    assert isinstance(source, BoundTable)
    target = free_name(bound, if_not_exists=statement.if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    if target.found is not None:
        raise LocationNotEmpty(str(target.name), target.location)
    label, written, snapshot = str(target.name), dict(statement.properties), source.snapshot
    if isinstance(snapshot, IcebergSnapshot):
        definition = define_like(label, snapshot.definition, written)
    else:
        columns = snapshot.partition_columns
        definition = define_like_other(label, snapshot.schema, columns, snapshot.details, snapshot.checks, written)
    return CreateTablePlan(
        entry=new_entry(bound, target),
        is_path=target.is_path,
        definition=definition,
        description=describe_creation("CREATE TABLE", bound, target.managed, definition),
        tolerated=tolerated(if_not_exists=statement.if_not_exists),
    )
