"""ALTER TABLE, carried out: one version with another definition."""

from __future__ import annotations

from collections.abc import Callable

from engine.bind.bound import Outcome
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.definition.table_draft import Definition
from engine.errors.table_errors import naming
from engine.plans.ddl import AlterPlan
from engine.runtime.results import empty_result


def alter_table(plan: AlterPlan, after_commit: Callable[[Committed], None]) -> Outcome:
    """One version with the new definition; none where nothing changes.

    Rows that were checked must be those that the new rule will stand over, so the commit depends on them.
    """
    snapshot, definition = plan.table.snapshot, plan.definition
    if definition == Definition.of(snapshot.config):
        return Outcome(result=empty_result())
    with naming(plan.table.label):
        transaction = Transaction.on(snapshot, plan.description, table=plan.table.label)
        if plan.checks is not None:
            transaction.read_whole_table()
        transaction.define(definition)
        committed = transaction.commit()
    after_commit(committed)
    return Outcome(result=empty_result())
