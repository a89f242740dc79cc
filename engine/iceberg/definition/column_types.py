"""Iceberg's types as those of Spark, and the SQL that turns what files hold into what a table shows.

Files are read with the columns' ids and with names that no file has (Spark's reader finds columns by id, but takes the
type of one by its name where the file has the name for another). Most types are the same on both sides. What Spark has
no type for is shown as another (`value_sql`): a `uuid` and a `time` as text, timestamps of nanoseconds as those of
microseconds (a value that has more digits fails the statement), geometries and geographies as their WKB.

A field that a file lacks is null, or has the default that it was given when it was added to a table with files
(`initial-default`): Spark fills it in for columns of simple types. In nested ones, the SQL does, for files that are
known to lack it.

Source: Iceberg table specification, "Primitive Types", "Default values", "Column Projection"; "Appendix A: Parquet".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import time
from typing import Any, assert_never
from uuid import UUID

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.spec.types import (
    IcebergField,
    IcebergType,
    Kind,
    ListType,
    MapOfType,
    SimpleType,
    StructOfType,
    children,
    type_name,
    walk,
)
from engine.tables.scan import FIELD_ID
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

_SPARK: Mapping[Kind, PrimitiveType] = {
    Kind.BOOLEAN: PrimitiveType.BOOLEAN,
    Kind.INT: PrimitiveType.INTEGER,
    Kind.LONG: PrimitiveType.LONG,
    Kind.FLOAT: PrimitiveType.FLOAT,
    Kind.DOUBLE: PrimitiveType.DOUBLE,
    Kind.DATE: PrimitiveType.DATE,
    Kind.TIMESTAMP: PrimitiveType.TIMESTAMP_NTZ,
    Kind.TIMESTAMPTZ: PrimitiveType.TIMESTAMP,
    Kind.STRING: PrimitiveType.STRING,
    Kind.TIME: PrimitiveType.STRING,
    Kind.TIMESTAMP_NS: PrimitiveType.TIMESTAMP_NTZ,
    Kind.TIMESTAMPTZ_NS: PrimitiveType.TIMESTAMP,
    Kind.UUID: PrimitiveType.STRING,
    Kind.FIXED: PrimitiveType.BINARY,
    Kind.BINARY: PrimitiveType.BINARY,
    Kind.UNKNOWN: PrimitiveType.VOID,
    Kind.VARIANT: PrimitiveType.VARIANT,
    Kind.GEOMETRY: PrimitiveType.BINARY,
    Kind.GEOGRAPHY: PrimitiveType.BINARY,
}
_STORED: Mapping[Kind, PrimitiveType] = {
    Kind.UUID: PrimitiveType.BINARY,
    Kind.TIME: PrimitiveType.LONG,
    Kind.TIMESTAMP_NS: PrimitiveType.LONG,
    Kind.TIMESTAMPTZ_NS: PrimitiveType.LONG,
}
"""What is read of types that Spark does not have; the SQL of `value_sql.shown_sql` makes the table's of them."""
_SQL_NAMES: Mapping[Kind, str] = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INT: "INT",
    Kind.LONG: "BIGINT",
    Kind.FLOAT: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    Kind.TIMESTAMPTZ: "TIMESTAMP",
}
TOO_EXACT = "A timestamp of an Iceberg table has nanoseconds, which Spark has no type for."
_NANOS = re.compile(r"([^.+Z]+(?:[.]\d{1,6})?)(\d{0,3})(Z|[+-].*)?")
_IN_NO_FILE = "\0"
_CRS, _EDGES = "OGC:CRS84", "spherical"
"""Of geometries and geographies that do not say others."""
_FILLED_BY_SQL = frozenset([Kind.BINARY, Kind.FIXED, Kind.UUID, Kind.TIME, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS])
CURRENT_DEFAULT = "CURRENT_DEFAULT"
"""Spark's key for the SQL of the value of new rows."""
NESTED_IDS = "gateway.nested.ids"
"""The key in the metadata of a stored column for the ids of elements, keys and values in it, by their paths."""
_EXISTS_DEFAULT = "EXISTS_DEFAULT"
"""Spark's key in the metadata of a column for the value that rows of older files have."""
PARQUET_TYPES = "gateway.parquet.types"
"""The key for the types in Parquet that Spark does not have, by the same paths."""
REQUIRED_PARTS = "gateway.required.parts"
"""The key for what always has a value below a column, by the same paths. Spark takes all of it for optional, since its
types may not become stricter, and PyArrow cannot read lists of such structs that way.
"""
ITSELF = "itself"
"""The path of the column or field that has the metadata."""


def table_type(type_: IcebergType) -> DataType:
    """As the table shows it."""
    match type_:
        case SimpleType(kind=Kind.DECIMAL):
            return DecimalType(type_.precision, type_.scale)
        case SimpleType():
            return _SPARK[type_.kind]
        case ListType(element):
            return ArrayType(table_type(element.type), not element.required)
        case MapOfType(key, value):
            return MapType(table_type(key.type), table_type(value.type), not value.required)
        case StructOfType(fields):
            return StructType(tuple(_table_field(field) for field in fields))
        case _:
            assert_never(type_)


