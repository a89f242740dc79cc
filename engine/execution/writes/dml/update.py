"""UPDATE: rows keep their identity and get other values.

Matched rows are found once. With copy-on-write their files are rewritten, with the new values for these rows, which
satisfy the rules for inserted rows, and the other rows unchanged (`engine.statements.row_changes.planning_rewrite`). If
deletion vectors are used, or a change data feed has to distinguish the rows, updated rows are written to separate
files, and the files' other rows are kept (`engine.execution.writes.replaced_rows`). With row tracking, rows keep their
ids. If no row matches, no version is committed, but the assignments have been checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from catalog.conditions import ChangedRowsDiffer
from engine.binding.bound import BoundTable, Outcome
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.change_files import AFTER_UPDATE, BEFORE_UPDATE, Change, change_files
from engine.execution.writes.deleted_rows import RowsOfFiles, count_rows, flagged_rows, only
from engine.execution.writes.dml.queried_keys import find_keyed_rows
from engine.execution.writes.file_metrics import Stopwatch, num_files
from engine.execution.writes.matched_rows import MatchedRows
from engine.execution.writes.replaced_rows import RemainingRows, live_rows, without_files, without_rows
from engine.execution.writes.staged_files import new_files, report_drops
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.reads import TargetRead
from engine.planning.plans.write_plan import WritePlan
from engine.planning.plans.writes import RewrittenRows, UpdatePlan
from engine.planning.semantics.idempotence import is_already_written, stage_number
from engine.runtime.results import RowCounts, empty_result
from engine.spark.execution_context import ExecutionContext
from engine.tables.config import Capability
from engine.tables.operations import with_metrics
from engine.tables.transaction import NewFiles


@contextmanager
def update(plan: UpdatePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Updates rows, as one version."""
    table, watch = plan.table, Stopwatch()
    if is_already_written(plan.idempotent_write, table.snapshot):
        yield StagedWrite(outcome=_outcome(0))
        return
    with report_drops(table), find_keyed_rows(table, plan.places, plan.queried, context) as found:
        watch.note_scan()
        with _write_new_values(plan, found, context) as (new, remaining), name_table_in_errors(table.label):
            count = count_rows(found.all)
            if not count:
                yield StagedWrite(outcome=_outcome(0))
                return
            description = with_metrics(plan.description, **_metrics(remaining, new, count, watch))
            transaction = table.own.begin(table.snapshot, replace(description, keeps_row_ids=True), table.label)
            # A subquery on the target reads rows besides the matched ones, so a change
            # anywhere in the table may change its result.
            if plan.reads_table:
                transaction.read_whole_table()
            remaining.stage_in(transaction, rows_alone=not plan.reads_table)
            transaction.add_files(new)
            stage_number(transaction, plan.idempotent_write, context.request.now_ms())
            yield StagedWrite(outcome=_outcome(count), transaction=transaction, label=table.label)


@contextmanager
def _write_new_values(
    plan: UpdatePlan, found: MatchedRows, context: ExecutionContext
) -> Iterator[tuple[NewFiles, RemainingRows]]:
    """Yields the rows with their new values, in files that may contain other rows too, and the removal for the old
    rows.
    """
    table, rows = plan.table, found.all
    if plan.rewritten is not None and rows:
        with _rewritten_files(table, found, plan.rewritten, context) as new:
            # The rewritten files contain the unchanged rows as well; the old files go as a
            # whole.
            yield new, without_files(table, found)
        return
    config = table.snapshot.table_config
    before = Change(kind=BEFORE_UPDATE, rows=rows)
    with (
        changed_rows(table, rows, plan.values, plan.rows, context) as new,
        without_rows(table, found, context, Capability.VECTORS_ON_UPDATE) as remaining,
        change_files(table, config, (before, Change(kind=AFTER_UPDATE, rows=new)) if rows else (), context) as changes,
    ):
        yield new, replace(remaining, changes=changes)


@contextmanager
def _rewritten_files(
    table: BoundTable, found: MatchedRows, rewritten: RewrittenRows, context: ExecutionContext
) -> Iterator[NewFiles]:
    """Rewrites all live rows in the touched files; if the block that commits them fails, the new files are removed."""
    with flagged_rows(table, found.all) as files:
        source = rewritten.values.over(replace(rewritten.values.scan, files=files, pruning=None)).read
        with new_files(table, source, rewritten.rows, context) as new:
            live = live_rows(table, files)
            # A cheap proof that the query returned each row once. A nondeterministic
            # expression or a damaged file would otherwise lose rows silently.
            if (live >= 0).all() and new.num_rows != live.sum():
                raise ChangedRowsDiffer(table.label, int(live.sum()), new.num_rows)
            yield new


@contextmanager
def changed_rows(
    table: BoundTable, rows: RowsOfFiles, values: TargetRead, write_plan: WritePlan, context: ExecutionContext
) -> Iterator[NewFiles]:
    """Writes the new `values` for these rows; if the block that commits the files fails, they are removed."""
    with only(table, rows) as files:
        source = values.over(replace(values.scan, files=files, pruning=None)).read
        with new_files(table, source, write_plan, context) as new:
            if new.num_rows != count_rows(rows):
                raise ChangedRowsDiffer(table.label, count_rows(rows), new.num_rows)
            yield new


def _metrics(remaining: RemainingRows, new: NewFiles, count: int, watch: Stopwatch) -> dict[str, str]:
    """Returns metrics with Delta's names; its values are texts. `count` is the number of updated rows."""
    copied = remaining.copied
    metrics = {
        **remaining.removal_metrics,
        "numAddedFiles": new.num_files + num_files(copied),
        "numAddedBytes": new.num_bytes + (copied.num_bytes if copied else 0),
        "numAddedChangeFiles": num_files(remaining.changes),
        "numUpdatedRows": count,
        "numCopiedRows": new.num_rows - count + (copied.num_rows if copied else 0),
        **remaining.vector_metrics,
        **watch.metrics,
    }
    return {name: str(value) for name, value in metrics.items()}


def _outcome(num_rows: int) -> Outcome:
    return Outcome(result=replace(empty_result(), row_counts=RowCounts(affected=num_rows)))
