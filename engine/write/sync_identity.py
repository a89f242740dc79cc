"""ALTER TABLE … SYNC IDENTITY: one version with another high-water mark."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bind.bound import Outcome
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.identity import GREATEST, LEAST, set_mark
from engine.delta.definition.metadata_changes import change_table
from engine.errors.statement_errors import IdentityExhausted
from engine.errors.table_errors import naming
from engine.plans.ddl import SyncIdentityPlan
from engine.runtime.results import empty_result
from engine.write.staged_write import StagedWrite


def sync_identity(plan: SyncIdentityPlan, extremes: Sequence[int | None]) -> StagedWrite:
    """None to commit where the mark stays. `extremes` is the row that the plan's query answered.

    The mark must be past the rows that were read, so rows that others add at the same time conflict. Raises
    `IdentityExhausted` where the first value of the grid past the rows does not fit into 64 bits: no writer could
    use a table with such a mark any more.
    """
    low, high = extremes
    outcome = Outcome(result=empty_result())
    mark = plan.column.mark if low is None or high is None else plan.column.mark_after(low, high)
    if mark is None or mark == plan.column.mark:
        return StagedWrite(outcome=outcome)
    if not LEAST <= mark <= GREATEST:
        raise IdentityExhausted(plan.column.name)
    snapshot, label = plan.table.snapshot, plan.table.label
    with naming(label):
        changed = change_table(snapshot.config, (set_mark(plan.column, mark),))
        transaction = Transaction.on(snapshot, plan.description, table=label)
        transaction.read_whole_table()
        transaction.define(changed)
    return StagedWrite(outcome=outcome, transaction=transaction, label=label)
