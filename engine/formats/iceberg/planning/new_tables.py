"""Plans new Iceberg tables: CALL system.snapshot and CREATE TABLE … LIKE … USING iceberg.

The first uses the data files of a table in another format; the second has no rows and another table's definition.
"""

from __future__ import annotations

from catalog.conditions import IcebergProcedureRefused, LocationNotEmpty, StatementNotSupported
from catalog.rest.names import is_rest
from engine.binding.bound import BoundStatement, BoundView
from engine.errors.table_errors import name_table_in_errors
from engine.formats.iceberg.planning.plans import SnapshotPlan
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.like_tables import define_like, define_like_other
from engine.iceberg.snapshot.snapshot import FORMAT, IcebergSnapshot
from engine.planning.plans.ddl import CreateTablePlan
from engine.statements.create_table.planning import free_name, new_entry, plan_create_like
from engine.statements.create_table.statement import CreateTableLike
from engine.statements.procedures.statement import SnapshotTable
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.snapshot import TableSnapshot

NAME = "snapshot"


def plan_snapshot(bound: BoundStatement, statement: SnapshotTable) -> SnapshotPlan:
    """Plans CALL system.snapshot. An unnamed table at the location may be the result of the same statement on a server
    that was killed.

    Raises `TableAlreadyExists`, `LocationNotEmpty`, `IcebergProcedureRefused`.
    """
    target = free_name(bound, if_not_exists=False)
    assert target is not None
    (source,) = bound.named
    if isinstance(source, BoundView):
        raise IcebergProcedureRefused(str(target.name), NAME, f"{source.label} is a view")
    if source.entry.format == FORMAT:
        reason = f"{source.label} is an Iceberg table; a tag keeps one of its snapshots"
        raise IcebergProcedureRefused(str(target.name), NAME, reason)
    if is_rest(target.location):
        raise StatementNotSupported("CALL snapshot into a REST catalog")
    if target.found is not None and not isinstance(target.found, IcebergSnapshot):
        raise LocationNotEmpty(str(target.name), target.location)
    with name_table_in_errors(source.label):
        source.snapshot.ensure_supported(TableOperation.READ)
    return SnapshotPlan(
        entry=new_entry(bound, target),
        source=source,
        found=target.found,
        sources=(source.snapshot.table_root, *bound.view.sources_of(source.entry.location)),
        properties=statement.properties,
        description=CommitDescription(
            name=f"CALL {NAME}",
            operation=TableOperation.APPEND,
            user_name=bound.state.principal,
            exclusive=True,
        ),
    )


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    """Plans CREATE TABLE LIKE. Raises like `plan_create_like`, `define_like` and `define_like_other`."""
    return plan_create_like(bound, statement, _define)


def _define(label: str, snapshot: TableSnapshot, written: dict[str, str]) -> IcebergDefinition:
    if isinstance(snapshot, IcebergSnapshot):
        return define_like(label, snapshot.definition, written)
    columns = snapshot.partition_columns
    return define_like_other(label, snapshot.schema, columns, snapshot.details, snapshot.checks, written)
