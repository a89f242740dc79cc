"""Generated columns: computed where the statement does not give them, checked where it does.

A given value must equal (`<=>`, so null equals null) what the expression makes of the rest of the row.

Protocol: "Generated Columns".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from catalog.conditions import ConstraintViolated
from catalog.names import quote
from engine.enforcement.values import described
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.sql.expressions import Expression, parse_expression
from engine.tables.column_metadata import captured_with
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type


def compute_generated(plan: WritePlan) -> WritePlan:
    """Fills `generated`, and adds checks."""
    present = plan.target_names | plan.constants.keys()
    computed, checks = {}, []
    for column, expression in _generated_columns(plan):
        if column.name in present:
            checks.append(_check(column, expression))
        else:
            computed[column.name] = f"CAST({expression.in_parentheses} AS {ddl_type(column.data_type)})"
    return replace(plan, generated=computed, checks=(*plan.checks, *checks))


def _generated_columns(plan: WritePlan) -> Iterator[tuple[StructField, Expression]]:
    for name, text in plan.config.generations.items():
        column = plan.schema.field(name)
        if column is not None:
            yield column, parse_expression(text)


def _check(column: StructField, expression: Expression) -> RowCheck:
    text = f"{quote(column.name)} <=> {expression.in_parentheses}"

    def violated(values: Values) -> ConstraintViolated:
        return ConstraintViolated(
            "Generated Column", f"({quote(column.name)} <=> ({expression.text}))", described(values)
        )

    shown = ((column.name,), *expression.columns)
    return RowCheck(text=text, shown=shown, error=violated, settings=captured_with(column))
