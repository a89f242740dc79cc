"""SQL that converts between stored and exposed values, for types that Spark does not have.

`shown_sql` converts a stored value: `uuid` and `time` to text, nanoseconds to a timestamp if Spark can represent all
digits. `stored_sql` converts an exposed value back, if it is valid for the column's type; `storable_sql` is the
validity condition. Nested values are rebuilt around the changed parts.

The SQL text is independent from session settings: it contains no construct that settings change.

Source: Iceberg table specification, "Primitive Types"; "Appendix A: Parquet".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from engine.iceberg.definition.column_types import TOO_EXACT, backquote, default_sql, table_type
from engine.iceberg.spec.types import IcebergField, Kind, ListType, MapOfType, SimpleType, StructOfType
from engine.tables.scan import ReadColumn
from engine.types.schema import StructType

# Returns the converted field's SQL from the value's SQL and the lambda depth; None: unchanged.
_Of = Callable[[str, IcebergField, int], str | None]

_UUID = r"(.{8})(.{4})(.{4})(.{4})(.{12})"
_UUID_TEXT = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12};$"
# For a text with `;` appended, since `$` also matches before a line end.
_TIME_TEXT = "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?;$"
# The first five bytes in hexadecimal: byte order, and one type from the standard.
_WKB = (
    "^(00(0000000[1-7]|000003E[9A-F]|000007D[1-7]|00000BB[9A-F])"
    "|01(0[1-7]000000|E[9A-F]030000|D[1-7]070000|B[9A-F]0B0000))$"
)
_DAY_US, _HOUR_US, _MINUTE_US, _SECOND_US = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
# The first and last microsecond that fit into 64-bit nanoseconds.
_NANOS = ("1677-09-21 00:12:43.145225", "2262-04-11 23:47:16.854775")


def shown_sql(expression: str, field: IcebergField, missing: frozenset[int] = frozenset()) -> str | None:
    """Returns the SQL for the exposed value; None if it equals the stored one.

    `missing` has the ids for fields with defaults that the files lack.
    """

    def display_sql(value: str, part: IcebergField, depth: int) -> str | None:
        if part.id in missing:
            return default_sql(part.type, part.initial_default)
        if isinstance(part.type, SimpleType):
            return shown_value_sql(value, part.type.kind)
        return _rebuilt(value, part, display_sql, depth)

    return display_sql(expression, field, 0)


def shown_columns(
    columns: Sequence[IcebergField],
    read: StructType,
    constants: frozenset[str],
    missing: frozenset[int],
) -> tuple[StructType, Mapping[str, ReadColumn]]:
    """Returns a scan's exposed columns, and the computed ones (constants excluded)."""
    fields, made = [], {}
    for column, found in zip(columns, read.fields, strict=True):
        text = None if found.name in constants else shown_sql(backquote(found.name), column, missing)
        if text is not None:
            made[found.name] = ReadColumn(data_type=found.data_type, text=text)
        fields.append(found if text is None else replace(found, data_type=table_type(column.type)))
    return StructType(tuple(fields)), made


def stored_sql(expression: str, field: IcebergField) -> str | None:
    """Returns the SQL for the stored value, valid if `storable_sql` is true; None if it equals the exposed one."""

    def storage_sql(value: str, part: IcebergField, depth: int) -> str | None:
        if isinstance(part.type, SimpleType):
            return _stored_simple(value, part.type.kind)
        return _rebuilt(value, part, storage_sql, depth)

    return storage_sql(expression, field, 0)


def storable_sql(expression: str, field: IcebergField, depth: int = 0) -> str | None:
    """Returns a condition that is true for NULL and for values valid in the column's type, and never NULL; None if it
    always holds.
    """
    match field.type:
        case SimpleType():
            inner = _storable_simple(expression, field.type)
        case ListType(element):
            inner = _elements_storable(expression, element, depth)
        case MapOfType(key, value):
            parts = ((f"map_keys({expression})", key), (f"map_values({expression})", value))
            inner = _both([_elements_storable(values, part, depth) for values, part in parts])
        case StructOfType(fields):
            inner = _both([storable_sql(f"{expression}.{backquote(each.name)}", each, depth) for each in fields])
        case _:
            assert_never(field.type)
    return None if inner is None else f"({expression} IS NULL OR ({inner}))"


def _elements_storable(values: str, element: IcebergField, depth: int) -> str | None:
    inner = storable_sql(f"x{depth}", element, depth + 1)
    return None if inner is None else f"forall({values}, x{depth} -> {inner})"


def _both(conditions: Sequence[str | None]) -> str | None:
    return " AND ".join(each for each in conditions if each is not None) or None


def _rebuilt(expression: str, field: IcebergField, of: _Of, depth: int) -> str | None:
    match field.type:
        case ListType(element):
            inner = of(f"x{depth}", element, depth + 1)
            return None if inner is None else f"transform({expression}, x{depth} -> {inner})"
        case MapOfType(key, value):
            return _rebuilt_map(expression, key, value, of, depth)
        case StructOfType(fields):
            return _rebuilt_struct(expression, fields, of, depth)
        case SimpleType():
            return None
        case _:
            assert_never(field.type)


