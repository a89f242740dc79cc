"""Versions with another definition, by ALTER TABLE, or another high-water mark, by ALTER TABLE … SYNC IDENTITY."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.conditions import IdentityExhausted
from engine.binding.bound import Outcome
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.ddl import AlterPlan, SyncIdentityPlan
from engine.runtime.results import empty_result
from engine.tables.column_metadata import LONG_MAX, LONG_MIN
from engine.tables.definition_changes import set_high_water_mark


def alter_table(plan: AlterPlan) -> StagedWrite:
    """Stages one version with the new definition; none if nothing changes.

    The new rule must hold for the table's rows, so the commit depends on the checked rows.
    """
    table, outcome = plan.table, Outcome(result=empty_result())
    if plan.definition == table.snapshot.definition:
        return StagedWrite(outcome=outcome)
    with name_table_in_errors(table.label):
        transaction = table.own.begin(table.snapshot, plan.description, table.label)
        if plan.checks is not None:
            transaction.read_whole_table()
        transaction.define(plan.definition)
    return StagedWrite(outcome=outcome, transaction=transaction, label=table.label)


def sync_identity(plan: SyncIdentityPlan, min_max_values: Sequence[int | None]) -> StagedWrite:
    """Stages the new high-water mark; nothing if it is unchanged. `min_max_values` is the result row of the plan's
    query.

    The high-water mark must be past the rows that were read, so rows added concurrently conflict. Raises
    `IdentityExhausted` if the next value past the rows does not fit into 64 bits: no writer could use a table with this
    high-water mark.
    """
    low, high = min_max_values
    outcome = Outcome(result=empty_result())
    high_water_mark = (
        plan.column.high_water_mark if low is None or high is None else plan.column.high_water_mark_after(low, high)
    )
    if high_water_mark is None or high_water_mark == plan.column.high_water_mark:
        return StagedWrite(outcome=outcome)
    if not LONG_MIN <= high_water_mark <= LONG_MAX:
        raise IdentityExhausted(plan.column.name)
    snapshot, label = plan.table.snapshot, plan.table.label
    with name_table_in_errors(label):
        transaction = plan.table.own.begin(snapshot, plan.description, label)
        transaction.read_whole_table()
        transaction.define(snapshot.definition, (set_high_water_mark(plan.column, high_water_mark),))
    return StagedWrite(outcome=outcome, transaction=transaction, label=label)
