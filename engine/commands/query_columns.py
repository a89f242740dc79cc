"""The columns of a query as columns of a table: of one that is made from it, or of one that grows by them.

Schema evolution, where it is asked for, adds the columns of the query that the table does not have, behind its own:
those of other names where names decide, those that are left over where positions do. They are null in older rows. The
columns that are there stay as they are; inside of structs nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.delta.errors import UnsupportedDataType, naming
from engine.delta.metadata_changes import AddColumn, change_table
from engine.delta.spec.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_data_type,
)
from engine.delta.table_draft import Definition
from engine.enforce.write_plan import WritePlan
from engine.exec.frame import Column


def table_fields(columns: Iterable[Column]) -> tuple[StructField, ...]:
    """Raises `UnsupportedDataType` for what no table has."""
    return tuple(StructField(column.name, table_type(column)) for column in columns)


def table_type(column: Column) -> DataType:
    """The type of a query's column as a table has it. Raises `UnsupportedDataType`."""
    return _table_type(parse_data_type(column.json_type))


def evolved(rows: WritePlan, columns: Sequence[Column], by_name: bool) -> Definition:
    """The table's definition with the query's new columns; the one that it has where there are none."""
    if by_name:
        new = [column for column in columns if rows.schema.field(column.name) is None]
    else:
        new = [] if rows.listed else list(columns[len(rows.schema.fields) - len(rows.static) :])
    if not new:
        return Definition.of(rows.config)
    with naming(rows.table):
        changes = [AddColumn(field=field) for field in table_fields(new)]
        return change_table(rows.config, changes)


def _table_type(data_type: DataType) -> DataType:
    """The type of a query's column as a table has it: everything may be null, and `void` is nothing to store."""
    match data_type:
        case StructType(fields):
            return StructType(tuple(StructField(field.name, _table_type(field.data_type)) for field in fields))
        case ArrayType(element):
            return ArrayType(_table_type(element))
        case MapType(key, value):
            return MapType(_table_type(key), _table_type(value))
        case PrimitiveType.VOID:
            raise UnsupportedDataType("void, of a NULL without a type")
        case PrimitiveType() | DecimalType():
            return data_type
