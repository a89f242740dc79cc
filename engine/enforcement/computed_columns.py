"""Columns that the statement does not provide: generation expression, default, or null.

A NOT NULL column without a default must be provided. A value that the statement provides for a generated column must
equal (`<=>`, so null equals null) the expression's value over the rest of the row.

Protocol: "Generated Columns", "Default Columns".
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.conditions import ConstraintViolated, NotNullColumnMissing
from catalog.names import quote
from engine.enforcement.row_checks import format_values
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.sql.expressions import Expression, parse_expression
from engine.tables.column_metadata import DEFAULT, captured_with
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type


def fill_defaults(plan: WritePlan) -> WritePlan:
    """Adds default values to `constants`."""
    present = plan.target_names | plan.constants.keys() | plan.identity_names
    # A generated column has no default: its value is computed below, from the defaults too.
    present |= plan.config.generations.keys()
    missing = [column for column in plan.schema.fields if column.name not in present]
    return plan.extend(constants={**plan.constants, **{column.name: _default(column) for column in missing}})


def default_text(column: StructField) -> str:
    """Returns a column's DEFAULT expression, safe for embedding in other SQL text."""
    text = column.metadata.get(DEFAULT)
    return parse_expression(text).in_parentheses if isinstance(text, str) else "NULL"


def _default(column: StructField) -> str:
    text = default_text(column)
    if text == "NULL" and not column.nullable:
        raise NotNullColumnMissing(column.name)
    # The default's text has a type of its own; ALTER TABLE checked that it can be assigned.
    return f"CAST({text} AS {ddl_type(column.data_type)})"


def compute_generated(plan: WritePlan) -> WritePlan:
    """Fills `generated`, and adds checks for generated columns that the statement provides."""
    present = plan.target_names | plan.constants.keys()
    computed, checks = {}, []
    for column, expression in _generated_columns(plan):
        # "Generated Columns": a given value is allowed if it equals the expression's value,
        # so that rows can be copied from a table into its clone.
        if column.name in present:
            checks.append(_check(column, expression))
        else:
            computed[column.name] = f"CAST({expression.in_parentheses} AS {ddl_type(column.data_type)})"
    return plan.extend(checks, generated=computed)


def _generated_columns(plan: WritePlan) -> Iterator[tuple[StructField, Expression]]:
    for name, text in plan.config.generations.items():
        column = plan.schema.field(name)
        if column is not None:
            yield column, parse_expression(text)


def _check(column: StructField, expression: Expression) -> RowCheck:
    text = f"{quote(column.name)} <=> {expression.in_parentheses}"

    def violation(values: Values) -> ConstraintViolated:
        return ConstraintViolated(
            "Generated Column", f"({quote(column.name)} <=> ({expression.text}))", format_values(values)
        )

    shown = ((column.name,), *expression.columns)
    return RowCheck(text=text, shown=shown, error=violation, settings=captured_with(column))
