"""Values in PostgreSQL's binary formats: an Arrow column in, cells out. Pure and vectorized.

Numbers are in network byte order, dates and timestamps count from 2000-01-01. A numeric is a list of digits to the base
10,000 without zeros at either end. See `src/backend/utils/adt` of PostgreSQL, functions `*_send`.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

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
    UUID,
    PgType,
)

# Numbers without a sign, of 32 or 64 bits.
_Unsigned: TypeAlias = npt.NDArray[Any]
_Kind: TypeAlias = type[Any]
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
_HEADER_FIELDS = 4
# The largest power of ten in an int64, and in 32 bits.
_POWER_MAX, _UINT32_POWER_MAX = 18, 8
_UINT32_MAX = 0xFFFFFFFF
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
        case UUID.oid:
            return _uuids(values)
        case JSONB.oid:
            return VariableCells(prefixed(b"\1", _texts(values, sql_type)))
        case _:  # text and JSON
            return VariableCells(_texts(values, sql_type))


def _uuids(values: pa.Array) -> Cells:
    digits = pc.replace_substring(values.fill_null("0" * 32), "-", "").to_pylist()
    return _fixed(values, np.frombuffer(bytes.fromhex("".join(digits)), "V16"))


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
    groups = _groups(np.abs(low).astype(np.uint64), scale)
    count, whole = len(groups), len(groups) - -(-scale // _DIGITS)
    is_digit = [group != 0 for group in groups]
    # From the first digit on, and up to the last one.
    begun = list(itertools.accumulate(is_digit, np.logical_or))
    ahead = list(itertools.accumulate(reversed(is_digit), np.logical_or))[::-1]
    content = np.empty((len(values), _HEADER_FIELDS + count), ">i2")
    is_sent = np.ones(content.shape, bool)
    sent, first = np.zeros(len(values), np.int16), np.full(len(values), count, np.int16)
    for place, group in enumerate(groups):
        content[:, _HEADER_FIELDS + place] = group
        both = begun[place] & ahead[place]
        is_sent[:, _HEADER_FIELDS + place] = both
        sent += both
        first -= begun[place]
    content[:, 0] = sent
    content[:, 1] = np.where(sent == 0, 0, np.int16(whole - 1) - first)
    content[:, 2] = np.where(low < 0, _NEGATIVE, 0)
    content[:, 3] = scale
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum((sent + np.int32(_HEADER_FIELDS)) * 2, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content[is_sent])]
    return VariableCells(_with_nulls(pa.Array.from_buffers(pa.binary(), len(values), buffers), values))


def _fits(values: pa.Array, words: npt.NDArray[np.int64]) -> bool:
    valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return bool(np.array_equal(words[valid, 1], words[valid, 0] >> 63))


def _groups(absolute: npt.NDArray[np.uint64], scale: int) -> list[_Unsigned]:
    """Returns the digits to the base 10,000: those before the point, and those after it."""
    largest = int(absolute.max()) if len(absolute) else 0
    # Division of numbers with 32 bits takes half the time.
    kind: _Kind = np.uint32 if largest <= _UINT32_MAX and scale <= _UINT32_POWER_MAX else np.uint64
    numbers: _Unsigned = absolute.astype(kind)
    if scale <= _POWER_MAX:
        whole, fraction = np.divmod(numbers, kind(10**scale)) if scale else (numbers, None)
    else:
        whole, fraction = np.zeros_like(numbers), numbers
    largest_whole = largest // 10**scale
    whole_groups = -(-len(str(largest_whole)) // _DIGITS)
    found: list[_Unsigned] = []
    for place in range(whole_groups - 1, -1, -1):
        digits = whole // kind(_BASE**place) if place else whole
        found.append(digits % kind(_BASE) if place < whole_groups - 1 else digits)
    for place in range(-(-scale // _DIGITS)):
        assert fraction is not None
        found.append(_fraction_group(fraction, scale - _DIGITS * (place + 1), kind, is_first=place == 0))
    return found


def _fraction_group(fraction: _Unsigned, exponent: int, kind: _Kind, *, is_first: bool) -> _Unsigned:
    """Returns four digits of fractions, the last of which has the place `exponent` from the right; a negative one
    means that the last group has fewer digits.
    """
    if exponent > _POWER_MAX:
        return np.zeros_like(fraction)
    if exponent >= 0:
        digits = fraction // kind(10**exponent) if exponent else fraction
        return digits if is_first and exponent + _DIGITS <= _POWER_MAX else digits % kind(_BASE)
    digits = fraction if is_first else fraction % kind(10 ** (_DIGITS + exponent))
    found: _Unsigned = digits * kind(10**-exponent)
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
