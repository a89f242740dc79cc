"""Bounds of Arrow columns as integers: exact for values, widened for statistics, and after casts."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.pruning.column_ranges import bounds_of_statistics, bounds_of_values, cast_bounds
from engine.pruning.value_ranges import BytesBounds, NumericBounds, floating_keys
from engine.types.schema import ArrayType, DataType, DecimalType, PrimitiveType

LONG, DOUBLE, FLOAT, DATE = PrimitiveType.LONG, PrimitiveType.DOUBLE, PrimitiveType.FLOAT, PrimitiveType.DATE
TIMESTAMP, NTZ = PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ
MIN, MAX = -(2**63), 2**63 - 1
DAY_US, HOUR_US = 86_400_000_000, 3_600_000_000
EARLY_END_US = 735 * DAY_US


def keys(*values: float) -> list[int]:
    found: list[int] = floating_keys(np.array(values, np.float64)).tolist()
    return found


@pytest.mark.parametrize(
    ("data_type", "values", "expected", "dtype"),
    [
        (LONG, pa.array([1, None, -5]), [1, 0, -5], np.int64),
        (PrimitiveType.BYTE, pa.array([1, -5], pa.int8()), [1, -5], np.int8),
        (PrimitiveType.BOOLEAN, pa.array([True, None, False]), [1, 0, 0], np.int8),
        (DATE, pa.array([3, None], pa.int32()).cast(pa.date32()), [3, 0], np.int32),
        (TIMESTAMP, pa.array([7, None], pa.timestamp("us", "UTC")), [7, 0], np.int64),
        (DOUBLE, pa.array([1.5, None, math.nan]), keys(1.5, 0.0, math.nan), np.int64),
        (DecimalType(15, 2), pa.array([Decimal("1.25"), None], pa.decimal128(15, 2)), [125, 0], np.int64),
        (DecimalType(16, 2), pa.array([Decimal("1.25"), None], pa.decimal128(16, 2)), [125, 0], object),
        (DecimalType(38, 1), pa.array([Decimal(10**36)], pa.decimal128(38, 1)), [10**37], object),
    ],
    ids=str,
)
def test_values_are_exact_integers(data_type: DataType, values: pa.Array, expected: list[int], dtype: Any) -> None:
    bounds = bounds_of_values(values, data_type)
    assert isinstance(bounds, NumericBounds)
    assert (bounds.low.tolist(), bounds.high.tolist(), bounds.low.dtype) == (expected, expected, dtype)
    assert (bounds.exact, bounds.approximate, bounds.number_high, bounds.data_type) == (True, False, None, data_type)


def test_slice_of_decimals_has_its_own_values() -> None:
    values = pa.array([Decimal(each) for each in range(1, 6)], pa.decimal128(5, 0))[1:4]
    bounds = bounds_of_values(values, DecimalType(5, 0))
    assert isinstance(bounds, NumericBounds) and bounds.low.tolist() == [2, 3, 4]


@pytest.mark.parametrize("data_type", [PrimitiveType.STRING, PrimitiveType.BINARY], ids=str)
def test_texts_are_exact_bytes(data_type: DataType) -> None:
    bounds = bounds_of_values(pa.array(["a", None]).cast(pa.binary()), data_type)
    assert isinstance(bounds, BytesBounds) and bounds.low is not None and bounds.high is not None
    assert (bounds.low.to_pylist(), bounds.high.to_pylist(), bounds.exact) == ([b"a", None], [b"a", None], True)


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (PrimitiveType.VARIANT, pa.array(["a"])),
        (ArrayType(LONG, True), pa.array([[1]])),
        (LONG, pa.array(["one"])),
        (DATE, pa.array([True])),
    ],
    ids=str,
)
def test_values_without_order_or_of_another_type_have_no_bounds(data_type: DataType, values: pa.Array) -> None:
    assert bounds_of_values(values, data_type) is None
    assert bounds_of_statistics(values, values, data_type) is None


NOTHING = pa.nulls(1, pa.int64())


@pytest.mark.parametrize(
    ("data_type", "low", "high", "expected_low", "expected_high"),
    [
        (LONG, pa.array([1]), pa.array([5]), [1], [5]),
        (LONG, NOTHING, pa.array([5]), [MIN], [5]),
        (LONG, None, pa.array([5]), [MIN], [5]),
        (LONG, pa.array([1]), None, [1], [MAX]),
        (PrimitiveType.BYTE, NOTHING, NOTHING, [-128], [127]),
        (PrimitiveType.SHORT, NOTHING, NOTHING, [-(2**15)], [2**15 - 1]),
        (PrimitiveType.INTEGER, NOTHING, NOTHING, [-(2**31)], [2**31 - 1]),
        (DATE, pa.nulls(1, pa.date32()), pa.nulls(1, pa.date32()), [-(2**31)], [2**31 - 1]),
        (PrimitiveType.BOOLEAN, pa.nulls(1, pa.bool_()), pa.nulls(1, pa.bool_()), [0], [1]),
        (DecimalType(10, 2), pa.nulls(1, pa.decimal128(10, 2)), pa.nulls(1, pa.decimal128(10, 2)), [MIN], [MAX]),
        (DecimalType(15, 1), pa.array([1.5]), pa.array([2.5]), [15], [25]),
        (DOUBLE, pa.array([1.5]), None, keys(1.5), MAX),
        (DOUBLE, None, pa.array([1.5]), keys(-math.inf), MAX),
        (DOUBLE, pa.array([math.nan]), pa.array([1.5]), keys(-math.inf), MAX),
        # Texts of milliseconds: 999 us more, and before 1972 a minute or 999 us either way.
        (NTZ, pa.array([EARLY_END_US]), pa.array([EARLY_END_US]), [EARLY_END_US], [EARLY_END_US + 999]),
        (NTZ, pa.array([EARLY_END_US - 1]), pa.array([10]), [EARLY_END_US - 1000], [10 + 2 * 999]),
        (
            TIMESTAMP,
            pa.array([EARLY_END_US - 1]),
            pa.array([EARLY_END_US - 1000]),
            [EARLY_END_US - 60_000_001],
            [EARLY_END_US - 1 + 60_000_000],
        ),
        (TIMESTAMP, pa.array([EARLY_END_US]), pa.array([EARLY_END_US - 999]), [EARLY_END_US], [EARLY_END_US]),
        (NTZ, pa.array([MIN]), pa.array([MAX]), [MIN], [MAX]),
        (NTZ, pa.array([MIN + 998]), pa.array([MAX - 998]), [MIN], [MAX]),
        (NTZ, pa.array([MIN + 1000]), pa.array([MAX - 1000]), [MIN + 1], [MAX - 1]),
        (TIMESTAMP, NOTHING, NOTHING, [MIN], [MAX]),
    ],
    ids=str,
)
def test_statistics_are_widened_by_their_known_defects(
    data_type: DataType, low: pa.Array | None, high: pa.Array | None, expected_low: Any, expected_high: Any
) -> None:
    if data_type in (TIMESTAMP, NTZ):
        unit = pa.timestamp("us", "UTC" if data_type is TIMESTAMP else None)
        low, high = (None if each is None else each.cast(unit) for each in (low, high))
    bounds = bounds_of_statistics(low, high, data_type)
    assert isinstance(bounds, NumericBounds)
    assert (bounds.low.tolist(), bounds.high.tolist()) == (expected_low, expected_high)
    assert (bounds.exact, bounds.approximate, bounds.data_type) == (False, False, data_type)


def test_maximum_of_numbers_is_known_besides_nan() -> None:
    bounds = bounds_of_statistics(pa.array([1.5, 2.0]), pa.array([2.5, None]), DOUBLE)
    assert isinstance(bounds, NumericBounds) and bounds.number_high is not None
    assert bounds.number_high.tolist() == keys(2.5, math.inf)


def test_bounds_of_a_former_float_include_the_float() -> None:
    low, high = 0.3, 0.1  # as floats one is greater, the other greater too
    narrow = bounds_of_statistics(pa.array([low]), pa.array([high]), DOUBLE)
    wide = bounds_of_statistics(pa.array([low]), pa.array([high]), DOUBLE, once_float=True)
    assert isinstance(narrow, NumericBounds) and isinstance(wide, NumericBounds)
    assert narrow.low.tolist() == keys(low)
    assert wide.low.tolist() == keys(min(low, float(np.float32(low))))
    assert wide.number_high is not None and wide.number_high.tolist() == keys(max(high, float(np.float32(high))))


def test_long_decimals_are_two_doubles_wider() -> None:
    bounds = bounds_of_statistics(pa.array([1.0]), pa.array([2.0]), DecimalType(16, 0))
    assert isinstance(bounds, NumericBounds)
    (low,), (high,) = keys(1.0), keys(2.0)
    assert (bounds.low.tolist(), bounds.high.tolist()) == ([low - 2], [high + 2])
    assert (bounds.exact, bounds.approximate) == (False, True)


@pytest.mark.parametrize(("low", "high"), [(None, pa.array(["b"])), (pa.array(["a"]), None)])
def test_string_column_with_one_bound_has_a_range(low: pa.Array | None, high: pa.Array | None) -> None:
    bounds = bounds_of_statistics(low, high, PrimitiveType.STRING)
    assert isinstance(bounds, BytesBounds)
    assert (None if bounds.low is None else bounds.low.to_pylist()) == (None if low is None else [b"a"])
    assert (None if bounds.high is None else bounds.high.to_pylist()) == (None if high is None else [b"b"])
    assert bounds.exact is False


def numbers(data_type: DataType, minimum: int, maximum: int, **more: Any) -> NumericBounds:
    fields: dict[str, Any] = {"low": np.array([minimum]), "high": np.array([maximum]), "exact": True}
    return NumericBounds(data_type=data_type, **(fields | more))


NOON_US = 19_000 * DAY_US + 12 * HOUR_US


@pytest.mark.parametrize(
    ("bounds", "target", "expected"),
    [
        (numbers(LONG, 1, 5), LONG, numbers(LONG, 1, 5)),
        (numbers(FLOAT, 1, 5), DOUBLE, numbers(DOUBLE, 1, 5)),
        (numbers(DOUBLE, 1, 5), FLOAT, None),
        (numbers(PrimitiveType.SHORT, 1, 5), PrimitiveType.INTEGER, numbers(PrimitiveType.INTEGER, 1, 5)),
        (numbers(PrimitiveType.INTEGER, 1, 5), PrimitiveType.SHORT, None),
        (numbers(LONG, 1, 5), DecimalType(19, 0), numbers(DecimalType(19, 0), 1, 5)),
        (numbers(LONG, 1, 5), DecimalType(18, 0), None),
        (numbers(PrimitiveType.SHORT, 1, 5), DecimalType(5, 0), numbers(DecimalType(5, 0), 1, 5)),
        (numbers(PrimitiveType.SHORT, 1, 5), DecimalType(6, 1), numbers(DecimalType(5, 0), 1, 5)),
        (numbers(PrimitiveType.SHORT, 1, 5), DecimalType(5, 1), None),
        (numbers(PrimitiveType.SHORT, 1, 5), DecimalType(4, 0), None),
        (numbers(DecimalType(5, 2), 1, 5), DecimalType(6, 3), numbers(DecimalType(5, 2), 1, 5)),
        (numbers(DecimalType(5, 2), 1, 5), DecimalType(5, 2), numbers(DecimalType(5, 2), 1, 5)),
        (numbers(DecimalType(5, 2), 1, 5), DecimalType(4, 1), None),
        (numbers(DecimalType(5, 2), 1, 5), DecimalType(6, 4), None),
        (numbers(DecimalType(1, 1), 1, 5), DecimalType(1, 1), numbers(DecimalType(1, 1), 1, 5)),
        (numbers(DecimalType(1, 1), 1, 5), DecimalType(2, 2), numbers(DecimalType(1, 1), 1, 5)),
        (numbers(LONG, 1, 5), DOUBLE, numbers(DOUBLE, *keys(1.0, 5.0))),
        (numbers(LONG, 2**24 + 1, 2**24 + 1), FLOAT, numbers(FLOAT, *keys(2.0**24, 2.0**24))),
        (numbers(DecimalType(4, 2), 125, 250), DOUBLE, numbers(DOUBLE, *keys(1.25, 2.5))),
        (numbers(DecimalType(4, 1), 1, 1), FLOAT, numbers(FLOAT, *keys(*[float(np.float32(0.1))] * 2))),
        (numbers(DecimalType(20, 0), 1, 5, approximate=True), DOUBLE, numbers(DOUBLE, 1, 5)),
        (numbers(DecimalType(20, 0), 1, 5, approximate=True), FLOAT, None),
        (numbers(DecimalType(20, 0), 1, 5, low=np.array([1], object)), DOUBLE, None),
        (numbers(DATE, 1, 5), DOUBLE, None),
        (numbers(PrimitiveType.BOOLEAN, 0, 1), DOUBLE, None),
        (numbers(PrimitiveType.BOOLEAN, 0, 1), LONG, None),
        (numbers(DATE, 1, 5), LONG, None),
        (numbers(LONG, 1, 5), TIMESTAMP, None),
        (numbers(LONG, 1, 5), PrimitiveType.STRING, None),
        (numbers(LONG, 1, 5), ArrayType(LONG, True), None),
        (numbers(DATE, 1, 5), NTZ, numbers(NTZ, DAY_US, 5 * DAY_US)),
        (numbers(DATE, 1, 5), TIMESTAMP, numbers(TIMESTAMP, 6 * HOUR_US, 5 * DAY_US + 18 * HOUR_US, exact=False)),
        (numbers(NTZ, NOON_US, NOON_US), DATE, numbers(DATE, 19_000, 19_000)),
        (numbers(NTZ, NOON_US, NOON_US, exact=False), DATE, numbers(DATE, 19_000, 19_000, exact=False)),
        (numbers(TIMESTAMP, NOON_US, NOON_US), DATE, numbers(DATE, 18_999, 19_001, exact=False)),
        (
            numbers(TIMESTAMP, NOON_US, NOON_US),
            NTZ,
            numbers(NTZ, NOON_US - 18 * HOUR_US, NOON_US + 18 * HOUR_US, exact=False),
        ),
        (numbers(NTZ, MIN + 1, MAX - 1), TIMESTAMP, numbers(TIMESTAMP, MIN, MAX, exact=False)),
        (
            numbers(NTZ, MIN + 18 * HOUR_US + 1, MAX - 18 * HOUR_US - 1),
            TIMESTAMP,
            numbers(TIMESTAMP, MIN + 1, MAX - 1, exact=False),
        ),
        (
            numbers(DATE, -(2**31), 2**31 - 1),
            NTZ,
            numbers(NTZ, -(2**63 // DAY_US - 2) * DAY_US, (2**63 // DAY_US - 2) * DAY_US),
        ),
    ],
    ids=str,
)
def test_cast_that_keeps_the_order_maps_bounds(
    bounds: NumericBounds, target: DataType, expected: NumericBounds | None
) -> None:
    found = cast_bounds(bounds, target)
    assert _described(found) == _described(expected)


def test_cast_of_texts_keeps_no_order() -> None:
    bounds = bounds_of_values(pa.array(["a"]), PrimitiveType.STRING)
    assert bounds is not None
    assert cast_bounds(bounds, PrimitiveType.STRING) is bounds
    assert cast_bounds(bounds, PrimitiveType.BINARY) is None


def test_date_is_not_a_day_off() -> None:
    bounds = bounds_of_values(pa.array([datetime.date(1970, 1, 2)]), DATE)
    assert isinstance(bounds, NumericBounds) and bounds.low.tolist() == [1]


def _described(bounds: Any) -> Any:
    if bounds is None:
        return None
    return bounds.data_type, bounds.low.tolist(), bounds.high.tolist(), bounds.exact, bounds.approximate
