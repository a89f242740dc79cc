"""Dispatches Iceberg's plans to their writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never, cast

from engine.binding.bound import Outcome
from engine.concurrency.table_locks import file_lock
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.commit import report_removal
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.iceberg.planning.plans import CallPlan, IcebergPlan, ReferencePlan, RegisterPlan, SnapshotPlan
from engine.formats.iceberg.procedures.added_files import add_files
from engine.formats.iceberg.procedures.cherry_picks import answer_ancestors, cherry_pick, move_branch
from engine.formats.iceberg.procedures.expire import expire, remove_orphans
from engine.formats.iceberg.procedures.reference_changes import first_branch, reference_updates
from engine.formats.iceberg.procedures.rewrite_data import rewrite_data_files
from engine.formats.iceberg.procedures.rewrite_position_deletes import rewrite_manifests, rewrite_position_delete_files
from engine.formats.iceberg.procedures.snapshots import snapshot_table
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.planning.plans.format_plan import FormatPlan
from engine.runtime.results import BIGINT, ResultStream, empty_result, small_result
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import (
    AddFiles,
    AncestorsOf,
    CherrypickSnapshot,
    ExpireSnapshots,
    FastForward,
    PublishChanges,
    RemoveOrphanFiles,
    RewriteDataFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SetCurrentSnapshot,
)


class IcebergWriter:
    """See :class:`engine.execution.writes.staged_write.FormatWriter`."""

    @contextmanager
    def write(self, plan: FormatPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
        """Executes an Iceberg plan within the block; see `FormatWriter`.

        Procedures that remove files hold the table's file lock.
        """
        own = cast(IcebergPlan, plan.own)
        match own:
            case CallPlan():
                # Statements that remove files, and statements that reactivate files, exclude each other.
                with (
                    context.sources.locks.hold(file_lock(own.snapshot.table_root), context.request.cancel),
                    name_table_in_errors(own.table.label),
                ):
                    yield StagedWrite(outcome=Outcome(result=_run_procedure(own, context)))
            case RegisterPlan(entry=entry):
                registered = replace(entry, created_ms=context.request.now_ms())
                yield StagedWrite(outcome=Outcome(result=_registration_result(own)), creates=registered)
            case SnapshotPlan(source=source):
                # The other table's VACUUM cannot remove a file between its check and the commit.
                with (
                    context.sources.locks.hold(file_lock(source.snapshot.table_root), context.request.cancel),
                    name_table_in_errors(source.label),
                    report_removal(own.entry),
                    snapshot_table(own, context) as staged,
                ):
                    yield staged
            case ReferencePlan(table=table):
                with name_table_in_errors(table.label):
                    yield _changing_reference(own)
            case _:
                assert_never(own)


def _changing_reference(plan: ReferencePlan) -> StagedWrite:
    """Decides the change on the version that it is committed to."""
    snapshot = plan.table.snapshot
    assert isinstance(snapshot, IcebergSnapshot)
    made = first_branch(plan.change, snapshot.metadata)
    begun = snapshot if made is None else replace(snapshot, branch=made.name)
    transaction = plan.table.own.begin(begun, plan.description, plan.table.label)
    assert isinstance(transaction, IcebergTransaction)
    if made is not None:
        transaction.make_branch(made)
    else:
        transaction.change_metadata(lambda metadata: reference_updates(plan.change, metadata, plan.table.label))
    return StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=plan.table.label)


def _run_procedure(plan: CallPlan, context: ExecutionContext) -> ResultStream:
    procedure = plan.procedure
    match procedure:
        case AncestorsOf():
            return answer_ancestors(plan, procedure)
        case RollbackToSnapshot() | RollbackToTimestamp() | SetCurrentSnapshot() | FastForward():
            return move_branch(plan, procedure, context)
        case ExpireSnapshots():
            return expire(plan, procedure, context)
        case RemoveOrphanFiles():
            return remove_orphans(plan, procedure, context)
        case CherrypickSnapshot() | PublishChanges():
            return cherry_pick(plan, procedure, context)
        case RewriteDataFiles():
            return rewrite_data_files(plan, procedure, context)
        case RewriteManifests():
            return rewrite_manifests(plan, procedure, context)
        case RewritePositionDeleteFiles():
            return rewrite_position_delete_files(plan, procedure, context)
        case AddFiles():
            return add_files(plan, procedure, context)
        case _:
            assert_never(procedure)


def _registration_result(plan: RegisterPlan) -> ResultStream:
    info = plan.snapshot.info
    summary = {} if info is None else info.summary
    counts = [summary.get(key, "") for key in ("total-records", "total-data-files")]
    row = [None if info is None else info.snapshot_id, *(int(text) if text.isdecimal() else None for text in counts)]
    columns = ("current_snapshot_id", "total_records_count", "total_data_files_count")
    return small_result(dict.fromkeys(columns, BIGINT), [row])
