"""Query columns as table columns, or as columns in files that store its rows while a statement runs.

These files (`engine.execution.writes.materialized_source`) have generated column names, which the scan maps to the
query's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from engine.planning.plans.reads import QueryColumn
from engine.sql.query.composed import Names
from engine.tables.scan import FILE_METADATA, NO_FILES, FileLayout, Scan
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
    """Returns the columns with their types. Raises `UnsupportedDataType` for a type that tables do not support."""
    return tuple(StructField(column.name, parse_data_type(column.json_type)) for column in columns)


def table_fields(columns: Iterable[QueryColumn]) -> tuple[StructField, ...]:
    """Returns the columns as table columns. Raises `UnsupportedDataType` for a type that tables do not support."""
    return tuple(StructField(field.name, table_type(field.data_type)) for field in given_fields(columns))


def table_type(data_type: DataType) -> DataType:
    """Returns a query column's type as a table stores it: everything is nullable."""
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


def materialized_scan(
    relation: str, columns: Sequence[QueryColumn], folder: str, metadata: str = FILE_METADATA
) -> Scan:
    """Returns a scan without files yet, below `folder`. Raises for columns that files cannot store.

    Duplicate column names are renamed except for the first: a text that refers to them is rejected earlier.
    """
    names = Names(column.name for column in columns)
    seen: set[str] = set()
    fields = []
    for field in table_fields(columns):
        name = names.new("column") if field.name.casefold() in seen else field.name
        seen.add(name.casefold())
        fields.append(StructField(name, field.data_type))
    stored = [StructField(f"c{at}", field.data_type) for at, field in enumerate(fields)]
    return Scan(
        relation=relation,
        label="the source",
        table_root=folder,
        schema=StructType(tuple(fields)),
        layout=FileLayout(schema=StructType(tuple(stored)), partition_keys=()),
        partition_columns=(),
        files=NO_FILES,
        metadata=metadata,
    )


def materialized_columns(scan: Scan) -> StructType:
    """Returns the file columns, by position; Parquet has no type for a column with only NULL."""
    assert scan.layout is not None
    return StructType(tuple(field for field in scan.layout.schema.fields if field.data_type is not PrimitiveType.VOID))
