"""Columns that the statement does not give: their default, or null.

Generated columns are left to their own rule. A NOT NULL column without a default can never be left out.
"""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import NotNullColumnMissing
from engine.planning.plans.write_plan import WritePlan
from engine.sql.expressions import parse_expression
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type

DEFAULT = "CURRENT_DEFAULT"


def fill_defaults(plan: WritePlan) -> WritePlan:
    """Adds to `constants`."""
    present = plan.target_names | plan.constants.keys() | plan.identity_names
    present |= plan.config.generations.keys()
    missing = [column for column in plan.schema.fields if column.name not in present]
    return replace(plan, constants={**plan.constants, **{column.name: _default(column) for column in missing}})


def default_text(column: StructField) -> str:
    """The value of DEFAULT for a column, safe to put among other text."""
    text = column.metadata.get(DEFAULT)
    return parse_expression(text).in_parentheses if isinstance(text, str) else "NULL"


def _default(column: StructField) -> str:
    text = default_text(column)
    if text == "NULL" and not column.nullable:
        raise NotNullColumnMissing(column.name)
    return f"CAST({text} AS {ddl_type(column.data_type)})"
