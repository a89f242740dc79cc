"""Statistics in bulk: the same as one at a time, and null for whatever is odd."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.snapshot import file_stats
from engine.delta.snapshot.file_stats import COUNTS_SCHEMA, parse_counts, parse_stats, stats_schema
from engine.types.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructField, StructType
from tests.examples import examples

P = PrimitiveType
SCHEMA = StructType(
    (
        StructField("day", P.DATE),
        StructField("i", P.INTEGER),
        StructField("l", P.LONG),
        StructField("x", P.DOUBLE),
        StructField("f", P.FLOAT),
        StructField("b", P.BOOLEAN),
        StructField("c", DecimalType(10, 2)),
        StructField("d", P.DATE),
        StructField("t", P.TIMESTAMP),
        StructField("n", P.TIMESTAMP_NTZ),
        StructField("y", P.BINARY),
        StructField("v", P.VOID),
        StructField("s", StructType((StructField("q", P.STRING), StructField("a", ArrayType(P.STRING))))),
        StructField("m", MapType(P.STRING, P.LONG)),
    )
)
STATS = stats_schema(SCHEMA, ["day"])


def parse(*texts: str | None) -> list[dict[str, Any]]:
    batch = parse_stats(pa.array(texts, pa.string()), STATS)
    batch.validate(full=True)
    assert batch.schema == STATS
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows


def minimum(name: str, value: Any) -> Any:
    """Returns one column's parsed minimum, alone in its block and among others."""
    text = json.dumps({"numRecords": 7, "minValues": {name: value}})
    alone, among = parse(text)[0], parse('{"numRecords":1}', text, None)[1]
    assert alone == among and alone["num_records"] == 7
    return alone["min_values"][name]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"numRecords":0}', 0),
        ('{"numRecords":12,"minValues":{"numRecords":5}}', 12),
        ('{"numRecords":999999999999999999,"nullCount":{}}', 10**18 - 1),
        ('{"numRecords":1000000000000000000}', 10**18),
        ('{"minValues":{"numRecords":5},"numRecords":12}', 12),
        ('{"minValues":{"numRecords":5}}', None),
        ('{"minValues":{"s":"{\\"numRecords\\":5,"}}', None),
        ('{ "numRecords" : 12 }', 12),
        ('{"numRecords":null}', None),
        ('{"numRecords":12.0}', 12),
        ('{"numRecords":"12"}', None),
        ('{"numRecords":}', None),
        ('{"numRecords":12.5}', None),
        ('{"numRecords":12x}', None),
        ('{"numRecords":012}', None),
        ('{"numRecords":12,"minValues":{', None),
        ('["numRecords",12]', None),
        ("", None),
        (None, None),
    ],
)
def test_numbers_of_rows_alone(text: str | None, rows: int | None) -> None:
    """Tests each text alone, among usual ones, and as a slice."""
    for texts, expected in (
        ([text], [rows]),
        (['{"numRecords":7}', text, None, '{"numRecords":8,"nullCount":{}}'], [7, rows, None, 8]),
    ):
        array = pa.array(["x", *texts], pa.string()).slice(1)
        found = parse_counts(array)
        assert found.schema == COUNTS_SCHEMA and found.column(0).to_pylist() == expected
        assert parse_stats(array, STATS).column("num_records").equals(found.column(0))


def test_the_schema() -> None:
    assert [field.name for field in STATS] == ["num_records", "tight_bounds", "min_values", "max_values", "null_count"]
    bounds, counts = STATS.field("min_values").type, STATS.field("null_count").type
    assert [field.name for field in bounds] == ["i", "l", "x", "f", "b", "c", "d", "t", "n", "s"]
    assert [field.name for field in counts] == ["i", "l", "x", "f", "b", "c", "d", "t", "n", "y", "v", "s", "m"]
    assert [field.name for field in bounds.field("s").type] == ["q"]
    assert [field.name for field in counts.field("s").type] == ["q", "a"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("i", 3, 3),
        ("i", 2**31, None),
        ("i", 3.0, 3),
        ("i", 3.5, None),
        ("i", "3", None),
        ("i", True, None),
        ("l", -(2**63), -(2**63)),
        ("l", 2**63, None),
        ("x", 1, 1.0),
        ("x", 1e300, 1e300),
        ("x", "NaN", None),
        ("x", "-Infinity", None),
        ("f", 0.1, pytest.approx(0.1)),
        ("b", True, True),
        ("b", 1, None),
        ("c", 1.25, Decimal("1.25")),
        ("c", 3, Decimal("3.00")),
        ("c", "1.25", Decimal("1.25")),
        ("c", 1.255, None),
        ("c", 1e20, None),
        ("d", "2024-02-29", date(2024, 2, 29)),
        ("d", "2024-02-30", None),
        ("d", 3, None),
        ("t", "2024-01-01T00:00:00.123Z", datetime(2024, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)),
        ("t", "2024-01-01T00:00:00.000-08:00", datetime(2024, 1, 1, 8, tzinfo=UTC)),
        ("t", "2024-01-01 00:00:00", None),
        ("n", "2024-01-01T00:00:00.123", datetime(2024, 1, 1, 0, 0, 0, 123000)),
        ("n", "2024-01-01 00:00:00", datetime(2024, 1, 1)),
        ("n", "today", None),
        ("s", {"q": 'x\ny"\\\u00e9\U0001f600'}, {"q": 'x\ny"\\\u00e9\U0001f600'}),
        ("s", {"q": 3}, {"q": None}),
    ],
)
def test_values_of_every_type(name: str, value: Any, expected: Any) -> None:
    assert minimum(name, value) == expected


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "garbage",
        "{",
        "[]",
        "3",
        "{}{}",
        '{"numRecords":"many"}',
        '{"numRecords":1.5}',
        '{"numRecords":{"x":1}}',
        '{"minValues":3}',
        '{"minValues":{"s":[1]}}',
        '{"nullCount":{"i":"none"}}',
        '{"tightBounds":"yes"}',
        '{"unknown":' + "[" * 5000 + "]" * 5000 + "}",
        '{"minValues":{"i":\n1,"i":2}}',
    ],
)
def test_an_odd_text_harms_no_other(text: str | None) -> None:
    good = '{"numRecords":5,"minValues":{"i":1,"s":{"q":"a"}},"nullCount":{"m":2}}'
    first, odd, last = parse(good, text, good)
    assert first == last
    assert (first["num_records"], first["min_values"]["i"], first["null_count"]["m"]) == (5, 1, 2)
    assert odd["num_records"] is None


