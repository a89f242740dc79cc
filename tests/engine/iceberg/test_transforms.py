"""The specification's transform vectors, and what partition values imply about source values."""

from __future__ import annotations

import random
import struct
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from pyiceberg.transforms import parse_transform as their_transform
from pyiceberg.types import DateType, DecimalType, IntegerType, LongType, StringType, TimestampType

from engine.iceberg.spec.partitions import TransformKind, parse_transform
from engine.iceberg.spec.transforms import Value, apply, bounds_of, hash_of
from engine.iceberg.spec.types import SimpleType, parse_type

DAY = (date(2017, 11, 16) - date(1970, 1, 1)).days


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)


def kind(text: str) -> SimpleType:
    return parse_type(text, "a test")


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("int", 34, 2017239379),
        ("long", 34, 2017239379),
        ("decimal(9,2)", 1420, -500754589),
        ("date", DAY, -653330422),
        ("time", ((22 * 60 + 31) * 60 + 8) * 1_000_000, -662762989),
        ("timestamp", micros("2017-11-16T22:31:08"), -2047944441),
        ("timestamp", micros("2017-11-16T22:31:08.000001"), -1207196810),
        ("timestamptz", micros("2017-11-16T22:31:08"), -2047944441),
        ("timestamp_ns", micros("2017-11-16T22:31:08") * 1000, -2047944441),
        ("string", b"iceberg", 1210000089),
        ("uuid", UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 1488055340),
        ("fixed[4]", bytes([0, 1, 2, 3]), -188683207),
        ("binary", bytes([0, 1, 2, 3]), -188683207),
    ],
)
def test_hashes_are_those_of_the_specification(type_: str, value: Value, expected: int) -> None:
    assert hash_of(kind(type_), value) == expected


@pytest.mark.parametrize(
    ("transform", "type_", "value", "expected"),
    [
        ("bucket[16]", "int", 34, 3),
        ("bucket[16]", "long", -1, 8),
        ("bucket[16]", "long", 0, 12),
        ("bucket[16]", "string", b"", 0),
        ("bucket[16]", "string", b"iceberg", 9),
        ("bucket[16]", "decimal(9,2)", 1420, 3),
        ("bucket[16]", "date", DAY, 10),
        ("bucket[16]", "uuid", UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 12),
        ("truncate[10]", "int", 1, 0),
        ("truncate[10]", "int", -1, -10),
        ("truncate[50]", "decimal(9,2)", 1065, 1050),
        ("truncate[50]", "decimal(9,2)", -5, -50),
        ("truncate[3]", "string", b"iceberg", b"ice"),
        ("truncate[3]", "string", "a😀bc".encode(), "a😀b".encode()),
        ("year", "timestamp", micros("1969-12-31T10:00:00"), -1),
        ("month", "timestamp", micros("1969-12-31T10:00:00"), -1),
        ("day", "timestamp", micros("1969-12-31T10:00:00"), -1),
        ("hour", "timestamp", micros("1969-12-31T10:00:00"), -14),
        ("year", "timestamptz", micros("2017-11-16T22:31:08"), 47),
        ("month", "timestamptz", micros("2017-11-16T22:31:08"), 574),
        ("day", "timestamptz", micros("2017-11-16T22:31:08"), 17486),
        ("hour", "timestamptz", micros("2017-11-16T22:31:08"), 419686),
        ("identity", "string", b"x", b"x"),
        ("void", "int", 1, None),
        ("a new one", "int", 1, None),
        ("bucket[0]", "int", 1, None),
    ],
)
def test_partition_values_are_those_of_the_specification(
    transform: str, type_: str, value: Value, expected: Value | None
) -> None:
    assert apply(parse_transform(transform), kind(type_), value) == expected


THEIR_TYPES = {
    "int": IntegerType(),
    "long": LongType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "string": StringType(),
    "decimal(9,2)": DecimalType(9, 2),
}


@pytest.mark.parametrize("transform", ["bucket[7]", "truncate[10]", "year", "month", "day", "hour"])
def test_values_are_those_of_pyiceberg_and_lie_in_the_bounds_of_their_partition(transform: str) -> None:
    chance = random.Random(transform)
    tried = 0
    for name, theirs in THEIR_TYPES.items():
        if name.startswith("decimal") or not their_transform(transform).can_transform(theirs):
            continue
        apply_theirs = their_transform(transform).transform(theirs)
        for _ in range(200):
            value: Any = chance.randrange(-(2**31), 2**31)
            if name == "date":
                value = chance.randrange(-300_000, 300_000)
            if name == "string":
                value = "".join(chance.choices("aé😀\ud7ff\U0010ffffz", k=chance.randrange(0, 14))).encode()
            own = apply(parse_transform(transform), kind(name), value)
            expected = apply_theirs(value.decode() if isinstance(value, bytes) else value)
            assert own == (expected.encode() if isinstance(expected, str) else expected), (name, value)
            assert own is not None
            low, high = bounds_of(parse_transform(transform), kind(name), own)
            assert low is None or low <= value, (name, value)
            assert high is None or value <= high, (name, value)
            tried += 1
    assert tried


def test_bounds_of_a_unit_before_1970_are_a_unit_wider() -> None:
    """Old writers gave times before 1970 the unit after theirs."""
    day = 86_400_000_000
    assert bounds_of(parse_transform("day"), kind("timestamp"), 3) == (3 * day, 4 * day - 1)
    assert bounds_of(parse_transform("day"), kind("timestamp"), 0) == (-day, day - 1)
    assert bounds_of(parse_transform("month"), kind("date"), 1) == (31, 58)


LAST = {"int": 2**31 - 1, "long": 2**63 - 1}
TRUNCATED: list[tuple[str, int, tuple[int | None, int | None]]] = [
    ("int", LAST["int"] - 1, (None, None)),  # including the minimum value, from which engines continue counting
    ("int", LAST["int"] - 7, (None, None)),
    ("int", LAST["int"] - 17, (LAST["int"] - 17, LAST["int"] - 8)),
    ("int", -LAST["int"] + 7, (-LAST["int"] + 7, -LAST["int"] + 16)),
    ("long", LAST["long"] - 1, (None, None)),
    ("long", LAST["int"] - 1, (None, None)),  # the column was an INT
    ("long", LAST["int"] + 13, (LAST["int"] + 13, LAST["int"] + 22)),
    ("decimal(9,2)", LAST["int"] - 1, (LAST["int"] - 1, LAST["int"] + 8)),
]


@pytest.mark.parametrize(("type_", "minimum"), [("int", -(2**31)), ("long", -(2**63))])
def test_minimum_numbers_truncate_with_java_overflow(type_: str, minimum: int) -> None:
    assert [apply(parse_transform("truncate[10]"), kind(type_), minimum + step) for step in (0, 7, 8)] == [
        -minimum - 2,
        -minimum - 2,
        minimum + 8,
    ]


@pytest.mark.parametrize(("type_", "value", "expected"), TRUNCATED)
def test_last_partition_may_contain_minimum_numbers(
    type_: str, value: int, expected: tuple[int | None, int | None]
) -> None:
    assert bounds_of(parse_transform("truncate[10]"), kind(type_), value) == expected


def test_a_bucket_has_no_bounds() -> None:
    assert bounds_of(parse_transform("bucket[4]"), kind("int"), 1) == (None, None)
    assert parse_transform("bucket[4]").kind is TransformKind.BUCKET


def test_numbers_of_32_and_64_bits_have_one_hash() -> None:
    assert hash_of(kind("int"), -1) == hash_of(kind("long"), struct.unpack("<q", b"\xff" * 8)[0])
