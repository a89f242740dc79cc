"""Converts rows with plain literals to a file's columns, without Spark.

Evaluating and writing one row in Spark takes half the time of an INSERT. Plain literals may be column values without
conversion. If nothing must be computed, and nothing checked except non-null values, PyArrow writes the file. It has the
schema, field ids, codec and statistics of files from Spark's writer, except that every column is nullable; Spark marks
some as required.

All other cases are left to Spark: constraints, generated and identity columns, partitions, sorted tables, and values
that store assignment would have to cast or reject.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from types import MappingProxyType

import pyarrow as pa

from engine.planning.plans.write_plan import LiteralRows, WritePlan
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.query.plain_values import PlainValue, read_date
from engine.tables.scan import FIELD_ID
from engine.types.schema import DataType, DecimalType, PrimitiveType
from engine.types.sql_types import ddl_type

# Spark's writer truncates bounds for longer strings.
_TEXT_BYTES_MAX = 256
# Numbers with up to this many digits are exact as DOUBLE, and in a column's common type, at any scale.
_DIGITS_MAX = 15
# In much earlier years calendars differ.
_YEAR_MIN = 1900
_LONG_MAX = (1 << 63) - 1
_EXACT_INTEGER = {PrimitiveType.FLOAT: 1 << 24, PrimitiveType.DOUBLE: 1 << 53}
_INTEGER_BITS = {
    PrimitiveType.BYTE: 8,
    PrimitiveType.SHORT: 16,
    PrimitiveType.INTEGER: 32,
    PrimitiveType.LONG: 64,
}
_ARROW_TYPES: Mapping[DataType, pa.DataType] = MappingProxyType(
    {
        PrimitiveType.BYTE: pa.int8(),
        PrimitiveType.SHORT: pa.int16(),
        PrimitiveType.INTEGER: pa.int32(),
        PrimitiveType.LONG: pa.int64(),
        PrimitiveType.FLOAT: pa.float32(),
        PrimitiveType.DOUBLE: pa.float64(),
        PrimitiveType.STRING: pa.string(),
        PrimitiveType.BOOLEAN: pa.bool_(),
        PrimitiveType.DATE: pa.date32(),
    }
)


class _NotPlain(Exception):
    """Raised if Spark must evaluate a value."""


def takes_values_as_they_stand(rows: WritePlan) -> bool:
    """Returns whether the given values can be stored without any processing."""
    config = rows.config
    return (
        isinstance(rows.arrangement, LiteralRows)
        and rows.source_columns is None
        and rows.copied_columns is None
        and not (rows.extra_columns or rows.identities or rows.generated or rows.stored_as)
        and all(check.present is not None for check in rows.checks)
        and not (config.partition_keys or config.sort_columns or config.stored_values)
    )


def columns_of_literals(rows: WritePlan, values: Sequence[Sequence[PlainValue]]) -> pa.Table | None:
    """Returns the file's columns, or None if Spark must evaluate a value."""
    try:
        return _columns(rows, values)
    except _NotPlain:
        return None


def _columns(rows: WritePlan, values: Sequence[Sequence[PlainValue]]) -> pa.Table:
    given = _values_by_column(rows, values)
    if any(value is None for check in rows.checks for value in given[check.present or ""]):
        raise _NotPlain
    fields: list[pa.Field] = []
    columns: list[pa.Array] = []
    for column, stored in zip(rows.schema.fields, rows.config.stored_schema.fields, strict=True):
        # A char is padded and a varchar checked by Spark, whose rules for blanks are not
        # repeated here.
        if CHAR_VARCHAR_TYPE in column.metadata or stored.metadata.keys() - {FIELD_ID}:
            raise _NotPlain
        type_ = _arrow_type(stored.data_type)
        _ensure_one_kind(given[column.name])
        stored_values = [_as_stored(value, stored.data_type) for value in given[column.name]]
        number = stored.metadata.get(FIELD_ID)
        metadata = None if number is None else {b"PARQUET:field_id": str(number).encode()}
        fields.append(pa.field(stored.name, type_, metadata=metadata))
        columns.append(pa.array(stored_values, type_))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _values_by_column(rows: WritePlan, values: Sequence[Sequence[PlainValue]]) -> Mapping[str, Sequence[PlainValue]]:
    """Returns values by column, with null for columns that the statement omits if that is their default."""
    if len(values[0]) != len(rows.target_columns):
        raise _NotPlain
    given = {column.name: [row[at] for row in values] for at, column in enumerate(rows.target_columns)}
    for column in rows.schema.fields:
        if column.name not in given:
            # Any other default is an expression.
            if rows.constants.get(column.name) != f"CAST(NULL AS {ddl_type(column.data_type)})":
                raise _NotPlain
            given[column.name] = [None] * len(values)
    return given


