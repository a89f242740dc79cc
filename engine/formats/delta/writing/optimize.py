"""OPTIMIZE and REORG TABLE: rewrites the same rows into other files, in versions without data change.

A statement with more than `STEP_BYTES` makes several versions. Each run of the plan makes one. The first run also
determines all work; its outcome contains the remaining work, with which the statement is planned again on the newest
version. New files from other writers are not a conflict. If others removed files or deleted rows in them, the step
fails, and is repeated without these files.

Rows are copied (`engine.execution.writes.copied_rows`), so row ids are preserved, deleted rows are omitted, and change
feeds have no rows.

Bins of files become new files with their tags and clustering provider; `engine.execution.writes.compacted_rows`
decides how rows become files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.binding.bound import BoundTable, Outcome
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.clustering import physical_path
from engine.delta.maintenance.file_packing import (
    DELETED_ROWS_RATIO_MAX,
    files_in_crowded_partitions,
    pack_files,
    still_live,
    worth_merging,
    worth_purging,
)
from engine.delta.maintenance.stale_files import with_dropped_columns
from engine.delta.maintenance.zcubes import PROVIDER, new_cube, to_cluster
from engine.delta.snapshot.row_files import num_records
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import TARGET_FILE_SIZE
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.compacted_rows import compacted_rows
from engine.execution.writes.dml.replaced_partitions import matching_partitions, without_partitions
from engine.execution.writes.staged_files import report_drops
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_files, delta_snapshot
from engine.formats.delta.planning.optimize_plans import Cluster, Merge, OptimizePlan, Purge, Zorder
from engine.formats.delta.writing.optimize_answer import optimize_answer
from engine.planning.plans.write_plan import AlongCurve, Arrangement, FilePerPartition, TaskPerFile
from engine.runtime.request import with_changes
from engine.spark.execution_context import ExecutionContext
from engine.tables.compaction import Compaction, Considered, Job, Moved, in_steps, merging_jobs, sorting_jobs
from engine.tables.operations import with_metrics
from engine.types.column_paths import format_name

# The target file size if `delta.targetFileSize` is not set; delta-spark's default.
TARGET_BYTES = 1 << 30

# Auto compaction's target size, and the minimum number of files in a partition below half that size.
AUTO_TARGET_BYTES, AUTO_FILES_MIN = 128 << 20, 50

# Concurrent jobs in one step; Spark shares its cores and memory among them.
JOBS_AT_ONCE = 4

# The sample size for value distributions; a column has some hundreds of ranges.
_SAMPLED_ROWS = 200_000


@contextmanager
def optimize(plan: OptimizePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Stages the next step; without a version if nothing is to do."""
    table = plan.table
    left = plan.left or _schedule(plan, context)
    with report_drops(table), ExitStack() as written, name_table_in_errors(table.label):
        # A step planned minutes ago may name files that others have removed since;
        # rewriting them would bring their rows back.
        jobs = list(_with_files(delta_snapshot(table.snapshot), left.steps[0] if left.steps else ()))
        removed = [files for _, bins in jobs for files in bins]
        new = _write_jobs(plan, [_regrouping(plan, job, bins) for job, bins in jobs], written, context)
        moved = _count_moved(removed, new)
        done = left.after_step(moved)
        context.request.profile.add_note(_progress(table.label, left, moved))
        place = table.snapshot.table_root if plan.tells_place else table.label
        yield StagedWrite(
            outcome=Outcome(
                result=optimize_answer(
                    delta_snapshot(table.snapshot), place, plan.goal, done, context.request.now_ms()
                ),
                left=done if done.steps else None,
            ),
            transaction=_transaction(plan, removed, new, moved) if removed else None,
            label=table.label,
        )


