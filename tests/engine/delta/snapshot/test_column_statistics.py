"""The file with distinct counts next to a log: round trips, and malformed files that count nothing."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.conditions import ConcurrentDrop, LogPathNotAllowed, StatisticsNotWritten
from engine.concurrency.cancel import CancelToken
from engine.concurrency.table_locks import TableLocks
from engine.delta.snapshot.column_statistics import STATISTICS_NAME, read_distinct_counts, write_distinct_counts
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.formats.delta.writing.repairs import keep_counts
from engine.pruning.estimates import DistinctCount
from tests.interleave.storages import Interposed


@pytest.fixture
def table(tmp_path: Path) -> Snapshot:
    write_deltalake(tmp_path / "t", pa.table({"a": [1, 2], "b": ["x", "y"]}))
    return load_snapshot(str(tmp_path / "t"))


def read(table: Snapshot) -> dict[str, tuple[int, int]]:
    counts = read_distinct_counts(table.storage, table.config).columns
    return {name: (count.distinct, count.rows) for name, count in counts.items()}


def test_columns_are_counted_one_after_the_other(table: Snapshot) -> None:
    assert read(table) == {}
    write_distinct_counts(table.storage, table.config, 0, {"a": DistinctCount(2, 2)})
    write_distinct_counts(table.storage, table.config, 0, {"b": DistinctCount(1, 2), "gone": DistinctCount(1, 1)})
    assert read(table) == {"a": (2, 2), "b": (1, 2)}
    write_distinct_counts(table.storage, table.config, 0, {"a": DistinctCount(1, 9)})
    assert read(table) == {"a": (1, 9), "b": (1, 2)}


def test_distinct_counts_survive_other_readers_and_cleanup(table: Snapshot) -> None:
    write_distinct_counts(table.storage, table.config, 0, {"a": DistinctCount(2, 2)})
    other = DeltaTable(table.table_root)
    other.create_checkpoint()
    other.cleanup_metadata()
    other.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert other.to_pyarrow_table().num_rows == 2 and read(table) == {"a": (2, 2)}
    write_deltalake(table.table_root, pa.table({"a": [3], "b": ["z"]}), mode="append")
    assert table.advance().num_files == 2 and table.advance().distinct_counts.columns == {"a": DistinctCount(2, 2)}


def test_a_link_to_elsewhere_is_neither_read_nor_written(table: Snapshot, tmp_path: Path) -> None:
    write_distinct_counts(table.storage, table.config, 0, {"a": DistinctCount(2, 2)})
    folder = Path(table.table_root, STATISTICS_NAME).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert read(table) == {}
    with pytest.raises(LogPathNotAllowed):
        write_distinct_counts(table.storage, table.config, 0, {"a": DistinctCount(1, 1)})


@pytest.mark.parametrize("step", ["stat", "write"])
def test_a_table_that_was_dropped_meanwhile_is_not_made_again(table: Snapshot, step: str) -> None:
    folder = Path(table.table_root)

    def dropping(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method == step:
            shutil.rmtree(folder, ignore_errors=True)
        return do()

    watched = Snapshot.load(Interposed(table.storage, lambda _method, _name, do: do()))
    assert isinstance(watched.storage, Interposed)
    watched.storage.around = dropping
    with pytest.raises(ConcurrentDrop):
        keep_counts(watched, {"a": DistinctCount(2, 2)}, TableLocks(), CancelToken())
    assert not any(folder.glob("*"))


def test_counts_that_cannot_be_written_are_named(table: Snapshot) -> None:
    Path(table.table_root, STATISTICS_NAME).parent.write_text("no folder")
    with pytest.raises(StatisticsNotWritten, match="distinct value counts of"):
        keep_counts(table, {"a": DistinctCount(2, 2)}, TableLocks(), CancelToken())
    assert read(table) == {}


def test_two_that_count_at_once_keep_both(table: Snapshot) -> None:
    def slowly(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method == "write":
            time.sleep(0.1)
        return do()

    watched, locks = Snapshot.load(Interposed(table.storage, slowly)), TableLocks()
    with ThreadPoolExecutor(2) as threads:
        for each in "ab":
            threads.submit(keep_counts, watched, {each: DistinctCount(2, 2)}, locks, CancelToken())
    assert read(table) == {"a": (2, 2), "b": (2, 2)}


@pytest.mark.parametrize(
    ("column", "is_counted"),
    [
        ({"type": "bigint", "distinct": 2, "rows": 2}, True),
        ({"type": "bigint", "distinct": 0, "rows": 0}, True),
        ({"type": "bigint", "distinct": 3, "rows": 2}, False),
        ({"type": "bigint", "distinct": -1, "rows": 2}, False),
        ({"type": "bigint", "distinct": 2.0, "rows": 2}, False),
        ({"type": "bigint", "distinct": 2}, False),
        ({"type": "string", "distinct": 2, "rows": 2}, False),
        ({"type": "array<int>", "distinct": 2, "rows": 2}, False),
        ([], False),
    ],
    ids=str,
)
def test_only_counts_of_the_columns_type_are_read(table: Snapshot, column: object, is_counted: bool) -> None:
    value = {"tableId": table.config.metadata.id, "columns": {"a": column, "gone": column}}
    table.storage.write(STATISTICS_NAME, json.dumps(value).encode())
    assert list(read(table)) == (["a"] if is_counted else [])


@pytest.mark.parametrize("value", ["{", "[]", '{"tableId": "other", "columns": {}}', '{"columns": 5}'])
def test_file_of_another_form_or_table_counts_nothing(table: Snapshot, value: str) -> None:
    table.storage.write(STATISTICS_NAME, value.encode())
    assert read(table) == {}


def test_counts_without_columns_are_empty(table: Snapshot) -> None:
    table.storage.write(STATISTICS_NAME, json.dumps({"tableId": table.config.metadata.id, "columns": 5}).encode())
    assert read(table) == {}
