"""The columns of a query as columns of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from engine.planning.plans.reads import QueryColumn
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_data_type,
)


def given_fields(columns: Iterable[QueryColumn]) -> tuple[StructField, ...]:
    """Returns the columns with their types. Raises `UnsupportedDataType` for what no table has."""
    return tuple(StructField(column.name, parse_data_type(column.json_type)) for column in columns)


def table_fields(columns: Iterable[QueryColumn]) -> tuple[StructField, ...]:
    """Raises `UnsupportedDataType` for what no table has."""
    return tuple(StructField(field.name, table_type(field.data_type)) for field in given_fields(columns))


def table_type(data_type: DataType) -> DataType:
    """The type of a query's column as a table has it: everything may be null."""
    match data_type:
        case StructType(fields):
            return StructType(tuple(StructField(field.name, table_type(field.data_type)) for field in fields))
        case ArrayType(element):
            return ArrayType(table_type(element))
        case MapType(key, value):
            return MapType(table_type(key), table_type(value))
        case PrimitiveType() | DecimalType():
            return data_type
        case _:
            assert_never(data_type)
