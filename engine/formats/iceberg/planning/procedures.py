"""Plans CALL: validates the arguments, and checks that the table supports the procedure."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from catalog.conditions import (
    IcebergProcedureRefused,
    IcebergTableIsStatic,
    IcebergTableNotFound,
    StatementNotSupported,
    WrongArgument,
)
from catalog.rest.names import is_rest
from catalog.roots import canonical_location
from engine.binding.bound import BoundStatement, BoundTable, BoundView
from engine.errors.table_errors import name_table_in_errors
from engine.formats.iceberg.planning.plans import CallPlan, RegisterPlan
from engine.iceberg.definition.properties import GC_ENABLED
from engine.iceberg.maintenance.orphan_files import PrefixMismatch
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.statements.create_table.planning import free_name, new_entry
from engine.statements.procedures.statement import (
    AddFiles,
    AncestorsOf,
    Call,
    CherrypickSnapshot,
    ExpireSnapshots,
    FastForward,
    PublishChanges,
    RegisterTable,
    RemoveOrphanFiles,
    RewriteDataFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SetCurrentSnapshot,
)
from engine.tables.operations import TableOperation


def plan_call(bound: BoundStatement, statement: Call) -> CallPlan:
    """Plans a call. Raises `WrongArgument`, `IcebergTableIsStatic`, `IcebergProcedureRefused`, `RestPlaceShared`."""
    table = bound.target
    assert isinstance(table, BoundTable)
    snapshot = table.snapshot
    assert isinstance(snapshot, IcebergSnapshot)
    _ensure_possible(statement)
    if not isinstance(statement.procedure, AncestorsOf):
        ensure_not_static(table, snapshot)
    removes = isinstance(statement.procedure, ExpireSnapshots | RemoveOrphanFiles)
    if removes and not _removes_files(snapshot):
        reason = f"its property {GC_ENABLED} is false, so that others may name its files"
        raise IcebergProcedureRefused(table.label, statement.name, reason)
    procedure = statement.procedure
    if isinstance(procedure, RemoveOrphanFiles):
        bound.view.folders.ensure_no_overlap_with_rest(
            table.entry, canonical_location(snapshot.table_root), loads_tables=True
        )
    source = None
    if isinstance(procedure, AddFiles) and procedure.folder is not None:
        procedure = replace(procedure, folder=bound.view.ensure_files(procedure.folder))
    elif isinstance(procedure, AddFiles):
        source = _source(bound, table, statement.name)
    return CallPlan(
        table=table, snapshot=snapshot, name=statement.name, procedure=procedure, time_ms=bound.time_ms, source=source
    )


def _source(bound: BoundStatement, table: BoundTable, name: str) -> BoundTable:
    """Returns the table whose files are used."""
    (source,) = bound.named
    if isinstance(source, BoundView):
        raise IcebergProcedureRefused(table.label, name, f"{source.label} is a view")
    if is_rest(source.entry.location) or is_rest(table.entry.location):
        reason = "nobody would know that files of the one table are needed by another where a REST catalog has one"
        raise IcebergProcedureRefused(table.label, name, reason)
    if source.snapshot.table_root == table.snapshot.table_root:
        raise IcebergProcedureRefused(table.label, name, f"{source.label} has the same folder")
    with name_table_in_errors(source.label):
        source.snapshot.ensure_supported(TableOperation.READ)
    if isinstance(source.snapshot, IcebergSnapshot) and _removes_files(source.snapshot):
        reason = (
            f"expire_snapshots would remove the files of {source.label} when it needs them no more: set its property"
            f" {GC_ENABLED} to false first"
        )
        raise IcebergProcedureRefused(table.label, name, reason)
    return source


def _removes_files(snapshot: IcebergSnapshot) -> bool:
    return snapshot.metadata.properties.get(GC_ENABLED, "true").lower() != "false"


def ensure_not_static(table: BoundTable, snapshot: IcebergSnapshot) -> None:
    """Raises `IcebergTableIsStatic` for a table that is a single metadata file."""
    if snapshot.is_static:
        raise IcebergTableIsStatic(table.label, snapshot.metadata_name)


def plan_register(bound: BoundStatement, statement: RegisterTable) -> RegisterPlan:
    """Plans register_table. Raises `TableAlreadyExists`, `IcebergTableNotFound`."""
    target = free_name(bound, if_not_exists=False)
    assert target is not None
    if is_rest(target.location):
        raise StatementNotSupported("CALL register_table for a table of a REST catalog")
    if not isinstance(target.found, IcebergSnapshot):
        raise IcebergTableNotFound(statement.metadata_file)
    return RegisterPlan(entry=new_entry(bound, target), snapshot=target.found)


def _ensure_possible(statement: Call) -> None:
    match statement.procedure:
        case SetCurrentSnapshot(snapshot_id=snapshot_id, ref=ref) if (snapshot_id is None) == (ref is None):
            raise WrongArgument(statement.name, "snapshot_id", "it takes either snapshot_id or ref")
        case ExpireSnapshots(retain_last=keep) if keep is not None and keep < 1:
            raise WrongArgument(statement.name, "retain_last", "at least one snapshot stays")
        case RemoveOrphanFiles(prefix_mismatch_mode=mode) if mode.upper() not in set(PrefixMismatch):
            known = ", ".join(PrefixMismatch)
            raise WrongArgument(statement.name, "prefix_mismatch_mode", f"it takes one of {known}")
        case SetCurrentSnapshot() | ExpireSnapshots() | RemoveOrphanFiles():
            pass
        case AncestorsOf() | RollbackToSnapshot() | RollbackToTimestamp() | CherrypickSnapshot() | PublishChanges():
            pass
        case FastForward() | RewriteManifests() | RewriteDataFiles() | RewritePositionDeleteFiles() | AddFiles():
            pass
        case _:
            assert_never(statement.procedure)