def _rebuilt_map(expression: str, key: IcebergField, value: IcebergField, of: _Of, depth: int) -> str | None:
    entry = f"x{depth}"
    keys, values = of(f"{entry}.key", key, depth + 1), of(f"{entry}.value", value, depth + 1)
    if keys is None and values is None:
        return None
    pair = f"struct({keys or f'{entry}.key'}, {values or f'{entry}.value'})"
    return f"map_from_entries(transform(map_entries({expression}), {entry} -> {pair}))"


def _rebuilt_struct(expression: str, fields: tuple[IcebergField, ...], of: _Of, depth: int) -> str | None:
    parts = [(field, of(f"{expression}.{backquote(field.name)}", field, depth)) for field in fields]
    if all(found is None for _, found in parts):
        return None
    pairs = ", ".join(
        f"{found or f'{expression}.{backquote(field.name)}'} AS {backquote(field.name)}" for field, found in parts
    )
    return f"if({expression} IS NULL, NULL, struct({pairs}))"


def shown_value_sql(expression: str, kind: Kind) -> str | None:
    """Converts like `shown_sql`, for a type without nested fields."""
    match kind:
        case Kind.UUID:
            return f"regexp_replace(lower(hex({expression})), '{_UUID}', '$1-$2-$3-$4-$5')"
        case Kind.TIME:
            return f"substring(CAST({_since_epoch(expression)} AS STRING), 12)"
        case Kind.TIMESTAMP_NS:
            return _since_epoch(_whole_micros(expression))
        case Kind.TIMESTAMPTZ_NS:
            return f"timestamp_micros({_whole_micros(expression)})"
        case Kind.BOOLEAN | Kind.INT | Kind.LONG | Kind.FLOAT | Kind.DOUBLE | Kind.DECIMAL | Kind.STRING | Kind.BINARY:
            return None
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.UNKNOWN | Kind.VARIANT:
            return None
        case Kind.FIXED | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return None
        case _:
            assert_never(kind)


def _since_epoch(micros: str) -> str:
    return f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')"


def _whole_micros(nanos: str) -> str:
    return f"if({nanos} % 1000 <> 0, raise_error('{TOO_EXACT}'), {nanos} div 1000)"


def _stored_simple(expression: str, kind: Kind) -> str | None:
    match kind:
        case Kind.UUID:
            return f"unhex(replace({expression}, '-', ''))"
        case Kind.TIME:
            return _time_micros(expression)
        case Kind.TIMESTAMP_NS:
            return f"(({_micros_ntz(expression)}) * 1000L)"
        case Kind.TIMESTAMPTZ_NS:
            return f"(unix_micros({expression}) * 1000L)"
        case Kind.BOOLEAN | Kind.INT | Kind.LONG | Kind.FLOAT | Kind.DOUBLE | Kind.DECIMAL | Kind.STRING | Kind.BINARY:
            return None
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.UNKNOWN | Kind.VARIANT:
            return None
        case Kind.FIXED | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return None
        case _:
            assert_never(kind)


def _time_micros(text: str) -> str:
    hours, minutes = (f"try_cast(substring({text}, {place}, 2) AS BIGINT)" for place in (1, 4))
    seconds = f"try_cast(concat('0', substring({text}, 7)) AS DECIMAL(8,6))"
    micros = f"try_cast({seconds} * {_SECOND_US} AS BIGINT)"
    return f"({hours} * {_HOUR_US}L + {minutes} * {_MINUTE_US}L + {micros})"


def _micros_ntz(moment: str) -> str:
    """Returns microseconds; Spark counts them only for timestamps with a zone."""
    days = f"unix_date(CAST({moment} AS DATE)) * {_DAY_US}L"
    seconds = f"CAST(extract(SECOND FROM {moment}) * {_SECOND_US} AS BIGINT)"
    return f"{days} + hour({moment}) * {_HOUR_US}L + minute({moment}) * {_MINUTE_US}L + {seconds}"


def _storable_simple(expression: str, type_: SimpleType) -> str | None:
    match type_.kind:
        case Kind.UUID:
            return f"concat({expression}, ';') RLIKE '{_UUID_TEXT}'"
        case Kind.TIME:
            return f"concat({expression}, ';') RLIKE '{_TIME_TEXT}'"
        case Kind.FIXED:
            return f"octet_length({expression}) = {type_.length}"
        case Kind.TIMESTAMP_NS:
            return f"{expression} BETWEEN TIMESTAMP_NTZ'{_NANOS[0]}' AND TIMESTAMP_NTZ'{_NANOS[1]}'"
        case Kind.TIMESTAMPTZ_NS:
            return f"{expression} BETWEEN TIMESTAMP'{_NANOS[0]}Z' AND TIMESTAMP'{_NANOS[1]}Z'"
        case Kind.GEOMETRY | Kind.GEOGRAPHY:
            return f"hex(substring({expression}, 1, 5)) RLIKE '{_WKB}'"
        case Kind.BOOLEAN | Kind.INT | Kind.LONG | Kind.FLOAT | Kind.DOUBLE | Kind.DECIMAL | Kind.STRING | Kind.BINARY:
            return None
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.UNKNOWN | Kind.VARIANT:
            return None
        case _:
            assert_never(type_.kind)
