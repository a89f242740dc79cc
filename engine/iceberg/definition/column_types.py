"""Maps Iceberg types to Spark types, and builds the SQL that converts stored values to the table's values.

Files are read by column ids, with column names that no file has: Spark's reader finds columns by id, but takes a
column's type by name if the file uses that name for another column. Most types are equal on both sides. Types missing
in Spark are exposed as others (`value_sql`): `uuid` and `time` as text, nanosecond timestamps as microsecond timestamps
(a value with more digits fails the statement), geometries and geographies as their WKB.

A field that a file lacks is null, or has the default that it got when it was added to a table with files
(`initial-default`). Spark fills in the default for columns with simple types. For nested fields the SQL does, in files
that are known to lack them.

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
# Stored types for Iceberg types that Spark does not have; `value_sql.shown_sql` converts them to the table's types.
_STORED: Mapping[Kind, PrimitiveType] = {
    Kind.UUID: PrimitiveType.BINARY,
    Kind.TIME: PrimitiveType.LONG,
    Kind.TIMESTAMP_NS: PrimitiveType.LONG,
    Kind.TIMESTAMPTZ_NS: PrimitiveType.LONG,
}
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
# Defaults for geometries and geographies.
_CRS, _EDGES = "OGC:CRS84", "spherical"
_FILLED_BY_SQL = frozenset([Kind.BINARY, Kind.FIXED, Kind.UUID, Kind.TIME, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS])
# Spark's metadata key for a column's default SQL in new rows.
CURRENT_DEFAULT = "CURRENT_DEFAULT"
# Metadata key for the ids that a stored column's elements, keys and values have, by path.
NESTED_IDS = "gateway.nested.ids"
# Spark's metadata key for a column's value in older files.
_EXISTS_DEFAULT = "EXISTS_DEFAULT"
# Metadata key for Parquet types that Spark does not have, by the same paths.
PARQUET_TYPES = "gateway.parquet.types"
# Metadata key for required parts below a column, by the same paths. Spark treats all parts as optional, since its types
# cannot become stricter, and PyArrow cannot read lists with required structs.
REQUIRED_PARTS = "gateway.required.parts"
# The path for the column or field that has the metadata.
ITSELF = "itself"


def table_type(type_: IcebergType) -> DataType:
    """Returns the type that the table exposes."""
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
    """Returns the columns that the table exposes. Raises `MalformedIcebergFile` for a default that does not fit its
    type.
    """
    return StructType(tuple(_table_column(field) for field in struct.fields))


def _table_column(field: IcebergField) -> StructField:
    column = _table_field(field)
    if field.write_default is None:
        return column
    default = default_text(field.type, field.write_default)
    return replace(column, metadata={**column.metadata, CURRENT_DEFAULT: default})


def stored_schema(struct: StructOfType) -> StructType:
    """Returns the columns for new files: by name, with ids for all fields, including those inside lists and maps."""
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
    """Yields the elements, keys and values below a column, by path; struct fields have their own metadata."""
    if isinstance(type_, ListType | MapOfType):
        for part in children(type_):
            inner = f"{path}.{part.name}" if path else part.name
            yield inner, part
            yield from _inner_parts(part.type, inner)


def _parquet_type(type_: IcebergType) -> str | None:
    """Returns the name that `FieldIdWriteSupport` uses for a type that Spark does not have."""
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
    """Returns the type for reading, entirely nullable.

    `names` has the field names in files without ids. Otherwise fields get ids, and names that no file has.
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
    """Returns the field for reading files. `is_column`: a top-level column, for which Spark fills in the default."""
    metadata: dict[str, Any] = {} if names is not None else {FIELD_ID: field.id}
    if is_column and field.initial_default is not None and not has_sql_default(field):
        # Spark's own mechanism for columns that older files lack; it knows top-level
        # columns only.
        metadata[_EXISTS_DEFAULT] = default_sql(field.type, field.initial_default)
    name = f"{_IN_NO_FILE}{field.id}" if names is None else names.get(field.id, f"{_IN_NO_FILE}{field.id}")
    # Nullable even if required: a file from before the field was added lacks it, and
    # Spark's reader would fail.
    return StructField(name, file_type(field.type, names), True, metadata)


def scanned_field(field: IcebergField, name: str | None = None) -> StructField:
    """Returns a scan's column under its table name or `name`, with the type for reading."""
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
    """Returns True if only SQL can fill in the column in files that lack it: the default is nested, or has a type for
    which Spark's reader has no defaults.
    """
    if isinstance(column.type, SimpleType):
        return column.initial_default is not None and column.type.kind in _FILLED_BY_SQL
    return column.initial_default is not None or any(each.initial_default is not None for _, each in walk(column.type))


def backquote(name: str) -> str:
    """Returns the name as an identifier for Spark, in backquotes, with backquotes in it doubled."""
    return "`" + name.replace("`", "``") + "`"


def text_sql(text: str) -> str:
    """Returns a string literal that is independent from the session's escape settings."""
    return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex()}' AS STRING)"


def default_sql(type_: IcebergType, value: Any) -> str:
    """Returns a JSON default as SQL. Raises `MalformedIcebergFile` if it does not fit its type."""
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
                f"{default_sql(field.type, value.get(str(field.id), field.initial_default))} AS {backquote(field.name)}"
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
    """Returns a default as a user would write it. Raises `MalformedIcebergFile`."""
    if not isinstance(type_, SimpleType):
        return default_sql(type_, value)
    default_sql(type_, value)  # raises for an invalid default
    if type_.kind in (Kind.BOOLEAN, Kind.INT, Kind.LONG):
        return str(value).lower()
    if type_.kind is Kind.STRING and "\\" not in value:
        return "'" + str(value).replace("'", "''") + "'"
    return f"DATE'{value}'" if type_.kind is Kind.DATE else default_sql(type_, value)


def _time_text(text: str) -> str:
    """Returns a time as Spark prints it: without trailing zeros in the fraction."""
    whole, dot, fraction = time.fromisoformat(text).isoformat().partition(".")
    return f"{whole}{dot}{fraction.rstrip('0')}"


def _plain(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "'" in text or "\\" in text:
        raise ValueError(text)
    return text
