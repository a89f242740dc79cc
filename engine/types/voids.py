"""Columns of type void: inside of other types, which no data file can have, and those that a query brings.

DuckDB, Delta Kernel and others open no table that has a column of type void. CREATE TABLE and ALTER TABLE make one if
it is written down; a query makes one by a NULL without a type, which nobody may have meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from catalog.conditions import NestedVoid, VoidColumnAdded
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    walk_fields,
)

VOID_COLUMNS_ALLOWED = "gateway.allowVoidColumns"
"""The table property with which queries may bring columns of type void."""


def ensure_no_new_void(
    fields: Iterable[StructField], parent: tuple[str, ...], properties: Mapping[str, str | None]
) -> None:
    """Raises `VoidColumnAdded` for a type void in or below these fields of a query, which the struct at `parent` gets,
    unless the table's properties allow it.
    """
    if (properties.get(VOID_COLUMNS_ALLOWED) or "").lower() == "true":
        return
    for path, field in walk_fields(StructType(tuple(fields)), parent):
        # The elements, keys and values of a field have no fields of their own.
        if _is_void(field.data_type):
            raise VoidColumnAdded(".".join(path), VOID_COLUMNS_ALLOWED)


def _is_void(data_type: DataType) -> bool:
    """Returns whether it is void, or an array or map of it; structs have fields that say it of themselves."""
    match data_type:
        case ArrayType(element):
            return _is_void(element)
        case MapType(key, value):
            return _is_void(key) or _is_void(value)
        case PrimitiveType() | DecimalType() | StructType():
            return data_type is PrimitiveType.VOID
        case _:
            assert_never(data_type)


def ensure_no_nested_void(schema: StructType, before: StructType | None = None) -> None:
    """Raises `NestedVoid`: a file has no columns of type void, and inside of another type it would have to.

    Columns that were so `before` may stay.
    """
    known = nested_voids(before) if before is not None else []
    new = [name for name in nested_voids(schema) if name not in known]
    if new:
        raise NestedVoid(new[0])


def nested_voids(schema: StructType) -> list[str]:
    """The columns of other types that hold the type void."""
    return [
        field.name
        for field in schema.fields
        if field.data_type is not PrimitiveType.VOID and _has_void(field.data_type)
    ]


def _has_void(data_type: DataType) -> bool:
    match data_type:
        case StructType(fields):
            return any(_has_void(field.data_type) for field in fields)
        case ArrayType(element):
            return _has_void(element)
        case MapType(key, value):
            return _has_void(key) or _has_void(value)
        case PrimitiveType() | DecimalType():
            return data_type is PrimitiveType.VOID
        case _:
            assert_never(data_type)
