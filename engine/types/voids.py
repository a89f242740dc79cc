"""Void columns: rejects them inside other types, which no data file can store, and in query results.

DuckDB, Delta Kernel and others cannot open a table with a void column. CREATE TABLE and ALTER TABLE create one if it is
explicitly declared; a query creates one by an untyped NULL, which is probably unintended.
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

# The table property that permits queries to add void columns.
VOID_COLUMNS_ALLOWED = "gateway.allowVoidColumns"


def ensure_no_new_void(
    fields: Iterable[StructField], parent: tuple[str, ...], properties: Mapping[str, str | None]
) -> None:
    """Raises `VoidColumnAdded` if a query adds a void type in or below these fields to the struct at `parent`.

    The table's properties may permit it.
    """
    if (properties.get(VOID_COLUMNS_ALLOWED) or "").lower() == "true":
        return
    for path, field in walk_fields(StructType(tuple(fields)), parent):
        # Elements, keys and values are not struct fields, so they are covered here.
        if _is_void(field.data_type):
            raise VoidColumnAdded(".".join(path), VOID_COLUMNS_ALLOWED)


def _is_void(data_type: DataType) -> bool:
    """Returns whether the type is void, or an array or map with void; a struct's fields are checked separately."""
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
    """Raises `NestedVoid` for a void type inside another type, which would have to be in the file.

    Columns that were like this `before` may stay.
    """
    known = nested_voids(before) if before is not None else []
    new = [name for name in nested_voids(schema) if name not in known]
    if new:
        raise NestedVoid(new[0])


def nested_voids(schema: StructType) -> list[str]:
    """Returns the columns with other types that contain void."""
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