def _table_field(field: IcebergField) -> StructField:
    metadata = {} if field.doc is None else {"comment": field.doc}
    return StructField(field.name, table_type(field.type), not field.required, metadata)


def table_schema(struct: StructOfType) -> StructType:
    """The columns as the table shows them. Raises `MalformedIcebergFile` for a default that is none of its type."""
    return StructType(tuple(_table_column(field) for field in struct.fields))


def _table_column(field: IcebergField) -> StructField:
    column = _table_field(field)
    if field.write_default is None:
        return column
    default = default_text(field.type, field.write_default)
    return replace(column, metadata={**column.metadata, CURRENT_DEFAULT: default})


def stored_schema(struct: StructOfType) -> StructType:
    """The columns as new files have them: by their names, with the ids of all fields, also inside of lists and maps."""
    return StructType(tuple(_stored_field(field, ()) for field in struct.fields))


def _stored_field(field: IcebergField, required: tuple[str, ...]) -> StructField:
    metadata: dict[str, Any] = {FIELD_ID: field.id}
    parts = [*required, *(path for path, part in _inner_parts(field.type, "") if part.required)]
    if parts:
        metadata[REQUIRED_PARTS] = parts
    inner = {path: part.id for path, part in _inner_parts(field.type, "")}
    if inner:
        metadata[NESTED_IDS] = inner
    types = {path: _parquet_type(part.type) for path, part in ((ITSELF, field), *_inner_parts(field.type, ""))}
    if any(types.values()):
        metadata[PARQUET_TYPES] = {path: said for path, said in types.items() if said}
    return StructField(field.name, _stored_type(field.type), not field.required, metadata)


def _stored_type(type_: IcebergType) -> DataType:
    match type_:
        case SimpleType():
            return file_type(type_)
        case ListType(element):
            return ArrayType(_stored_type(element.type), not element.required)
        case MapOfType(key, value):
            return MapType(_stored_type(key.type), _stored_type(value.type), not value.required)
        case StructOfType(fields):
            return StructType(tuple(_stored_field(field, (ITSELF,) if field.required else ()) for field in fields))
        case _:
            assert_never(type_)


def _inner_parts(type_: IcebergType, path: str) -> Iterator[tuple[str, IcebergField]]:
    """The elements, keys and values below a column, by their paths; fields of structs have metadata of their own."""
    if isinstance(type_, ListType | MapOfType):
        for part in children(type_):
            inner = f"{path}.{part.name}" if path else part.name
            yield inner, part
            yield from _inner_parts(part.type, inner)


def _parquet_type(type_: IcebergType) -> str | None:
    """What `IdentifiedWriteSupport` calls a type that Spark does not have."""
    if not isinstance(type_, SimpleType):
        return None
    match type_.kind:
        case Kind.UUID | Kind.TIME | Kind.TIMESTAMP_NS | Kind.TIMESTAMPTZ_NS:
            return str(type_.kind.value)
        case Kind.FIXED:
            return f"fixed {type_.length}"
        case Kind.GEOMETRY:
            return f"geometry {type_.parameters or _CRS}"
        case Kind.GEOGRAPHY:
            crs, _, algorithm = type_.parameters.partition(",")
            return f"geography {(algorithm.strip() or _EDGES).upper()} {crs.strip() or _CRS}"
        case Kind.BOOLEAN | Kind.INT | Kind.LONG | Kind.FLOAT | Kind.DOUBLE | Kind.DECIMAL | Kind.STRING | Kind.BINARY:
            return None
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.UNKNOWN | Kind.VARIANT:
            return None
        case _:
            assert_never(type_.kind)


def file_type(type_: IcebergType, names: Mapping[int, str] | None = None) -> DataType:
    """As it is read, all of it nullable. `names` are those of fields in files that have no ids; without them fields
    have names that no file has, and their ids.
    """
    match type_:
        case SimpleType(kind=Kind.DECIMAL):
            return DecimalType(type_.precision, type_.scale)
        case SimpleType():
            return _STORED.get(type_.kind) or _SPARK[type_.kind]
        case ListType(element):
            return ArrayType(file_type(element.type, names))
        case MapOfType(key, value):
            return MapType(file_type(key.type, names), file_type(value.type, names))
        case StructOfType(fields):
            return StructType(tuple(file_field(field, names) for field in fields))
        case _:
            assert_never(type_)


