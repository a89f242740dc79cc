"""Parquet schemas: types as Spark reads them, and one schema for many files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.errors import SqlError
from engine.delta.conversion.parquet_types import merged_schema, schema_of_footer
from engine.types.schema import StructType
from engine.types.sql_types import format_sql_type


def schema_of(path: Path, table: pa.Table, **options: Any) -> StructType:
    pq.write_table(table, path, **options)
    return schema_of_footer(pq.read_metadata(path), path.name)


TYPES = [
    (pa.bool_(), "boolean"),
    (pa.int8(), "tinyint"),
    (pa.uint8(), "smallint"),
    (pa.uint16(), "int"),
    (pa.uint32(), "bigint"),
    (pa.float32(), "float"),
    (pa.large_string(), "string"),
    (pa.dictionary(pa.int32(), pa.string()), "string"),
    (pa.binary(16), "binary"),
    (pa.date32(), "date"),
    (pa.duration("us"), "bigint"),
    (pa.timestamp("ms"), "timestamp_ntz"),
    (pa.timestamp("us", "Europe/Berlin"), "timestamp"),
    (pa.decimal128(38, 10), "decimal(38,10)"),
    (pa.decimal128(5, 5), "decimal(5,5)"),
    (
        pa.list_(pa.struct([("a", pa.int16()), ("b", pa.list_(pa.string()))])),
        "array<struct<a:smallint,b:array<string>>>",
    ),
    (pa.map_(pa.string(), pa.list_(pa.timestamp("us"))), "map<string,array<timestamp_ntz>>"),
    (pa.struct([("x", pa.map_(pa.int32(), pa.int64())), ("y", pa.date32())]), "struct<x:map<int,bigint>,y:date>"),
]


@pytest.mark.parametrize(("arrow", "expected"), TYPES, ids=str)
def test_types(tmp_path: Path, arrow: Any, expected: str) -> None:
    table = pa.table({"before": [1], "c": pa.array([None], arrow), "after": ["x"]})
    found = schema_of(tmp_path / "f.parquet", table)
    assert [format_sql_type(field.data_type) for field in found.fields] == ["bigint", expected, "string"]
    assert all(field.nullable for field in found.fields)


def test_int96_is_an_instant(tmp_path: Path) -> None:
    table = pa.table({"l": pa.array([[0]], pa.list_(pa.timestamp("ns"))), "t": pa.array([0], pa.timestamp("ns"))})
    found = schema_of(tmp_path / "f.parquet", table, use_deprecated_int96_timestamps=True)
    assert [format_sql_type(field.data_type) for field in found.fields] == ["array<timestamp>", "timestamp"]


@pytest.mark.parametrize(
    "arrow",
    [pa.uint64(), pa.time64("us"), pa.timestamp("ns"), pa.decimal256(50, 2), pa.null(), pa.list_(pa.float16())],
    ids=str,
)
def test_types_that_no_column_has(tmp_path: Path, arrow: Any) -> None:
    with pytest.raises(SqlError, match="column s.c") as refused:
        schema_of(tmp_path / "f.parquet", pa.table({"s": pa.array([None], pa.struct([("c", arrow)]))}))
    assert refused.value.condition == "DELTA_CONVERT_UNSUPPORTED_TYPE"


def test_names_that_differ_in_case(tmp_path: Path) -> None:
    with pytest.raises(SqlError) as refused:
        schema_of(tmp_path / "f.parquet", pa.table({"a": [1], "A": [2]}))
    assert refused.value.condition == "DELTA_DUPLICATE_COLUMNS_FOUND.CONVERT_TO_DELTA"


MERGED: list[tuple[dict[str, Any], dict[str, Any], dict[str, str] | None]] = [
    ({"a": pa.int32()}, {"b": pa.string()}, {"a": "int", "b": "string"}),
    ({"a": pa.int8()}, {"a": pa.int32()}, {"a": "int"}),
    ({"a": pa.int16()}, {"a": pa.int8()}, {"a": "smallint"}),
    ({"a": pa.int32()}, {"a": pa.int64()}, None),
    ({"a": pa.string()}, {"a": pa.int32()}, None),
    ({"a": pa.timestamp("us")}, {"a": pa.timestamp("us", "UTC")}, None),
    ({"a": pa.decimal128(5, 2)}, {"a": pa.decimal128(6, 2)}, None),
    ({"a": pa.int32()}, {"A": pa.int32()}, None),
    (
        {"s": pa.struct([("x", pa.int8())])},
        {"s": pa.struct([("x", pa.int16()), ("y", pa.date32())])},
        {"s": "struct<x:smallint,y:date>"},
    ),
    ({"l": pa.list_(pa.int8())}, {"l": pa.list_(pa.int16())}, {"l": "array<smallint>"}),
    ({"m": pa.map_(pa.string(), pa.int8())}, {"m": pa.map_(pa.string(), pa.string())}, None),
]


@pytest.mark.parametrize(("one", "other", "expected"), MERGED)
def test_schemas_of_two_files_are_merged(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], expected: dict[str, str] | None
) -> None:
    known, found = (schema_of(tmp_path / "f.parquet", pa.schema(each).empty_table()) for each in (one, other))
    if expected is None:
        with pytest.raises(SqlError) as refused:
            merged_schema(known, found, "f.parquet")
        assert refused.value.condition == "DELTA_FAILED_MERGE_SCHEMA_FILE"
    else:
        merged = merged_schema(known, found, "f.parquet")
        assert {field.name: format_sql_type(field.data_type) for field in merged.fields} == expected
