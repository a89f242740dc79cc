"""One writer's statistics, parsed by their form: the same result as parsing each text."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from engine.delta.snapshot import uniform_stats
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.delta.snapshot.uniform_stats import read_uniform
from engine.types.schema import DecimalType, PrimitiveType, StructField, StructType

P = PrimitiveType
SCHEMA = StructType(
    (
        StructField("i", P.INTEGER),
        StructField("big", P.LONG),
        StructField("x", P.DOUBLE),
        StructField("c", DecimalType(10, 2)),
        StructField("d", P.DATE),
        StructField("t", P.TIMESTAMP),
        StructField("q", P.STRING),
        StructField("s", StructType((StructField("y", P.SHORT), StructField("q", P.STRING)))),
    )
)
STATS = stats_schema(SCHEMA)
WIRE = pa.schema(
    [
        ("numRecords", pa.int64()),
        ("minValues", pa.struct([("i", pa.int64()), ("x", pa.float64()), ("q", pa.string())])),
        ("nullCount", pa.struct([("i", pa.int64()), ("x", pa.int64()), ("q", pa.int64())])),
    ]
)
ROWS = 80
ODD_ROW = 71
_TEXT = '{"numRecords":%d,"minValues":{"i":%d,"x":%d.5,"q":"k%d"},"nullCount":{"i":0,"x":0,"q":%d}}'


def small(row: int) -> str:
    return _TEXT % (row, row - 40, row, row, row % 3)


def full(row: int) -> str:
    """Returns statistics with all types, and numbers in every length and sign."""
    bounds = {
        "i": (-1) ** row * row * 10**6,
        "big": (-1) ** row * (2**63 - 1 - row),
        "x": [0.25, -0.5, 1e-7 * row, 12345.678, 1e22][row % 5],
        "c": row + 0.25,
        "d": f"2024-01-{row % 28 + 1:02d}",
        "t": f"2024-01-{row % 28 + 1:02d}T01:02:03.{row:03d}Z",
        "q": ["", "é", "name", "{:}[]"][row % 4],
        "s": {"y": row, "q": "z" * (row % 20)},
    }
    nulls = {"i": 0, "big": 10 ** (row % 16), "x": 7, "c": 0, "d": 1, "t": 2, "q": 3, "s": {"y": 4, "q": 5}}
    counts = {"numRecords": row, "minValues": bounds, "maxValues": bounds, "nullCount": nulls, "tightBounds": row > 5}
    return json.dumps(counts, separators=(",", ":"), ensure_ascii=False)


def assert_as_alone(texts: list[str]) -> None:
    found = parse_stats(pa.array(["pad", *texts], pa.string()).slice(1), STATS)
    found.validate(full=True)
    assert [repr(row) for row in found.to_pylist()] == [alone(text) for text in texts]


@cache
def alone(text: str) -> str:
    """Returns text, so that NaN equals NaN."""
    return repr(parse_stats(pa.array([text], pa.string()), STATS).to_pylist()[0])


@pytest.mark.parametrize("values_at_once", [1, 100, 1 << 15])
def test_uniform_statistics_have_the_values_of_all_types(values_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniform_stats, "_VALUES_AT_ONCE", values_at_once)
    assert_as_alone([full(row) for row in range(ROWS)])


@pytest.mark.parametrize("text", [small, lambda row: f'{{"numRecords":{row}}}'])
def test_uniform_statistics_are_read_without_parser(text: Callable[[int], str]) -> None:
    texts = [text(row) for row in range(ROWS)]
    table = read_uniform(pa.array(texts, pa.string()), WIRE)
    assert [_without_nulls(row) for row in table.to_pylist()] == [json.loads(each) for each in texts]


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"i":31', '"i":"31"'),
        ('"i":31', '"i":null'),
        ('"i":31', '"i":31.5'),
        ('"i":31', '"i":31.0'),
        ('"i":31', '"i":031'),
        ('"i":31', '"i":-031'),
        ('"i":31', '"i":-31'),
        ('"i":31', '"i":-'),
        ('"i":31', '"i":'),
        ('"i":31', '"i":+31'),
        ('"i":31', '"i":3-1'),
        ('"i":31', '"i":3:1'),
        ('"i":31', '"i":3/1'),
        ('"i":31', '"i":0x31'),
        ('"i":31', '"i":3e1'),
        ('"i":31', '"i": 31'),
        ('"i":31', '"i":31 '),
        ('"i":31', '"i":31}'),
        ('"i":31', '"i":é'),
        ('"i":31', '"i":2147483648'),
        ('"i":31', '"i":1234567890123456'),
        ('"i":31', '"i":12345678901234567'),
        ('"i":31', '"j":31'),
        ('"i":31', '"i":31,"i":32'),
        ('"i":31,', ""),
        ('"x":71.5', '"x":71.'),
        ('"x":71.5', '"x":.5'),
        ('"x":71.5', '"x":1.5.5'),
        ('"x":71.5', '"x":01.5'),
        ('"x":71.5', '"x":-01.5'),
        ('"x":71.5', '"x":-0.5'),
        ('"x":71.5', '"x":1.5e3'),
        ('"x":71.5', '"x":1.e3'),
        ('"x":71.5', '"x":1e'),
        ('"x":71.5', '"x":1e999'),
        ('"x":71.5', '"x":"NaN"'),
        ('"x":71.5', '"x":NaN'),
        ('"x":71.5', '"x":Infinity'),
        ('"x":71.5', '"x":123456789012345678901234567890'),
        ('"q":"k71"', '"q":"k,71"'),
        ('"q":"k71"', '"q":"k\\"71"'),
        ('"q":"k71"', '"q":"k\\u00e9"'),
        ('"q":"k71"', '"q":"k\n71"'),
        ('"q":"k71"', '"q":"k"71"'),
        ('"q":"k71"', '"q":k71"'),
        ('"q":"k71"', '"q":"k71'),
        ('"q":"k71"', '"q":71'),
        ('"q":"k71"', '"q":null'),
        ('"q":"k71"', '"q":{"r":1}'),
        ('"q":"k71"', '"q":""'),
        ('"q":"k71"', '"q":"é"'),
        ('"minValues":{', '"minValues":['),
        ('"minValues":{', '"minvalues":{'),
        ('"minValues"', '"maxValues"'),
        ('"numRecords":71,', ""),
        ('"numRecords":71', '"numRecords":71,"other":[1,2]'),
        ("}}", "}"),
        ("}}", "}}}"),
        ("}}", "}} "),
        ("}}", "}}{}"),
        (",", ", "),
        (",", ";"),
        (small(ODD_ROW), ""),
        (small(ODD_ROW), "{}"),
        (small(ODD_ROW), full(ODD_ROW)),
    ],
)
@pytest.mark.parametrize("row", [0, ODD_ROW, ROWS - 1])
def test_a_text_of_another_form_is_read_as_itself(old: str, new: str, row: int) -> None:
    texts = [small(each) for each in range(ROWS)]
    assert old in small(ODD_ROW)
    texts[row] = small(ODD_ROW).replace(old, new)
    assert_as_alone(texts)


@pytest.mark.parametrize(
    "change",
    [
        lambda texts: [texts[0] + texts[1], "", *texts[2:]],
        lambda texts: [texts[0][:-1], "}" + texts[1], *texts[2:]],
        lambda texts: [
            *texts[:70],
            texts[70].replace('"x":0', '"x":0,"y":0'),
            texts[71].replace(',"x":0', ""),
            *texts[72:],
        ],
        lambda texts: [*texts[:70], texts[70].replace("k70", 'k"'), texts[71].replace('"k71', "k71"), *texts[72:]],
        lambda texts: [text.replace('"x":0', '"i":0') for text in texts],
        lambda texts: [
            text.replace('"minValues":{', '"minValues":{"numRecords":{').replace("},", "}},") for text in texts
        ],
        lambda texts: [text.replace('{"i"', '{"i":1,"n":null,"j"') for text in texts],
        lambda texts: [text.replace(":", " : ") for text in texts],
    ],
)
def test_compensating_differences_are_detected(change: Callable[[list[str]], list[str]]) -> None:
    assert_as_alone(change([small(row) for row in range(ROWS)]))


def test_few_of_many_columns_are_left_to_the_parser() -> None:
    texts = pa.array([small(row) for row in range(ROWS)], pa.string())
    assert read_uniform(texts, pa.schema([("numRecords", pa.int64())])) is None
