"""Minimum and maximum values from Arrow columns: exact for partition values, widened for statistics by their known
defects.

- Timestamps are truncated to milliseconds: the maximum may be 999 us higher, and before 1970, where a writer may
truncate towards zero, the minimum as much lower. Some writers also truncate the seconds in a zone's offset, which moves
instants before 1972 by up to a minute either way.
- Strings are truncated; a maximum string is usually followed by a tie-breaker, but one with 32 or more characters may
also be the bare prefix of the true one (handled in `engine.pruning.value_ranges`).
- NaN may be missing from the bounds for a `float` or `double` (also handled there).
- The bounds for a column that was once a `float` may be decimal texts for 32-bit numbers, read as 64-bit ones.
- Some writers pass decimals through a double: beyond 15 digits they are compared as doubles, two steps wider.

An order-preserving cast maps bounds to bounds (:func:`cast_bounds`); any other cast has none. Between instants and
local time no zone is used: the bounds are widened by 18 hours, more than any zone's distance from UTC. So a session may
be in another zone than the writer was.

Source: PROTOCOL.md, "Per-file Statistics"; writer defects as reported for delta-spark, delta-rs and the kernels.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.pruning.value_ranges import (
    FLOATING,
    INTEGRAL_DIGITS,
    Bounds,
    BytesBounds,
    Integers,
    NumericBounds,
    floating_keys,
)
from engine.types.arrow_types import arrow_type
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType

_DAY_US = 86_400_000_000
_DAYS_MAX = 2**63 // _DAY_US - 2
_ZONE_US_MAX = 18 * 3_600_000_000
_CUT_TO_MS_US = 999
_EARLY_END_US = 735 * _DAY_US  # early January 1972, when the last zone gave up an offset with seconds
_EARLY_SLACK_US = {PrimitiveType.TIMESTAMP: 60_000_000, PrimitiveType.TIMESTAMP_NTZ: _CUT_TO_MS_US}
_INT64 = np.iinfo(np.int64)
_DOUBLE_DIGITS = 15

# The integers that represent values; 64 bits for other types.
_WIDTHS: Mapping[PrimitiveType, type[np.signedinteger[Any]]] = {
    PrimitiveType.BYTE: np.int8,
    PrimitiveType.SHORT: np.int16,
    PrimitiveType.INTEGER: np.int32,
    PrimitiveType.DATE: np.int32,
}

_UNORDERED = frozenset([PrimitiveType.VARIANT, PrimitiveType.VOID])


def bounds_of_values(values: pa.Array, data_type: DataType) -> Bounds | None:
    """Returns exact bounds, one entry per value; a null's entry is meaningless. None for types without an order."""
    array = _as(values, data_type)
    if array is None:
        return None
    numbers: Integers
    if data_type in (PrimitiveType.STRING, PrimitiveType.BINARY):
        array = array.cast(pa.binary())
        return BytesBounds(data_type=data_type, low=array, high=array, exact=True)
    if isinstance(data_type, DecimalType) and data_type.precision > _DOUBLE_DIGITS:
        numbers = _unscaled_objects(array, data_type)
    elif data_type in FLOATING:
        numbers = floating_keys(_doubles(array, 0.0))
    else:
        numbers = _integers(array, data_type, 0)
    return NumericBounds(data_type=data_type, low=numbers, high=numbers, exact=True)


def bounds_of_statistics(
    low: pa.Array | None, high: pa.Array | None, data_type: DataType, *, once_float: bool = False
) -> Bounds | None:
    """Returns bounds from a file's `minValues` and `maxValues`; null or a missing array is no bound. None without any.

    `once_float`: a `double` column whose older files contain floats.
    """
    lows = None if low is None else _as(low, data_type)
    highs = None if high is None else _as(high, data_type)
    if lows is None and highs is None:
        return None
    if data_type in (PrimitiveType.STRING, PrimitiveType.BINARY):
        lows, highs = (None if array is None else array.cast(pa.binary()) for array in (lows, highs))
        return BytesBounds(data_type=data_type, low=lows, high=highs, exact=False)
    low = pa.nulls(1, arrow_type(data_type)) if lows is None else lows
    high = pa.nulls(1, arrow_type(data_type)) if highs is None else highs
    if data_type in FLOATING:
        return _floating_bounds(low, high, data_type, once_float)
    if isinstance(data_type, DecimalType) and data_type.precision > _DOUBLE_DIGITS:
        return _approximate_bounds(low, high, data_type)
    if data_type is PrimitiveType.TIMESTAMP or data_type is PrimitiveType.TIMESTAMP_NTZ:
        return _timestamp_bounds(low, high, data_type)
    minimum, maximum = _limits(data_type)
    return NumericBounds(
        data_type=data_type,
        low=_integers(low, data_type, minimum),
        high=_integers(high, data_type, maximum),
        exact=False,
    )