def _arrow_type(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    type_ = _ARROW_TYPES.get(data_type) if isinstance(data_type, PrimitiveType) else None
    if type_ is None:
        raise _NotPlain
    return type_


def _ensure_one_kind(values: Sequence[PlainValue]) -> None:
    """Raises for values with several types, whose common type Spark determines.

    Mixed integers and decimals are accepted, since they convert exactly.
    """
    # VALUES (1), ('a') makes Spark coerce both to a common type first, which may change how
    # each is stored.
    kinds = {Decimal if type(value) is int else type(value) for value in values if value is not None}
    if len(kinds) > 1:
        raise _NotPlain


def _as_stored(value: PlainValue, data_type: DataType) -> PlainValue:
    """Returns the literal as stored in a column with this type, without loss."""
    match value:
        case None:
            return None
        case bool() if data_type is PrimitiveType.BOOLEAN:
            return value
        case int() if not isinstance(value, bool) and abs(value) <= _LONG_MAX:
            return _stored_integer(value, data_type)
        case Decimal() if len(value.as_tuple().digits) <= _DIGITS_MAX and -_exponent(value) <= _DIGITS_MAX:
            if isinstance(data_type, DecimalType):
                return _stored_decimal(value, data_type)
            if data_type is PrimitiveType.DOUBLE:
                return _stored_float(float(value))
        case float() if data_type is PrimitiveType.DOUBLE:
            return _stored_float(value)
        case str() if data_type is PrimitiveType.STRING and len(value.encode()) <= _TEXT_BYTES_MAX:
            return value
        case str() if data_type is PrimitiveType.DATE:
            return _as_stored(_date(value), data_type)
        case date() if data_type is PrimitiveType.DATE and value.year >= _YEAR_MIN:
            return value
        case _:  # any other pair of a literal and a type
            pass
    raise _NotPlain


def _date(text: str) -> date:
    """Parses a date. Store assignment casts strings to dates; other string forms are left to Spark."""
    try:
        return read_date(text)
    except ValueError:
        raise _NotPlain from None


def _stored_integer(value: int, data_type: DataType) -> PlainValue:
    if isinstance(data_type, DecimalType):
        return _stored_decimal(Decimal(value), data_type)
    if not isinstance(data_type, PrimitiveType):
        raise _NotPlain
    bits = _INTEGER_BITS.get(data_type)
    if bits is not None and -(1 << bits - 1) <= value < 1 << bits - 1:
        return value
    if abs(value) <= _EXACT_INTEGER.get(data_type, -1):
        return _stored_float(float(value))
    raise _NotPlain


def _stored_float(value: float) -> float:
    """Normalizes zero: PyArrow's minimum for zeros is negative zero."""
    if value == 0 or not math.isfinite(value):
        raise _NotPlain
    return value


def _stored_decimal(value: Decimal, data_type: DecimalType) -> Decimal:
    if max(0, value.adjusted() + 1) > data_type.precision - data_type.scale:
        raise _NotPlain
    if -_exponent(value) > data_type.scale:
        raise _NotPlain
    return value


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # a literal is finite
    return exponent
