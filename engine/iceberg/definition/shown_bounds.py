"""Decodes column bounds into Arrow arrays with the values that the table exposes, for comparison with conditions.

Types missing in Spark are exposed as others (`engine.iceberg.definition.value_sql`) with the same order: a uuid as
lower-case text, which sorts like its bytes; a time as text too; nanoseconds as microseconds.

Java writers compare uuids as two signed numbers when they merge bounds from several row groups, or from several files
in a manifest list: such a bound is not valid for uuids with the other sign. Therefore a lower bound is used only if it
is a positive number, an upper bound only if negative, and only the first number. Parquet itself compares uuids as
unsigned bytes.

Source: Iceberg table specification, "Appendix D: Single-value serialization".
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.definition.column_types import table_type
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.spec.transforms import Value
from engine.iceberg.spec.types import Kind, SimpleType
from engine.pruning.three_valued_logic import Mask
from engine.types.arrow_types import arrow_type
from engine.types.schema import DataType, PrimitiveType

# Storage forms for fixed-width bounds; a promoted column's older bounds keep their old width.
_WIDTHS: Mapping[Kind, Sequence[tuple[int, str]]] = {
    Kind.BOOLEAN: [(1, "u1")],
    Kind.INT: [(4, "<i4")],
    Kind.LONG: [(8, "<i8"), (4, "<i4")],
    Kind.FLOAT: [(4, "<f4")],
    Kind.DOUBLE: [(8, "<f8"), (4, "<f4")],
    Kind.DATE: [(4, "<i4")],
    Kind.TIME: [(8, "<i8")],
    Kind.TIMESTAMP: [(8, "<i8")],
    Kind.TIMESTAMPTZ: [(8, "<i8")],
    Kind.TIMESTAMP_NS: [(8, "<i8")],
    Kind.TIMESTAMPTZ_NS: [(8, "<i8")],
}
_NOT_COMPARED = frozenset([Kind.UNKNOWN, Kind.VARIANT, Kind.GEOMETRY, Kind.GEOGRAPHY])
_BYTES = (Kind.BINARY, Kind.FIXED)
NANOS = frozenset([Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS])
_MICRO_NS = 1000
_DAY_US = 86_400_000_000
_UUID_BYTES = 16
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES = (8, 13, 18, 23)
_UUID_TEXT = 36
_EXACT = decimal.Context(prec=100)


def bounds_type(type_: SimpleType) -> DataType | None:
    """Returns the exposed type in which values are compared; None if the type is not comparable."""
    return None if type_.kind in _NOT_COMPARED else table_type(type_)


def bounds_of_files(entries: pa.Table, field_id: int, type_: SimpleType) -> tuple[pa.Array, pa.Array]:
    """Returns a column's minimum and maximum values for each entry, from its metrics; null if missing.

    `type_` must be comparable. Raises `MalformedIcebergFile`.
    """
    low, high = (metric(entries, name, field_id) for name in ("lower_bounds", "upper_bounds"))
    if type_.kind is Kind.UUID:
        groups = pc.fill_null(pc.list_value_length(entries["split_offsets"]), 0)
        return _uuids(low, high, pc.equal(groups, 1).to_numpy())
    return _display_bounds(_decode(low, type_), _decode(high, type_), type_)


def bounds_of_partitions(
    lows: Sequence[Value | None], highs: Sequence[Value | None], type_: SimpleType, *, are_values: bool
) -> tuple[pa.Array, pa.Array]:
    """Returns the same from values in the transforms' form; null for values that do not fit the type.

    `are_values`: exact values, which no writer has compared.
    """
    if type_.kind is Kind.UUID:
        low, high = (pa.array(each, pa.binary()) for each in (lows, highs))
        return _uuids(low, high, np.full(len(low), are_values))
    return _display_bounds(_array_of(lows, type_), _array_of(highs, type_), type_)


def _storage_type(type_: SimpleType) -> Any:
    """Returns the type that bounds have in storage, before conversion."""
    shown = PrimitiveType.LONG if type_.kind is Kind.TIME or type_.kind in NANOS else bounds_type(type_)
    assert shown is not None
    return arrow_type(shown)


def _decode(values: pa.Array, type_: SimpleType) -> pa.Array:
    """Decodes serialized values; null if invalid for the type."""
    kind = _storage_type(type_)
    if type_.kind in _BYTES:
        return values.cast(kind)
    if type_.kind is Kind.STRING:
        try:
            found = values.cast(kind)
            found.validate(full=True)
        except pa.ArrowInvalid:
            found = pa.array([_text(each) for each in values.to_pylist()], kind)
        return found
    if type_.kind is Kind.DECIMAL:
        unscaled = (None if each is None else int.from_bytes(each, "big", signed=True) for each in values.to_pylist())
        return _array_of(list(unscaled), type_)
    return _fixed_width(values, type_, kind)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _fixed_width(values: pa.Array, type_: SimpleType, kind: Any) -> pa.Array:
    lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy(zero_copy_only=False)
    target = np.float64 if type_.kind in (Kind.FLOAT, Kind.DOUBLE) else np.int64
    numbers = np.zeros(len(values), target)
    known = np.zeros(len(values), bool)
    for width, form in _WIDTHS[type_.kind]:
        rows = np.flatnonzero(lengths == width)
        if len(rows):
            data = values.take(pa.array(rows)).to_pylist()
            numbers[rows] = np.frombuffer(b"".join(data), form)
            known[rows] = True
    return _to_array(numbers, ~known, kind)


def _to_array(numbers: npt.NDArray[Any], missing: Mask, kind: Any) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array(numbers != 0, mask=missing)
    if pa.types.is_date32(kind):
        return pa.array(numbers.astype(np.int32), mask=missing).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(numbers, pa.int64(), mask=missing).view(kind)
    return pa.array(numbers, mask=missing).cast(kind)


def _array_of(values: Sequence[Any], type_: SimpleType) -> pa.Array:
    kind = _storage_type(type_)
    if type_.kind is Kind.DECIMAL:
        limit = 10**type_.precision
        return pa.array([_decimal(each, type_.scale, limit) for each in values], kind)
    if type_.kind is Kind.STRING:
        return pa.array([_text(each) for each in values], kind)
    if type_.kind in _BYTES:
        return pa.array(values, kind)
    missing = np.array([each is None for each in values], bool)
    limits = np.iinfo(np.int32 if type_.kind in (Kind.INT, Kind.DATE) else np.int64)
    if type_.kind in (Kind.FLOAT, Kind.DOUBLE):
        return _to_array(np.array([0.0 if each is None else each for each in values], np.float64), missing, kind)
    clipped = [0 if each is None else min(max(int(each), int(limits.min)), int(limits.max)) for each in values]
    return _to_array(np.array(clipped, np.int64), missing, kind)


def _decimal(unscaled: int | None, scale: int, limit: int) -> decimal.Decimal | None:
    if unscaled is None or not -limit < unscaled < limit:
        return None
    return decimal.Decimal(unscaled).scaleb(-scale, _EXACT)


# --- Conversion to exposed values ---


def _display_bounds(low: pa.Array, high: pa.Array, type_: SimpleType) -> tuple[pa.Array, pa.Array]:
    if type_.kind is Kind.TIME:
        return _times(low, high)
    if type_.kind in NANOS:
        kind = arrow_type(table_type(type_))
        return _micros(low, 0).view(kind), _micros(high, _MICRO_NS - 1).view(kind)
    return low, high


def _micros(nanos: pa.Array, more: int) -> pa.Array:
    numbers = pc.fill_null(nanos, 0).to_numpy()
    whole, rest = np.divmod(numbers, _MICRO_NS)
    return pa.array(whole + (rest + more) // _MICRO_NS, mask=nanos.is_null().to_numpy(zero_copy_only=False))


def _times(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Converts times. Both bounds are null if one is not a valid time: the writer did not write times."""
    is_time = np.ones(len(low), bool)
    for each in (low, high):
        numbers = pc.fill_null(each, 0).to_numpy()
        is_time &= (numbers >= 0) & (numbers < _DAY_US)
    texts = (pc.if_else(pa.array(is_time), each, None).cast(pa.time64("us")).cast(pa.string()) for each in (low, high))
    first, last = (pc.utf8_rtrim(pc.utf8_rtrim(each, "0"), ".") for each in texts)
    return first, last


