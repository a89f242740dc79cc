"""Procedures that move branches, and the one that tells where a snapshot comes from, with their answers."""

from __future__ import annotations

from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.commits import commit
from engine.formats.iceberg.procedures.references import ReferenceProcedure, ancestors_of, move
from engine.runtime.results import BIGINT, STRING, ResultStream, small_result
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import AncestorsOf, FastForward


def move_branch(plan: CallPlan, procedure: ReferenceProcedure, context: ExecutionContext) -> ResultStream:
    """The snapshots of the branch before and after."""
    change, _ = commit(plan, context, lambda loaded: move(procedure, loaded.metadata, plan.time_ms, plan.table.label))
    if isinstance(procedure, FastForward):
        columns = {"branch_updated": STRING, "previous_ref": BIGINT, "updated_ref": BIGINT}
        return small_result(columns, [(change.branch, change.before, change.after)])
    columns = {"previous_snapshot_id": BIGINT, "current_snapshot_id": BIGINT}
    return small_result(columns, [(change.before, change.after)])


def answer_ancestors(plan: CallPlan, procedure: AncestorsOf) -> ResultStream:
    """From the newest on; times in milliseconds since the epoch."""
    found = ancestors_of(plan.snapshot.metadata, procedure.snapshot_id, plan.table.label)
    return small_result(
        {"snapshot_id": BIGINT, "timestamp": BIGINT}, [(each.snapshot_id, each.timestamp_ms) for each in found]
    )
