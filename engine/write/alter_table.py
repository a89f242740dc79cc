"""ALTER TABLE: one version with another definition."""

from __future__ import annotations

from engine.bind.bound import Outcome
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.table_draft import Definition
from engine.delta.delta_format import delta_snapshot
from engine.errors.table_errors import naming
from engine.plans.ddl import AlterPlan
from engine.runtime.results import empty_result
from engine.write.staged_write import StagedWrite


def alter_table(plan: AlterPlan) -> StagedWrite:
    """One version with the new definition; none where nothing changes.

    The rows that were checked must be those for which the new rule holds, so the commit depends on them.
    """
    snapshot, definition = delta_snapshot(plan.table.snapshot), plan.definition
    outcome = Outcome(result=empty_result())
    if definition == Definition.of(snapshot.config):
        return StagedWrite(outcome=outcome)
    with naming(plan.table.label):
        transaction = Transaction.on(snapshot, plan.description, table=plan.table.label)
        if plan.checks is not None:
            transaction.read_whole_table()
        transaction.define(definition)
    return StagedWrite(outcome=outcome, transaction=transaction, label=plan.table.label)
