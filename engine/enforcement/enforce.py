"""The write rules, in the order in which they apply; each rule sees the results of the previous ones."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import assert_never

from engine.enforcement.columns import match_columns
from engine.enforcement.computed_columns import compute_generated, fill_defaults
from engine.enforcement.identity import generate_identities
from engine.enforcement.not_null import enforce_not_null
from engine.enforcement.row_checks import (
    enforce_constraints,
    enforce_replace_where,
    ensure_append_only,
    ensure_rows_may_go,
)
from engine.enforcement.stored_values import check_stored_values, ensure_storable, fit_partition_values
from engine.planning.plans.ddl import (
    AlterPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
)
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import AnsweringPlan, Plan
from engine.planning.plans.write_plan import EnforcementStep, WritePlan
from engine.planning.plans.writes import (
    ChangedValues,
    CopyPlan,
    DeletePlan,
    InsertPlan,
    MergePlan,
    RewrittenRows,
    TruncatePlan,
    UpdatePlan,
)

# The order matters: defaults are arguments of generated columns; partition values become
# null before NOT NULL and the constraints see them, because the file will have null. For a row
# that violates both, the error is the constraint's, as in Delta.
ENFORCEMENT_STEPS: tuple[EnforcementStep, ...] = (
    ensure_append_only,
    ensure_storable,
    match_columns,
    generate_identities,
    fill_defaults,
    compute_generated,
    fit_partition_values,
    check_stored_values,
    enforce_constraints,
    enforce_not_null,
    enforce_replace_where,
)


def enforce(plan: Plan) -> Plan:
    """Adds the table's constraints, generated columns, defaults and identity columns to the rows that a plan writes.

    Returns plans that write no rows unchanged. Raises for a write that no row could satisfy, such as an UPDATE of an
    append-only table.
    """
    if isinstance(plan, AnsweringPlan):
        return plan
    match plan:
        case InsertPlan(more=more):
            parts = tuple(replace(part, rows=enforce_write(part.rows)) for part in more)
            return replace(plan, rows=enforce_write(plan.rows), more=parts)
        case UpdatePlan(rewritten=RewrittenRows() as rewritten):
            # Copy-on-write writes these rows instead of the others, so that they need the
            # checks too.
            rewritten = replace(rewritten, rows=enforce_write(rewritten.rows))
            return replace(plan, rows=enforce_write(plan.rows), rewritten=rewritten)
        case UpdatePlan() | CreateTableAsPlan() | ReplaceTableAsPlan():
            return replace(plan, rows=enforce_write(plan.rows))
        case MergePlan(table=table, updates=updates, inserts=inserts, deletes=deletes):
            if updates or deletes:
                ensure_rows_may_go(table.snapshot.table_config, table.label)
            return replace(plan, updates=_enforce_changes(updates), inserts=_enforce_changes(inserts))
        case CopyPlan(insert=insert):
            if insert is None:
                return plan
            return replace(plan, insert=replace(insert, rows=enforce_write(insert.rows)))
        case DeletePlan(table=table):
            ensure_rows_may_go(table.snapshot.table_config, table.label)
            return plan
        case CreateTablePlan() | ReplaceTablePlan() | AlterPlan() | SyncIdentityPlan() | TruncatePlan():
            return plan
        case FormatPlan():  # existing rows have already passed the rules
            return plan
        case _:
            assert_never(plan)


def _enforce_changes(changes: tuple[ChangedValues, ...]) -> tuple[ChangedValues, ...]:
    return tuple(replace(change, rows=enforce_write(change.rows)) for change in changes)


def enforce_write(rows: WritePlan) -> WritePlan:
    """Applies all rules in order."""
    return reduce(lambda changed, step: step(changed), ENFORCEMENT_STEPS, rows)