def _limits(data_type: DataType) -> tuple[int, int]:
    """Returns the smallest and largest integer that can represent a value, used for a missing bound."""
    if data_type is PrimitiveType.BOOLEAN:
        return 0, 1
    limits = np.iinfo(_WIDTHS.get(data_type, np.int64) if isinstance(data_type, PrimitiveType) else np.int64)
    return int(limits.min), int(limits.max)


def _floating_bounds(low: pa.Array, high: pa.Array, data_type: DataType, once_float: bool) -> NumericBounds:
    lows, highs = _doubles(low, -np.inf), _doubles(high, np.inf)
    # NaN as the minimum would mean that all are NaN; for some writers it means that some are.
    lows = np.where(np.isnan(lows), -np.inf, lows)
    if once_float:
        with np.errstate(over="ignore"):
            # "Type Widening": files from before FLOAT became DOUBLE have statistics that a
            # writer formatted as 32-bit numbers.
            lows = np.minimum(lows, lows.astype(np.float32))
            highs = np.maximum(highs, highs.astype(np.float32))
    high_keys = floating_keys(highs)
    return NumericBounds(
        data_type=data_type,
        low=floating_keys(lows),
        high=np.asarray(_INT64.max),
        number_high=high_keys,
        exact=False,
    )


def _approximate_bounds(low: pa.Array, high: pa.Array, data_type: DataType) -> NumericBounds:
    lows = _doubles(low.cast(pa.float64()), -np.inf)
    highs = _doubles(high.cast(pa.float64()), np.inf)
    # One step for the writer's conversion to a double and one for ours.
    for _ in range(2):
        lows, highs = np.nextafter(lows, -np.inf), np.nextafter(highs, np.inf)
    return NumericBounds(
        data_type=data_type, low=floating_keys(lows), high=floating_keys(highs), exact=False, approximate=True
    )


def _timestamp_bounds(low: pa.Array, high: pa.Array, data_type: PrimitiveType) -> NumericBounds:
    lows, highs = _integers(low, data_type, _INT64.min), _integers(high, data_type, _INT64.max)
    highs = np.minimum(highs, _INT64.max - _CUT_TO_MS_US) + _CUT_TO_MS_US
    slack = _EARLY_SLACK_US[data_type]
    lows = np.where(lows < _EARLY_END_US, np.maximum(lows, _INT64.min + slack) - slack, lows)
    highs = np.where(highs < _EARLY_END_US, highs + slack, highs)
    return NumericBounds(data_type=data_type, low=lows, high=highs, exact=False)


def cast_bounds(bounds: Bounds, target: DataType) -> Bounds | None:
    """Returns bounds for the values after a cast, or None if the cast may change their order or lose values."""
    source = bounds.data_type
    if source == target:
        return bounds
    if isinstance(bounds, BytesBounds):
        return None
    match source, target:
        case PrimitiveType.FLOAT, PrimitiveType.DOUBLE:
            return replace(bounds, data_type=target)
        case (PrimitiveType(), PrimitiveType()) if source in INTEGRAL_DIGITS and target in INTEGRAL_DIGITS:
            # A narrowing cast raises an error or wraps around, depending on ANSI mode;
            # neither preserves the order.
            return replace(bounds, data_type=target) if INTEGRAL_DIGITS[source] < INTEGRAL_DIGITS[target] else None
        case (PrimitiveType(), DecimalType()) if source in INTEGRAL_DIGITS:
            return _rescale(bounds, INTEGRAL_DIGITS[source], 0, target)
        case DecimalType(), DecimalType():
            return _rescale(bounds, source.precision - source.scale, source.scale, target)
        case (PrimitiveType() | DecimalType(), PrimitiveType()) if target in FLOATING:
            return _as_floating(bounds, target)
        case PrimitiveType(), PrimitiveType():
            return _in_time(bounds, source, target)
        case _:  # any other pair of types
            return None


