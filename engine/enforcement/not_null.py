"""NOT NULL constraints at any depth.

A NOT NULL field inside a struct requires the struct too, as in Delta. In tables with `Capability.OPTIONAL_PARENTS`,
such as Iceberg's, a nullable struct that is NULL has no fields to check. Arrays and maps are checked element by
element.

Protocol: "Column Invariants" (the schema's nullability is one). Iceberg: "Nested Types".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import assert_never

from catalog.conditions import NotNullViolated
from catalog.names import quote
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.tables.config import Capability
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType


def enforce_not_null(plan: WritePlan) -> WritePlan:
    """Adds a check for each column, field, element or value that cannot be null."""
    checks = []
    optional_parents = plan.config.has(Capability.OPTIONAL_PARENTS)
    for column in plan.schema.fields:
        name = quote(column.name)
        if not column.nullable:
            checks.append(replace(_check(column.name, _present(name)), present=column.name))
        inside = _inside(column.data_type, column.name, name, 0, optional_parents)
        if optional_parents and column.nullable and isinstance(column.data_type, StructType):
            inside = _if_present(name, inside)
        for inner, text in inside:
            checks.append(_check(inner, text))
    return plan.extend(checks)


def _present(value: str) -> str:
    return f"{value} IS NOT NULL"


def _if_present(value: str, conditions: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields the conditions on the contents of `value` (SQL text), restricted to non-NULL values."""
    for path, text in conditions:
        yield path, f"({value} IS NULL OR {text})"


def _inside(
    data_type: DataType, shown: str, value: str, depth: int, optional_parents: bool
) -> Iterator[tuple[str, str]]:
    """Yields path (for messages) and condition for everything inside `value` (SQL text) that cannot be null."""
    match data_type:
        case StructType(fields):
            for field in fields:
                path, inner = f"{shown}.{field.name}", f"{value}.{quote(field.name)}"
                if not field.nullable:
                    yield path, _present(inner)
                below = _inside(field.data_type, path, inner, depth, optional_parents)
                if optional_parents and field.nullable and isinstance(field.data_type, StructType):
                    below = _if_present(inner, below)
                yield from below
        case ArrayType(element, contains_null):
            yield from _each(element, contains_null, f"{shown}.element", value, depth, optional_parents)
        case MapType(key, item, contains_null):
            # Spark itself rejects null keys; only what is inside a key can be null.
            yield from _each(key, True, f"{shown}.key", f"map_keys({value})", depth, optional_parents)
            yield from _each(item, contains_null, f"{shown}.value", f"map_values({value})", depth, optional_parents)
        case PrimitiveType() | DecimalType():
            return
        case _:
            assert_never(data_type)


def _each(
    element: DataType, may_be_null: bool, shown: str, array: str, depth: int, optional_parents: bool
) -> Iterator[tuple[str, str]]:
    """Yields conditions on all elements. A null struct in an array with nullable elements has no fields to check."""
    name = f"element_{depth}"
    if not may_be_null:
        # `forall` is null for a null array, which has no elements to violate anything.
        yield shown, f"coalesce(forall({array}, {name} -> {_present(name)}), true)"
    for path, text in _inside(element, shown, name, depth + 1, optional_parents):
        condition = f"{name} IS NULL OR {text}" if may_be_null else text
        yield path, f"coalesce(forall({array}, {name} -> {condition}), true)"


def _check(column: str, text: str) -> RowCheck:
    return RowCheck(text=text, shown=(), error=partial(_violation, column))


def _violation(column: str, _: Values) -> NotNullViolated:
    return NotNullViolated(column)
