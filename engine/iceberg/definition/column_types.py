"""Iceberg's types as those of Spark, and the SQL that turns what files hold into what a table shows.

Files are read with the columns' ids and with names that no file has (Spark's reader finds columns by id, but takes the
type of one by its name where the file has the name for another). Most types are the same on both sides. What Spark has
no type for is shown as another: a `uuid` and a `time` as text, timestamps of nanoseconds as those of microseconds (a
value that has more digits fails the statement). What is nested is rebuilt around what changes.

A field that a file lacks is null, or has the default that it was given when it was added to a table with files
(`initial-default`): Spark fills it in for columns of simple types. In nested ones, the SQL does, for files that are
known to lack it.

Source: Iceberg table specification, "Primitive Types", "Default values", "Column Projection"; "Appendix A: Parquet".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import time
from typing import Any, assert_never
from uuid import UUID

from engine.iceberg.spec.errors import IcebergFeatureNotSupported, MalformedIcebergFile
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
from engine.table.scan import FIELD_ID
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
}
_STORED: Mapping[Kind, PrimitiveType] = {
    Kind.UUID: PrimitiveType.BINARY,
    Kind.TIME: PrimitiveType.LONG,
    Kind.TIMESTAMP_NS: PrimitiveType.LONG,
    Kind.TIMESTAMPTZ_NS: PrimitiveType.LONG,
}
"""What is read of types that Spark does not have; the SQL of `shown_sql` makes the table's of them."""
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
_IN_NO_FILE = "\0"
_FILLED_BY_SQL = frozenset([Kind.BINARY, Kind.FIXED, Kind.UUID, Kind.TIME])
CURRENT_DEFAULT = "CURRENT_DEFAULT"
"""Spark's key for the SQL of the value of new rows."""
NESTED_IDS = "gateway.nested.ids"
"""The key in the metadata of a stored column for the ids of elements, keys and values in it, by their paths."""
_EXISTS_DEFAULT = "EXISTS_DEFAULT"
"""Spark's key in the metadata of a column for the value that rows of older files have."""
_TOO_EXACT = "A timestamp of an Iceberg table has nanoseconds, which Spark has no type for."
_UUID = r"(.{8})(.{4})(.{4})(.{4})(.{12})"


def table_type(type_: IcebergType, table: str) -> DataType:
    """As the table shows it. Raises `IcebergFeatureNotSupported`."""
    match type_:
        case SimpleType(kind=Kind.DECIMAL):
            return DecimalType(type_.precision, type_.scale)
        case SimpleType():
            found = _SPARK.get(type_.kind)
            if found is None:
                raise IcebergFeatureNotSupported(table, f"a column of the type {type_name(type_)}")
            return found
        case ListType(element):
            return ArrayType(table_type(element.type, table), not element.required)
        case MapOfType(key, value):
            return MapType(table_type(key.type, table), table_type(value.type, table), not value.required)
        case StructOfType(fields):
            return StructType(tuple(_table_field(field, table) for field in fields))
        case _:
            assert_never(type_)


def _table_field(field: IcebergField, table: str) -> StructField:
    metadata = {} if field.doc is None else {"comment": field.doc}
    return StructField(field.name, table_type(field.type, table), not field.required, metadata)


def table_schema(struct: StructOfType, table: str) -> StructType:
    """The columns as the table shows them. Raises `IcebergFeatureNotSupported`."""
    return StructType(tuple(_table_column(field, table) for field in struct.fields))


def _table_column(field: IcebergField, table: str) -> StructField:
    column = _table_field(field, table)
    if field.write_default is None:
        return column
    default = default_text(field.type, field.write_default)
    return replace(column, metadata={**column.metadata, CURRENT_DEFAULT: default})


def stored_schema(struct: StructOfType) -> StructType:
    """The columns as new files have them: by their names, with the ids of all fields, also inside of lists and maps."""
    return StructType(tuple(_stored_field(field) for field in struct.fields))


def _stored_field(field: IcebergField) -> StructField:
    metadata: dict[str, Any] = {FIELD_ID: field.id}
    inner = dict(_inner_ids(field.type, ""))
    if inner:
        metadata[NESTED_IDS] = inner
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
            return StructType(tuple(_stored_field(field) for field in fields))
        case _:
            assert_never(type_)


