"""The text of `DataFrame.show()`."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gateway.connect.shown import Show
from tests.gateway.arrow_engine import typed

ROWS = typed(
    pa.table(
        {
            "id": pa.array([1, None], pa.int64()),
            "text": ["a\tb", "a long text that is cut"],
            "list": pa.array([[1, None], None], pa.list_(pa.int32())),
            "map": pa.array([[("k", 1.5)], []], pa.map_(pa.string(), pa.float64())),
            "row": pa.array([{"x": 1, "y": None}, None], pa.struct([("x", pa.int32()), ("y", pa.string())])),
            "bytes": pa.array([b"\x01\xff", None]),
            "wide": ["日本", "é"],
        }
    ),
    {"text": "string", "list": "array<int>", "map": "map<string,double>", "row": "struct<x:int,y:string>"},
    default="string",
)


def test_cells_are_cut_and_aligned_to_the_right() -> None:
    assert Show(20, 20, False).text(ROWS, "UTC") == (
        "+----+--------------------+---------+----------+---------+-------+----+\n"
        "|  id|                text|     list|       map|      row|  bytes|wide|\n"
        "+----+--------------------+---------+----------+---------+-------+----+\n"
        "|   1|                a\\tb|[1, NULL]|{k -> 1.5}|{1, NULL}|[01 FF]|日本|\n"
        "|NULL|a long text that ...|     NULL|        {}|     NULL|   NULL|   é|\n"
        "+----+--------------------+---------+----------+---------+-------+----+\n"
    )


def test_whole_cells_are_aligned_to_the_left_and_other_rows_are_mentioned() -> None:
    assert Show(1, 0, False).text(ROWS.select(["id", "text"]), "UTC") == (
        "+---+----+\n|id |text|\n+---+----+\n|1  |a\\tb|\n+---+----+\nonly showing top 1 row"
    )


def test_vertical_rows_are_records() -> None:
    assert Show(20, 0, True).text(ROWS.select(["id", "wide"]), "UTC") == (
        "-RECORD 0----\n id   | 1    \n wide | 日本 \n-RECORD 1----\n id   | NULL \n wide | é    \n"
    )
    assert Show(20, 0, True).text(ROWS.select(["id"]).slice(0, 0), "UTC") == "(0 rows)"


@pytest.mark.parametrize(("truncate", "cell"), {2: "a ", 3: "a l", 4: "a...", 0: "a long text that is cut"}.items())
def test_cell_is_cut_at_its_length(truncate: int, cell: str) -> None:
    lines = Show(20, truncate, False).text(ROWS.select(["text"]), "UTC").splitlines()
    assert lines[4].strip("|").strip() == cell.strip()