def file_field(field: IcebergField, names: Mapping[int, str] | None = None, *, is_column: bool = False) -> StructField:
    """A field as files have it. `is_column`: one of the table's own, for which Spark fills in the default."""
    metadata: dict[str, Any] = {} if names is not None else {FIELD_ID: field.id}
    if is_column and field.initial_default is not None and not has_sql_default(field):
        metadata[_EXISTS_DEFAULT] = default_sql(field.type, field.initial_default)
    name = f"{_IN_NO_FILE}{field.id}" if names is None else names.get(field.id, f"{_IN_NO_FILE}{field.id}")
    return StructField(name, file_type(field.type, names), True, metadata)


def scanned_field(field: IcebergField, name: str | None = None) -> StructField:
    """A column of a scan: by its name in the table or another one, of the type that is read."""
    return StructField(name or field.name, _scanned_type(field.type), True)


def _scanned_type(type_: IcebergType) -> DataType:
    match type_:
        case ListType(element):
            return ArrayType(_scanned_type(element.type))
        case MapOfType(key, value):
            return MapType(_scanned_type(key.type), _scanned_type(value.type))
        case StructOfType(fields):
            return StructType(tuple(scanned_field(field) for field in fields))
        case SimpleType():
            return file_type(type_)
        case _:
            assert_never(type_)


def has_sql_default(column: IcebergField) -> bool:
    """Whether only SQL can fill in what files lack of a column: a default inside of it, or one of a type for which
    Spark's reader has none.
    """
    if isinstance(column.type, SimpleType):
        return column.initial_default is not None and column.type.kind in _FILLED_BY_SQL
    return column.initial_default is not None or any(each.initial_default is not None for _, each in walk(column.type))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text_sql(text: str) -> str:
    """A literal that means the same whatever escapes a session takes for such."""
    return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex()}' AS STRING)"


def default_sql(type_: IcebergType, value: Any) -> str:
    """A default of JSON as SQL. Raises `MalformedIcebergFile` for one that is not of its type."""
    if value is None:
        return "NULL"
    try:
        return _default_sql(type_, value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedIcebergFile("The schema", f"{str(value)[:60]!r} is no default of {type_name(type_)}") from error


def _default_sql(type_: IcebergType, value: Any) -> str:
    match type_:
        case SimpleType(kind=Kind.STRING):
            return text_sql(value)
        case SimpleType(kind=Kind.UUID):
            return text_sql(str(UUID(value)))
        case SimpleType(kind=Kind.FIXED | Kind.BINARY):
            return f"X'{bytes.fromhex(value).hex()}'"
        case SimpleType(kind=Kind.TIME):
            return text_sql(_time_text(value))
        case SimpleType(kind=Kind.TIMESTAMP_NS | Kind.TIMESTAMPTZ_NS):
            return _nanos_sql(type_.kind, value)
        case SimpleType(kind=Kind.DECIMAL):
            return f"CAST('{_plain(value)}' AS DECIMAL({type_.precision},{type_.scale}))"
        case SimpleType():
            return f"CAST('{_plain(value)}' AS {_SQL_NAMES[type_.kind]})"
        case ListType(element):
            return f"array({', '.join(default_sql(element.type, each) for each in value)})"
        case MapOfType(key, item):
            keys = ", ".join(default_sql(key.type, each) for each in value["keys"])
            values = ", ".join(default_sql(item.type, each) for each in value["values"])
            return f"map_from_arrays(array({keys}), array({values}))"
        case StructOfType(fields):
            pairs = (
                f"{default_sql(field.type, value.get(str(field.id), field.initial_default))} AS {quoted(field.name)}"
                for field in fields
            )
            return f"struct({', '.join(pairs)})"
        case _:
            assert_never(type_)


def _nanos_sql(kind: Kind, value: str) -> str:
    micros = _NANOS.fullmatch(value)
    if micros is None:
        raise ValueError(value)
    shown = "TIMESTAMP_NTZ" if kind is Kind.TIMESTAMP_NS else "TIMESTAMP"
    if micros[2].strip("0"):
        return f"CAST(raise_error('{TOO_EXACT}') AS {shown})"
    zone = micros[3] or ""
    return f"CAST('{_plain(micros[1] + zone)}' AS {shown})"


def default_text(type_: IcebergType, value: Any) -> str:
    """A default as somebody would write it. Raises `MalformedIcebergFile`."""
    if not isinstance(type_, SimpleType):
        return default_sql(type_, value)
    default_sql(type_, value)  # for its error
    if type_.kind in (Kind.BOOLEAN, Kind.INT, Kind.LONG):
        return str(value).lower()
    if type_.kind is Kind.STRING and "\\" not in value:
        return "'" + str(value).replace("'", "''") + "'"
    return f"DATE'{value}'" if type_.kind is Kind.DATE else default_sql(type_, value)


def _time_text(text: str) -> str:
    """As Spark shows times: without zeros at the end of a fraction."""
    whole, dot, fraction = time.fromisoformat(text).isoformat().partition(".")
    return f"{whole}{dot}{fraction.rstrip('0')}"


def _plain(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "'" in text or "\\" in text:
        raise ValueError(text)
    return text