def _rescale(bounds: NumericBounds, digits: int, scale: int, target: DecimalType) -> NumericBounds | None:
    """Returns bounds for a decimal that can hold every value: only the scale in the literal changes."""
    if target.scale < scale or target.precision - target.scale < digits:
        return None
    return replace(bounds, data_type=DecimalType(max(digits + scale, 1), scale))


def _as_floating(bounds: NumericBounds, target: PrimitiveType) -> NumericBounds | None:
    source = bounds.data_type
    if not isinstance(source, DecimalType) and source not in INTEGRAL_DIGITS:
        return None
    if bounds.approximate:
        # Rounding preserves the order, and these are doubles already.
        return replace(bounds, data_type=target, approximate=False) if target is PrimitiveType.DOUBLE else None
    if bounds.low.dtype == object:
        return None
    # Division rounds monotonically, so minimum and maximum stay bounds.
    divisor = 10.0**source.scale if isinstance(source, DecimalType) else 1.0
    precision = np.float32 if target is PrimitiveType.FLOAT else np.float64
    low, high = (
        floating_keys((numbers / divisor).astype(precision).astype(np.float64)) for numbers in (bounds.low, bounds.high)
    )
    return replace(bounds, data_type=target, low=low, high=high)


def _in_time(bounds: NumericBounds, source: PrimitiveType, target: PrimitiveType) -> NumericBounds | None:
    """Casts between dates, timestamps and timestamps without a zone."""
    times = (PrimitiveType.DATE, PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ)
    if source not in times or target not in times:
        return None
    low, high = bounds.low, bounds.high
    if source is PrimitiveType.DATE:
        low, high = (np.clip(days.astype(np.int64), -_DAYS_MAX, _DAYS_MAX) * _DAY_US for days in (low, high))
    in_zone = PrimitiveType.TIMESTAMP in (source, target)
    if in_zone:
        low = np.maximum(low, _INT64.min + _ZONE_US_MAX) - _ZONE_US_MAX
        high = np.minimum(high, _INT64.max - _ZONE_US_MAX) + _ZONE_US_MAX
    if target is PrimitiveType.DATE:
        low, high = low // _DAY_US, high // _DAY_US
    return replace(bounds, data_type=target, low=low, high=high, exact=bounds.exact and not in_zone)


def _as(array: pa.Array, data_type: DataType) -> pa.Array | None:
    """Returns the array in the Arrow type for comparisons; None if it does not fit, or the type has no order."""
    if not isinstance(data_type, PrimitiveType | DecimalType) or data_type in _UNORDERED:
        return None
    try:
        return array.cast(arrow_type(data_type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _doubles(array: pa.Array, missing: float) -> npt.NDArray[np.float64]:
    values: npt.NDArray[Any] = array.fill_null(missing).to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)


def _integers(array: pa.Array, data_type: DataType, missing: int) -> Integers:
    """Returns the integers that represent the values, in the type's own width; `missing` for a null."""
    match data_type:
        case DecimalType():
            values = _low_words(array)
            return values if array.null_count == 0 else np.where(_valid(array), values, missing)
        case PrimitiveType.BOOLEAN:
            array = array.cast(pa.int8())
        case PrimitiveType.DATE:
            array = array.view(pa.int32())
        case PrimitiveType.TIMESTAMP | PrimitiveType.TIMESTAMP_NTZ:
            array = array.view(pa.int64())
        case PrimitiveType() | StructType() | ArrayType() | MapType():
            pass  # integers, or a type without bounds
        case _:
            assert_never(data_type)
    filled: Integers = array.fill_null(pa.scalar(missing, array.type)).to_numpy(zero_copy_only=False)
    return filled


def _low_words(array: pa.Array) -> npt.NDArray[np.int64]:
    """Returns decimals up to 18 digits as unscaled values: the low half of Arrow's 128 bits."""
    words = np.frombuffer(array.buffers()[1], dtype="<i8")
    return words[2 * array.offset : 2 * (array.offset + len(array)) : 2].astype(np.int64, copy=False)


def _valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _unscaled_objects(array: pa.Array, data_type: DecimalType) -> npt.NDArray[np.object_]:
    context = decimal.Context(prec=100)
    numbers = np.empty(len(array), dtype=object)
    numbers[:] = [
        int(value.scaleb(data_type.scale, context)) if value is not None else 0 for value in array.to_pylist()
    ]
    return numbers