def _uuids(low: pa.Array, high: pa.Array, is_unsigned: Mask) -> tuple[pa.Array, pa.Array]:
    """Converts uuid bounds to text; `is_unsigned` marks bounds that were not compared as signed numbers."""
    (lows, has_low), (highs, has_high) = _raw_uuids(low), _raw_uuids(high)
    half = _UUID_BYTES // 2
    lows[~is_unsigned, half:], highs[~is_unsigned, half:] = 0, 0xFF
    has_low &= is_unsigned | (lows[:, 0] < 0x80)
    has_high &= is_unsigned | (highs[:, 0] >= 0x80)
    return _uuid_texts(lows, has_low), _uuid_texts(highs, has_high)


def _raw_uuids(values: pa.Array) -> tuple[npt.NDArray[np.uint8], Mask]:
    """Returns a row with bytes for each value, and a mask for valid uuids."""
    known = pc.fill_null(pc.equal(pc.binary_length(values), _UUID_BYTES), False).to_numpy(zero_copy_only=False)
    raw = np.zeros((len(values), _UUID_BYTES), np.uint8)
    data = b"".join(values.filter(pa.array(known)).to_pylist())
    raw[known] = np.frombuffer(data, np.uint8).reshape(-1, _UUID_BYTES)
    return raw, known.copy()


def _uuid_texts(raw: npt.NDArray[np.uint8], known: Mask) -> pa.Array:
    count = len(raw)
    places = [at for at in range(_UUID_TEXT) if at not in _DASHES]
    texts = np.full((count, _UUID_TEXT), ord("-"), np.uint8)
    texts[:, places] = _HEX[np.stack((raw >> 4, raw & 15), axis=-1).reshape(count, -1)]
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(_UUID_TEXT)
    found = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(texts.tobytes())])
    return pc.if_else(pa.array(known), found, pa.scalar(None, pa.string()))
