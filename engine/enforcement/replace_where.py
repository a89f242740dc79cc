"""REPLACE WHERE: the rows that are written must satisfy the condition under which others go."""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import FunctionSettingsDiffer, ReplaceWhereViolated
from engine.enforcement.values import described
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.sql.expressions import parse_expression
from engine.sql.query.bodies import separate_functions


def enforce_replace_where(plan: WritePlan) -> WritePlan:
    """Adds the condition as a check."""
    if plan.replaces is None:
        return plan
    for function in separate_functions(plan.replaces):
        raise FunctionSettingsDiffer(function)
    expression = parse_expression(plan.replaces)

    def violated(values: Values) -> ReplaceWhereViolated:
        return ReplaceWhereViolated(expression.text, described(values))

    check = RowCheck(text=expression.text, shown=expression.columns, error=violated)
    return replace(plan, checks=(*plan.checks, check))
