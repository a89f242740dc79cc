"""CREATE TABLE … LIKE: a table without rows that is defined as another one is.

Columns, partitioning, clustering, properties, constraints and the comment are the other table's; what tells of its own
past (ids of columns, widened types, high-water marks) is not, and its protocol is the weakest that carries all of it.
"""

from __future__ import annotations

from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.definition.like_tables import define_like
from engine.delta.delta_format import delta_snapshot
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
    definition = define_like(
        str(target.name), delta_snapshot(source.snapshot, "CREATE TABLE LIKE").config, dict(statement.properties)
    )
    return CreateTablePlan(
        entry=new_entry(bound, target),
        is_path=target.is_path,
        definition=definition,
        description=describe_creation("CREATE TABLE", bound, target.managed, definition),
        tolerated=tolerated(if_not_exists=statement.if_not_exists),
    )
