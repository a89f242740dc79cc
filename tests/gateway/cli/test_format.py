"""Rows for people and for programs, written chunk by chunk."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from gateway.cli.client import Column, Rows
from gateway.cli.format import write_json, write_table

ID, NAME = Column("id", "LONG"), Column("name", "STRING")


def table(columns: list[Column], *chunks: Rows) -> str:
    out = io.StringIO()
    write_table(columns, iter(chunks), out)
    return out.getvalue()


def test_numbers_stand_to_the_right_and_null_is_shown() -> None:
    assert table([ID, NAME], [["1", "a"], ["10", None]], [["100", "longer"]]) == (
        "id | name\n---+-----\n 1 | a\n10 | NULL\n100 | longer\n(3 rows)\n"
    )


@pytest.mark.parametrize(
    ("columns", "chunks", "expected"),
    [
        ([], [[]], "OK\n"),
        ([NAME], [[]], "name\n----\n(0 rows)\n"),
        ([NAME], [], "name\n----\n(0 rows)\n"),
        ([NAME], [[["x"]]], "name\n----\nx\n(1 row)\n"),
    ],
)
def test_small_results(columns: list[Column], chunks: list[Rows], expected: str) -> None:
    assert table(columns, *chunks) == expected


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("tab\there", "tab\\there"),
        ("\u202eflipped", "\\u202eflipped"),
        ("naïve", "naïve"),
    ],
)
def test_a_cell_stays_on_its_line_and_does_not_command_the_terminal(cell: str, shown: str) -> None:
    assert table([NAME], [[cell], ["another row"]]).splitlines()[2] == shown


PLAN = "== Physical Plan ==\n*(1) Range (0, 10)\n   +- \x1b[31mScan"


@pytest.mark.parametrize(
    ("columns", "chunks", "expected"),
    [
        ([NAME], [[[PLAN]]], "== Physical Plan ==\n*(1) Range (0, 10)\n   +- \\x1b[31mScan\n"),
        ([NAME], [[["one line"]]], "name\n--------\none line\n(1 row)\n"),
        ([NAME], [[["a\n\nb\n\n"]]], "a\n\nb\n"),
        ([NAME], [[["a\nb"]], [["c"]]], "name\n----\na\\nb\nc\n(2 rows)\n"),
        ([NAME], [[["a\nb"], ["c"]]], "name\n----\na\\nb\nc\n(2 rows)\n"),
        ([NAME, ID], [[["a\nb", "1"]]], "name | id\n-----+---\na\\nb |  1\n(1 row)\n"),
    ],
)
def test_a_single_cell_of_several_lines_is_a_text_to_read(
    columns: list[Column], chunks: list[Rows], expected: str
) -> None:
    assert table(columns, *chunks) == expected


@pytest.mark.parametrize(("cell", "width"), [("日本", 4), ("é", 1), ("e\u0301", 1), ("ab", 2)])
def test_wide_and_combining_characters_keep_the_columns_straight(cell: str, width: int) -> None:
    line = table([NAME, ID], [[cell, "1"], ["xxxx", "2"]]).splitlines()[2]
    assert line == cell + " " * (4 - width) + " |  1"


@pytest.mark.parametrize(
    ("type_name", "cell", "expected"),
    [
        ("LONG", "1", 1),
        ("DECIMAL", "1.50", 1.5),
        ("DOUBLE", "1.0E10", 1e10),
        ("DOUBLE", "NaN", "NaN"),
        ("FLOAT", "-Infinity", "-Infinity"),
        ("BOOLEAN", "true", True),
        ("STRING", 'say "hi"\n', 'say "hi"\n'),
        ("STRING", "1", "1"),
        ("DATE", "2024-01-01", "2024-01-01"),
        ("ARRAY", "[1,null]", [1, None]),
        ("MAP", '{"a":1}', {"a": 1}),
        ("STRUCT", '{"a":[]}', {"a": []}),
        ("LONG", None, None),
    ],
)
def test_json_has_the_values_types(type_name: str, cell: str | None, expected: Any) -> None:
    out = io.StringIO()
    write_json([Column("c", type_name)], iter([[[cell]]]), out)
    assert json.loads(out.getvalue()) == [{"c": expected}]


@pytest.mark.parametrize("chunks", [[], [[]], [[["1", "a"]]], [[["1", "a"]], [["2", "b"], ["3", None]]]])
def test_json_is_one_list_over_all_chunks(chunks: list[Rows]) -> None:
    out = io.StringIO()
    write_json([ID, NAME], iter(chunks), out)
    rows = [row for chunk in chunks for row in chunk]
    assert json.loads(out.getvalue()) == [{"id": int(str(a)), "name": b} for a, b in rows]
