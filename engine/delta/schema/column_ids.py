"""Assigns column ids and physical names for column mapping.

In a table with column mapping every field, including nested fields, has an id that no other field ever had, and a
physical name under which it is stored. A new field gets the next id and a name that is never reused, so that a dropped
column's data cannot appear under a new column with the same name. When column mapping is enabled on an existing table,
the fields' logical names become their physical names, because the existing files use them.

Protocol: "Writer Requirements for Column Mapping".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from engine.delta.schema.column_mapping import MAPPING_PREFIX, PHYSICAL_NAME, column_id
from engine.tables.column_metadata import COLUMN_ID
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    map_fields,
    walk_fields,
)


def assign_ids(schema: StructType, max_id: int, new_name: Callable[[str], str]) -> tuple[StructType, int]:
    """Returns the schema with an id and a physical name for every field that lacks them, and the highest assigned id.

    `new_name` makes a physical name from a logical name. Ids continue from `max_id`, or from the highest id in use.
    """
    # "Writer Requirements for Column Mapping": `delta.columnMapping.maxColumnId` must be at
    # least the highest id. Other writers' tables may violate it, and an id given twice
    # would mix two columns.
    counter = _Counter(max([max_id, *(column_id(field) or 0 for _, field in walk_fields(schema))]), new_name)
    assigned = counter.assign(schema)
    assert isinstance(assigned, StructType)
    return assigned, counter.highest


def without_ids(schema: StructType) -> StructType:
    """Returns the schema without column mapping metadata."""

    def bare(field: StructField) -> StructField:
        remaining = {key: value for key, value in field.metadata.items() if not key.startswith(MAPPING_PREFIX)}
        return replace(field, metadata=remaining)

    return map_fields(schema, bare)


def keep_logical_name(name: str) -> str:
    """Returns the physical name for a field in a table that already has files."""
    return name


class _Counter:
    def __init__(self, highest: int, new_name: Callable[[str], str]) -> None:
        self.highest = highest
        self._new_name = new_name

    def assign(self, data_type: DataType) -> DataType:
        match data_type:
            case StructType(fields):
                return StructType(tuple(self._assign_field(item) for item in fields))
            case ArrayType(element):
                return replace(data_type, element_type=self.assign(element))
            case MapType(key, value):
                return replace(data_type, key_type=self.assign(key), value_type=self.assign(value))
            case PrimitiveType() | DecimalType():
                return data_type
            case _:
                assert_never(data_type)

    def _assign_field(self, field: StructField) -> StructField:
        metadata = dict(field.metadata)
        if column_id(field) is None:
            self.highest += 1
            metadata[COLUMN_ID] = self.highest
        # The two are independent: a schema from another table may have names without ids.
        if not isinstance(metadata.get(PHYSICAL_NAME), str):
            metadata[PHYSICAL_NAME] = self._new_name(field.name)
        return replace(field, data_type=self.assign(field.data_type), metadata=metadata)
