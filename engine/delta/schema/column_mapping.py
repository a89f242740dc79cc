"""Column mapping: the logical names that SQL sees, the physical names that files, statistics and partition values have.

In modes `name` and `id` every column has a physical name and an id in its metadata; a rename changes only the logical
name. Partition values and statistics are keyed by physical name in both modes. In mode `none` the two names are one,
whatever the metadata may say.

Protocol: "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

MAPPING_PREFIX = "delta.columnMapping."
PHYSICAL_NAME = f"{MAPPING_PREFIX}physicalName"
COLUMN_ID = f"{MAPPING_PREFIX}id"
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
    return map_fields(schema, lambda item: replace(item, name=physical_name(item, mode)))


def physical_names(schema: StructType, mode: str) -> Mapping[str, str]:
    """Logical to physical name of every top-level column, in order."""
    return {field.name: physical_name(field, mode) for field in schema.fields}


def map_fields(
    schema: StructType,
    change: Callable[[StructField], StructField],
    change_leaf: Callable[[DataType], DataType] = lambda leaf: leaf,
) -> StructType:
    """A schema of the same shape: `change` applied to its fields at every level, `change_leaf` to simple types."""

    def mapped(data_type: DataType) -> DataType:
        match data_type:
            case StructType():
                return map_fields(data_type, change, change_leaf)
            case ArrayType(element, contains_null):
                return ArrayType(mapped(element), contains_null)
            case MapType(key, value, contains_null):
                return MapType(mapped(key), mapped(value), contains_null)
            case PrimitiveType() | DecimalType():
                return change_leaf(data_type)
            case _:
                assert_never(data_type)

    return StructType(tuple(change(replace(item, data_type=mapped(item.data_type))) for item in schema.fields))
