"""Partition values: text to value and back."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import PartitionValueNotCastable
from engine.types.partition_values import PartitionValue, format_partition_value, parse_partition_value
from engine.types.schema import ArrayType, DataType, DecimalType, PrimitiveType

P = PrimitiveType
LOS_ANGELES = ZoneInfo("America/Los_Angeles")


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        (None, P.STRING, None),
        ("", P.STRING, None),
        ("", P.INTEGER, None),
        (" ", P.STRING, " "),
        ("a/b=c", P.STRING, "a/b=c"),
        ("-128", P.BYTE, -128),
        ("+7", P.SHORT, 7),
        ("9223372036854775807", P.LONG, 2**63 - 1),
        ("1.5E3", P.DOUBLE, 1500.0),
        ("-Infinity", P.FLOAT, -math.inf),
        ("TRUE", P.BOOLEAN, True),
        ("1.20", DecimalType(3, 2), Decimal("1.20")),
        ("1.2", DecimalType(3, 2), Decimal("1.20")),
        ("10000000000000000000.000000000", DecimalType(38, 9), Decimal("1E+19")),
        ("9" * 38, DecimalType(38, 0), Decimal("9" * 38)),
        ("\x01\x02", P.BINARY, b"\x01\x02"),
        ("2024-02-29", P.DATE, date(2024, 2, 29)),
        ("2024-01-01 00:00:00", P.TIMESTAMP, datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-01-01 00:00:00.123456", P.TIMESTAMP_NTZ, datetime(2024, 1, 1, 0, 0, 0, 123456)),
        ("2024-01-01T00:00:00.123456Z", P.TIMESTAMP, datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)),
        ("2024-01-01T05:30:00+05:30", P.TIMESTAMP, datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_texts_of_every_type(text: str | None, data_type: DataType, value: PartitionValue) -> None:
    parsed = parse_partition_value(text, data_type)
    assert parsed == value and type(parsed) is type(value)


def test_a_local_time_is_in_the_readers_zone() -> None:
    text = "2024-07-01 00:00:00"
    assert parse_partition_value(text, P.TIMESTAMP, LOS_ANGELES) == datetime(2024, 7, 1, 7, tzinfo=UTC)
    assert parse_partition_value(text + "Z", P.TIMESTAMP, LOS_ANGELES) == datetime(2024, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("128", P.BYTE),
        ("1.0", P.INTEGER),
        ("1_0", P.INTEGER),
        ("\u0661", P.INTEGER),
        ("x", P.DOUBLE),
        ("1_0", P.DOUBLE),
        ("yes", P.BOOLEAN),
        ("1.234", DecimalType(3, 2)),
        ("12.34", DecimalType(3, 2)),
        ("NaN", DecimalType(3, 2)),
        ("2024-02-30", P.DATE),
        ("yesterday", P.TIMESTAMP),
        ("2024-01-01 00:00:00Z", P.TIMESTAMP_NTZ),
        ("x", ArrayType(P.LONG)),
        ("x", P.VOID),
    ],
)
def test_invalid_value_is_rejected(text: str, data_type: DataType) -> None:
    with pytest.raises(PartitionValueNotCastable, match="DELTA_FAILED_CAST_PARTITION_VALUE"):
        parse_partition_value(text, data_type)


TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
VALUES: st.SearchStrategy[tuple[DataType, Any]] = st.one_of(
    st.tuples(st.just(P.STRING), st.text(min_size=1)),
    st.tuples(st.just(P.LONG), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(P.BYTE), st.integers(-128, 127)),
    st.tuples(st.just(P.DOUBLE), st.floats(allow_nan=False)),
    st.tuples(st.just(P.BOOLEAN), st.booleans()),
    st.tuples(st.just(P.DATE), st.dates()),
    st.tuples(st.just(P.TIMESTAMP_NTZ), TIMES),
    st.tuples(st.just(P.TIMESTAMP), TIMES.map(lambda time: time.replace(tzinfo=UTC))),
    st.tuples(st.just(P.BINARY), st.text(min_size=1).map(str.encode)),
    st.tuples(
        st.just(DecimalType(38, 9)),
        st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**20), max_value=10**20),
    ),
)


@given(VALUES)
def test_written_value_is_read_back(pair: tuple[DataType, Any]) -> None:
    data_type, value = pair
    text = format_partition_value(value, data_type)
    assert parse_partition_value(text, data_type, LOS_ANGELES) == value


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (None, P.LONG, None),
        ("", P.STRING, None),
        (True, P.BOOLEAN, "true"),
        (1.0, P.DOUBLE, "1.0"),
        (math.nan, P.DOUBLE, "NaN"),
        (-math.inf, P.FLOAT, "-Infinity"),
        (1e300, P.DOUBLE, "1.0E300"),
        (-12345678.5, P.DOUBLE, "-1.23456785E7"),
        (9999999.5, P.DOUBLE, "9999999.5"),
        (0.001, P.DOUBLE, "0.001"),
        (0.0005, P.DOUBLE, "5.0E-4"),
        (-0.0, P.DOUBLE, "-0.0"),
        (Decimal("1E+3"), DecimalType(9, 0), "1000"),
        (datetime(33, 1, 1, tzinfo=UTC), P.TIMESTAMP, "0033-01-01T00:00:00.000000Z"),
        (datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2))), P.TIMESTAMP, "2023-12-31T22:00:00.000000Z"),
        (datetime(2024, 1, 1, 1, 2, 3), P.TIMESTAMP_NTZ, "2024-01-01 01:02:03"),
    ],
)
def test_written_forms(value: PartitionValue, data_type: DataType, text: str | None) -> None:
    assert format_partition_value(value, data_type) == text


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (b"\xff", P.BINARY),
        ("1", P.LONG),
        (1, P.STRING),
        (datetime(2024, 1, 1), P.TIMESTAMP),
        (datetime(2024, 1, 1, tzinfo=UTC), P.TIMESTAMP_NTZ),
        (datetime(2024, 1, 1), P.DATE),
    ],
)
def test_a_value_of_another_type_is_refused(value: PartitionValue, data_type: DataType) -> None:
    with pytest.raises(PartitionValueNotCastable):
        format_partition_value(value, data_type)
