"""Column mapping: the logical names that SQL sees, the physical names that files, statistics and partition values have.

In modes `name` and `id` every column has a physical name and an id in its metadata; a rename changes only the logical
name. Partition values and statistics are keyed by physical name in both modes. In mode `none` the two names are one,
whatever the metadata may say.

Protocol: "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from engine.delta.spec.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)

PHYSICAL_NAME = "delta.columnMapping.physicalName"
COLUMN_ID = "delta.columnMapping.id"
NO_MAPPING = "none"


def physical_name(field: StructField, mode: str) -> str:
    """The name of a field in data files, statistics and partition values. `mode` is `none`, `name` or `id`."""
    name = field.metadata.get(PHYSICAL_NAME)
    return name if mode != NO_MAPPING and isinstance(name, str) else field.name


def column_id(field: StructField) -> int | None:
    """The Parquet field id of a field; None where none was assigned."""
    value = field.metadata.get(COLUMN_ID)
    return value if isinstance(value, int) else None


def physical_schema(schema: StructType, mode: str) -> StructType:
    """The schema with physical names at every level; all else stays."""
    if mode == NO_MAPPING:
        return schema
    renamed = _map_fields(schema, lambda field: physical_name(field, mode))
    assert isinstance(renamed, StructType)
    return renamed


def physical_names(schema: StructType, mode: str) -> Mapping[str, str]:
    """Logical to physical name of every top-level column, in order."""
    return {field.name: physical_name(field, mode) for field in schema.fields}


def _map_fields(data_type: DataType, rename: Callable[[StructField], str]) -> DataType:
    match data_type:
        case StructType(fields):
            return StructType(
                tuple(
                    StructField(rename(item), _map_fields(item.data_type, rename), item.nullable, item.metadata)
                    for item in fields
                )
            )
        case ArrayType(element, contains_null):
            return ArrayType(_map_fields(element, rename), contains_null)
        case MapType(key, value, contains_null):
            return MapType(_map_fields(key, rename), _map_fields(value, rename), contains_null)
        case PrimitiveType() | DecimalType():
            return data_type
        case _:
            assert_never(data_type)
