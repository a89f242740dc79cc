"""Two row-level writers: committed changes, and if the other's deletes may follow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest

from catalog.conditions import IcebergConflict
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.iceberg.writing.new_files import encoded_map
from engine.pruning.predicates import Column, Compare, Literal, Operator
from engine.storage.storage import open_storage
from engine.tables.operations import CommitDescription, TableOperation
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.writing.commits import commit, entries, staged

FORMAT = IcebergFormat(open_storage, 1 << 24)
BELOW_FIVE = Compare(Operator.LESS, Column(("id",)), Literal.of(5))


def _table(folder: Path, version: int, level: str = "serializable") -> HandmadeTable:
    """Two files: 0 to 9, and 10 to 19."""
    table = HandmadeTable(folder, version=version, properties={"write.delete.isolation-level": level})
    table.write()
    manifests = staged(table, 1001)
    manifests.add(entries([table.data({"id": list(range(start, start + 10))}) for start in (0, 10)]))
    commit(table, manifests)
    return table


def _begin(table: HandmadeTable, name: str = "DELETE") -> tuple[IcebergSnapshot, IcebergTransaction]:
    snapshot = FORMAT.load(str(table.folder))
    return snapshot, FORMAT.begin(snapshot, CommitDescription(name=name, operation=TableOperation.DML), "t")


def _marking(table: HandmadeTable, file: int, row: int) -> IcebergTransaction:
    """DELETE WHERE id < 5 that has found one row."""
    snapshot, transaction = _begin(table)
    files = snapshot.files.slice(file, 1)
    with_deletes = snapshot.row_files.mark(files, [np.array([row])])
    transaction.depend_on(snapshot.row_files.predicate(BELOW_FIVE, UTC), files["path"])
    transaction.depend_on_rows_alone(with_deletes.rows)
    transaction.stage_removes(files)
    transaction.add_deleted_rows(with_deletes)
    return transaction


def _removing(table: HandmadeTable, file: int) -> IcebergTransaction:
    snapshot, transaction = _begin(table)
    transaction.stage_removes(snapshot.files.slice(file, 1))
    return transaction


def _adding(table: HandmadeTable, *ids: int) -> IcebergTransaction:
    _, transaction = _begin(table, "WRITE")
    table.files += 10
    file = table.data({"id": list(ids)})
    low, high = (encoded_map({1: each.to_bytes(8, "little")}) for each in (min(ids), max(ids)))
    bounds = {"lower_bounds": low, "upper_bounds": high}
    transaction.add_entries(entries([file | bounds]))
    return transaction


CASES: list[tuple[str, Callable[[HandmadeTable], IcebergTransaction], str, bool]] = [
    ("marks of the same file", lambda table: _marking(table, 0, 7), "serializable", False),
    ("marks of another file", lambda table: _marking(table, 1, 7), "serializable", True),
    ("the file goes", lambda table: _removing(table, 0), "serializable", False),
    ("another file goes", lambda table: _removing(table, 1), "serializable", True),
    ("rows that are not meant", lambda table: _adding(table, 30, 31), "serializable", True),
    ("rows that are meant", lambda table: _adding(table, 1, 31), "serializable", False),
    ("rows that are meant, snapshot isolation", lambda table: _adding(table, 1, 31), "snapshot", True),
    ("marks, snapshot isolation", lambda table: _marking(table, 0, 7), "snapshot", False),
]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("other", "level", "follows"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_position_deletes_after_another_commit(
    tmp_path: Path, version: int, other: Callable[[HandmadeTable], IcebergTransaction], level: str, follows: bool
) -> None:
    table = _table(tmp_path, version, level)
    late = _marking(table, 0, 3)
    other(table).commit()
    between = FORMAT.load(str(tmp_path))
    if not follows:
        with pytest.raises(IcebergConflict):
            late.commit()
        assert FORMAT.load(str(tmp_path)).version == between.version
        return
    late.commit()
    snapshot = FORMAT.load(str(tmp_path))
    assert snapshot.info is not None and snapshot.info.operation == "delete"
    gone = snapshot.row_files.deleted_rows(snapshot.files)
    names = snapshot.files["path"].to_pylist()
    assert gone[names.index("data/00001.parquet")].tolist() == [3]
    assert set(between.files["path"].to_pylist()) == set(names)
