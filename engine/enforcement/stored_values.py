"""Values that the files of a table have no place for.

A format may have types that the table shows as others: a text is no uuid only because it is a text. What a row has is
looked at before it becomes what is stored; rows of the table that stay as they are have been.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from catalog.conditions import ValueNotOfType
from catalog.names import quote
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan


def check_stored_values(plan: WritePlan) -> WritePlan:
    """Adds a check for each column that does not hold all values of the type that it is shown as."""
    checks = [
        RowCheck(text=each.condition, shown=((name,),), error=partial(_not_of_type, quote(name), each.type_name))
        for name, each in plan.config.stored_values.items()
        if each.condition is not None
    ]
    return replace(plan, checks=(*plan.checks, *checks))


def _not_of_type(column: str, type_name: str, values: Values) -> ValueNotOfType:
    shown = ", ".join("NULL" if value is None else str(value) for value in values.values())
    return ValueNotOfType(shown, column, type_name)
