"""Rows as Spark Connect sends them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from engine.runtime.results import sql_field
from gateway.connect.rows import encode_rows


def _pair(values: list[int], texts: list[str]) -> pa.Array:
    """Returns structs with two fields of the same name."""
    return pa.StructArray.from_arrays(
        [pa.array(values), pa.array(texts)], fields=[pa.field("a", pa.int64()), pa.field("a", pa.string())]
    )


ONE, TWO = {"a_0": 1, "a_1": "x"}, {"a_0": 2, "a_1": "y"}
PAIRS = _pair([1, 2], ["x", "y"])
OFFSETS = pa.array([0, 1, 2], pa.int32())
KEYS = pa.array(["k", "l"])
# SQL type → the rows, and the rows that arrive.
NESTED: dict[str, tuple[pa.Array, list[Any]]] = {
    "struct<a:bigint,a:string>": (PAIRS, [ONE, TWO]),
    "array<struct<a:bigint,a:string>>": (pa.ListArray.from_arrays(OFFSETS, PAIRS), [[ONE], [TWO]]),
    "map<string,struct<a:bigint,a:string>>": (
        pa.MapArray.from_arrays(OFFSETS, KEYS, PAIRS), [[("k", ONE)], [("l", TWO)]]
    ),
}  # fmt: skip


@pytest.mark.parametrize("sql_type", NESTED)
def test_equal_names_of_fields_get_suffixes(sql_type: str) -> None:
    column, sent = NESTED[sql_type]
    schema = pa.schema([sql_field("c", column.type, sql_type), sql_field("c", pa.string(), "string")])
    found = pa.ipc.open_stream(encode_rows(pa.Table.from_arrays([column, KEYS], schema=schema))).read_all()
    assert found.column_names == ["c", "c"]
    assert found.column(0).to_pylist() == sent
    assert found.column(1).to_pylist() == ["k", "l"]


def test_equal_names_around_a_variant_get_suffixes() -> None:
    texts = pa.array(["1", "2"])
    column = pa.StructArray.from_arrays([texts, texts], fields=[pa.field("v", pa.string()), pa.field("v", pa.string())])
    schema = pa.schema([sql_field("c", column.type, "struct<v:variant,v:variant>")])
    found = pa.ipc.open_stream(encode_rows(pa.Table.from_arrays([column], schema=schema))).read_all()
    assert [list(row) for row in found.column(0).to_pylist()] == [["v_0", "v_1"]] * 2
