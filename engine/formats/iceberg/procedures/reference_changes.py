"""Computes branch and tag changes from one metadata version alone.

Source: Iceberg table specification, "Snapshot References"; Iceberg's extensions of Spark SQL, "Branching and tagging".
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from catalog.conditions import IcebergReferenceNotFound, IcebergReferenceRefused, IcebergSnapshotNotFound
from engine.iceberg.commit.updates import AssertRefSnapshotId, RemoveSnapshotRef, Requirement, SetSnapshotRef, Update
from engine.iceberg.spec.metadata import MAIN, Reference, TableMetadata
from engine.statements.alter_table.statement import ChangeReference, ReferenceAction

_NONE = -1


def reference_updates(
    change: ChangeReference, metadata: TableMetadata, table: str
) -> tuple[tuple[Requirement, ...], tuple[Update, ...]]:
    """Returns the requirements and updates; without updates if the table already has the desired state.

    Raises `IcebergReferenceNotFound`, `IcebergReferenceRefused`, `IcebergSnapshotNotFound`.
    """
    known = metadata.refs.get(change.name)
    requirements = (AssertRefSnapshotId(change.name, None if known is None else known.snapshot_id),)
    if known is not None and known.is_branch != change.is_branch:
        kind = "branch" if known.is_branch else "tag"
        raise IcebergReferenceRefused(table, change.name, f"it is a {kind}")
    match change.action:
        case ReferenceAction.DROP | ReferenceAction.DROP_IF_EXISTS:
            if known is None and change.action is ReferenceAction.DROP_IF_EXISTS:
                return requirements, ()
            if known is None:
                raise IcebergReferenceNotFound(table, change.name)
            if change.name == MAIN:
                raise IcebergReferenceRefused(table, change.name, "every table has it")
            return requirements, (RemoveSnapshotRef(change.name),)
        case ReferenceAction.CREATE_IF_NOT_EXISTS if known is not None:
            return requirements, ()
        case ReferenceAction.CREATE if known is not None:
            raise IcebergReferenceRefused(table, change.name, "it is there; say REPLACE to move it")
        case ReferenceAction.REPLACE if known is None:
            raise IcebergReferenceNotFound(table, change.name)
        case (
            ReferenceAction.CREATE
            | ReferenceAction.CREATE_IF_NOT_EXISTS
            | ReferenceAction.CREATE_OR_REPLACE
            | ReferenceAction.REPLACE
        ):
            return requirements, (SetSnapshotRef(_reference_after(change, known, metadata, table)),)
        case _:
            assert_never(change.action)


def first_branch(change: ChangeReference, metadata: TableMetadata) -> Reference | None:
    """Returns the limits for a branch that is created without a current snapshot, and starts empty; None for all other
    changes.
    """
    makes = change.action not in (ReferenceAction.REPLACE, ReferenceAction.DROP, ReferenceAction.DROP_IF_EXISTS)
    has_snapshot = change.snapshot_id is not None or metadata.current_snapshot_id is not None
    if not (makes and change.is_branch) or has_snapshot or change.name in (MAIN, *metadata.refs):
        return None
    return _with_limits(change, Reference(name=change.name, snapshot_id=_NONE, is_branch=True))


def _reference_after(
    change: ChangeReference, known: Reference | None, metadata: TableMetadata, table: str
) -> Reference:
    """Returns the reference at the named snapshot, or the current one; unspecified limits are kept."""
    snapshot_id = metadata.current_snapshot_id if change.snapshot_id is None else change.snapshot_id
    if snapshot_id is None or snapshot_id not in metadata.snapshots:
        raise IcebergSnapshotNotFound(table, "that is current" if snapshot_id is None else str(snapshot_id))
    if change.name == MAIN and change.max_ref_age_ms is not None:
        raise IcebergReferenceRefused(table, change.name, "it is never too old")
    before = known or Reference(name=change.name, snapshot_id=snapshot_id, is_branch=change.is_branch)
    return _with_limits(change, replace(before, snapshot_id=snapshot_id))


def _with_limits(change: ChangeReference, before: Reference) -> Reference:
    return replace(
        before,
        min_snapshots_to_keep=_or(change.min_snapshots_to_keep, before.min_snapshots_to_keep),
        max_snapshot_age_ms=_or(change.max_snapshot_age_ms, before.max_snapshot_age_ms),
        max_ref_age_ms=_or(change.max_ref_age_ms, before.max_ref_age_ms),
    )


def _or(new: int | None, old: int | None) -> int | None:
    return old if new is None else new
