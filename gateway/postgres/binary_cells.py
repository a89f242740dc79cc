"""Values in PostgreSQL's binary formats: an Arrow column in, cells out. Pure and vectorized.

Numbers are in network byte order, dates and timestamps count from 2000-01-01. A numeric is a list of digits to the base
10,000 without zeros at either end. See `src/backend/utils/adt` of PostgreSQL, functions `*_send`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.runtime.value_text import to_text
from gateway.postgres.cells import Cells, FixedCells, VariableCells, prefixed
from gateway.postgres.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    OID,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    PgType,
)

_EPOCH_DAYS = 10_957
_EPOCH_MICROS = 946_684_800_000_000
_DAY_MICROS = 86_400_000_000
_DTYPES: Mapping[int, tuple[str, pa.DataType]] = MappingProxyType(
    {
        INT2.oid: (">i2", pa.int16()),
        INT4.oid: (">i4", pa.int32()),
        INT8.oid: (">i8", pa.int64()),
        OID.oid: (">u4", pa.int64()),
        FLOAT4.oid: (">f4", pa.float32()),
        FLOAT8.oid: (">f8", pa.float64()),
    }
)
_NEGATIVE = 0x4000
_BASE, _DIGITS = 10_000, 4
# The largest power of ten in an int64.
_POWER_MAX = 18
_INTERVAL = struct.Struct(">qii")
_ARRAY_HEADER = struct.Struct(">iiiii")
_EMPTY_ARRAY = struct.Struct(">iii")
_PARTS = re.compile(r"(-?\d+(?:\.\d+)?) (year|month|day|hour|minute|second)s?")
_MONTHS = {"year": 12, "month": 1}
_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


def binary_cells(values: pa.Array, kind: PgType, sql_type: str) -> Cells:
    """Returns the cells of a column with the type `kind`; `sql_type` is Spark's."""
    if kind.element is not None:
        return _arrays(values, kind.element, sql_type)
    if kind.oid in _DTYPES:
        dtype, arrow = _DTYPES[kind.oid]
        return _fixed(values, _numbers(values.cast(arrow)).astype(dtype))
    match kind.oid:
        case BOOL.oid:
            return _fixed(values, _numbers(values.cast(pa.uint8())))
        case DATE.oid:
            return _fixed(values, (_numbers(values.view(pa.int32())) - _EPOCH_DAYS).astype(">i4"))
        case TIMESTAMP.oid | TIMESTAMPTZ.oid:
            micros = _numbers(values.cast(pa.timestamp("us", values.type.tz)).view(pa.int64()))
            return _fixed(values, (micros - _EPOCH_MICROS).astype(">i8"))
        case TIME.oid:
            micros = _numbers(values.cast(pa.time64("us"), safe=False).view(pa.int64()))
            return _fixed(values, micros.astype(">i8"))
        case NUMERIC.oid:
            return _numerics(values)
        case INTERVAL.oid:
            return _intervals(values)
        case BYTEA.oid:
            return VariableCells(values.cast(pa.binary()))
        case JSONB.oid:
            return VariableCells(prefixed(b"\1", _texts(values, sql_type)))
        case _:  # text and JSON
            return VariableCells(_texts(values, sql_type))


def _texts(values: pa.Array, sql_type: str) -> pa.BinaryArray:
    is_text = pa.types.is_string(values.type)
    return (values if is_text else to_text(values, sql_type, "UTC")).cast(pa.binary())


def _numbers(values: pa.Array) -> npt.NDArray[np.generic]:
    filled = values.fill_null(0) if values.null_count else values
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _fixed(values: pa.Array, numbers: npt.NDArray[np.generic]) -> Cells:
    content = np.ascontiguousarray(numbers).view(np.uint8).reshape(len(values), numbers.dtype.itemsize)
    return FixedCells(content, pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else None)


def _numerics(values: pa.Array) -> Cells:
    words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)[values.offset : values.offset + len(values)]
    low, scale = words[:, 0], values.type.scale
    if values.null_count:
        low = np.where(pc.is_null(values).to_numpy(zero_copy_only=False), 0, low)
    elif scale < 0 or not np.array_equal(words[:, 1], low >> 63):
        return _wide_numerics(values)
    if scale < 0 or (values.null_count and not _fits(values, words)):
        return _wide_numerics(values)
    # The absolute value of the least number is itself, which is right as an unsigned number.
    absolute = np.abs(low).astype(np.uint64)
    groups = _groups(absolute, scale)
    whole_groups = groups.shape[1] - -(-scale // _DIGITS)
    has_digit = groups != 0
    count = groups.shape[1]
    is_zero = ~has_digit.any(axis=1)
    first = np.argmax(has_digit, axis=1)
    last = count - 1 - np.argmax(has_digit[:, ::-1], axis=1)
    places = np.arange(count)
    is_sent = (places >= first[:, None]) & (places <= last[:, None]) & ~is_zero[:, None]
    header = np.empty((len(values), 4), np.int64)
    header[:, 0] = is_sent.sum(axis=1)
    header[:, 1] = np.where(is_zero, 0, whole_groups - 1 - first)
    header[:, 2] = np.where(low < 0, _NEGATIVE, 0)
    header[:, 3] = scale
    matrix = np.concatenate([header, groups.astype(np.int64)], axis=1)
    mask = np.concatenate([np.ones((len(values), 4), bool), is_sent], axis=1)
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(mask.sum(axis=1) * 2, out=offsets[1:])
    content = matrix[mask].astype(">i2").tobytes()
    found = pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(content)])
    return VariableCells(_with_nulls(found, values))


