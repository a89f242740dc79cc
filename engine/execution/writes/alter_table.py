"""ALTER TABLE: one version with another definition."""

from __future__ import annotations

from engine.binding.bound import Outcome
from engine.errors.table_errors import naming
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.ddl import AlterPlan
from engine.runtime.results import empty_result


def alter_table(plan: AlterPlan) -> StagedWrite:
    """One version with the new definition; none where nothing changes.

    The rows that were checked must be those for which the new rule holds, so the commit depends on them.
    """
    table, outcome = plan.table, Outcome(result=empty_result())
    if plan.definition == table.snapshot.definition:
        return StagedWrite(outcome=outcome)
    with naming(table.label):
        transaction = table.own.begin(table.snapshot, plan.description, table.label)
        if plan.checks is not None:
            transaction.read_whole_table()
        transaction.define(plan.definition)
    return StagedWrite(outcome=outcome, transaction=transaction, label=table.label)
