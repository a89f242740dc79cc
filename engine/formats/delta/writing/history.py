"""Versions on the way to another definition: files that get row ids, and history that goes with a feature."""

from __future__ import annotations

from engine.binding.bound import Outcome
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.feature_history import truncate_history
from engine.errors.table_errors import naming
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.plans import BackfillPlan, TruncateHistoryPlan
from engine.runtime.results import empty_result


def give_row_ids(plan: BackfillPlan) -> StagedWrite:
    """One version in which the plan's files are added again: the commit gives them ids, as it does to new ones.

    The version depends on these files, so that none comes back that another commit removes.
    """
    table = plan.table
    transaction = Transaction.on(delta_snapshot(table.snapshot), plan.description, table=table.label)
    transaction.read_files(plan.files.column("path").combine_chunks())
    for batch in plan.files.to_batches():
        transaction.stage_adds(batch, data_change=False)
    return StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=table.label)


def drop_with_history(plan: TruncateHistoryPlan, now_ms: int) -> StagedWrite:
    """One version without a feature that no version in the log needs: those that did are removed first."""
    table = plan.table
    with naming(table.label):
        truncate_history(delta_snapshot(table.snapshot), plan.feature, now_ms)
        transaction = Transaction.on(delta_snapshot(table.snapshot), plan.description, table=table.label)
        transaction.define(plan.definition)
    return StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=table.label)
