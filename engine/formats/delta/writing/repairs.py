"""FSCK, GENERATE and ANALYZE: update log, manifests and statistics to match the files."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.conditions import ConcurrentDrop, StatisticsNotWritten
from engine.binding.bound import Outcome
from engine.concurrency.cancel import CancelToken
from engine.concurrency.table_locks import TableLocks
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.missing_files import MissingFile, find_missing, missing_rows
from engine.delta.maintenance.missing_stats import complete_stats
from engine.delta.maintenance.symlink_manifest import write_manifests
from engine.delta.snapshot.column_statistics import drop_distinct_counts, read_distinct_counts, write_distinct_counts
from engine.delta.snapshot.snapshot import Snapshot
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.maintenance_plans import AnalyzePlan, ManifestPlan, RepairPlan
from engine.pruning.estimates import DistinctCount
from engine.runtime.results import BOOLEAN, STRING, empty_result, small_result
from engine.spark.execution_context import ExecutionContext
from engine.tables.operations import with_metrics

_MISSING_COLUMNS = {
    "dataFilePath": STRING,
    "dataFileMissing": BOOLEAN,
    "deletionVectorPath": STRING,
    "deletionVectorFileMissing": BOOLEAN,
}


def repair(plan: RepairPlan, context: ExecutionContext) -> StagedWrite:
    """Stages one version without the missing files; no version if all exist.

    A file with a missing deletion vector is removed too, since its deleted rows are unknown. It remains in the storage
    until VACUUM.
    """
    table = plan.table
    snapshot = delta_snapshot(plan.table.snapshot)
    with name_table_in_errors(table.label):
        missing = find_missing(snapshot, context.request.cancel.ensure_live)
        outcome = _report_missing(missing)
        if plan.dry_run or not missing:
            return StagedWrite(outcome=outcome)
        description = with_metrics(
            plan.description,
            numRemovedFiles=len(missing),
            numMissingDeletionVectors=sum(file.is_vector_missing for file in missing),
        )
        transaction = Transaction.on(snapshot, description, table=table.label)
        gone = missing_rows(snapshot, missing)
        # If another commit removes or rewrites one of these files first, the repair must
        # not remove it a second time.
        transaction.read_files(gone.column("path").combine_chunks())
        transaction.stage_removes(gone)
    return StagedWrite(outcome=outcome, transaction=transaction, label=table.label)


def generate_manifests(plan: ManifestPlan) -> StagedWrite:
    """Writes manifests, without a version: they are stored next to the log."""
    with name_table_in_errors(plan.table.label):
        snapshot = delta_snapshot(plan.table.snapshot)
        snapshot.ensure_files_allowed()
        snapshot.storage.ensure_writable()
        write_manifests(snapshot)
    return StagedWrite(outcome=Outcome(result=empty_result()))


def analyze_files(plan: AnalyzePlan, context: ExecutionContext) -> StagedWrite:
    """Stages one version with additional statistics and unchanged rows; no version if nothing is missing. Distinct
    counts are stored separately (`engine.delta.snapshot.column_statistics`).
    """
    table = plan.table
    snapshot = delta_snapshot(plan.table.snapshot)
    outcome = Outcome(result=empty_result())
    if plan.no_scan:
        return StagedWrite(outcome=outcome)
    with name_table_in_errors(table.label):
        if plan.counts is not None:
            rows, *distinct = context.evaluate(plan.counts)
            found = {
                name: DistinctCount(min(each, rows), rows) for name, each in zip(plan.counted, distinct, strict=True)
            }
            keep_counts(snapshot, found, context.sources.locks, context.request.cancel)
        files = complete_stats(snapshot, context.request.cancel.ensure_live)
        if not files.num_rows:
            return StagedWrite(outcome=outcome)
        transaction = Transaction.on(snapshot, plan.description, table=table.label)
        transaction.read_files(files.column("path").combine_chunks())
        for batch in files.combine_chunks().to_batches():
            # "Action Reconciliation": an add for a live file replaces its entry, which is
            # how statistics are added without a rewrite.
            transaction.stage_adds(batch, data_change=False)
    return StagedWrite(outcome=outcome, transaction=transaction, label=table.label)


def _report_missing(missing: tuple[MissingFile, ...]) -> Outcome:
    rows = [(file.path, file.is_missing, file.vector_path, file.is_vector_missing) for file in missing]
    return Outcome(result=small_result(_MISSING_COLUMNS, rows))


def keep_counts(snapshot: Snapshot, found: Mapping[str, DistinctCount], locks: TableLocks, cancel: CancelToken) -> None:
    """Stores distinct counts.

    Raises `StatisticsNotWritten`, and `ConcurrentDrop`: a table that another session dropped is not recreated, and
    nothing is written into its successor's folder.
    """
    storage, config, table = snapshot.storage, snapshot.config, snapshot.table_root
    with locks.hold(f"counts of {table}", cancel):  # one file has all columns' counts
        if snapshot.is_gone():
            raise ConcurrentDrop(table)
        try:
            write_distinct_counts(storage, config, snapshot.version, found)
        except OSError as error:
            raise StatisticsNotWritten(table, str(error)) from error
        # The table may be dropped between the check and the write; what was written then
        # belongs to no table, or to a successor.
        if snapshot.is_gone():
            drop_distinct_counts(storage)
            raise ConcurrentDrop(table)
        snapshot.distinct_counts = read_distinct_counts(storage, config)