def _inner_ids(type_: IcebergType, path: str) -> Iterator[tuple[str, int]]:
    """The ids of elements, keys and values below a column, by their paths; fields of structs have their own."""
    if isinstance(type_, ListType | MapOfType):
        for part in children(type_):
            inner = f"{path}.{part.name}" if path else part.name
            yield inner, part.id
            yield from _inner_ids(part.type, inner)


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


def shown_sql(
    expression: str, field: IcebergField, missing: frozenset[int] = frozenset(), depth: int = 0
) -> str | None:
    """The SQL of what the table shows, of what was read; None where that is the same. `missing` are the ids of fields
    with defaults that the files lack.
    """
    if field.id in missing:
        return default_sql(field.type, field.initial_default)
    match field.type:
        case SimpleType(kind=kind):
            return _shown_simple(expression, kind)
        case ListType(element):
            inner = shown_sql(f"x{depth}", element, missing, depth + 1)
            return None if inner is None else f"transform({expression}, x{depth} -> {inner})"
        case MapOfType(key, value):
            return _shown_map(expression, key, value, missing, depth)
        case StructOfType(fields):
            return _shown_struct(expression, fields, missing, depth)
        case _:
            assert_never(field.type)


def _shown_simple(expression: str, kind: Kind) -> str | None:
    match kind:
        case Kind.UUID:
            return f"regexp_replace(lower(hex({expression})), '{_UUID}', '$1-$2-$3-$4-$5')"
        case Kind.TIME:
            return f"substring(CAST({_since_epoch(expression)} AS STRING), 12)"
        case Kind.TIMESTAMP_NS:
            return _since_epoch(_whole_micros(expression))
        case Kind.TIMESTAMPTZ_NS:
            return f"timestamp_micros({_whole_micros(expression)})"
        case _:
            return None


def _since_epoch(micros: str) -> str:
    return f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')"


def _whole_micros(nanos: str) -> str:
    return f"if({nanos} % 1000 = 0, {nanos} div 1000, raise_error('{_TOO_EXACT}'))"


def _shown_map(
    expression: str, key: IcebergField, value: IcebergField, missing: frozenset[int], depth: int
) -> str | None:
    entry = f"x{depth}"
    keys = shown_sql(f"{entry}.key", key, missing, depth + 1)
    values = shown_sql(f"{entry}.value", value, missing, depth + 1)
    if keys is None and values is None:
        return None
    pair = f"struct({keys or f'{entry}.key'}, {values or f'{entry}.value'})"
    return f"map_from_entries(transform(map_entries({expression}), {entry} -> {pair}))"


def _shown_struct(expression: str, fields: tuple[IcebergField, ...], missing: frozenset[int], depth: int) -> str | None:
    parts = [(field, shown_sql(f"{expression}.{quoted(field.name)}", field, missing, depth)) for field in fields]
    if all(shown is None for _, shown in parts):
        return None
    pairs = ", ".join(
        f"{shown or f'{expression}.{quoted(field.name)}'} AS {quoted(field.name)}" for field, shown in parts
    )
    return f"if({expression} IS NULL, NULL, struct({pairs}))"


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
            raise ValueError(value)
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


def default_text(type_: IcebergType, value: Any) -> str:
    """A default as somebody would write it. Raises `MalformedIcebergFile`."""
    if not isinstance(type_, SimpleType):
        return default_sql(type_, value)
    default_sql(type_, value)  # for its error
    match type_.kind:
        case Kind.BOOLEAN | Kind.INT | Kind.LONG:
            return str(value).lower()
        case Kind.STRING if "\\" not in value:
            return "'" + str(value).replace("'", "''") + "'"
        case Kind.DATE:
            return f"DATE'{value}'"
        case _:
            return default_sql(type_, value)


def _time_text(text: str) -> str:
    """As Spark shows times: without zeros at the end of a fraction."""
    whole, dot, fraction = time.fromisoformat(text).isoformat().partition(".")
    return f"{whole}{dot}{fraction.rstrip('0')}"


def _plain(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "'" in text or "\\" in text:
        raise ValueError(text)
    return text
