"""Column mapping: logical names for SQL; physical names for files, statistics and partition values.

In modes `name` and `id` every column has a physical name and an id in its metadata; a rename changes the logical name
only. Partition values and statistics are keyed by physical name in both modes. In mode `none` the logical name is also
the physical name, even if the metadata has another one.

Protocol: "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from engine.tables.column_metadata import COLUMN_ID
from engine.tables.scan import FIELD_ID, FileLayout
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    map_fields,
)

MAPPING_PREFIX = "delta.columnMapping."
PHYSICAL_NAME = f"{MAPPING_PREFIX}physicalName"
NO_MAPPING, BY_ID, BY_NAME = "none", "id", "name"
_IN_NO_FILE = "\0"


def physical_name(field: StructField, mode: str) -> str:
    """Returns a field's name in data files, statistics and partition values. `mode` is `none`, `name` or `id`."""
    name = field.metadata.get(PHYSICAL_NAME)
    # A table that left column mapping, or a schema copied from a mapped table, still has
    # the keys; in mode none they must not rename anything.
    return name if mode != NO_MAPPING and isinstance(name, str) else field.name


def column_id(field: StructField) -> int | None:
    """Returns a field's Parquet field id, or None if none was assigned."""
    value = field.metadata.get(COLUMN_ID)
    return value if isinstance(value, int) else None


def physical_schema(schema: StructType, mode: str) -> StructType:
    """Returns the schema with physical names at all levels and everything else unchanged."""
    if mode == NO_MAPPING:
        return schema
    return map_fields(schema, lambda item: replace(item, name=physical_name(item, mode)))


def file_layout(schema: StructType, mode: str, partition_columns: Iterable[str] = ()) -> FileLayout:
    """Returns the layout in which data files store the columns.

    In mode `id` fields have an id and a name that occurs in no file. Spark's reader finds columns by id, but if the
    file uses the same name for another column, it takes that column's type.
    """

    # "Reader Requirements for Column Mapping": in mode id columns are found by field id,
    # and a file without the id lacks the column, even if it has one by that name.
    def stored_field(item: StructField) -> StructField:
        number = column_id(item) if mode == BY_ID else None
        if number is None:
            return replace(item, name=physical_name(item, mode), metadata={})
        return replace(item, name=f"{_IN_NO_FILE}{number}", metadata={FIELD_ID: number})

    names = physical_names(schema, mode)
    return FileLayout(
        schema=map_fields(schema, stored_field),
        partition_keys=tuple(names.get(name, name) for name in partition_columns),
        by_id=mode == BY_ID,
    )


def physical_names(schema: StructType, mode: str) -> Mapping[str, str]:
    """Maps the logical names of the top-level columns to physical names, in order."""
    return {field.name: physical_name(field, mode) for field in schema.fields}


def stored_schema(schema: StructType, mode: str) -> StructType:
    """Returns the columns as stored in files: physical names and, with column mapping, ids."""
    with_ids = _with_ids(physical_schema(schema, mode), mode)
    assert isinstance(with_ids, StructType)
    return with_ids


def _with_ids(data_type: DataType, mode: str) -> DataType:
    match data_type:
        case StructType(fields):
            return StructType(tuple(_with_id(field, mode) for field in fields))
        case ArrayType(element):
            return ArrayType(_with_ids(element, mode))
        case MapType(key, value):
            return MapType(_with_ids(key, mode), _with_ids(value, mode))
        case PrimitiveType() | DecimalType():
            return data_type
        case _:
            assert_never(data_type)


def _with_id(field: StructField, mode: str) -> StructField:
    number = column_id(field) if mode != NO_MAPPING else None
    metadata = {} if number is None else {FIELD_ID: number}
    # Files have nullable columns, whatever the table's constraints: a NOT NULL that is
    # dropped or added later must not make older files unreadable.
    return StructField(field.name, _with_ids(field.data_type, mode), True, metadata)
