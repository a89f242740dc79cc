"""Versions that keep all rows and prepare another definition: rewritten files, row ids, truncated history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from engine.binding.bound import Outcome
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.feature_history import truncate_history
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.copied_rows import Copying, copied_rows
from engine.execution.writes.staged_files import report_drops
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_files, delta_snapshot
from engine.formats.delta.planning.plans import BackfillPlan, RewritePlan, TruncateHistoryPlan
from engine.runtime.results import empty_result
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.operations import CommitDescription, with_metrics
from engine.tables.transaction import NewFiles


@contextmanager
def rewrite_files(plan: RewritePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Rewrites the plan's files and sets the definition, in one version."""
    table, stale = plan.table, plan.files
    snapshot, label = delta_snapshot(table.snapshot), table.label
    copying = Copying(alias=Names(snapshot.schema.names).new("rows"), config=plan.definition.config(label))
    with report_drops(table), copied_rows(table, stale, copying, context) as new, name_table_in_errors(label):
        description = replace(_with_file_metrics(plan.description, stale, new), keeps_row_ids=True)
        transaction = Transaction.on(snapshot, description, table=label)
        transaction.read_files(stale.column("path").combine_chunks())
        transaction.define(plan.definition)
        transaction.stage_removes(stale, data_change=False)
        transaction.stage(*(replace(add, data_change=False) for add in delta_files(new).adds))
        yield StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=label)


def _with_file_metrics(description: CommitDescription, removed: pa.Table, new: NewFiles) -> CommitDescription:
    """Adds the metrics for a version that only rearranges."""
    return with_metrics(
        description,
        numRemovedFiles=str(removed.num_rows),
        numRemovedBytes=str(sum(removed.column("size").to_pylist())),
        numAddedFiles=str(new.num_files),
        numAddedBytes=str(new.num_bytes),
    )


def give_row_ids(plan: BackfillPlan) -> StagedWrite:
    """Stages one version that adds the plan's files again: the commit assigns them ids, as for new files.

    The version depends on these files, so that it does not resurrect one that another commit removes.
    """
    table = plan.table
    transaction = Transaction.on(delta_snapshot(table.snapshot), plan.description, table=table.label)
    transaction.read_files(plan.files.column("path").combine_chunks())
    for batch in plan.files.to_batches():
        transaction.stage_adds(batch, data_change=False)
    return StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=table.label)


def drop_with_history(plan: TruncateHistoryPlan, now_ms: int) -> StagedWrite:
    """Stages one version without a feature that no version in the log needs; versions that need it are removed
    first.
    """
    table = plan.table
    with name_table_in_errors(table.label):
        truncate_history(delta_snapshot(table.snapshot), plan.feature, now_ms)
        transaction = Transaction.on(delta_snapshot(table.snapshot), plan.description, table=table.label)
        transaction.define(plan.definition)
    return StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=table.label)
