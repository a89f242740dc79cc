"""A table's columns as Spark plans with them, and those of its files, in Spark's JSON and of one shape.

Of a column's metadata only what Spark must know crosses over: comments, declared lengths and collations of strings.
Other keys mean something to Spark too (`EXISTS_DEFAULT` would fill in values that old files lack, where the table says
null), and a log may hold any. Columns of type void are in no file: they are read as booleans that are missing, hence
null.

Protocol: "Column Mapping", "Reader Requirements for Column Mapping".
"""

from __future__ import annotations

from dataclasses import replace

from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.types.schema import DataType, PrimitiveType, StructField, StructType, map_fields
from engine.types.sql_types import COLLATIONS, collations_of

_SHOWN = ("comment", CHAR_VARCHAR_TYPE)


def logical_json(schema: StructType) -> str:
    """The columns by the names of the table."""
    return map_fields(schema, _shown).to_json()


def physical_json(schema: StructType) -> str:
    """The columns as `FileLayout.schema` has them."""
    return map_fields(schema, lambda item: item, _readable).to_json()


def _shown(item: StructField) -> StructField:
    metadata = {key: item.metadata[key] for key in _SHOWN if key in item.metadata}
    if collations := collations_of(item):
        metadata[COLLATIONS] = collations
    return replace(item, metadata=metadata)


def _readable(data_type: DataType) -> DataType:
    return PrimitiveType.BOOLEAN if data_type is PrimitiveType.VOID else data_type
