"""Columns of type void inside of other types, which no data file can have."""

from __future__ import annotations

from engine.errors.column_errors import NestedVoid
from engine.types.schema import ArrayType, DataType, MapType, PrimitiveType, StructType


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
        case _:
            return data_type is PrimitiveType.VOID
