"""Checks on written rows: CHECK constraints, column invariants, REPLACE WHERE, append-only tables.

A constraint must be true for every row, or the write fails. The same applies to REPLACE WHERE's condition, which
selects the replaced rows. An append-only table loses no rows: its transaction would also reject the removes, but this
check fails before anything is written.

Protocol: "CHECK Constraints", "Column Invariants", "Append-only Tables".
"""

from __future__ import annotations

from catalog.conditions import CannotModifyAppendOnly, ConstraintViolated, FunctionSettingsDiffer, ReplaceWhereViolated
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.sql.expressions import parse_expression
from engine.sql.query.bodies import separate_functions
from engine.tables.config import Constraint, TableConfig


def enforce_constraints(plan: WritePlan) -> WritePlan:
    """Adds a check for each constraint."""
    return plan.extend(map(constraint_check, plan.config.constraints))


def constraint_check(constraint: Constraint) -> RowCheck:
    """Returns a constraint's check."""
    expression = parse_expression(constraint.expression)

    def violation(values: Values) -> ConstraintViolated:
        return ConstraintViolated(constraint.name, f"({constraint.expression})", format_values(values))

    return RowCheck(text=expression.text, shown=expression.columns, error=violation, settings=constraint.settings)


def enforce_replace_where(plan: WritePlan) -> WritePlan:
    """Adds REPLACE WHERE's condition as a check."""
    if plan.replaces is None:
        return plan
    # A function that was created under other settings means another expression here than in
    # the condition that selects files.
    for function in separate_functions(plan.replaces):
        raise FunctionSettingsDiffer(function)
    expression = parse_expression(plan.replaces)

    def violation(values: Values) -> ReplaceWhereViolated:
        return ReplaceWhereViolated(expression.text, format_values(values))

    check = RowCheck(text=expression.text, shown=expression.columns, error=violation)
    return plan.extend([check])


def ensure_append_only(plan: WritePlan) -> WritePlan:
    """Raises `CannotModifyAppendOnly`."""
    # "Append-only Tables": only rows count. OPTIMIZE, which removes files without data
    # change, stays allowed.
    if plan.removes:
        ensure_rows_may_go(plan.config, plan.table)
    return plan


def ensure_rows_may_go(config: TableConfig, label: str) -> None:
    """Raises `CannotModifyAppendOnly`."""
    if config.is_append_only:
        raise CannotModifyAppendOnly(label)


def format_values(values: Values) -> str:
    """Formats a line per column, by name, each after a line break."""
    return "".join(f"\n - {name} : {'null' if value is None else value}" for name, value in sorted(values.items()))
