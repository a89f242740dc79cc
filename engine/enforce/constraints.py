"""CHECK constraints and column invariants: true of every row, or the write fails.

They count whatever the protocol says: legacy versions that do not imply them have metadata of writers that do
(`engine.delta.definition.dormant`).

Protocol: "CHECK Constraints", "Column Invariants".
"""

from __future__ import annotations

from dataclasses import replace

from engine.delta.definition.constraints import check_constraints, column_invariants
from engine.enforce.errors import ConstraintViolated
from engine.enforce.values import described
from engine.plans.write_plan import RowCheck, Values, WritePlan
from engine.sql.expressions import parse_expression
from engine.table.snapshot import Constraint


def enforce_constraints(plan: WritePlan) -> WritePlan:
    """Adds a check for each."""
    config = plan.config
    demanded = [*check_constraints(config.metadata.configuration), *column_invariants(config.schema)]
    return replace(plan, checks=(*plan.checks, *map(constraint_check, demanded)))


def constraint_check(constraint: Constraint) -> RowCheck:
    """The check of one constraint."""
    expression = parse_expression(constraint.expression)

    def violated(values: Values) -> ConstraintViolated:
        return ConstraintViolated(constraint.name, f"({constraint.expression})", described(values))

    return RowCheck(text=expression.text, shown=expression.columns, error=violated)
