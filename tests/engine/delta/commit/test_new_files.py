"""Files that a write adds: statistics from footers, partition values, and their place in a transaction."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.delta.commit.footer_stats import FooterStats
from engine.delta.commit.loads import SCHEMA as LOADED
from engine.delta.commit.new_files import NewFiles, describe_files
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.table_config import DeltaConfig, choose_protocol
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.stats import FileStats
from engine.storage.storage import open_storage
from engine.tables.operations import TableOperation
from engine.tables.row_files import FilesWithDeletedRows
from engine.tables.transaction import DataFile
from engine.types.schema import ArrayType, PrimitiveType, StructField, StructType
from tests.engine.delta.committing import add, append, create, describe, metadata
from tests.interleave.storages import DictStorage

LONG, DOUBLE, STRING = PrimitiveType.LONG, PrimitiveType.DOUBLE, PrimitiveType.STRING


def stats_of(folder: Path, table: pa.Table, schema: StructType | None = None, **options: Any) -> FileStats:
    pq.write_table(table, folder / "f.parquet", **options)
    schema = schema or StructType(tuple(StructField(name, LONG) for name in table.column_names))
    return FooterStats(open_storage(str(folder)), _config(schema)).load("f.parquet")


def _config(schema: StructType, *partition_columns: str) -> DeltaConfig:
    table = metadata(schema, partition_columns, {})
    return DeltaConfig.of("t", choose_protocol("t", None, table), table)


def test_known_footer_gives_the_statistics_of_the_file(tmp_path: Path) -> None:
    columns = {"id": [3, None], "d": [1.5, -2.0], "s": ["a", "x" * 80], "day": [datetime.date(2024, 1, 1), None]}
    rows = pa.table(columns)
    types = (LONG, DOUBLE, STRING, PrimitiveType.DATE)
    config = _config(StructType(tuple(StructField(*each) for each in zip(columns, types, strict=True))))
    footers: list[Any] = []
    with pq.ParquetWriter(tmp_path / "f.parquet", rows.schema, metadata_collector=footers) as writer:
        writer.write_table(rows)
    (known,) = footers
    file = DataFile(path="f.parquet", size=9, modification_time=1, partition_values={})
    storage = open_storage(str(tmp_path))
    read = describe_files(storage, config, [file], ["id"])
    storage.delete("f.parquet")
    assert describe_files(storage, config, [replace(file, footer=known)], ["id"]) == read
    assert read.min_max_values == {"id": (3, 3)} and len(read.adds) == 1


@pytest.mark.parametrize(
    ("values", "options", "low", "high", "nulls"),
    [
        ([3, 1, None, 2], {}, 1, 3, 1),
        ([3, 1, None, 2], {"row_group_size": 1}, 1, 3, 1),
        ([None, None, 2], {"row_group_size": 1}, 2, 2, 2),
        ([None, None], {}, None, None, 2),
        ([], {}, None, None, None),
        ([3, 1], {"write_statistics": False}, None, None, None),
    ],
)
def test_statistics_of_whole_numbers(
    tmp_path: Path,
    values: list[int | None],
    options: dict[str, Any],
    low: int | None,
    high: int | None,
    nulls: int | None,
) -> None:
    found = stats_of(tmp_path, pa.table({"a": pa.array(values, pa.int64())}), **options)
    assert (found.num_records, found.min_values.get("a"), found.max_values.get("a")) == (len(values), low, high)
    assert found.null_count.get("a") == nulls


@pytest.mark.parametrize(
    ("data_type", "values", "low", "high"),
    [
        (DOUBLE, pa.array([1.5, 2.5]), 1.5, None),  # another writer may have left out NaN
        (STRING, pa.array(["b", "a"]), "a", "b"),
        (STRING, pa.array([b"b", b"a"]), None, None),
        (PrimitiveType.BINARY, pa.array([b"b", b"a"]), None, None),
        (PrimitiveType.BOOLEAN, pa.array([True, False]), None, None),
        (PrimitiveType.DATE, pa.array([2, 1], pa.int32()).cast(pa.date32()), "1970-01-02", "1970-01-03"),
        (PrimitiveType.DATE, pa.array([4_000_000, 1], pa.int32()).cast(pa.date32()), None, None),
    ],
    ids=str,
)
def test_bounds_are_those_that_a_footer_is_known_to_have(
    tmp_path: Path, data_type: PrimitiveType, values: pa.Array, low: Any, high: Any
) -> None:
    found = stats_of(tmp_path, pa.table({"a": values}), StructType((StructField("a", data_type),)))
    text = {name: _text(each.get("a")) for name, each in (("low", found.min_values), ("high", found.max_values))}
    assert text == {"low": _text(low), "high": _text(high)}
    assert found.null_count == {"a": 0}


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, datetime.date) else value


def test_fields_have_statistics_and_arrays_have_none(tmp_path: Path) -> None:
    inner = StructType((StructField("b", LONG), StructField("c", LONG)))
    schema = StructType((StructField("s", inner), StructField("l", ArrayType(LONG, True)), StructField("gone", LONG)))
    rows = pa.table({"s": [{"b": 1, "c": 5}, {"b": 2, "c": None}], "l": [[1], None]})
    found = stats_of(tmp_path, rows, schema)
    assert (found.min_values, found.max_values) == ({"s": {"b": 1, "c": 5}}, {"s": {"b": 2, "c": 5}})
    assert found.null_count == {"s": {"b": 0, "c": 1}}


@pytest.mark.parametrize(
    ("keys", "has_bounds"),
    [
        ({}, False),
        ({"org.apache.spark.version": "3.5.0"}, True),
        ({"org.apache.spark.version": "10.0.0"}, True),
        ({"org.apache.spark.version": "2.4.0"}, False),
        ({"org.apache.spark.version": "new"}, False),
        ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, False),
        ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""}, False),
    ],
)
def test_foreign_bounds_are_those_of_current_spark(tmp_path: Path, keys: dict[str, str], has_bounds: bool) -> None:
    pq.write_table(pa.table({"a": [1, 2]}).replace_schema_metadata(keys), tmp_path / "f.parquet")
    stats = FooterStats(open_storage(str(tmp_path)), _config(StructType((StructField("a", LONG),))))
    found = stats.load_foreign("f.parquet")
    assert (found.num_records, dict(found.null_count)) == (2, {"a": 0})
    assert (dict(found.min_values), dict(found.max_values)) == (({"a": 1}, {"a": 2}) if has_bounds else ({}, {}))


def test_columns_are_found_at_given_positions(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [7, 8], "y": [1, 2]}), tmp_path / "f.parquet")
    stats = FooterStats(open_storage(str(tmp_path)), _config(StructType((StructField("a", LONG),))))
    found = stats.of_footer(pq.read_metadata(tmp_path / "f.parquet"), {"a": 1})
    assert (dict(found.min_values), dict(found.max_values)) == ({"a": 1}, {"a": 2})


def _described(folder: Path, schema: StructType, partitions: tuple[str, ...], *files: DataFile) -> NewFiles:
    return describe_files(open_storage(str(folder)), _config(schema, *partitions), files, ["a"])


def test_described_files_have_rows_values_and_measured_ranges(tmp_path: Path) -> None:
    schema = StructType((StructField("a", LONG), StructField("s", STRING), StructField("n", LONG)))
    for name, values in (("one", [5, 2]), ("two words", [9]), ("empty", []), ("nulls", [None])):
        pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), tmp_path / name)
    found = _described(
        tmp_path,
        schema,
        ("s", "n"),
        DataFile(path="one", size=10, modification_time=1, partition_values={"s": "x", "n": "01"}),
        DataFile(path="two words", size=20, modification_time=2, partition_values={"s": "", "n": None}),
        DataFile(path="empty", size=30, modification_time=3, partition_values={"s": "x", "n": "1"}),
        DataFile(path="nulls", size=40, modification_time=4, partition_values={"s": None, "n": "1"}),
    )
    assert [(each.path, dict(each.partition_values), each.size, each.modification_time) for each in found.adds] == [
        ("one", {"s": "x", "n": "1"}, 10, 1),
        ("two%20words", {"s": None, "n": None}, 20, 2),
        ("nulls", {"s": None, "n": "1"}, 40, 4),
    ]
    assert (found.num_files, found.num_rows, found.num_bytes, found.empty) == (3, 4, 70, ("empty",))
    assert found.min_max_values == {"a": (2, 9)}
    assert found.files["path"].to_pylist() == ["one", "two words", "nulls"]


def test_two_writes_are_combined(tmp_path: Path) -> None:
    schema = StructType((StructField("a", LONG),))
    for name, values in (("one", [5, 2]), ("two", [9]), ("empty", [])):
        pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), tmp_path / name)
    files = [DataFile(path=name, size=10, modification_time=1, partition_values={}) for name in ("one", "two", "empty")]
    one, two = _described(tmp_path, schema, (), files[0]), _described(tmp_path, schema, (), *files[1:])
    both = one.with_others(two)
    assert [each.path for each in both.adds] == ["one", "two"]
    assert (both.num_rows, both.num_bytes, both.empty, both.min_max_values) == (3, 20, ("empty",), {"a": (2, 9)})
    none = _described(tmp_path, schema, (), files[2])
    assert none.with_others(one).min_max_values == {"a": (2, 5)}
    assert one.with_others(none).min_max_values == {"a": (2, 5)}


def _new(*paths: str) -> NewFiles:
    adds = tuple(add(path) for path in paths)
    return NewFiles(adds=adds, num_rows=3, num_bytes=100, min_max_values={})


def test_new_files_and_change_files_are_staged() -> None:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableChangeDataFeed": "true"}))
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.DML))
    assert transaction.is_empty
    transaction.add_files(_new("a", "b"))
    assert not transaction.is_empty
    transaction.add_change_files(_new("_change_data/c"))
    committed = transaction.commit()
    assert committed.adds.column("path").to_pylist() == ["a", "b"]
    assert b'{"cdc":{"path":"_change_data/c",' in storage.read_bytes("_delta_log/00000000000000000001.json")


def test_files_with_deleted_rows_are_staged() -> None:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableDeletionVectors": "true"}))
    append(storage, "a", "b")
    snapshot = Snapshot.load(storage)
    transaction = Transaction.on(snapshot, describe(TableOperation.DML))
    vector = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv="x", size_in_bytes=1, cardinality=1)
    changed = _new("a").adds[0]
    staged = NewFiles(
        adds=(add(changed.path, deletion_vector=vector),), num_rows=0, num_bytes=0, min_max_values={}
    ).files
    transaction.add_deleted_rows(FilesWithDeletedRows(files=staged, num_updated=0, rows={}, written=()))
    assert not transaction.is_empty
    empty = staged.slice(0, 0)
    other = Transaction.on(snapshot, describe(TableOperation.DML))
    other.add_deleted_rows(FilesWithDeletedRows(files=empty, num_updated=0, rows={}, written=()))
    assert other.is_empty


def test_loaded_files_are_noted_with_the_commit(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    create(storage)
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.APPEND))
    loaded = pa.table(dict(zip(LOADED.names, [["/in/1"], [1], [2]], strict=True)), LOADED)
    (segment,) = transaction.note_loads(loaded)
    transaction.commit()
    snapshot = Snapshot.load(storage)
    assert storage.exists(segment)
    (number,) = (each.version for each in snapshot.set_transactions.values())
    assert f"{number:016x}" in segment
    assert b'"numLoadedFiles":"1","numSkippedCorruptFiles":"0"' in storage.read_bytes(
        "_delta_log/00000000000000000001.json"
    )


def test_table_that_is_created_has_no_version_yet() -> None:
    assert Transaction.create(DictStorage(), describe(TableOperation.METADATA)).read_version == -1
