"""Folders with Parquet files: selected files, partition values, statistics."""

from __future__ import annotations

import json
import math
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.errors import SqlError
from engine.delta.conversion.converted_files import ConvertedFiles, Layout, convert_files
from engine.delta.conversion.folder_files import find_files, folder_values
from engine.delta.definition.metadata_changes import define_table
from engine.storage.storage import open_storage
from engine.types.schema import DecimalType, PrimitiveType, StructField


def converted(folder: Path, *columns: StructField, has_bounds: bool = True) -> ConvertedFiles | None:
    names = tuple(column.name for column in columns)
    layout = Layout(
        define=lambda schema: define_table("t", schema, partition_columns=names).config("t"),
        partition_columns=columns,
        zone=UTC,
        has_bounds=has_bounds,
    )
    storage = open_storage(str(folder))
    return convert_files(storage, find_files(storage, lambda: None), layout, lambda: None)


def put(folder: Path, path: str, columns: dict[str, Any]) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / path)


def stats_of(found: ConvertedFiles | None) -> dict[str, dict[str, Any]]:
    assert found is not None
    rows = pa.Table.from_batches(found.batches).to_pylist()
    return {row["log_path"]: json.loads(row["stats"]) for row in rows}


def test_files_that_are_data(tmp_path: Path) -> None:
    shown = ["a.parquet", "x/b", "_p=1/c.parquet", "d e/%41.snappy.parquet"]
    hidden = ["_SUCCESS", ".crc", "_tmp/x.parquet", "_delta_log/0.json", ".hidden/x.parquet", "x/_metadata"]
    for path in (*shown, *hidden):
        put(tmp_path, path, {"a": [1]})
    (tmp_path / "link").symlink_to(tmp_path / "x", target_is_directory=True)
    found = list(find_files(open_storage(str(tmp_path)), lambda: None))
    assert {file.path for file in found} == set(shown)
    assert all(file.size > 0 and file.modification_time > 0 for file in found)


def test_statistics_are_those_of_the_common_schema(tmp_path: Path) -> None:
    put(tmp_path, "1.parquet", {"a": [1, None, 3]})
    put(tmp_path, "2.parquet", {"a": [5], "b": ["x"]})
    put(tmp_path, "3.parquet", {"a": pa.array([], pa.int64())})
    found = converted(tmp_path)
    assert found is not None and [field.name for field in found.schema.fields] == ["a", "b"]
    assert (found.num_files, stats_of(found)["2.parquet"]["maxValues"]) == (3, {"a": 5, "b": "x"})
    assert stats_of(found)["1.parquet"]["nullCount"] == {"a": 1}
    assert stats_of(found)["3.parquet"]["numRecords"] == 0
    counted = stats_of(converted(tmp_path, has_bounds=False))
    assert counted["1.parquet"] == {"numRecords": 3}
    assert converted(tmp_path / "empty") is None


def test_no_upper_bound_where_a_writer_leaves_nan_out(tmp_path: Path) -> None:
    put(tmp_path, "1.parquet", {"f": [1.0, math.nan]})
    stats = stats_of(converted(tmp_path))["1.parquet"]
    assert stats["minValues"] == {"f": 1.0} and not stats.get("maxValues")


def test_folders_tell_partition_values(tmp_path: Path) -> None:
    put(tmp_path, "d=2024-01-02/S=a%2Fb/1.parquet", {"a": [1]})
    put(tmp_path, "d=__HIVE_DEFAULT_PARTITION__/s=%C3%A9/2.parquet", {"a": [2], "s": ["in the file"]})
    found = converted(tmp_path, StructField("d", PrimitiveType.DATE), StructField("s", PrimitiveType.STRING))
    assert found is not None and [field.name for field in found.schema.fields] in (["a", "s", "d"], ["a", "d", "s"])
    values = {row["size"]: dict(row["partition_values"]) for row in pa.Table.from_batches(found.batches).to_pylist()}
    assert sorted(values.values(), key=str) == [{"d": "2024-01-02", "s": "a/b"}, {"d": None, "s": "é"}]
    assert all("s" not in stats["nullCount"] for stats in stats_of(found).values())


A, B = StructField("a", PrimitiveType.INTEGER), StructField("b", DecimalType(4, 2))
FOLDERS: list[tuple[str, tuple[StructField, ...], dict[str, str | None] | str]] = [
    ("a=1/b=2.5/f", (A, B), {"a": "1", "b": "2.50"}),
    ("x/A=01/y/b=/f", (A, B), {"a": "1", "b": None}),
    ("a=1/f", (A, B), "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    ("a=1/f", (), "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    ("f", (A,), "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    ("b=1/a=1/f", (A, B), "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME"),
    ("a=x/f", (A,), "DELTA_CONVERT_PARTITION_VALUE"),
    ("a=1/b=2.555/f", (A, B), "DELTA_CONVERT_PARTITION_VALUE"),
]


@pytest.mark.parametrize(("path", "columns", "expected"), FOLDERS)
def test_names_of_folders(path: str, columns: tuple[StructField, ...], expected: dict[str, str | None] | str) -> None:
    if isinstance(expected, dict):
        assert folder_values(path, columns, UTC) == expected
    else:
        with pytest.raises(SqlError) as refused:
            folder_values(path, columns, UTC)
        assert refused.value.condition == expected


def test_invalid_parquet_is_rejected(tmp_path: Path) -> None:
    put(tmp_path, "1.parquet", {"a": [1]})
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(SqlError, match="notes.txt cannot be read as Parquet") as refused:
        converted(tmp_path)
    assert refused.value.condition == "DELTA_FAILED_READ_FILE_FOOTER"
