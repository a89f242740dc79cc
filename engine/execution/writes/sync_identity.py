"""ALTER TABLE … SYNC IDENTITY: one version with another high-water mark."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.conditions import IdentityExhausted
from engine.binding.bound import Outcome
from engine.errors.table_errors import naming
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.ddl import SyncIdentityPlan
from engine.runtime.results import empty_result
from engine.tables.definition_changes import set_high_water_mark
from engine.tables.identity import GREATEST, LEAST


def sync_identity(plan: SyncIdentityPlan, extremes: Sequence[int | None]) -> StagedWrite:
    """Nothing to commit where the high-water mark stays. `extremes` is the row that the plan's query answered.

    The high-water mark must be past the rows that were read, so rows that others add at the same time conflict. Raises
    `IdentityExhausted` where the first value of the grid past the rows does not fit into 64 bits: no writer could
    use a table with such a high-water mark any more.
    """
    low, high = extremes
    outcome = Outcome(result=empty_result())
    high_water_mark = (
        plan.column.high_water_mark if low is None or high is None else plan.column.high_water_mark_after(low, high)
    )
    if high_water_mark is None or high_water_mark == plan.column.high_water_mark:
        return StagedWrite(outcome=outcome)
    if not LEAST <= high_water_mark <= GREATEST:
        raise IdentityExhausted(plan.column.name)
    snapshot, label = plan.table.snapshot, plan.table.label
    with naming(label):
        transaction = plan.table.own.begin(snapshot, plan.description, label)
        transaction.read_whole_table()
        transaction.define(snapshot.definition, (set_high_water_mark(plan.column, high_water_mark),))
    return StagedWrite(outcome=outcome, transaction=transaction, label=label)