def test_non_finite_numbers_leave_the_rest_readable_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("read a value at a time")

    monkeypatch.setattr(file_stats, "_parse_slowly", never)
    (row,) = parse('{"numRecords":1,"minValues":{"x":"NaN","i":4},"maxValues":{"x" : "-Infinity","f":"Infinity"}}')
    assert row["min_values"]["x"] is None and row["min_values"]["i"] == 4
    assert row["max_values"]["x"] is None and row["max_values"]["f"] is None


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 100, 1 << 24])
def test_newlines_leave_texts_readable_in_bulk(monkeypatch: pytest.MonkeyPatch, newline: str, block: int) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("read a value at a time")

    monkeypatch.setattr(file_stats, "_parse_slowly", never)
    monkeypatch.setattr(file_stats, "_BLOCK_BYTES", block)
    pretty = '{"numRecords":%d,"minValues":{"i":1,"s":{"q":"a"}}}'.replace(",", "," + newline).replace(
        ":", newline + ":"
    )
    plain = ['{"numRecords":0,"minValues":{"i":1}}'] * 3
    found = parse(*plain, *(pretty % number for number in range(9)), *plain)
    assert [row["num_records"] for row in found] == [0] * 3 + list(range(9)) + [0] * 3
    assert all(row["min_values"]["i"] == 1 for row in found)


@pytest.mark.parametrize("odd", ['{"numRecords":1,"minValues":{"i":"7}}', '{"minValues":{"i":7}', '{"minValues":{}}}'])
def test_a_broken_text_among_several_blocks_does_not_end_the_process(monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    good = '{"numRecords":%d,"minValues":{"i":7},"nullCount":{"i":0}}'
    for block in range(50, 130, 3):
        monkeypatch.setattr(file_stats, "_BLOCK_BYTES", block)
        found = parse(*(odd if number == 20 else good % number for number in range(40)))
        assert [row["num_records"] for row in found] == [None if number == 20 else number for number in range(40)]


def test_null_statistics_take_no_space() -> None:
    rows = parse(None, '{"numRecords":1}', None, None, '{"numRecords":2}', None)
    assert [row["num_records"] for row in rows] == [None, 1, None, None, 2, None]
    assert [row["num_records"] for row in parse(None, None)] == [None, None]
    assert parse() == []


def test_a_slice_is_read_as_itself() -> None:
    texts = pa.array([f'{{"numRecords":{i}}}' if i % 3 else None for i in range(20)])
    batch = parse_stats(texts.slice(5, 7), STATS)
    assert batch.column("num_records").to_pylist() == [i if i % 3 else None for i in range(5, 12)]


def test_a_text_longer_than_a_block_of_the_reader() -> None:
    text = json.dumps({"numRecords": 1, "minValues": {"s": {"q": "x" * 3_000_000}}})
    assert len(parse(text, text)[1]["min_values"]["s"]["q"]) == 3_000_000


FLOAT = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["NaN", "Infinity", "-Infinity"])
VALUE = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | FLOAT | st.text(max_size=3)
NAMES = st.sampled_from(["i", "l", "x", "c", "d", "t", "n", "b", "s", "z"])
COLUMN = st.dictionaries(NAMES, VALUE | st.dictionaries(st.sampled_from("qa"), VALUE, max_size=2), max_size=3)
OBJECT = st.fixed_dictionaries(
    {}, optional={"numRecords": VALUE, "minValues": COLUMN, "nullCount": COLUMN, "tightBounds": VALUE, "other": COLUMN}
)


@examples(200)
@given(st.lists(st.none() | OBJECT.map(json.dumps) | st.text(max_size=5), max_size=4))
def test_bulk_and_one_at_a_time_agree(texts: list[str | None]) -> None:
    array = pa.array(texts, pa.string())
    together = parse_stats(array, STATS)
    one_by_one = [
        row for text in texts for row in file_stats._parse_slowly(pa.array([text], pa.string()), STATS).to_pylist()
    ]
    for row, single in zip(together.to_pylist(), one_by_one, strict=True):
        assert _leaves(row) == _leaves(single)


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {leaf: item for name, inner in value.items() for leaf, item in _leaves(inner, f"{path}.{name}").items()}
    return {} if value is None else {path: value}


def test_counts_of_nulls_are_in_every_field_but_empty_structs() -> None:
    inner = StructType((StructField("a", PrimitiveType.LONG), StructField("l", ArrayType(PrimitiveType.LONG, True))))
    found = stats_schema(StructType((StructField("s", inner), StructField("e", StructType(())))))
    counts = pa.struct([("s", pa.struct([("a", pa.int64()), ("l", pa.int64())]))])
    assert found.field("null_count").type == counts
    assert found.field("min_values").type == pa.struct([("s", pa.struct([("a", pa.int64())]))])
