"""Rows as JSON, CSV and Arrow, and how columns are described."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.results import sql_field
from gateway.http.encode import arrow_stream, column_info, csv_bytes, json_rows


@pytest.mark.parametrize(
    ("sql_type", "expected"),
    [
        ("tinyint", {"type_name": "BYTE", "type_text": "TINYINT"}),
        ("smallint", {"type_name": "SHORT", "type_text": "SMALLINT"}),
        ("int", {"type_name": "INT", "type_text": "INT"}),
        ("bigint", {"type_name": "LONG", "type_text": "BIGINT"}),
        ("boolean", {"type_name": "BOOLEAN", "type_text": "BOOLEAN"}),
        ("varchar(5)", {"type_name": "STRING", "type_text": "VARCHAR(5)"}),
        ("char(5)", {"type_name": "CHAR", "type_text": "CHAR(5)"}),
        (
            "decimal(10,2)",
            {"type_name": "DECIMAL", "type_text": "DECIMAL(10,2)", "type_precision": 10, "type_scale": 2},
        ),
        ("timestamp_ntz", {"type_name": "TIMESTAMP", "type_text": "TIMESTAMP_NTZ"}),
        (
            "interval day to second",
            {
                "type_name": "INTERVAL",
                "type_text": "INTERVAL DAY TO SECOND",
                "type_interval_type": "DAY TO SECOND",
            },
        ),
        ("array<struct<Ab:int>>", {"type_name": "ARRAY", "type_text": "array<struct<Ab:int>>"}),
        ("map<string,int>", {"type_name": "MAP", "type_text": "map<string,int>"}),
        ("struct<a:decimal(1,0)>", {"type_name": "STRUCT", "type_text": "struct<a:decimal(1,0)>"}),
        ("void", {"type_name": "NULL", "type_text": "VOID"}),
        ("variant", {"type_name": "STRING", "type_text": "VARIANT"}),
    ],
)
def test_a_column_is_described(sql_type: str, expected: dict[str, object]) -> None:
    assert column_info(sql_field("c", pa.string(), sql_type), 3) == {"name": "c", "position": 3, **expected}


def table_of(cells: list[str | None], others: list[int | None] | None = None) -> pa.Table:
    fields = [sql_field("text", pa.string(), "string"), sql_field("number", pa.int64(), "bigint")]
    columns = [pa.array(cells, pa.string()), pa.array(others or [None] * len(cells), pa.int64())]
    return pa.table(columns, schema=pa.schema(fields))


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("plain", "plain"),
        (None, "null"),
        ("null", '"null"'),
        ("", '""'),
        ("a,b", '"a,b"'),
        ('say "hi"', '"say ""hi"""'),
        ("two\nlines", '"two\nlines"'),
        (" space", '" space"'),
        ("NULL", "NULL"),
    ],
)
def test_a_csv_cell_cannot_be_read_as_another(cell: str | None, written: str) -> None:
    assert csv_bytes(table_of([cell]), "UTC", header=False).decode() == f"{written},null\n"


def test_a_csv_header_comes_with_the_first_chunk_only() -> None:
    empty = table_of([])
    assert csv_bytes(empty, "UTC", header=True) == b"text,number\n"
    assert csv_bytes(empty, "UTC", header=False) == b""


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))))
def test_csv_is_read_back_by_others(cells: list[str]) -> None:
    text = csv_bytes(table_of(list(cells)), "UTC", header=False).decode()
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))] == cells


@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.integers(-(2**63), 2**63 - 1))))
def test_json_rows_are_the_rows(expected: list[tuple[str | None, int | None]]) -> None:
    expected = [(text, number) for text, number in expected if text is None or text.isprintable()]
    table = table_of([text for text, _ in expected], [number for _, number in expected])
    assert json_rows(table, "UTC") == [[text, None if n is None else str(n)] for text, n in expected]


def test_timestamps_are_shown_in_the_sessions_zone() -> None:
    schema = pa.schema([sql_field("t", pa.timestamp("us", "UTC"), "timestamp")])
    table = pa.table([pa.array([0], pa.timestamp("us", "UTC"))], schema=schema)
    assert json_rows(table, "Europe/Berlin") == [["1970-01-01 01:00:00"]]


def test_an_arrow_stream_has_a_schema_even_without_rows() -> None:
    read = pa.ipc.open_stream(arrow_stream(table_of([]))).read_all()
    assert read.schema.names == ["text", "number"] and read.num_rows == 0
