"""A table's columns as Spark plans with them, and those of its files, in Spark's JSON and of one shape.

Of a column's metadata only what Spark must know crosses over: comments, declared lengths of strings. Other keys mean
something to Spark too (`EXISTS_DEFAULT` would fill in values that old files lack, where Delta says null), and a log may
hold any. The columns of files have physical names at every level. In mode `id` they have field ids instead, and names
that no file has: Spark's reader finds columns by id, but takes the type of one by its name where the file has the name
for whatever column. Columns of type void are in no file: they are read as booleans that are missing, hence null.

Protocol: "Column Mapping", "Reader Requirements for Column Mapping".
"""

from __future__ import annotations

from dataclasses import replace

from engine.delta.schema.column_mapping import column_id, map_fields, physical_name
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.types.schema import DataType, PrimitiveType, StructField, StructType

BY_ID = "id"

_FIELD_ID = "parquet.field.id"
_IN_NO_FILE = "\0"
_SHOWN = ("comment", CHAR_VARCHAR_TYPE)


def logical_json(schema: StructType) -> str:
    """The columns by the names of the table."""
    return map_fields(schema, _shown).to_json()


def physical_json(schema: StructType, mode: str) -> str:
    """The columns by the names, or ids, of the files."""

    def stored(item: StructField) -> StructField:
        number = column_id(item) if mode == BY_ID else None
        if number is None:
            return replace(item, name=physical_name(item, mode), metadata={})
        return replace(item, name=f"{_IN_NO_FILE}{number}", metadata={_FIELD_ID: number})

    return map_fields(schema, stored, _readable).to_json()


def _shown(item: StructField) -> StructField:
    return replace(item, metadata={key: item.metadata[key] for key in _SHOWN if key in item.metadata})


def _readable(data_type: DataType) -> DataType:
    return PrimitiveType.BOOLEAN if data_type is PrimitiveType.VOID else data_type
