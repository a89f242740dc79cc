"""PostgreSQL's types for the types of columns and results."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SCALARS = {
    "boolean": "bool",
    "tinyint": "int2",
    "byte": "int2",
    "smallint": "int2",
    "short": "int2",
    "int": "int4",
    "integer": "int4",
    "bigint": "int8",
    "long": "int8",
    "float": "float4",
    "real": "float4",
    "double": "float8",
    "decimal": "numeric",
    "string": "text",
    "varchar": "varchar",
    "char": "bpchar",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ltz": "timestamptz",
    "timestamp_ntz": "timestamp",
    "time": "time",
    "variant": "jsonb",
    "void": "text",
}
_PARTS = re.compile(r"([a-z_]+)(?:\((\d+)(?:,\s*(\d+))?\))?")
_ARRAY = re.compile(r"array<(.*)>", re.DOTALL)
_HEADER = 4  # of a value with a variable length, which its type modifier includes


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type's internal name, and its modifier; -1 if it has none."""

    name: str
    modifier: int = -1


def column_type(sql_type: str) -> ColumnType:
    """Returns PostgreSQL's type for a type in Spark's DDL spelling; nested types other than arrays are JSON."""
    text = sql_type.strip().lower()
    if (array := _ARRAY.fullmatch(text)) is not None:
        inner = column_type(array[1])
        is_scalar = not array[1].strip().startswith(("array<", "map<", "struct<"))
        return ColumnType(f"_{inner.name}", inner.modifier) if is_scalar else ColumnType("json")
    if text.startswith(("map<", "struct<")):
        return ColumnType("json")
    if text.startswith("interval"):
        return ColumnType("interval")
    found = _PARTS.match(text)
    name = _SCALARS.get(found[1], "text") if found is not None else "text"
    if found is None or found[2] is None:
        return ColumnType(name, (10 << 16) + _HEADER) if name == "numeric" else ColumnType(name)
    if name == "numeric":
        return ColumnType(name, (int(found[2]) << 16 | int(found[3] or 0)) + _HEADER)
    return ColumnType(name, int(found[2]) + _HEADER) if name in ("varchar", "bpchar") else ColumnType(name)
