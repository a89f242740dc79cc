"""Values of each type in both formats, and the parameters of clients."""

from __future__ import annotations

import datetime as dt
import random
import struct
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import BoundValueInvalid
from engine.runtime.results import sql_field
from gateway.postgres.binary_cells import numeric_bytes
from gateway.postgres.encode import LineFormat, RowEncoder
from gateway.postgres.parameters import parameter
from gateway.postgres.types import VECTORS, Column, columns_of, pg_type, spark_type


def _cells(values: list[Any], arrow: pa.DataType, sql_type: str, form: int, zone: str = "UTC") -> list[bytes | None]:
    """Returns the values of a column as they are sent."""
    table = pa.table([pa.array(values, arrow)], schema=pa.schema([sql_field("c", arrow, sql_type)]))
    data = bytes(RowEncoder(columns_of(table.schema), [form], zone).data_rows(table))
    found: list[bytes | None] = []
    while data:
        kind, length, count, size = struct.unpack(">cihi", data[:11])
        assert (kind, count) == (b"D", 1)
        found.append(None if size < 0 else data[11 : 11 + size])
        data = data[length + 1 :]
    return found


_INSTANT = dt.datetime(2024, 1, 1, 12, 0, 0, 500_000, tzinfo=dt.UTC)
TEXTS: list[tuple[list[Any], pa.DataType, str, list[bytes]]] = [
    ([True, False], pa.bool_(), "boolean", [b"t", b"f"]),
    ([-1, 2], pa.int64(), "bigint", [b"-1", b"2"]),
    ([1.0, 0.1, float("inf"), float("nan")], pa.float64(), "double", [b"1", b"0.1", b"Infinity", b"NaN"]),
    ([Decimal("-1.50")], pa.decimal128(10, 2), "decimal(10,2)", [b"-1.50"]),
    ([b"\x00\xff"], pa.binary(), "binary", [b"\\x00ff"]),
    ([dt.date(2024, 2, 29)], pa.date32(), "date", [b"2024-02-29"]),
    ([_INSTANT], pa.timestamp("us", "UTC"), "timestamp", [b"2024-01-01 12:00:00.5+00"]),
    ([_INSTANT.replace(tzinfo=None)], pa.timestamp("us"), "timestamp_ntz", [b"2024-01-01 12:00:00.5"]),
    ([dt.timedelta(days=1, seconds=2)], pa.duration("us"), "interval day to second", [b"1 day 00:00:02"]),
    (["-1-2"], pa.string(), "interval year to month", [b"-1 years -2 mons"]),
    ([["a", None, 'b "q"', ""], []], pa.list_(pa.string()), "array<string>", [b'{a,NULL,"b \\"q\\"",""}', b"{}"]),
    ([[("k", 1)]], pa.map_(pa.string(), pa.int32()), "map<string,int>", [b'{"k":1}']),
]


@pytest.mark.parametrize(("values", "arrow", "sql_type", "expected"), TEXTS)
def test_text_of_each_type(values: list[Any], arrow: pa.DataType, sql_type: str, expected: list[bytes]) -> None:
    assert _cells([*values, None], arrow, sql_type, 0) == [*expected, None]
    assert _cells(values, arrow, sql_type, 0) == expected


def test_vectors_of_the_system_catalog_have_spaces_between_numbers() -> None:
    (vector, other) = VECTORS
    rows = pa.table(
        [pa.array([[1, 2], []], pa.list_(pa.int16())), pa.array([None, [8, 9]], pa.list_(pa.int64()))], ["a", "b"]
    )
    columns = [Column("a", vector, "array<smallint>"), Column("b", other, "array<bigint>")]
    texts = RowEncoder(columns, [0, 0], "UTC").texts(rows)
    assert [column.cast(pa.string()).to_pylist() for column in texts] == [["1 2", ""], [None, "8 9"]]
    assert bytes(RowEncoder(columns, [1, 1], "UTC").data_rows(rows))[11:31] == struct.pack(">5i", 1, 0, 21, 2, 1)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("Asia/Kolkata", b"2024-01-01 17:30:00.5+05:30"), ("America/New_York", b"2024-01-01 07:00:00.5-05")],
)
def test_text_of_an_instant_has_the_offset_of_the_zone(zone: str, expected: bytes) -> None:
    assert _cells([_INSTANT, None], pa.timestamp("us", "UTC"), "timestamp", 0, zone) == [expected, None]


BINARY: list[tuple[list[Any], pa.DataType, str, list[bytes]]] = [
    ([True, False], pa.bool_(), "boolean", [b"\1", b"\0"]),
    ([-2], pa.int8(), "tinyint", [b"\xff\xfe"]),
    ([1.5], pa.float32(), "float", [struct.pack(">f", 1.5)]),
    ([dt.date(2000, 1, 2)], pa.date32(), "date", [struct.pack(">i", 1)]),
    ([dt.datetime(2000, 1, 1, 0, 0, 1)], pa.timestamp("us"), "timestamp_ntz", [struct.pack(">q", 1_000_000)]),
    (
        [dt.timedelta(days=-1, seconds=1)],
        pa.duration("us"),
        "interval day to second",
        [struct.pack(">qii", -86_399_000_000, 0, 0)],
    ),
    (["1-2"], pa.string(), "interval year to month", [struct.pack(">qii", 0, 0, 14)]),
    ([[1, None]], pa.list_(pa.int32()), "array<int>", [struct.pack(">iiiiiiii", 1, 1, 23, 2, 1, 4, 1, -1)]),
    ([[]], pa.list_(pa.int32()), "array<int>", [struct.pack(">iii", 0, 0, 23)]),
    (['{"a":1}'], pa.string(), "variant", [b'\1{"a":1}']),
]


