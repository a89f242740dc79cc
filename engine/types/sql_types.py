"""How SQL spells the types of a table's schema: `bigint`, `decimal(10,2)`, `array<struct<a:int>>`.

The spelling is Spark's (`DataType.simpleString`), which DESCRIBE, the result schemas and the wire protocols all use.
"""

from __future__ import annotations

import re
from typing import assert_never

import pyarrow as pa

from catalog.names import quote
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Column metadata in which Spark keeps `char(n)` and `varchar(n)`, whose type in the log is string."""

_PRIMITIVES = {kind: kind.value for kind in PrimitiveType} | {
    PrimitiveType.LONG: "bigint",
    PrimitiveType.INTEGER: "int",
    PrimitiveType.SHORT: "smallint",
    PrimitiveType.BYTE: "tinyint",
}


def format_sql_type(data_type: DataType) -> str:
    """The type in SQL's spelling."""
    match data_type:
        case PrimitiveType():
            return _PRIMITIVES[data_type]
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ArrayType(element_type=element):
            return f"array<{format_sql_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"map<{format_sql_type(key)},{format_sql_type(value)}>"
        case StructType(fields=fields):
            return f"struct<{','.join(f'{field.name}:{format_sql_type(field.data_type)}' for field in fields)}>"
        case _:
            assert_never(data_type)


def column_sql_type(column: StructField) -> str:
    """The type of a column, `char(n)` and `varchar(n)` included."""
    declared = column.metadata.get(CHAR_VARCHAR)
    return declared if isinstance(declared, str) else format_sql_type(column.data_type)


_SYNONYMS = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_SYNONYMS |= {"dec": "decimal", "numeric": "decimal"}


def same_sql_type(one: str, other: str) -> bool:
    """Whether two spellings surely mean the same type; of types in others only the words are compared."""
    return _spelling(one) == _spelling(other)


def _spelling(sql_type: str) -> str:
    text = re.sub(r"\s+", "", sql_type).lower()
    text = re.sub(r"[a-z]+", lambda word: _SYNONYMS.get(word[0], word[0]), text)
    return re.sub(r"decimal(?!\()", "decimal(10,0)", re.sub(r"decimal\((\d+)\)", r"decimal(\1,0)", text))


def sql_struct(struct: pa.StructType) -> str:
    """The spelling of an Arrow struct of text fields."""
    return f"struct<{','.join(f'{field.name}:string' for field in struct)}>"


def ddl_type(data_type: DataType) -> str:
    """The type as DDL and CAST take it: names of fields in backquotes."""
    match data_type:
        case PrimitiveType() | DecimalType():
            return format_sql_type(data_type)
        case ArrayType(element_type=element):
            return f"array<{ddl_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"map<{ddl_type(key)},{ddl_type(value)}>"
        case StructType(fields=fields):
            return f"struct<{','.join(map(_ddl_field, fields))}>"
        case _:
            assert_never(data_type)


def _ddl_field(field: StructField) -> str:
    return f"{quote(field.name)}: {ddl_type(field.data_type)}"
