"""Procedures that move branches, computed from one metadata version alone.

Snapshots are unchanged; only references change. Each change requires the state that it was decided on, so that it is
decided again if another writer's commit comes first.

Source: Iceberg Spark runtime, "Procedures" (snapshot management); table specification, "Snapshot References".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from catalog.conditions import IcebergProcedureRefused, IcebergReferenceNotFound, IcebergSnapshotNotFound
from engine.iceberg.commit.updates import AssertRefSnapshotId, AssertTableUuid, Requirement, SetSnapshotRef, Update
from engine.iceberg.snapshot.metadata_tables import ancestry
from engine.iceberg.spec.metadata import MAIN, Reference, SnapshotInfo, TableMetadata
from engine.statements.procedures.statement import (
    FastForward,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SetCurrentSnapshot,
)

ReferenceProcedure: TypeAlias = RollbackToSnapshot | RollbackToTimestamp | SetCurrentSnapshot | FastForward
_SOURCE_ID = "source-snapshot-id"
_WAP_ID, _PUBLISHED_WAP_ID = "wap.id", "published-wap-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceChange:
    """A move of `branch` from one snapshot (None: the branch did not exist, or had no snapshot) to another."""

    branch: str
    before: int | None
    after: int
    requirements: tuple[Requirement, ...]
    # Empty if the branch is already there.
    updates: tuple[Update, ...]


def move(procedure: ReferenceProcedure, metadata: TableMetadata, time_ms: int | None, table: str) -> ReferenceChange:
    """Computes the move. Raises `IcebergSnapshotNotFound`, `IcebergReferenceNotFound`, `IcebergProcedureRefused`."""
    match procedure:
        case RollbackToSnapshot(snapshot_id=snapshot_id):
            return branch_move(metadata, MAIN, _ancestor(metadata, snapshot_id, table))
        case RollbackToTimestamp():
            assert time_ms is not None
            return branch_move(metadata, MAIN, _ancestor_before(metadata, time_ms, table))
        case SetCurrentSnapshot(snapshot_id=snapshot_id, ref=name):
            return branch_move(metadata, MAIN, _snapshot_of_reference(metadata, snapshot_id, name, table))
        case FastForward(branch=branch, to=to):
            return _fast_forward(metadata, branch, to, table)
        case _:
            assert_never(procedure)


def branch_move(metadata: TableMetadata, branch: str, snapshot_id: int) -> ReferenceChange:
    """Moves the branch to another snapshot, with its limits unchanged."""
    known = metadata.refs.get(branch) or Reference(name=branch, snapshot_id=snapshot_id, is_branch=True)
    before = metadata.refs[branch].snapshot_id if branch in metadata.refs else None
    updates = () if before == snapshot_id else (SetSnapshotRef(replace(known, snapshot_id=snapshot_id)),)
    return ReferenceChange(
        branch=branch,
        before=before,
        after=snapshot_id,
        # The decision is only valid for this state of the branch; otherwise a commit in
        # between would be rolled back unseen.
        requirements=(*same_table_requirements(metadata), AssertRefSnapshotId(branch, before)),
        updates=updates,
    )


def same_table_requirements(metadata: TableMetadata) -> tuple[Requirement, ...]:
    """Returns the requirement that the table is still the same; none for a v1 table without a UUID."""
    return () if metadata.table_uuid is None else (AssertTableUuid(metadata.table_uuid),)


def snapshot_of(metadata: TableMetadata, snapshot_id: int, table: str) -> SnapshotInfo:
    """Returns a snapshot. Raises `IcebergSnapshotNotFound`."""
    found = metadata.snapshots.get(snapshot_id)
    if found is None:
        raise IcebergSnapshotNotFound(table, str(snapshot_id))
    return found


def current_of(metadata: TableMetadata) -> SnapshotInfo | None:
    """Returns the current snapshot's metadata; None for a table without snapshots."""
    return None if metadata.current_snapshot_id is None else metadata.snapshots[metadata.current_snapshot_id]


def ancestors_of(metadata: TableMetadata, snapshot_id: int | None, table: str) -> tuple[SnapshotInfo, ...]:
    """Returns a snapshot (None: the current one) and its ancestors, newest first."""
    start = current_of(metadata) if snapshot_id is None else snapshot_of(metadata, snapshot_id, table)
    return tuple(ancestry(metadata, start))


