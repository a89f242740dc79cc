"""Rows of metadata tables: one JSON object each, which a query parses.

Spark's JSON only has maps with text keys, so other maps are written as lists of pairs. The format of times in JSON
depends on session settings, but a cast from text does not, so times are written as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import assert_never

from engine.tables.given_rows import GivenRows, fixed_rows
from engine.tables.snapshot import MetadataTable
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.sql_types import ddl_type

_TEXT = "value"
_TIMES = frozenset([PrimitiveType.DATE, PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ])


def metadata_rows(table: MetadataTable) -> GivenRows:
    """Returns the rows as texts."""
    return fixed_rows([(_TEXT, "string")], lambda: ((json.dumps(row, ensure_ascii=False),) for row in table.rows))


def metadata_query(table: MetadataTable, rows: str) -> str:
    """Returns a query for the rows with their column names, over the relation `rows` with their texts."""
    fields = ", ".join(f"{_quote_field(field)}: {ddl_type(_in_json(field.data_type))}" for field in table.schema.fields)
    typed = ", ".join(
        f"CAST({_quote_field(field)} AS {ddl_type(_with_pairs(field.data_type))}) AS {_quote_field(field)}"
        for field in table.schema.fields
    )
    shown = ", ".join(f"{_column_sql(field)} AS {_quote_field(field)}" for field in table.schema.fields)
    read = f"SELECT inline(array(from_json({_TEXT}, 'STRUCT<{_escape(fields)}>'))) FROM {rows}"
    return f"SELECT {shown} FROM (SELECT {typed} FROM ({read}))"


def _quote_field(field: StructField) -> str:
    return "`" + field.name.replace("`", "``") + "`"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _in_json(kind: DataType) -> DataType:
    """Returns the type's JSON form."""
    return _replace_leaves(_with_pairs(kind), lambda each: PrimitiveType.STRING if each in _TIMES else each)


def _with_pairs(kind: DataType) -> DataType:
    """Returns the type with lists of pairs for maps."""
    match kind:
        case MapType(key, value):
            pair = StructType((StructField("key", _with_pairs(key)), StructField("value", _with_pairs(value))))
            return ArrayType(pair)
        case StructType(fields):
            return StructType(tuple(StructField(field.name, _with_pairs(field.data_type)) for field in fields))
        case ArrayType(element):
            return ArrayType(_with_pairs(element))
        case PrimitiveType() | DecimalType():
            return kind
        case _:
            assert_never(kind)


def _replace_leaves(kind: DataType, replace: Callable[[DataType], DataType]) -> DataType:
    """Returns a type without maps, with its leaf types replaced."""
    match kind:
        case StructType(fields):
            return StructType(
                tuple(StructField(each.name, _replace_leaves(each.data_type, replace)) for each in fields)
            )
        case ArrayType(element):
            return ArrayType(_replace_leaves(element, replace))
        case PrimitiveType() | DecimalType() | MapType():
            return replace(kind)
        case _:
            assert_never(kind)


def _column_sql(field: StructField, around: str = "") -> str:
    """Returns a column's SQL over its JSON form. Maps are columns, or fields in a struct column."""
    path = f"{around}{_quote_field(field)}"
    match field.data_type:
        case MapType():
            return f"map_from_entries({path})"
        case StructType(fields) if any(isinstance(each.data_type, MapType) for each in fields):
            inner = ", ".join(f"{_column_sql(each, f'{path}.')} AS {_quote_field(each)}" for each in fields)
            return f"CASE WHEN {path} IS NOT NULL THEN struct({inner}) END"
        case StructType() | ArrayType() | PrimitiveType() | DecimalType():
            return path
        case _:
            assert_never(field.data_type)