@pytest.mark.parametrize(("values", "arrow", "sql_type", "expected"), BINARY)
def test_binary_value_of_each_type(values: list[Any], arrow: pa.DataType, sql_type: str, expected: list[bytes]) -> None:
    assert _cells([*values, None], arrow, sql_type, 1) == [*expected, None]
    assert _cells(values, arrow, sql_type, 1) == expected


NUMBERS = ["0.00", "1.50", "-0.05", "10000.00", "99999999.99", "-12345678.01", "0.01", "100.00", "20000000.00"]


def test_random_numerics_have_the_digits_of_postgresql() -> None:
    numbers = random.Random(41)
    for _ in range(300):
        precision = numbers.randint(1, 38)
        scale, digits = numbers.randint(0, precision), numbers.randint(1, precision)
        whole = [numbers.randrange(-(10**digits) + 1, 10**digits) * numbers.randint(0, 1) for _ in range(4)]
        values = [Context(prec=60).scaleb(Decimal(number), -scale) for number in whole]
        kind = f"decimal({precision},{scale})"
        found = _cells([*values, None], pa.decimal128(precision, scale), kind, 1)
        assert found == [*map(numeric_bytes, values), None], (kind, values)


def test_numeric_has_the_digits_of_postgresql() -> None:
    values = [Decimal(text) for text in NUMBERS]
    found = _cells([*values, None], pa.decimal128(10, 2), "decimal(10,2)", 1)
    assert found == [*map(numeric_bytes, values), None]
    assert _cells([Decimal("1.50")], pa.decimal128(10, 2), "decimal(10,2)", 1) == [
        struct.pack(">hhHhhh", 2, 0, 0, 2, 1, 5000)
    ]
    wide = [Decimal("12345678901234567890123.4567890"), Decimal("-0.0000001")]
    assert _cells(wide, pa.decimal128(38, 7), "decimal(38,7)", 1) == [numeric_bytes(value) for value in wide]
    tiny = [Decimal(f"0.{'0' * 29}1"), Decimal(f"-5.{'0' * 30}")]
    assert _cells(tiny, pa.decimal128(38, 30), "decimal(38,30)", 1) == [numeric_bytes(value) for value in tiny]


def test_lines_of_copy_escape_their_delimiters() -> None:
    columns = [pa.array(["a\tb\\", None, 'q"x']), pa.array(["1,2\n", "", "\\."])]
    assert bytes(LineFormat().lines(columns[:])).count(b"\n") == 3
    text = bytes(LineFormat().lines(columns))
    assert b"a\\tb\\\\\t1,2\\n\n" in text and b"\\N\t\n" in text
    csv = bytes(LineFormat(",", "", '"', '"').lines(columns))
    assert b'a\tb\\,"1,2\n"\n' in csv and b',""\n' in csv and b'"q""x",\\.\n' in csv


PARAMETERS = [
    (b"\0\0\0\5", 1, 23, "5", "int"),
    (b"7", 0, 20, "7", "bigint"),
    (b"\1", 1, 16, "true", "boolean"),
    (b"t", 0, 16, "true", "boolean"),
    (numeric_bytes(Decimal("-12345.670")), 1, 1700, "-12345.670", "decimal(8,3)"),
    (struct.pack(">q", 500_000), 1, 1184, "2000-01-01 00:00:00.500000+00:00", "timestamp"),
    (struct.pack(">i", -1), 1, 1082, "1999-12-31", "date"),
    ("é".encode(), 0, 0, "é", "string"),
    (None, 0, 23, None, "int"),
]


@pytest.mark.parametrize(("value", "form", "oid", "text", "sql_type"), PARAMETERS)
def test_parameter_of_each_type(value: bytes | None, form: int, oid: int, text: str | None, sql_type: str) -> None:
    found = parameter(value, form, oid, 1)
    assert (found.value, found.sql_type, found.name) == (text, sql_type, "p1")


def test_arrays_are_read_in_both_formats() -> None:
    binary = parameter(struct.pack(">iiiiiiii", 1, 1, 23, 2, 1, 4, 1, -1), 1, 1007, 1)
    text = parameter(b"{1,NULL}", 0, 1007, 1)
    for found in (binary, text):
        assert found.members is not None and [one.value for one in found.members] == ["1", None]
    quoted = parameter(b'{"a,\\"b","NULL",x}', 0, 1009, 1).members
    assert quoted is not None and [one.value for one in quoted] == ['a,"b', "NULL", "x"]


@pytest.mark.parametrize(
    ("value", "form", "oid"), [(b"\0", 1, 23), (b"{1", 0, 1007), (b"\xff", 0, 25), (b"\0\1", 1, 1700)]
)
def test_malformed_value_is_rejected(value: bytes, form: int, oid: int) -> None:
    with pytest.raises(BoundValueInvalid) as caught:
        parameter(value, form, oid, 3)
    assert caught.value.number == 3


def test_types_of_spark_have_their_modifiers() -> None:
    assert (pg_type("decimal(10,2)").oid, pg_type("decimal(10,2)").modifier) == (1700, ((10 << 16) | 2) + 4)
    assert (pg_type("varchar(5)").oid, pg_type("varchar(5)").modifier) == (1043, 9)
    assert [pg_type(name).oid for name in ("array<bigint>", "array<array<int>>", "struct<a:int>", "void")] == [
        1016,
        114,
        114,
        25,
    ]
    assert spark_type(1016) == "array<bigint>" and spark_type(999_999) == "string"