def is_ancestor(metadata: TableMetadata, snapshot_id: int, of: int) -> bool:
    """Returns True if `snapshot_id` is the snapshot `of`, or one of its ancestors."""
    return any(each.snapshot_id == snapshot_id for each in ancestry(metadata, metadata.snapshots.get(of)))


def _ancestor(metadata: TableMetadata, snapshot_id: int, table: str) -> int:
    snapshot_of(metadata, snapshot_id, table)
    current = metadata.current_snapshot_id
    if current is None or not is_ancestor(metadata, snapshot_id, current):
        reason = (
            f"the snapshot {snapshot_id} did not lead to the current one. To have it all the same use"
            " set_current_snapshot"
        )
        raise IcebergProcedureRefused(table, "rollback_to_snapshot", reason)
    return snapshot_id


def _ancestor_before(metadata: TableMetadata, time_ms: int, table: str) -> int:
    """Returns the current snapshot's newest ancestor older than the time."""
    # Ancestors only: the snapshot log also has snapshots that an earlier rollback has
    # abandoned.
    found = [each for each in ancestry(metadata, current_of(metadata)) if each.timestamp_ms < time_ms]
    if not found:
        reason = f"no snapshot that led to the current one is older than {time_ms} ms since the epoch"
        raise IcebergProcedureRefused(table, "rollback_to_timestamp", reason)
    return max(found, key=lambda each: each.timestamp_ms).snapshot_id


def _snapshot_of_reference(metadata: TableMetadata, snapshot_id: int | None, name: str | None, table: str) -> int:
    if snapshot_id is not None:
        return snapshot_of(metadata, snapshot_id, table).snapshot_id
    assert name is not None
    return _reference(metadata, name, table).snapshot_id


def _reference(metadata: TableMetadata, name: str, table: str) -> Reference:
    found = metadata.refs.get(name)
    if found is None:
        raise IcebergReferenceNotFound(table, name)
    return found


def _fast_forward(metadata: TableMetadata, branch: str, to: str, table: str) -> ReferenceChange:
    target = _reference(metadata, to, table).snapshot_id
    known = metadata.refs.get(branch)
    if known is not None and not known.is_branch:
        raise IcebergProcedureRefused(table, "fast_forward", f"{branch} is a tag, which stays where it is")
    if known is not None and not is_ancestor(metadata, known.snapshot_id, target):
        raise IcebergProcedureRefused(table, "fast_forward", f"{branch} has snapshots that did not lead to {to}")
    return branch_move(metadata, branch, target)


def staged_as(metadata: TableMetadata, wap_id: str, table: str) -> int:
    """Returns the snapshot that was staged with `wap.id`."""
    found = [each.snapshot_id for each in metadata.snapshots.values() if each.summary.get(_WAP_ID) == wap_id]
    if not found:
        raise IcebergProcedureRefused(table, "publish_changes", f"no snapshot has the wap.id {wap_id}")
    return found[0]


def ensure_not_picked(metadata: TableMetadata, picked: SnapshotInfo, table: str, procedure: str) -> None:
    """Checks that rows are published once. Raises `IcebergProcedureRefused`."""
    wap_id = picked.summary.get(_WAP_ID)
    for each in ancestry(metadata, current_of(metadata)):
        if each.snapshot_id == picked.snapshot_id:
            raise IcebergProcedureRefused(table, procedure, f"{picked.snapshot_id} led to the current snapshot")
        if each.summary.get(_SOURCE_ID) == str(picked.snapshot_id):
            reason = f"{picked.snapshot_id} was picked before, as {each.snapshot_id}"
            raise IcebergProcedureRefused(table, procedure, reason)
        # A staged snapshot may have been published as itself or as a copy on top of
        # another; in both cases its rows are in the table.
        if wap_id and wap_id in (each.summary.get(_WAP_ID), each.summary.get(_PUBLISHED_WAP_ID)):
            reason = f"the wap.id {wap_id} was published before, by {each.snapshot_id}"
            raise IcebergProcedureRefused(table, procedure, reason)


def picked_summary(picked: SnapshotInfo) -> dict[str, str]:
    """Returns summary entries that refer to the picked snapshot."""
    wap_id = picked.summary.get(_WAP_ID)
    return {_SOURCE_ID: str(picked.snapshot_id), **({_PUBLISHED_WAP_ID: wap_id} if wap_id else {})}
