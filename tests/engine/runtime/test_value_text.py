"""Text for every type: the spelling table, slices and nulls, and JSON that parses back."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.value_text import to_text
from tests.engine.types.test_value_bytes import NO_OFFSETS_KINDS, without_offsets

TS, NTZ, DAY = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.duration("us")
POINT = pa.struct([("x", pa.int32()), ('a "b"', pa.string())])

CASES: list[tuple[pa.DataType, str, Any, str | None]] = [
    (pa.bool_(), "boolean", True, "true"),
    (pa.bool_(), "boolean", False, "false"),
    (pa.int8(), "tinyint", -128, "-128"),
    (pa.int64(), "bigint", 2**63 - 1, "9223372036854775807"),
    (pa.float64(), "double", 1.0, "1.0"),
    (pa.float64(), "double", -0.0, "-0.0"),
    (pa.float64(), "double", 0.001, "0.001"),
    (pa.float64(), "double", 0.00099, "9.9E-4"),
    (pa.float64(), "double", 9999999.0, "9999999.0"),
    (pa.float64(), "double", 1e7, "1.0E7"),
    (pa.float64(), "double", 123456789.125, "1.23456789125E8"),
    (pa.float64(), "double", -1.5e300, "-1.5E300"),
    (pa.float64(), "double", 5e-324, "5.0E-324"),
    (pa.float64(), "double", math.nan, "NaN"),
    (pa.float64(), "double", math.inf, "Infinity"),
    (pa.float64(), "double", -math.inf, "-Infinity"),
    (pa.float32(), "float", 0.1, "0.1"),
    (pa.float32(), "float", 3.0e10, "3.0E10"),
    (pa.decimal128(10, 2), "decimal(10,2)", Decimal("-1.50"), "-1.50"),
    (pa.decimal128(20, 10), "decimal(20,10)", Decimal("0"), "0.0000000000"),
    (pa.decimal128(20, 10), "decimal(20,10)", Decimal("0.0000000001"), "0.0000000001"),
    (pa.decimal128(38, 0), "decimal(38,0)", Decimal(10**37), str(10**37)),
    (pa.string(), "string", "é\n", "é\n"),
    (pa.large_string(), "varchar(5)", "abc", "abc"),
    (pa.binary(), "binary", b"\x00\xffA", "00FF41"),
    (pa.binary(), "binary", b"", ""),
    (pa.date32(), "date", dt.date(1, 1, 1), "0001-01-01"),
    (pa.date32(), "date", dt.date(2024, 2, 29), "2024-02-29"),
    (pa.date32(), "date", 2_932_897, "+10000-01-01"),
    (pa.date32(), "date", 364_522_683, "+999999-03-18"),
    (pa.date32(), "date", -2_147_483_648, "-5877641-06-23"),
    (pa.date32(), "date", -719_893, "-0001-01-01"),
    (NTZ, "timestamp_ntz", 0, "1970-01-01 00:00:00"),
    (NTZ, "timestamp_ntz", 120_000, "1970-01-01 00:00:00.12"),
    (NTZ, "timestamp_ntz", -1, "1969-12-31 23:59:59.999999"),
    (NTZ, "timestamp_ntz", 253_402_300_800_000_000, "+10000-01-01 00:00:00"),
    (NTZ, "timestamp_ntz", 253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
    (NTZ, "timestamp_ntz", 9_223_372_036_854_775_807, "+294247-01-10 04:00:54.775807"),
    (NTZ, "timestamp_ntz", -9_223_372_036_854_775_808, "-290308-12-21 19:59:05.224192"),
    (TS, "timestamp", 0, "1970-01-01 01:00:00"),
    (TS, "timestamp", 1_720_000_000_500_000, "2024-07-03 11:46:40.5"),
    (TS, "timestamp", 2_540_289_600_000_000, "2050-07-01 14:00:00"),
    (TS, "timestamp", 2_524_651_200_000_000, "2050-01-01 13:00:00"),
    (TS, "timestamp", 253_402_300_799_999_999, "+10000-01-01 00:59:59.999999"),
    (TS, "timestamp", 3_093_503_050_997_000_000, "+99999-03-18 12:03:17"),
    (TS, "timestamp", 3_093_512_122_997_000_000, "+99999-07-01 13:03:17"),
    (DAY, "interval day to second", 93_784_000_000, "1 02:03:04.000000000"),
    (DAY, "interval day to second", -1, "-0 00:00:00.000001000"),
    (DAY, "interval day to second", -9_223_372_036_854_775_808, "-106751991 04:00:54.775808000"),
    (DAY, "interval hour to minute", 4_839_259_260, "0 01:20:00.000000000"),
    (DAY, "interval minute", -59_999_999, "0 00:00:00.000000000"),
    (DAY, "interval day", -172_799_999_999, "-1 00:00:00.000000000"),
    (DAY, "interval day to hour", 93_784_000_000, "1 02:00:00.000000000"),
    (pa.time64("us"), "time(6)", dt.time(10, 20), "10:20:00"),
    (pa.time32("s"), "time(0)", dt.time(10, 20, 30), "10:20:30"),
    (pa.time64("ns"), "time(9)", 1_500_000, "00:00:00.0015"),
    (pa.month_day_nano_interval(), "interval", (14, 3, 4_500_000_000), "1 years 2 months 3 days 4.5 seconds"),
    (pa.month_day_nano_interval(), "interval", (-1, 0, -3_660_000_000_000), "-1 months -1 hours -1 minutes"),
    (pa.month_day_nano_interval(), "interval", (0, 0, 0), "0 seconds"),
    (pa.null(), "void", None, None),
    (pa.string(), "interval year to month", "1-2", "1-2"),
    (pa.string(), "variant", '{"a":1}', '{"a":1}'),
    (pa.list_(pa.int32()), "array<int>", [1, None], "[1,null]"),
    (pa.list_(pa.int32()), "array<int>", [], "[]"),
    (pa.list_(pa.string()), "array<string>", ['q"\\', "\t\x01"], '["q\\"\\\\","\\t\\u0001"]'),
    (pa.list_(pa.float64()), "array<double>", [1.0, math.nan, None], '[1.0,"NaN",null]'),
    (pa.list_(pa.date32()), "array<date>", [dt.date(2024, 1, 1)], '["2024-01-01"]'),
    (pa.list_(TS), "array<timestamp>", [0], '["1970-01-01 01:00:00"]'),
    (pa.list_(pa.binary()), "array<binary>", [b"\x0a"], '["0A"]'),
    (pa.list_(pa.list_(pa.bool_())), "array<array<boolean>>", [[True], None], "[[true],null]"),
    (pa.map_(pa.int32(), pa.string()), "map<int,string>", [(1, "x"), (2, None)], '{"1":"x","2":null}'),
    (pa.map_(pa.list_(pa.int32()), pa.int32()), "map<array<int>,int>", [([1, None], 2)], '{"[1,null]":2}'),
    (pa.map_(POINT, pa.int32()), "map<…,int>", [({"x": 1, 'a "b"': "c"}, 2)], r'{"{\"x\":1,\"a \\\"b\\\"\":\"c\"}":2}'),
    (pa.map_(pa.string(), POINT), "map<string,…>", [("k", None)], '{"k":null}'),
    (POINT, 'struct<x:int,a "b":string>', {"x": 1, 'a "b"': None}, '{"x":1,"a \\"b\\"":null}'),
    (pa.struct([]), "struct<>", {}, "{}"),
]


@pytest.mark.parametrize(("kind", "sql_type", "value", "text"), CASES, ids=lambda case: str(case)[:30])
def test_spelling(kind: pa.DataType, sql_type: str, value: Any, text: str | None) -> None:
    values = pa.array([None, value, None, value], kind)
    assert to_text(values, sql_type, "Europe/Paris").to_pylist() == [None, text, None, text]
    assert to_text(values.slice(1, 2), sql_type, "Europe/Paris").to_pylist() == [text, None]
    chunked = pa.chunked_array([values.slice(1, 1), values.slice(3, 1)])
    assert to_text(chunked, sql_type, "Europe/Paris").to_pylist() == [text, text]
    assert to_text(values[:0], sql_type, "Europe/Paris").to_pylist() == []


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2024-07-03 09:46:40"),
        ("Z", "2024-07-03 09:46:40"),
        ("GMT", "2024-07-03 09:46:40"),
        ("America/New_York", "2024-07-03 05:46:40"),
        ("EST", "2024-07-03 04:46:40"),
        ("+5:3", "2024-07-03 14:49:40"),
        ("+05:30", "2024-07-03 15:16:40"),
        ("-1", "2024-07-03 08:46:40"),
        ("GMT+8", "2024-07-03 17:46:40"),
        ("UTC-01:30:10", "2024-07-03 08:16:30"),
    ],
)
def test_every_spelling_of_a_zone(zone: str, text: str) -> None:
    assert to_text(pa.array([1_720_000_000_000_000], TS), "timestamp", zone).to_pylist() == [text]


def test_a_summer_and_a_winter_timestamp_have_their_own_offsets() -> None:
    values = pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 7, 1)], NTZ).cast(TS)
    assert to_text(values, "timestamp", "Europe/Paris").to_pylist() == ["2024-01-01 01:00:00", "2024-07-01 02:00:00"]


@given(st.data(), st.integers(1, 38), st.integers(0, 3))
def test_decimals_have_as_many_digits_as_their_scale(data: st.DataObject, precision: int, start: int) -> None:
    scale = data.draw(st.integers(0, precision))
    minimum = data.draw(st.sampled_from([-(10**precision) + 1, 0, min(10**scale, 10**precision - 1)]))
    most = data.draw(st.sampled_from([10**precision - 1, min(10**scale, 10**precision - 1)]))
    drawn = data.draw(st.lists(st.none() | st.integers(minimum, most), max_size=6))
    with localcontext(prec=38):
        cells = [None if number is None else Decimal(number).scaleb(-scale) for number in drawn]
    values = pa.array(cells, pa.decimal128(precision, scale)).slice(start)
    expected = [None if cell is None else format(cell, "f") for cell in cells[start:]]
    assert to_text(values, f"decimal({precision},{scale})", "UTC").to_pylist() == expected


@given(st.lists(st.none() | st.lists(st.none() | st.text(max_size=6), max_size=4), max_size=6), st.integers(0, 6))
def test_arrays_of_strings_parse_back(cells: list[list[str | None] | None], start: int) -> None:
    values = pa.array(cells, pa.list_(pa.string())).slice(start)
    text = to_text(values, "array<string>", "UTC").to_pylist()
    assert [None if cell is None else json.loads(cell) for cell in text] == cells[start:]


@given(st.lists(st.none() | st.dictionaries(st.text(max_size=4), st.none() | st.integers(-9, 9), max_size=3)))
def test_maps_parse_back(cells: list[dict[str, int | None] | None]) -> None:
    kind = pa.map_(pa.string(), pa.int32())
    text = to_text(pa.array([cell and list(cell.items()) for cell in cells], kind), "map<string,int>", "UTC")
    assert [None if cell is None else json.loads(cell) for cell in text.to_pylist()] == cells


@pytest.mark.parametrize(
    ("key", "kind", "text"),
    [
        (1, pa.int32(), "1"),
        (True, pa.bool_(), "true"),
        (1.5, pa.float64(), "1.5"),
        (Decimal("1.50"), pa.decimal128(4, 2), "1.50"),
        (dt.date(2024, 5, 1), pa.date32(), "2024-05-01"),
        ('a"b', pa.string(), '"a\\"b"'),
        ([1], pa.list_(pa.int32()), "[1]"),
    ],
)
def test_bare_keys_are_quoted_if_they_are_strings(key: object, kind: pa.DataType, text: str) -> None:
    maps = pa.array([[(key, "x")], None], pa.map_(kind, pa.string()))
    assert to_text(maps, "map", "UTC", has_bare_keys=True).to_pylist() == [f'{{{text}:"x"}}', None]
    nested = pa.array([[[(key, "x")]]], pa.list_(maps.type))
    assert to_text(nested, "array", "UTC", has_bare_keys=True).to_pylist() == [f'[{{{text}:"x"}}]']


@pytest.mark.parametrize("kind", NO_OFFSETS_KINDS, ids=str)
def test_lists_without_offsets_are_empty(kind: pa.DataType) -> None:
    assert to_text(without_offsets(kind, 2), "any", "UTC").to_pylist() == [None, None]
    assert to_text(without_offsets(kind), "any", "UTC").to_pylist() == []


@given(st.lists(st.none() | st.floats(), max_size=8))
def test_doubles_parse_back(numbers: list[float | None]) -> None:
    text = to_text(pa.array(numbers, pa.float64()), "double", "UTC").to_pylist()
    for number, cell in zip(numbers, text, strict=True):
        assert (cell is None) == (number is None)
        if number is not None:
            assert cell == "NaN" if math.isnan(number) else float(cell) == number
            assert "." in cell or cell in ("NaN", "Infinity", "-Infinity")


@given(st.lists(st.none() | st.binary(max_size=9), max_size=8), st.integers(0, 8))
def test_bytes_parse_back(cells: list[bytes | None], start: int) -> None:
    text = to_text(pa.array(cells, pa.binary()).slice(start), "binary", "UTC").to_pylist()
    assert [None if cell is None else bytes.fromhex(cell) for cell in text] == cells[start:]


def test_an_unknown_arrow_type_is_an_error_that_names_it() -> None:
    with pytest.raises(TypeError, match="dictionary"):
        to_text(pa.array(["a"]).dictionary_encode(), "string", "UTC")