def _fits(values: pa.Array, words: npt.NDArray[np.int64]) -> bool:
    valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return bool(np.array_equal(words[valid, 1], words[valid, 0] >> 63))


def _groups(absolute: npt.NDArray[np.uint64], scale: int) -> npt.NDArray[np.int64]:
    """Returns the digits to the base 10,000: those before the point, and those after it."""
    size = np.uint64(10**scale) if scale <= _POWER_MAX else None
    whole = absolute // size if size is not None else np.zeros_like(absolute)
    fraction = absolute % size if size is not None else absolute
    fraction_groups = -(-scale // _DIGITS)
    largest = int(whole.max()) if len(whole) else 0
    whole_groups = -(-len(str(largest)) // _DIGITS)
    found = np.zeros((len(absolute), whole_groups + fraction_groups), np.int64)
    for place in range(whole_groups):
        power = np.uint64(10 ** (_DIGITS * (whole_groups - 1 - place)))
        found[:, place] = whole // power % np.uint64(_BASE)
    for place in range(fraction_groups):
        exponent = scale - _DIGITS * (place + 1)
        if exponent > _POWER_MAX:
            continue
        if exponent >= 0:
            digits = fraction // np.uint64(10**exponent) % np.uint64(_BASE)
        else:  # the last group has fewer digits
            digits = fraction % np.uint64(10 ** (_DIGITS + exponent)) * np.uint64(10**-exponent)
        found[:, whole_groups + place] = digits
    return found


def _wide_numerics(values: pa.Array) -> Cells:
    cells = [None if value is None else numeric_bytes(value) for value in values.to_pylist()]
    return VariableCells(pa.array(cells, pa.binary()))


def numeric_bytes(value: object) -> bytes:
    """Returns one decimal number."""
    text = f"{value:f}"
    whole, _, fraction = text.removeprefix("-").partition(".")
    scale = len(fraction)
    whole = whole.rjust(-(-len(whole) // _DIGITS) * _DIGITS, "0")
    fraction = fraction.ljust(-(-scale // _DIGITS) * _DIGITS, "0")
    digits = [int((whole + fraction)[at : at + _DIGITS]) for at in range(0, len(whole + fraction), _DIGITS)]
    weight = len(whole) // _DIGITS - 1
    while digits and digits[0] == 0:
        digits.pop(0)
        weight -= 1
    while digits and digits[-1] == 0:
        digits.pop()
    sign = _NEGATIVE if text.startswith("-") and digits else 0
    return struct.pack(f">hhHh{len(digits)}h", len(digits), weight if digits else 0, sign, scale, *digits)


def _intervals(values: pa.Array) -> Cells:
    if not pa.types.is_duration(values.type):
        cells = [None if value is None else _INTERVAL.pack(*parse_interval(value)) for value in values.to_pylist()]
        return VariableCells(pa.array(cells, pa.binary()))
    micros = _numbers(values.cast(pa.duration("us")).view(pa.int64())).astype(np.int64)
    days = np.where(micros < 0, -(-micros // _DAY_MICROS), micros // _DAY_MICROS)
    content = np.empty(len(values), np.dtype([("micros", ">i8"), ("days", ">i4"), ("months", ">i4")]))
    content["micros"], content["days"], content["months"] = micros - days * _DAY_MICROS, days, 0
    return _fixed(values, content)


def parse_interval(text: str) -> tuple[int, int, int]:
    """Returns the microseconds, days and months of an interval in Spark's text: `1-2`, or `1 years 2 days`."""
    years = re.fullmatch(r"(-?)(\d+)-(\d+)", text)
    if years is not None:
        months = int(years[2]) * 12 + int(years[3])
        return 0, 0, -months if years[1] else months
    micros = days = months = 0
    for number, unit in _PARTS.findall(text):
        if unit in _MONTHS:
            months += int(number) * _MONTHS[unit]
        elif unit == "day":
            days += int(number)
        else:
            micros += round(float(number) * _MICROS[unit])
    return micros, days, months


def _arrays(values: pa.Array, element: PgType, sql_type: str) -> Cells:
    """Returns arrays with one dimension, whose bounds begin at 1."""
    elements = values.flatten()
    inner = sql_type[len("array<") : -1]
    framed = binary_cells(elements, element, inner).with_lengths()
    lengths = np.zeros(len(values) + 1, np.int32)
    sizes = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    np.cumsum(sizes, out=lengths[1:])
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(lengths, pa.int32()), framed), b"")
    has_null = 1 if elements.null_count else 0
    headers = [
        _ARRAY_HEADER.pack(1, has_null, element.oid, size, 1) if size else _EMPTY_ARRAY.pack(0, 0, element.oid)
        for size in sizes.tolist()
    ]
    found = pc.binary_join_element_wise(pa.array(headers, pa.binary()), joined.cast(pa.binary()), b"")
    return VariableCells(_with_nulls(found, values))


def _with_nulls(cells: pa.BinaryArray, values: pa.Array) -> pa.BinaryArray:
    return pc.if_else(pc.is_valid(values), cells, pa.scalar(None, pa.binary())) if values.null_count else cells
