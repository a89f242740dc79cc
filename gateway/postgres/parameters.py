"""The values that a client binds to `$1`, `$2`, …, as the engine's parameters. Pure.

A value arrives as text or in the binary format of its type, and leaves as text with Spark's name of the type. A text of
an unknown type is a string.
"""

from __future__ import annotations

import base64
import datetime as dt
import re
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType

from catalog.conditions import BoundValueInvalid
from engine.runtime.parameters import Parameter
from engine.runtime.variables import RowValue
from engine.sql.postgres_text import MARKER_PREFIX
from gateway.postgres.messages import MalformedMessage, Reader, format_of
from gateway.postgres.types import (
    BINARY_FORMAT,
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TYPES,
    UNKNOWN,
    UUID,
    VARCHAR,
    spark_type,
)

_BINARY_ROW = '{"type":"struct","fields":[{"name":"v","type":"binary","nullable":true,"metadata":{}}]}'
_ROW_HEADER_BYTES = 16
_EPOCH = dt.datetime(2000, 1, 1)
_EPOCH_DATE = dt.date(2000, 1, 1)
_POSITIVE, _NEGATIVE, _NAN = 0x0000, 0x4000, 0xC000
_PRECISION_MAX, _SCALE_MAX = 38, 38
_BOOLEANS = {
    "t": "true",
    "f": "false",
    "1": "true",
    "0": "false",
    "on": "true",
    "off": "false",
    "yes": "true",
    "no": "false",
}
_HEXADECIMAL = re.compile(r"\\x((?:[0-9A-Fa-f]{2})*)")
_NUMBER = re.compile(r"\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?\s*")


def _number(form: str) -> Callable[[bytes], str]:
    layout = struct.Struct(form)
    return lambda content: repr(layout.unpack(content)[0])


def _timestamp(content: bytes) -> str:
    return (_EPOCH + dt.timedelta(microseconds=struct.unpack(">q", content)[0])).isoformat(" ")


def _instant(content: bytes) -> str:
    return f"{_timestamp(content)}+00:00"


def _date(content: bytes) -> str:
    return (_EPOCH_DATE + dt.timedelta(days=struct.unpack(">i", content)[0])).isoformat()


def _time(content: bytes) -> str:
    return (_EPOCH + dt.timedelta(microseconds=struct.unpack(">q", content)[0])).time().isoformat()


def _interval(content: bytes) -> str:
    micros, days, months = struct.unpack(">qii", content)
    return f"{months} months {days} days {Decimal(micros).scaleb(-6)} seconds"


def _numeric(content: bytes) -> str:
    reader = Reader(content)
    count, weight, sign, scale = reader.count(), reader.int16(), reader.count(), reader.count()
    if sign == _NAN:
        return "NaN"
    if sign not in (_POSITIVE, _NEGATIVE) or count > 1000:
        raise MalformedMessage("a numeric is malformed")
    digits = 0
    for _ in range(count):
        digits = digits * 10_000 + reader.int16()
    value = Decimal(-digits if sign == _NEGATIVE else digits).scaleb(4 * (weight - count + 1))
    return f"{value:.{scale}f}" if scale <= _SCALE_MAX else f"{value:f}"


def _text(content: bytes) -> str:
    return content.decode("utf-8")


_BINARY: Mapping[int, Callable[[bytes], str]] = MappingProxyType(
    {
        BOOL.oid: lambda content: "true" if struct.unpack("?", content)[0] else "false",
        INT2.oid: _number(">h"),
        INT4.oid: _number(">i"),
        INT8.oid: _number(">q"),
        OID.oid: _number(">I"),
        FLOAT4.oid: _number(">f"),
        FLOAT8.oid: _number(">d"),
        NUMERIC.oid: _numeric,
        DATE.oid: _date,
        TIME.oid: _time,
        TIMESTAMP.oid: _timestamp,
        TIMESTAMPTZ.oid: _instant,
        INTERVAL.oid: _interval,
        UUID.oid: lambda content: str(uuid.UUID(bytes=content)),
        JSONB.oid: lambda content: _text(content[1:]),
        **{one.oid: _text for one in (TEXT, VARCHAR, BPCHAR, NAME, JSON, UNKNOWN)},
        0: _text,
    }
)


