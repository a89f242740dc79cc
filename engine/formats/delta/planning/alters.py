"""ALTER TABLE changes that only Delta has: DROP FEATURE, removing column mapping, enabling row tracking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.metadata_changes import MetadataChange
from engine.delta.definition.property_changes import RemoveMapping
from engine.delta.definition.table_draft import Definition
from engine.delta.maintenance.stale_files import STALE_FILES
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.spec.features import find_feature
from engine.delta.spec.properties import COLUMN_MAPPING_MODE, canonical_key
from engine.errors.table_errors import name_table_in_errors
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.drop_features import do_without, drop_feature, goes_with_files, stale_files
from engine.formats.delta.planning.plans import DeltaPlan, RewritePlan, TruncateHistoryPlan
from engine.formats.delta.planning.row_tracking import begins_row_tracking, next_step
from engine.planning.plans.ddl import AlterPlan
from engine.statements.alter_table.planning import changes_of, describe_change, plan_changes
from engine.statements.alter_table.planning_history import compact, operation_of
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    AlterTable,
    ChangeReference,
    DropColumns,
    DropFeature,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    SyncIdentity,
    UnsetProperties,
)
from engine.statements.create_table.statement import AddKey, DropKey
from engine.tables.definition_changes import (
    AddConstraint,
    DropConstraint,
    RenameColumn,
    SetProperty,
    WrittenChange,
)
from engine.tables.operations import TableOperation


def plan_own_alter(bound: BoundStatement, statement: AlterTable) -> DeltaPlan | AlterPlan | None:
    """Plans a Delta-only change; returns None for changes that every format has. Raises for unsupported changes."""
    table = bound.target
    assert isinstance(table, BoundTable)
    first = statement.changes[0]
    if isinstance(first, WrittenChange):
        return None
    match first:
        case DropFeature() as drop:
            return _dropped_feature(bound, table, drop)
        case SetProperties() | UnsetProperties() as change if ends_mapping(table, change):
            return _plan_mapping_removal(bound, table, change)
        case SetProperties() as change if begins_row_tracking(table, change):
            return next_step(bound, table, plan_changes(bound, table, statement.changes))
        case SetProperties() | UnsetProperties() | AddConstraint() | DropConstraint() | AddKey() | DropKey():
            return None
        case AddColumns() | ReplaceColumns() | RenameColumn() | DropColumns() | AlterColumn() | SyncIdentity():
            return None
        case RenameTable() | SetLocation() | ChangeReference():
            return None
        case _:
            assert_never(first)


def _dropped_feature(
    bound: BoundStatement, table: BoundTable, drop: DropFeature
) -> AlterPlan | RewritePlan | TruncateHistoryPlan:
    """Plans DROP FEATURE.

    It is the only change in its version, because the version must be committed on top of the one that was checked.

    If files need the feature, they are rewritten first, in a version of their own. That version only rearranges rows,
    so it conflicts with few commits. Then the statement is planned again, which also covers files that other writers
    added with the feature in between. After every step the table is valid and has the same rows. If files are readable
    either with or without the feature, but not both (column mapping), files and protocol change in one version. That
    version replaces all files, so a concurrent commit is a conflict for the user: a retry would rewrite all files and
    invite the next conflict.
    """
    parameters = {"featureName": drop.feature, "truncateHistory": compact(drop.truncate_history)}
    description = replace(describe_change(bound, ("DROP FEATURE", parameters)), exclusive=True)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.METADATA)
    definition = _change_definition(table, drop_feature(delta_snapshot(table.snapshot), drop))
    finder = stale_files(drop)
    stale = None if finder is None else finder(delta_snapshot(table.snapshot))
    if stale is None or stale.num_rows == 0:
        if drop.truncate_history:
            return _truncated_history(
                bound, table, drop, AlterPlan(table=table, definition=definition, description=description)
            )
        return AlterPlan(table=table, definition=definition, description=description)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.OVERWRITE)
    if goes_with_files(drop):
        if drop.truncate_history:
            definition = _change_definition(table, [RemoveMapping()])
            description = replace(describe_change(bound, ("REMOVE COLUMN MAPPING", {})), exclusive=True)
        is_last = not drop.truncate_history
        return RewritePlan(table=table, files=stale, definition=definition, description=description, is_last=is_last)
    purge = describe_change(bound, ("REORG", {"predicate": "[]", "applyPurge": "true"}))
    return RewritePlan(
        table=table,
        files=stale,
        definition=table.snapshot.definition,
        description=replace(purge, operation=TableOperation.OVERWRITE, changes_data=False),
        is_last=False,
    )


def _truncated_history(
    bound: BoundStatement, table: BoundTable, drop: DropFeature, last: AlterPlan
) -> AlterPlan | TruncateHistoryPlan:
    """Plans TRUNCATE HISTORY: first a version that does not need the feature, as a step; then older versions are
    removed together with the feature.
    """
    feature = find_feature(drop.feature)
    assert feature is not None, "it was looked up when the definition without it was made"
    first = do_without(delta_snapshot(table.snapshot), feature.canonical_name)
    if first:
        written = {change.key: change.value for change in first if isinstance(change, SetProperty)}
        operation = "SET TBLPROPERTIES", {"properties": compact(written)}
        return AlterPlan(
            table=table,
            definition=_change_definition(table, first),
            description=describe_change(bound, operation),
            is_last=False,
        )
    return TruncateHistoryPlan(
        table=table,
        feature=feature.canonical_name,
        definition=last.definition,
        description=last.description,
    )


def ends_mapping(table: BoundTable, change: SetProperties | UnsetProperties) -> bool:
    """Returns True if columns are to be stored under their logical names again."""
    if delta_snapshot(table.snapshot).config.column_mapping_mode == NO_MAPPING:
        return False
    match change:
        case SetProperties(properties=properties):
            written = {canonical_key(key): value.strip().lower() for key, value in properties}
            return written.get(COLUMN_MAPPING_MODE.key) == NO_MAPPING
        case UnsetProperties(keys=keys):
            return COLUMN_MAPPING_MODE.key in map(canonical_key, keys)
        case _:
            assert_never(change)


def _plan_mapping_removal(
    bound: BoundStatement, table: BoundTable, change: SetProperties | UnsetProperties
) -> AlterPlan | RewritePlan:
    """Plans removing column mapping: files and metadata in one version, like DROP FEATURE; the protocol is
    unchanged.
    """
    only = len(change.properties if isinstance(change, SetProperties) else change.keys) == 1
    definition = _change_definition(table, [RemoveMapping(), *changes_of(bound, table, change)])
    named = operation_of((change,), table.snapshot, definition)
    description = replace(
        describe_change(bound, ("REMOVE COLUMN MAPPING", {}) if only else named),
        exclusive=True,
    )
    files = STALE_FILES["columnMapping"]()(delta_snapshot(table.snapshot))
    if files.num_rows == 0:
        return AlterPlan(table=table, definition=definition, description=description)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.OVERWRITE)
    return RewritePlan(table=table, files=files, definition=definition, description=description, is_last=True)


def _change_definition(table: BoundTable, changes: Iterable[MetadataChange]) -> Definition:
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.METADATA)
        return delta_snapshot(table.snapshot, "ALTER TABLE").change_definition(table.label, changes)
