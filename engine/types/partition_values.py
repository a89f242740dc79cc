"""Converts partition values between text in the log and values with the column's type.

Every value is serialized as text. Null is null or the empty string, so an empty string cannot be distinguished from
null and becomes null. Timestamps have two forms: ISO 8601 in UTC (`2024-01-01T00:00:00.000000Z`), which this product
writes, and a local time (`2024-01-01 00:00:00`), which was written in the writer's session time zone and is read in the
reader's.

A data file's directory (`name=value`, Hive-escaped) only follows a convention: readers never use it.

Floating-point numbers use Java's text form.

Protocol: "Partition Value Serialization".
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, tzinfo
from decimal import Context, Decimal, InvalidOperation
from typing import TypeAlias, assert_never

from catalog.conditions import PartitionValueNotCastable
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType, format_data_type

PartitionValue: TypeAlias = str | int | float | bool | bytes | date | datetime | Decimal | None

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

_INTEGER_BITS = {PrimitiveType.BYTE: 8, PrimitiveType.SHORT: 16, PrimitiveType.INTEGER: 32, PrimitiveType.LONG: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_BOOLEANS = {"true": True, "false": False}
_FLOATS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf", "+Infinity": "inf"}
_WIDE = Context(prec=76)


def parse_partition_value(text: str | None, data_type: DataType, time_zone: tzinfo = UTC) -> PartitionValue:
    """Parses a text. `time_zone` applies to a timestamp without its own.

    Timestamps are aware datetimes in UTC, `timestamp_ntz` naive ones. Raises `PartitionValueNotCastable`.
    """
    if text is None or text == "":
        return None
    try:
        value = _parse(text, data_type, time_zone)
    except (ValueError, OverflowError, InvalidOperation, KeyError) as error:
        raise PartitionValueNotCastable(text, str(format_data_type(data_type))) from error
    return value


def format_partition_value(value: PartitionValue, data_type: DataType) -> str | None:
    """Returns a value's text, or None for null and for values that are serialized as null.

    Accepts the values that `parse_partition_value` returns. Raises `PartitionValueNotCastable` for binary data that is
    not UTF-8, which has no text, and for types that cannot be partition columns.
    """
    if value is None:
        return None
    try:
        return _format(value, data_type) or None
    except (ValueError, TypeError) as error:
        raise PartitionValueNotCastable(repr(value), str(format_data_type(data_type))) from error


def _parse(text: str, data_type: DataType, time_zone: tzinfo) -> PartitionValue:
    match data_type:
        case PrimitiveType.STRING:
            return text
        case PrimitiveType.BYTE | PrimitiveType.SHORT | PrimitiveType.INTEGER | PrimitiveType.LONG:
            return _parse_integer(text.strip(), _INTEGER_BITS[data_type])
        case PrimitiveType.FLOAT | PrimitiveType.DOUBLE:
            return float(_FLOATS.get(text.strip(), text.strip().replace("_", "?")))
        case PrimitiveType.BOOLEAN:
            return _BOOLEANS[text.strip().lower()]
        case PrimitiveType.BINARY:
            return text.encode()
        case PrimitiveType.DATE:
            return date.fromisoformat(text.strip())
        case PrimitiveType.TIMESTAMP:
            moment = datetime.fromisoformat(text.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=time_zone)).astimezone(UTC)
        case PrimitiveType.TIMESTAMP_NTZ:
            moment = datetime.fromisoformat(text.strip())
            if moment.tzinfo is not None:
                raise ValueError("a local timestamp with a zone")
            return moment
        case DecimalType(precision, scale):
            return _parse_decimal(text.strip(), precision, scale)
        case PrimitiveType.VARIANT | PrimitiveType.VOID | ArrayType() | MapType() | StructType():
            raise ValueError("no type of a partition column")
        case _:
            assert_never(data_type)


def _parse_integer(text: str, bits: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("no integer")
    value = int(text)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise OverflowError("beyond the type")
    return value


def _parse_decimal(text: str, precision: int, scale: int) -> Decimal:
    value = Decimal(text.replace("_", "?"))
    if not value.is_finite():
        raise ValueError("no number")
    # the default context has 28 digits, types have 38
    quantized = value.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    if quantized != value or quantized.copy_abs() >= Decimal(10) ** (precision - scale):
        raise ValueError("beyond the type")
    return quantized


def _format(value: PartitionValue, data_type: DataType) -> str:
    match data_type, value:
        case PrimitiveType.BOOLEAN, bool():
            return "true" if value else "false"
        case PrimitiveType.FLOAT | PrimitiveType.DOUBLE, float() | int():
            return _format_float(float(value))
        case PrimitiveType.BYTE | PrimitiveType.SHORT | PrimitiveType.INTEGER | PrimitiveType.LONG, int():
            return str(int(value))
        case PrimitiveType.STRING, str():
            return value
        case PrimitiveType.BINARY, bytes():
            return value.decode()
        case PrimitiveType.TIMESTAMP, datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        case PrimitiveType.TIMESTAMP_NTZ, datetime() if value.tzinfo is None:
            return value.isoformat(" ")
        case PrimitiveType.DATE, date() if not isinstance(value, datetime):
            return value.isoformat()
        case DecimalType(), Decimal() | int():
            return f"{Decimal(value):f}"
        case _:  # any other pair of a type and a value
            raise TypeError("the value is not of the column's type")


def _format_float(value: float) -> str:
    is_plain = value == 0 or 1e-3 <= abs(value) < 1e7
    return repr(value) if is_plain else java_float(repr(value))


def java_float(text: str) -> str:
    """Formats a number below 0.001, from ten million on, or not finite in Java's form.

    `text` is the shortest unambiguous form from Python or Arrow; Java prints one digit, a point and an exponent.
    """
    number = Decimal(text)
    if not number.is_finite():
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
    sign, digits, exponent = number.normalize().as_tuple()
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{fraction}E{len(digits) - 1 + int(exponent)}"
