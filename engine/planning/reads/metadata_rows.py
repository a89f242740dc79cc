"""Rows of metadata tables: one JSON object each, which a query parses.

Spark's JSON only has maps with text keys, so other maps are written as lists of pairs. The format of times in JSON
depends on session settings, but a cast from text does not, so times are written as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from catalog.names import quote
from engine.tables.given_rows import GivenRows, fixed_rows
from engine.tables.snapshot import MetadataTable
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.sql_types import ddl_type

_TEXT = "value"
# Begins names of columns with paths of files. No column of a metadata table has such a name.
_PATH = "__path_"
_TIMES = frozenset([PrimitiveType.DATE, PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ])


def metadata_rows(table: MetadataTable) -> GivenRows:
    """Returns the rows as texts. Paths of files have columns of their own, which `ColumnLineage.java` recognizes."""
    names = [f"{_PATH}{number}" for number in range(len(table.paths))]
    columns = [(_TEXT, "string"), *((name, "string") for name in names)]
    return fixed_rows(columns, lambda: (_texts(row, table.paths) for row in table.rows), paths=tuple(names))


def _texts(row: Mapping[str, Any], paths: Sequence[tuple[str, ...]]) -> tuple[str | None, ...]:
    found = []
    for first, *inner in paths:
        value = row[first]
        if inner:
            row = {**row, first: {name: each for name, each in row[first].items() if name != inner[0]}}
            value = value[inner[0]]
        else:
            row = {name: each for name, each in row.items() if name != first}
        found.append(value)
    return (json.dumps(row, ensure_ascii=False), *found)


def metadata_query(table: MetadataTable, rows: str) -> str:
    """Returns a query for the rows with their column names, over the relation `rows` with their texts."""
    names = {path: f"{_PATH}{number}" for number, path in enumerate(table.paths)}
    parsed = [_without(field, table.paths) for field in table.schema.fields if (field.name,) not in names]
    fields = ", ".join(f"{_quote_field(field)}: {ddl_type(_in_json(field.data_type))}" for field in parsed)
    typed = ", ".join(
        f"CAST({_quote_field(field)} AS {ddl_type(_with_pairs(field.data_type))}) AS {_quote_field(field)}"
        for field in parsed
    )
    shown = ", ".join(f"{_column_sql(field, names)} AS {_quote_field(field)}" for field in table.schema.fields)
    apart = "".join(f", {name}" for name in names.values())
    read = f"SELECT inline(array(from_json({_TEXT}, 'STRUCT<{_escape(fields)}>'))){apart} FROM {rows}"
    return f"SELECT {shown} FROM (SELECT {typed}{apart} FROM ({read}))"


def _without(field: StructField, paths: Sequence[tuple[str, ...]]) -> StructField:
    """Returns the field without the fields in it that have their own columns."""
    if not isinstance(field.data_type, StructType) or all(path[0] != field.name for path in paths):
        return field
    left = tuple(each for each in field.data_type.fields if (field.name, each.name) not in paths)
    return StructField(field.name, StructType(left))


def _quote_field(field: StructField) -> str:
    return quote(field.name)


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
    """Returns a type with its leaf types replaced; a map counts as a leaf."""
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


def _column_sql(field: StructField, names: Mapping[tuple[str, ...], str], around: tuple[str, ...] = ()) -> str:
    """Returns a column's SQL over its JSON form. Maps are columns, or fields in a struct column.

    `names` are the columns for paths, and `around` the name of the struct column.
    """
    place = (*around, field.name)
    if place in names:
        return names[place]
    path = ".".join(map(quote, place))
    match field.data_type:
        case MapType():
            return f"map_from_entries({path})"
        case StructType(fields) if any(each[0] == field.name for each in names):
            inner = ", ".join(f"{_column_sql(each, names, place)} AS {_quote_field(each)}" for each in fields)
            return f"struct({inner})"
        case StructType(fields) if any(isinstance(each.data_type, MapType) for each in fields):
            inner = ", ".join(f"{_column_sql(each, names, place)} AS {_quote_field(each)}" for each in fields)
            return f"CASE WHEN {path} IS NOT NULL THEN struct({inner}) END"
        case StructType() | ArrayType() | PrimitiveType() | DecimalType():
            return path
        case _:
            assert_never(field.data_type)