def _write_jobs(
    plan: OptimizePlan, parts: Sequence[Regrouping], written: ExitStack, context: ExecutionContext
) -> list[NewFiles]:
    """Writes the new files, which `written` deletes on failure.

    Several jobs run concurrently, because a job's last tasks, or sort stages with few tasks, leave cores idle. If one
    fails, running jobs finish first.
    """

    def write(number: int) -> tuple[AbstractContextManager[NewFiles], NewFiles]:
        context.request.cancel.ensure_live()
        request = with_changes(context.request, statement_id=f"{context.request.statement_id}-{number}")
        files = regrouped_rows(plan.table, parts[number], replace(context, request=request))
        return files, files.__enter__()

    with ThreadPoolExecutor(JOBS_AT_ONCE, "optimize") as threads:
        jobs = [threads.submit(write, number) for number in range(len(parts))]
        # Jobs that wait are cancelled, running ones must end: their files can only be
        # deleted once nothing writes them.
        if any(job.exception() for job in wait(jobs, return_when=FIRST_EXCEPTION).done):
            threads.shutdown(wait=True, cancel_futures=True)
    done = [job.result() for job in jobs if not job.cancelled() and job.exception() is None]
    for files, _ in done:
        written.push(files)
    for job in jobs:
        if not job.cancelled():
            job.result()
    return [new for _, new in done]


def _with_files(snapshot: Snapshot, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[pa.Table]]]:
    """Yields each job with the files in its bins that still exist."""
    bins = iter(still_live(snapshot, [each for job in jobs for each in job.bins]) if jobs else ())
    for job in jobs:
        found = [files for files in islice(bins, len(job.bins)) if files.num_rows]
        if found:
            yield job, found


def _transaction(plan: OptimizePlan, removed: Sequence[pa.Table], new: Sequence[NewFiles], moved: Moved) -> Transaction:
    table, files = plan.table, pa.concat_tables(removed)
    # "Row Tracking": rewritten rows keep their ids only if the materialized columns are
    # written, which the copied rows have.
    description = replace(with_metrics(plan.description, **moved.metrics), keeps_row_ids=True)
    transaction = Transaction.on(delta_snapshot(table.snapshot), description, table=table.label)
    # The step depends on the files that it replaces. Without this, a delete that others
    # committed meanwhile would be undone.
    transaction.read_files(files["path"])
    # "Add File and Remove File": dataChange false tells streams and change feeds that the
    # rows are the same. It also lets concurrent appends and this commit pass each other.
    transaction.stage_removes(files, data_change=False)
    transaction.stage(*(add for each in new for add in each.adds))
    return transaction


