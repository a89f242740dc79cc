"""DELETE: removes rows and adds none.

If all rows, or all rows in whole partitions, are deleted, their files are removed without reading, if the format has
row counts; other rows are found by the condition and removed from their files individually
(`engine.execution.writes.replaced_rows`). If no row is deleted, no version is committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

import pyarrow as pa

from engine.binding.bound import Outcome
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.change_files import DELETED, Change, change_files
from engine.execution.writes.dml.queried_keys import find_keyed_rows
from engine.execution.writes.dml.replaced_partitions import matching_partitions, without_partitions
from engine.execution.writes.file_metrics import Stopwatch, num_files
from engine.execution.writes.replaced_rows import RemainingRows, counting_rows, removal_tells, without_rows
from engine.execution.writes.staged_files import report_drops
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.writes import DeletePlan, ReplaceAll, ReplaceMatching, ReplaceWholeFiles
from engine.planning.semantics.idempotence import is_already_written, stage_number
from engine.pruning.metadata_answers import NoAnswer, exact_selection
from engine.pruning.predicates import Predicate
from engine.runtime.results import RowCounts, empty_result
from engine.spark.execution_context import ExecutionContext
from engine.tables.config import Capability
from engine.tables.operations import with_metrics


@contextmanager
def delete(plan: DeletePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Deletes rows from a table, as one version."""
    table, watch = plan.table, Stopwatch()
    if is_already_written(plan.idempotent_write, table.snapshot):
        yield StagedWrite(outcome=_outcome(0))
        return
    with report_drops(table), _remaining_rows(plan, context, watch) as remaining, name_table_in_errors(table.label):
        if not remaining.num_deleted:
            yield StagedWrite(outcome=_outcome(0))
            return
        metrics = _metrics(remaining, watch)
        description = replace(with_metrics(plan.description, **metrics), keeps_row_ids=True)
        transaction = table.own.begin(table.snapshot, description, table.label)
        if plan.reads_table:
            transaction.read_whole_table()
        remaining.stage_in(transaction, rows_alone=not plan.reads_table)
        stage_number(transaction, plan.idempotent_write, context.request.now_ms())
        yield StagedWrite(outcome=_outcome(remaining.num_deleted), transaction=transaction, label=table.label)


@contextmanager
def _remaining_rows(plan: DeletePlan, context: ExecutionContext, watch: Stopwatch) -> Iterator[RemainingRows]:
    """Yields the removed files and remaining rows, with the number of deleted rows."""
    table = plan.table
    whole = _whole_files(plan, context)
    if whole is not None:
        has_feed = table.snapshot.table_config.has(Capability.CHANGE_FEED)
        counted = counting_rows(table, whole)
        # Without row counts in the log the number of deleted rows would be unknown, which
        # clients display; the rows are counted by reading them.
        if counted.num_deleted is not None and (not has_feed or removal_tells(whole)):
            watch.note_scan()
            yield counted
            return
    with find_keyed_rows(table, plan.places, plan.queried, context) as found:
        watch.note_scan()
        with without_rows(table, found, context) as remaining:
            deleted_changes = () if removal_tells(remaining) else (Change(kind=DELETED, rows=found.all),)
            with change_files(table, table.snapshot.table_config, deleted_changes, context) as changes:
                yield replace(remaining, changes=changes)


def _whole_files(plan: DeletePlan, context: ExecutionContext) -> RemainingRows | None:
    """Returns the removed files that are determined without reading."""
    match plan.whole:
        case None:
            return None
        case ReplaceAll():
            return RemainingRows(removed=plan.table.snapshot.files)
        case ReplaceMatching(condition=condition):
            # Spark evaluates the condition, so that functions and casts over partition
            # values have exactly its semantics.
            wanted = matching_partitions(plan.table, condition, context, context.parameters)
            return without_partitions(plan.table, wanted, context)
        case ReplaceWholeFiles(condition=condition):
            return _files_of(plan, condition)
        case _:
            assert_never(plan.whole)


def _files_of(plan: DeletePlan, condition: Predicate) -> RemainingRows | None:
    """Returns the files whose rows are all deleted; None if a file may have others too. No value depends on a time
    zone.
    """
    snapshot = plan.table.snapshot
    # Only an exact result may remove files unread: each remaining row would have to be
    # tested otherwise.
    found = exact_selection(snapshot.pruning(), condition)
    if isinstance(found, NoAnswer):
        return None
    removed = snapshot.files.filter(pa.array(found.value))
    return RemainingRows(removed=removed, reads=snapshot.row_files.predicate(condition, None))


def _metrics(remaining: RemainingRows, watch: Stopwatch) -> dict[str, str]:
    """Returns metrics with Delta's names; its values are texts."""
    copied = remaining.copied
    metrics = {
        **remaining.removal_metrics,
        "numAddedFiles": num_files(copied),
        "numAddedBytes": copied.num_bytes if copied else 0,
        "numAddedChangeFiles": num_files(remaining.changes),
        "numDeletedRows": remaining.num_deleted or 0,
        "numCopiedRows": copied.num_rows if copied else 0,
        **remaining.vector_metrics,
        **watch.metrics,
    }
    return {name: str(value) for name, value in metrics.items()}


def _outcome(num_rows: int) -> Outcome:
    return Outcome(result=replace(empty_result(), row_counts=RowCounts(affected=num_rows)))