def bound_parameters(
    values: Sequence[bytes | None], formats: Sequence[int], oids: Sequence[int]
) -> tuple[Parameter, ...]:
    """Returns the parameters, named as the markers of the adapted text. Raises `BoundValueInvalid`."""
    return tuple(
        parameter(value, format_of(formats, index), oid, index + 1)
        for index, (value, oid) in enumerate(zip(values, oids, strict=True))
    )


def parameter(value: bytes | None, form: int, oid: int, number: int) -> Parameter:
    """Returns the parameter `number` of the type `oid`."""
    name = f"{MARKER_PREFIX}{number}"
    kind = TYPES.get(oid)
    if value is None:
        return Parameter(value=None, sql_type=_null_type(oid), name=name)
    try:
        if kind is not None and kind.element is not None:
            return _array(value, form, oid, name)
        if oid == BYTEA.oid:
            return _bytes(value, form, name)
        text = _BINARY.get(oid, _text)(value) if form == BINARY_FORMAT else _of_text(_text(value), oid)
    except (MalformedMessage, ValueError, ArithmeticError, struct.error) as error:  # a decoding error is a ValueError
        name_of_type = "text" if kind is None else kind.name
        raise BoundValueInvalid(number, f"it is not a value of the type {name_of_type}") from error
    return Parameter(value=text, sql_type=_decimal_type(text) if oid == NUMERIC.oid else spark_type(oid), name=name)


def _null_type(oid: int) -> str:
    found = spark_type(oid)
    return "string" if found.startswith("array<") else found


def _of_text(text: str, oid: int) -> str:
    if oid == BOOL.oid:
        return _BOOLEANS.get(text.strip().lower(), text)
    return text


def _decimal_type(text: str) -> str:
    """Returns the smallest type that has the number, as for a literal."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return "double"
    value = Decimal(text.strip())
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    digits = len(value.as_tuple().digits) + max(0, exponent if isinstance(exponent, int) else 0)
    scale = min(scale, _SCALE_MAX)
    return f"decimal({min(max(digits, scale, 1), _PRECISION_MAX)},{scale})"


def _bytes(value: bytes, form: int, name: str) -> Parameter:
    if form != BINARY_FORMAT:
        found = _HEXADECIMAL.fullmatch(value.decode("utf-8"))
        value = bytes.fromhex(found[1]) if found is not None else value
    return Parameter(value=None, sql_type="binary", name=name, row_value=_row_value(value))


def _row_value(value: bytes) -> RowValue:
    """Returns bytes in Spark's binary form of a row with one column, since bytes have no exact text."""
    header = struct.pack("<qq", 0, (_ROW_HEADER_BYTES << 32) | len(value))
    row = header + value + bytes(-len(value) % 8)
    return RowValue(_BINARY_ROW, base64.b64encode(row).decode("ascii"), 0)


def _array(value: bytes, form: int, oid: int, name: str) -> Parameter:
    element = TYPES[oid].element
    assert element is not None
    pieces = binary_elements(value) if form == BINARY_FORMAT else array_elements(value.decode("utf-8"))
    members = tuple(parameter(piece, form, element.oid, 0) for piece in pieces)
    return Parameter(value=None, sql_type="array", name=name, members=members)


def binary_elements(content: bytes) -> list[bytes | None]:
    """Returns the elements of an array in the binary format. Raises `MalformedMessage`."""
    reader = Reader(content)
    dimensions, _, _ = reader.int32(), reader.int32(), reader.int32()
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise MalformedMessage("an array has several dimensions")
    count, _ = reader.int32(), reader.int32()
    if not 0 <= count <= len(content) // 4:
        raise MalformedMessage("an array is malformed")
    found: list[bytes | None] = []
    for _ in range(count):
        length = reader.int32()
        found.append(None if length == -1 else reader.take(length))
    return found


_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^{},"]+))\s*(,|\Z)', re.DOTALL)


def array_elements(text: str) -> list[bytes | None]:
    """Returns the elements of an array's text, such as `{1,NULL,"a b"}`. Raises `MalformedMessage`."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise MalformedMessage("an array is malformed")
    content, at = text[1:-1], 0
    found: list[bytes | None] = []
    while at < len(content):
        piece = _ELEMENT.match(content, at)
        if piece is None:
            raise MalformedMessage("an array is malformed, or has several dimensions")
        quoted, plain = piece[1], piece[2]
        if quoted is not None:
            found.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL).encode())
        else:
            plain = plain.strip()
            found.append(None if plain.upper() == "NULL" else plain.encode())
        at = piece.end()
    return found
