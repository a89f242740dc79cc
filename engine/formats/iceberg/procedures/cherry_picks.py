"""cherrypick_snapshot and publish_changes: applies a snapshot's added files to the current snapshot.

If the snapshot's parent is the current one, main moves to it. Otherwise a new snapshot gets its files, if it only added
files. The check that it was not picked before is repeated on the version that the commit builds on: concurrent calls
publish the rows once.

`move_branch` implements fast_forward, `answer_ancestors` implements ancestors_of.

Source: Iceberg Spark runtime, "cherrypick_snapshot", "publish_changes"; Java's `CherryPickOperation`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergProcedureRefused
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.commits import begin, commit, load
from engine.formats.iceberg.procedures.references import (
    ReferenceChange,
    ReferenceProcedure,
    ancestors_of,
    branch_move,
    ensure_not_picked,
    move,
    picked_summary,
    snapshot_of,
    staged_as,
)
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.manifests.manifest import ADDED
from engine.iceberg.spec.metadata import MAIN, SnapshotInfo, TableMetadata
from engine.runtime.accesses import Commit
from engine.runtime.results import BIGINT, STRING, ResultStream, small_result
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import AncestorsOf, CherrypickSnapshot, FastForward, PublishChanges

_APPEND = "append"
_INHERITED = ("snapshot_id", "sequence_number", "file_sequence_number", "first_row_id")


def cherry_pick(
    plan: CallPlan, procedure: CherrypickSnapshot | PublishChanges, context: ExecutionContext
) -> ResultStream:
    """Returns the picked snapshot, and the current one afterwards. Raises `IcebergProcedureRefused`."""
    label = plan.table.label
    metadata = load(plan, begin(plan).store).metadata
    if isinstance(procedure, PublishChanges):
        picked_id = staged_as(metadata, procedure.wap_id, label)
    else:
        picked_id = procedure.snapshot_id
    picked = snapshot_of(metadata, picked_id, label)
    if picked.parent_id == metadata.current_snapshot_id:
        current = _move(plan, picked, context)
    elif picked.operation == _APPEND:
        current = _append(plan, picked, context)
    else:
        raise IcebergProcedureRefused(label, plan.name, f"{picked_id} did more than add files to the current snapshot")
    return small_result({"source_snapshot_id": BIGINT, "current_snapshot_id": BIGINT}, [(picked_id, current)])


def _move(plan: CallPlan, picked: SnapshotInfo, context: ExecutionContext) -> int:
    def decide(loaded: LoadedMetadata) -> ReferenceChange:
        ensure_not_picked(loaded.metadata, picked, plan.table.label, plan.name)
        if loaded.metadata.current_snapshot_id != picked.parent_id:
            raise IcebergProcedureRefused(plan.table.label, plan.name, "another snapshot became current meanwhile")
        return branch_move(loaded.metadata, MAIN, picked.snapshot_id)

    change, _ = commit(plan, context, decide)
    return change.after


def _append(plan: CallPlan, picked: SnapshotInfo, context: ExecutionContext) -> int:
    def ensure_new(metadata: TableMetadata) -> tuple[tuple[()], tuple[()]]:
        ensure_not_picked(metadata, picked, plan.table.label, plan.name)
        return (), ()

    transaction = begin(plan)
    for entries in _added_entries(plan, picked):
        transaction.add_entries(entries)
    transaction.summary = picked_summary(picked)
    transaction.change_metadata(ensure_new)
    context.request.cancel.ensure_live()
    done = transaction.commit(context.retries)
    context.request.on_commit(Commit(plan.table.label, done.version))
    return done.version


def _added_entries(plan: CallPlan, picked: SnapshotInfo) -> Iterator[pa.Table]:
    """Yields the snapshot's added files as new entries: they inherit all values from the new snapshot."""
    manifests = [each for each in plan.snapshot.manifests_of(picked) if each.added_snapshot_id == picked.snapshot_id]
    for entries in plan.snapshot.entries_of(manifests):
        own = pc.and_(pc.equal(entries["status"], ADDED), pc.equal(entries["snapshot_id"], picked.snapshot_id))
        found = entries.filter(own)
        for name in _INHERITED:
            position = found.schema.get_field_index(name)
            found = found.set_column(position, name, pa.nulls(found.num_rows, found.schema.field(position).type))
        yield found


def move_branch(plan: CallPlan, procedure: ReferenceProcedure, context: ExecutionContext) -> ResultStream:
    """Returns the branch's snapshots before and after."""
    change, _ = commit(plan, context, lambda loaded: move(procedure, loaded.metadata, plan.time_ms, plan.table.label))
    if isinstance(procedure, FastForward):
        columns = {"branch_updated": STRING, "previous_ref": BIGINT, "updated_ref": BIGINT}
        return small_result(columns, [(change.branch, change.before, change.after)])
    columns = {"previous_snapshot_id": BIGINT, "current_snapshot_id": BIGINT}
    return small_result(columns, [(change.before, change.after)])


def answer_ancestors(plan: CallPlan, procedure: AncestorsOf) -> ResultStream:
    """Returns ancestors, newest first; times in milliseconds since the epoch."""
    found = ancestors_of(plan.snapshot.metadata, procedure.snapshot_id, plan.table.label)
    return small_result(
        {"snapshot_id": BIGINT, "timestamp": BIGINT}, [(each.snapshot_id, each.timestamp_ms) for each in found]
    )
