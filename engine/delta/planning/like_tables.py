"""CREATE TABLE … LIKE: a table without rows that is defined as another one is.

Columns, partitioning, clustering, properties, constraints and the comment are the other table's; what tells of its own
past (ids of columns, widened types, high-water marks) is not, and its protocol is the weakest that carries all of it.
Of a table of another format, whose properties mean nothing here, columns, partitioning and the comment are taken over.
"""

from __future__ import annotations

from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.definition.like_tables import define_like, define_like_other
from engine.delta.snapshot.snapshot import Snapshot
from engine.errors.definition_errors import LocationNotEmpty
from engine.plan.ddl.table_ddl import describe_creation, free_name, new_entry, tolerated
from engine.plans.ddl import CreateTablePlan
from engine.statements.tables import CreateTableLike


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    (source,) = bound.relations
    assert isinstance(source, BoundTable)
    target = free_name(bound, if_not_exists=statement.if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    if target.found is not None:
        raise LocationNotEmpty(str(target.name), target.location)
    label, written, snapshot = str(target.name), dict(statement.properties), source.snapshot
    if isinstance(snapshot, Snapshot):
        definition = define_like(label, snapshot.config, written)
    else:
        definition = define_like_other(label, snapshot.schema, snapshot.details, written)
    return CreateTablePlan(
        entry=new_entry(bound, target),
        is_path=target.is_path,
        definition=definition,
        description=describe_creation("CREATE TABLE", bound, target.managed, definition),
        tolerated=tolerated(if_not_exists=statement.if_not_exists),
    )
