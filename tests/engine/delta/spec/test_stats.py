"""A file's statistics: JSON in both directions, with valid bounds."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import MalformedLogEntry
from engine.delta.spec.stats import BoundValue, FileStats, lower_bound, parse_file_stats, upper_bound

VALUES = st.recursive(
    st.integers() | st.text() | st.booleans() | st.decimals(allow_nan=False, allow_infinity=False, places=2),
    lambda inner: st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
COLUMNS = st.dictionaries(st.text(), VALUES, max_size=3)


@given(
    st.builds(
        FileStats,
        num_records=st.none() | st.integers(0, 2**62),
        min_values=COLUMNS,
        max_values=COLUMNS,
        null_count=COLUMNS,
        tight_bounds=st.none() | st.booleans(),
        extra=st.dictionaries(st.text().map(lambda name: f"x{name}"), VALUES, max_size=1),
    )
)
def test_written_value_is_read_back(stats: FileStats) -> None:
    assert parse_file_stats(stats.to_json()) == stats


def test_the_text() -> None:
    stats = FileStats(
        num_records=3,
        min_values={"a": 1, "s": {"d": Decimal("1.20")}},
        max_values={"a": 2},
        null_count={"a": 0},
        tight_bounds=False,
    )
    assert stats.to_json() == (
        '{"numRecords":3,"minValues":{"a":1,"s":{"d":1.20}},"maxValues":{"a":2},"nullCount":{"a":0},"tightBounds":false}'
    )


@pytest.mark.parametrize("text", ["", "[]", "{", '{"numRecords":"x"}', '{"tightBounds":1}', '{"minValues":[1]}'])
def test_invalid_statistics_is_rejected(text: str) -> None:
    with pytest.raises(MalformedLogEntry):
        parse_file_stats(text)


@given(st.text(max_size=80))
def test_cut_strings_stay_bounds(text: str) -> None:
    low, high = lower_bound(text), upper_bound(text)
    assert len(low) <= 32 and low <= text and text.startswith(low)
    assert high >= text and (len(high) <= 33 or "\U0010ffff" in text)


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("x" * 32, "x" * 32),
        ("x" * 33, "x" * 32 + "\x7f"),
        ("x" * 32 + "\x7f", "x" * 32 + "\U0010ffff"),
        ("x" * 32 + "\u00e9y", "x" * 32 + "\U0010ffff"),
        ("x" * 32 + "\U0010ffffa!", "x" * 32 + "\U0010ffff\x7f"),
        ("x" * 32 + "\U0010ffff", "x" * 32 + "\U0010ffff"),
    ],
)
def test_upper_bounds_of_long_strings(text: str, high: str) -> None:
    assert upper_bound(text) == high


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.sampled_from([None, UTC])))
def test_times_are_rounded_outwards(value: datetime) -> None:
    low, high = (datetime.fromisoformat(bound(value)) for bound in (lower_bound, upper_bound))
    assert low <= value <= high
    assert high - low <= timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (True, True, True),
        (-3, -3, -3),
        (1.5, 1.5, 1.5),
        (math.nan, None, None),
        (math.inf, None, None),
        (Decimal("1.20"), Decimal("1.20"), Decimal("1.20")),
        (date(2024, 1, 2), "2024-01-02", "2024-01-02"),
        (datetime(2024, 1, 2, 3, 4, 5, 600), "2024-01-02T03:04:05.000", "2024-01-02T03:04:05.001"),
        (
            datetime(2024, 1, 2, 3, 4, 5, 1000, tzinfo=timezone(timedelta(hours=1))),
            "2024-01-02T02:04:05.001Z",
            "2024-01-02T02:04:05.001Z",
        ),
        (datetime(9999, 12, 31, 23, 59, 59, 999999), "9999-12-31T23:59:59.999", None),
    ],
)
def test_bounds(value: BoundValue, low: Any, high: Any) -> None:
    assert lower_bound(value) == low
    assert upper_bound(value) == high
