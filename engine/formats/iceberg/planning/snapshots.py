"""The plan of CALL system.snapshot: a table of its own over the data files of a table of another format."""

from __future__ import annotations

from catalog.conditions import IcebergProcedureRefused, LocationNotEmpty, StatementNotSupported
from catalog.rest.names import is_rest
from engine.binding.bound import BoundStatement, BoundView
from engine.errors.table_errors import naming
from engine.formats.iceberg.planning.plans import SnapshotPlan
from engine.iceberg.snapshot.snapshot import FORMAT, IcebergSnapshot
from engine.statements.create_table.planning import free_name, new_entry
from engine.statements.procedures.statement import SnapshotTable
from engine.tables.operations import CommitDescription, TableOperation

NAME = "snapshot"


def plan_snapshot(bound: BoundStatement, statement: SnapshotTable) -> SnapshotPlan:
    """A table that lies at the place without a name may be what the statement came to where its server was killed.

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
    with naming(source.label):
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