def _schedule(plan: OptimizePlan, context: ExecutionContext) -> Compaction:
    """Returns the work for the table's current state."""
    snapshot = delta_snapshot(plan.table.snapshot)
    files = _selected_files(plan, context)
    target = _target_bytes(plan)
    considered = Considered()
    match plan.goal:
        case Merge(is_auto=True):
            small = worth_merging(files, AUTO_TARGET_BYTES // 2)
            bins = pack_files(
                files.filter(pa.array(files_in_crowded_partitions(files, small, AUTO_FILES_MIN))),
                AUTO_TARGET_BYTES,
                None,
            )
            jobs = merging_jobs(bins)
        case Merge():
            purged = worth_purging(files, DELETED_ROWS_RATIO_MAX)
            selected = worth_merging(files, target)
            bins = pack_files(files.filter(pa.array(selected)), target, purged[selected])
            jobs = merging_jobs(bins)
        case Purge():
            # REORG purges what is deleted logically: rows in vectors, and the data of
            # dropped columns, which column mapping leaves in the files.
            selected = worth_purging(files, 0.0) | with_dropped_columns(snapshot, files)
            bins = pack_files(files.filter(pa.array(selected)), target, np.ones(int(selected.sum()), np.bool_))
            jobs = merging_jobs(bins)
        case Zorder():
            bins = pack_files(files, None, np.ones(files.num_rows, np.bool_))
            jobs = sorting_jobs(bins, target)
        case Cluster(columns=columns, is_full=is_full):
            bins, considered = to_cluster(files, [format_name(path) for path in columns], is_full=is_full)
            jobs = [Job((each,)) for each in bins]
        case _:
            assert_never(plan.goal)
    return Compaction(
        steps=in_steps(jobs),
        begun_ms=context.request.now_ms(),
        num_considered=files.num_rows,
        num_bins=len(bins),
        num_partitions=len({each.partition for each in bins}),
        considered=considered,
    )


def _selected_files(plan: OptimizePlan, context: ExecutionContext) -> pa.Table:
    """Returns the live files in the selected partitions."""
    if plan.condition is None:
        return plan.table.snapshot.files
    wanted = matching_partitions(plan.table, plan.condition, context, context.parameters)
    return without_partitions(plan.table, wanted, context).removed


def _regrouping(plan: OptimizePlan, job: Job, bins: Sequence[pa.Table]) -> Regrouping:
    goal = plan.goal
    if isinstance(goal, Cluster):
        tags = new_cube([format_name(path) for path in goal.columns])
        return Regrouping(bins=bins, arrangement=_arrangement(plan, job, bins), tags=tags, clustering_provider=PROVIDER)
    return Regrouping(bins=bins, arrangement=_arrangement(plan, job, bins))


def _arrangement(plan: OptimizePlan, job: Job, bins: Sequence[pa.Table]) -> Arrangement:
    target = _target_bytes(plan)
    match plan.goal:
        case Merge() | Purge():
            return FilePerPartition(target_bytes=target) if job.is_joint else TaskPerFile()
        case Zorder(columns=columns) | Cluster(columns=columns):
            files = pa.concat_tables(bins)
            num_bytes = pc.sum(files["size"]).as_py()
            config = delta_snapshot(plan.table.snapshot).config
            schema, mode = config.schema, config.column_mapping_mode
            return AlongCurve(
                stored_columns=tuple(physical_path(schema, mode, path) for path in columns),
                is_hilbert=isinstance(plan.goal, Cluster),
                num_files=None if job.is_joint else max(1, num_bytes // target),
                target_bytes=target,
                sampled=min(1.0, _SAMPLED_ROWS / max(1, _num_rows(files))),
            )
        case _:
            assert_never(plan.goal)


def _num_rows(files: pa.Table) -> int:
    """Returns the row count by statistics; files without statistics are estimated by the average."""
    counts = num_records(files["stats"].combine_chunks())
    known: int = len(counts) - counts.null_count
    total: int = pc.sum(counts).as_py() or 0
    return int(total * files.num_rows // max(1, known))


def _target_bytes(plan: OptimizePlan) -> int:
    if plan.goal == Merge(is_auto=True):
        return AUTO_TARGET_BYTES
    return delta_snapshot(plan.table.snapshot).config.get(TARGET_FILE_SIZE) or TARGET_BYTES


def _count_moved(removed: Sequence[pa.Table], new: Sequence[NewFiles]) -> Moved:
    vectors = [vector for files in removed for vector in files["deletion_vector"].to_pylist() if vector is not None]
    return Moved(
        added=tuple(add.size for each in new for add in each.adds),
        removed=tuple(size for files in removed for size in files["size"].to_pylist()),
        vectors=len(vectors),
        vector_rows=sum(vector["cardinality"] for vector in vectors),
        vector_bytes=sum(vector["size_in_bytes"] for vector in vectors),
    )


def _progress(label: str, left: Compaction, moved: Moved) -> str:
    return (
        f"{label}: {len(moved.removed)} files ({sum(moved.removed)} bytes) became {len(moved.added)} "
        f"({sum(moved.added)} bytes); steps left: {max(0, len(left.steps) - 1)}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrouping:
    """Rewrites the files in `bins` (`FILES_SCHEMA`) with an arrangement. New files have `tags`."""

    bins: Sequence[pa.Table]
    arrangement: Arrangement
    tags: Mapping[str, str] | None = None
    clustering_provider: str | None = None


@contextmanager
def regrouped_rows(table: BoundTable, regrouping: Regrouping, context: ExecutionContext) -> Iterator[NewFiles]:
    """Writes the rows to new files, which are deleted if the block that commits them fails."""
    with compacted_rows(table, regrouping.bins, regrouping.arrangement, context) as written:
        new = delta_files(written)
        adds = (
            replace(add, data_change=False, tags=regrouping.tags, clustering_provider=regrouping.clustering_provider)
            for add in new.adds
        )
        yield replace(new, adds=tuple(adds))
