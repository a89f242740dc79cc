"""The file of distinct counts beside a log: what is written is read, and what is no such file counts nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from engine.delta.snapshot.column_statistics import STATISTICS_NAME, read_distinct_counts, write_distinct_counts
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.pruning.distinct_counts import DistinctCount
from engine.storage.errors import LogPathNotAllowed


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


def test_other_readers_and_clean_up_pass_over_it(table: Snapshot) -> None:
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
