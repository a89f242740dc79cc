"""CHECK constraints and column invariants: true of every row, or the write fails.

Protocol: "CHECK Constraints", "Column Invariants".
"""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import ConstraintViolated
from engine.enforcement.values import described
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.sql.expressions import parse_expression
from engine.tables.rules import Constraint


def enforce_constraints(plan: WritePlan) -> WritePlan:
    """Adds a check for each."""
    return replace(plan, checks=(*plan.checks, *map(constraint_check, plan.config.constraints)))


def constraint_check(constraint: Constraint) -> RowCheck:
    """The check of one constraint."""
    expression = parse_expression(constraint.expression)

    def violated(values: Values) -> ConstraintViolated:
        return ConstraintViolated(constraint.name, f"({constraint.expression})", described(values))

    return RowCheck(text=expression.text, shown=expression.columns, error=violated, settings=constraint.settings)
