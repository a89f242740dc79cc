"""SQL type names for table schemas: `bigint`, `decimal(10,2)`, `array<struct<a:int>>`.

The spelling follows Spark (`DataType.simpleString`), which DESCRIBE, result schemas and the wire protocols all use.

Type sizes follow the SQL standard's view `COLUMNS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

import pyarrow as pa

from catalog.names import quote
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

# Column metadata in which Spark stores `char(n)` and `varchar(n)`, whose type in the log is string.
CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"

# Column metadata with a column's string collations; the type in the log is string.
COLLATIONS = "__COLLATIONS"
NO_COLLATIONS: Mapping[str, str] = MappingProxyType({})

_PRIMITIVES = {kind: kind.value for kind in PrimitiveType} | {
    PrimitiveType.LONG: "bigint",
    PrimitiveType.INTEGER: "int",
    PrimitiveType.SHORT: "smallint",
    PrimitiveType.BYTE: "tinyint",
}


def format_sql_type(data_type: DataType, collations: Mapping[str, str] = NO_COLLATIONS, path: str = "") -> str:
    """Returns the type in SQL's spelling. `collations` come from the column's metadata, for the column at `path`."""
    match data_type:
        case PrimitiveType.STRING if path in collations:
            return _string_with_collation(collations[path])
        case PrimitiveType():
            return _PRIMITIVES[data_type]
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ArrayType(element_type=element):
            return f"array<{format_sql_type(element, collations, f'{path}.element')}>"
        case MapType(key_type=key, value_type=value):
            key_text = format_sql_type(key, collations, f"{path}.key")
            return f"map<{key_text},{format_sql_type(value, collations, f'{path}.value')}>"
        case StructType(fields=fields):
            return f"struct<{','.join(f'{field.name}:{_field_sql_type(field)}' for field in fields)}>"
        case _:
            assert_never(data_type)


def _field_sql_type(field: StructField) -> str:
    return format_sql_type(field.data_type, collations_of(field), field.name)


def column_sql_type(column: StructField) -> str:
    """Returns a column's type with lengths (`char(n)`, `varchar(n)`) and collations."""
    declared = column.metadata.get(CHAR_VARCHAR)
    return declared if isinstance(declared, str) else _field_sql_type(column)


def collations_of(field: StructField) -> Mapping[str, str]:
    """Returns a column's string collations by path, such as `{"a.element": "spark.UTF8_LCASE"}`.

    Struct fields have theirs in their own metadata. Providers are in lower case and versions are omitted, as Spark
    writes them. Protocol: RFC "Collations".
    """
    found = field.metadata.get(COLLATIONS)
    if not isinstance(found, Mapping):
        return NO_COLLATIONS
    parts = {path: str(identifier).split(".") for path, identifier in found.items()}
    return {path: f"{names[0].lower()}.{names[1] if len(names) > 1 else ''}" for path, names in parts.items()}


def collated_cast(column: StructField) -> str:
    """Returns SQL that casts a column, as read, to the collations in its metadata."""
    return f"CAST({quote(column.name)} AS {ddl_type(column.data_type, collations_of(column), column.name)})"


def _string_with_collation(identifier: str) -> str:
    """Returns `string collate NAME` for `provider.NAME`. An invalid name is quoted, and Spark rejects it."""
    name = identifier.partition(".")[2]
    return f"string collate {name if name.isidentifier() else quote(name)}"


_SYNONYMS = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_SYNONYMS |= {"dec": "decimal", "numeric": "decimal"}


def is_same_sql_type(one: str, other: str) -> bool:
    """Returns whether two spellings certainly mean the same type; nested types are compared word by word."""
    return _canonical_spelling(one) == _canonical_spelling(other)


def _canonical_spelling(sql_type: str) -> str:
    text = re.sub(r"\s+", "", sql_type).lower()
    text = re.sub(r"[a-z]+", lambda word: _SYNONYMS.get(word[0], word[0]), text)
    return re.sub(r"decimal(?!\()", "decimal(10,0)", re.sub(r"decimal\((\d+)\)", r"decimal(\1,0)", text))


def sql_struct(struct: pa.StructType) -> str:
    """Returns the spelling of an Arrow struct with text fields."""
    return f"struct<{','.join(f'{field.name}:string' for field in struct)}>"


def ddl_type(data_type: DataType, collations: Mapping[str, str] = NO_COLLATIONS, path: str = "") -> str:
    """Returns the type in the form for DDL and CAST, with field names in backquotes.

    Arguments as in `format_sql_type`.
    """
    match data_type:
        case PrimitiveType() | DecimalType():
            return format_sql_type(data_type, collations, path)
        case ArrayType(element_type=element):
            return f"array<{ddl_type(element, collations, f'{path}.element')}>"
        case MapType(key_type=key, value_type=value):
            key_text = ddl_type(key, collations, f"{path}.key")
            return f"map<{key_text},{ddl_type(value, collations, f'{path}.value')}>"
        case StructType(fields=fields):
            return f"struct<{','.join(map(_ddl_field, fields))}>"
        case _:
            assert_never(data_type)


def _ddl_field(field: StructField) -> str:
    return f"{quote(field.name)}: {ddl_type(field.data_type, collations_of(field), field.name)}"


_PRECISIONS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19, "float": 24, "double": 53}
_BINARY = frozenset({"float", "double"})
_LENGTHS = re.compile(r"(?:var)?char\((\d+)\)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DATETIME_PRECISIONS = {"date": 0, "timestamp": 6, "timestamp_ntz": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSizes:
    """A type's sizes. `length` is in characters; `precision` in digits to the base `radix`, with `scale` digits after
    the point; `datetime_precision` in digits of seconds. None if the type lacks the size.
    """

    # The type without its parameters, in lower case.
    name: str
    length: int | None
    precision: int | None
    radix: int | None
    scale: int | None
    datetime_precision: int | None


def type_sizes(sql_type: str) -> TypeSizes:
    """Returns the sizes for a type in SQL's spelling."""
    name = re.split(r"[(<]", sql_type, maxsplit=1)[0]
    length, number = _LENGTHS.fullmatch(sql_type), _DECIMAL.fullmatch(sql_type)
    precision = int(number[1]) if number else _PRECISIONS.get(name)
    return TypeSizes(
        name=name,
        length=int(length[1]) if length else None,
        precision=precision,
        radix=None if precision is None else 2 if name in _BINARY else 10,
        scale=int(number[2]) if number else 0 if precision is not None and name not in _BINARY else None,
        datetime_precision=_DATETIME_PRECISIONS.get(name),
    )
