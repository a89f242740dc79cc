"""Registers CALL for Iceberg's procedures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from catalog.names import DEFAULT_SCHEMA, ICEBERG, CatalogName, SchemaName, path_of
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import new_table, on_owner, on_target, places_of, reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, FreeName, TakenName
from engine.binding.time_travel import read_time
from engine.statements.create_table.binding import new_table as new_name
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
    SnapshotTable,
)
from engine.statements.spec import StatementSpec, change_spec, effect, planned_by_format

# The number of name parts without the catalog.
_IN_CATALOG_MAX = 2


def _bind_call(statement: Call, binder: Binder) -> BoundNames:
    current = binder.state.current
    target = binder.table(_in_catalog(statement.table_parts, statement.catalog, current))
    time_ms = None if statement.time is None else read_time(statement.time, binder.constants)
    if isinstance(statement.procedure, AddFiles) and statement.procedure.source_parts is not None:
        source = _in_catalog(statement.procedure.source_parts, statement.catalog, current)
        return BoundNames(target=target, relations=(binder.relation(source, None, current),), time_ms=time_ms)
    return BoundNames(target=target, time_ms=time_ms)


def _bind_register(statement: RegisterTable, binder: Binder) -> BoundNames:
    parts = _in_catalog(statement.table_parts, statement.catalog, binder.state.current)
    return BoundNames(target=new_name(binder, parts, statement.metadata_file, ICEBERG))


def _bind_snapshot(statement: SnapshotTable, binder: Binder) -> BoundNames:
    current = binder.state.current
    parts = _in_catalog(statement.table_parts, statement.catalog, current)
    source = _in_catalog(statement.source_parts, statement.catalog, current)
    target = new_name(binder, parts, statement.location, ICEBERG)
    return BoundNames(target=target, relations=(binder.relation(source, None, current),))


def _in_catalog(parts: tuple[str, ...], catalog: str | None, current: SchemaName) -> tuple[str, ...]:
    """Returns a table's name as passed to a catalog's procedure."""
    if catalog is None or path_of(parts) is not None or len(parts) > _IN_CATALOG_MAX:
        return parts
    if len(parts) == _IN_CATALOG_MAX:
        return (catalog, *parts)
    is_current = CatalogName(catalog) == current.catalog_name
    return (catalog, current.schema if is_current else DEFAULT_SCHEMA, *parts)


def _require_call(bound: BoundStatement, statement: Call) -> Iterable[Requirement]:
    """Requires the privileges for the equivalent statement: RESTORE, OPTIMIZE, VACUUM, INSERT OVERWRITE."""
    match statement.procedure:
        case AncestorsOf():
            yield from on_target(bound, Privilege.SELECT)
        case RollbackToSnapshot() | RollbackToTimestamp() | SetCurrentSnapshot():
            yield from on_target(bound, Privilege.MANAGE)
        case CherrypickSnapshot() | PublishChanges() | FastForward():
            yield from (*on_target(bound, Privilege.MODIFY), *on_target(bound, Privilege.SELECT))
        case AddFiles(folder=folder):
            yield from (*on_target(bound, Privilege.MODIFY), *reads(bound.relations))
            yield from (on_owner(each, Privilege.SELECT, None) for each in (places_of(bound, folder) if folder else ()))
        case ExpireSnapshots() | RemoveOrphanFiles() | RewriteManifests():
            yield from on_target(bound, Privilege.MODIFY)
        case RewriteDataFiles(where=where) | RewritePositionDeleteFiles(where=where):
            yield from on_target(bound, Privilege.MODIFY)
            if where is not None:
                yield from on_target(bound, Privilege.SELECT)
        case _:
            assert_never(statement.procedure)


def _require_new(bound: BoundStatement, _: RegisterTable | SnapshotTable) -> Iterable[Requirement]:
    assert isinstance(bound.target, FreeName | TakenName)
    yield from reads(bound.relations)
    named = bound.target.name if isinstance(bound.target, FreeName) else bound.target.entry.name
    yield from new_table(bound, named.parts)


def _effects_of_call(_: BoundStatement, statement: Call) -> Iterable[Effect]:
    """Returns the effects: some procedures reveal files or history, or remove or restore rows; others rearrange
    files.
    """
    name = f"CALL {statement.name}"
    match statement.procedure:
        case ExpireSnapshots() | RewriteManifests():
            yield Effect(PolicyEffect.REARRANGES_FILES, name)
        case RemoveOrphanFiles(dry_run=False):
            yield Effect(PolicyEffect.REARRANGES_FILES, name)
        case RewriteDataFiles(where=None) | RewritePositionDeleteFiles(where=None):
            yield Effect(PolicyEffect.REARRANGES_FILES, name)
        case RemoveOrphanFiles() | RewriteDataFiles() | RewritePositionDeleteFiles() | AncestorsOf():
            yield Effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, name)
        case RollbackToSnapshot() | RollbackToTimestamp() | SetCurrentSnapshot():
            yield Effect(PolicyEffect.REMOVES_OR_REPLACES_ROWS, name)
        case CherrypickSnapshot() | PublishChanges() | FastForward():
            yield Effect(PolicyEffect.REMOVES_OR_REPLACES_ROWS, name)
        case AddFiles():
            yield Effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, name)
            yield Effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, name)
        case _:
            assert_never(statement.procedure)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        Call,
        "CALL",
        syntax="CALL [catalog.]system.procedure (arguments)",
        example="CALL system.expire_snapshots(table => 'daily.orders')",
        bind=_bind_call,
        required_privileges=_require_call,
        policy_effects=_effects_of_call,
        plan=planned_by_format,
        reports_work=True,
        answers_rows=True,
        lineage_type=lambda statement: f"CALL {statement.name}",
    ),
    change_spec(
        SnapshotTable,
        "CALL snapshot",
        syntax="CALL [catalog.]system.snapshot (source_table => '…', table => '…' [, location => '…'])",
        example="CALL system.snapshot(source_table => 'daily.orders', table => 'daily.orders_copy')",
        bind=_bind_snapshot,
        required_privileges=_require_new,
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "CALL snapshot"),
        plan=planned_by_format,
        answers_rows=True,
        reports_work=False,
        lineage_type=lambda _: "CALL snapshot",
    ),
    change_spec(
        RegisterTable,
        "CALL register_table",
        syntax="CALL [catalog.]system.register_table (table => '…', metadata_file => '…')",
        example="CALL system.register_table(table => 'daily.orders', metadata_file => '/data/orders/metadata/v1.json')",
        bind=_bind_register,
        required_privileges=_require_new,
        policy_effects=effect(PolicyEffect.NONE, "CALL register_table"),
        plan=planned_by_format,
        answers_rows=True,
        reports_work=False,
    ),
)
