"""Merge-on-read: position deletes in v2, deletion vectors in v3; read by every reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.conditions import IcebergRowsNotChangeable
from engine.iceberg.writing.new_files import encoded_map
from engine.iceberg.writing.position_deletes import IcebergPositionDeletes
from engine.tables.operations import TableOperation
from engine.tables.scan import ComposedScan, Scan
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.writing.commits import commit, entries, ids_by_all, loaded, staged

_SPEC = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "id_trunc", "transform": "truncate[10]"}]}


def _table(folder: Path, version: int, *extra: pa.Table) -> HandmadeTable:
    """Creates three files with ten rows each, in separate partitions."""
    table = HandmadeTable(folder, version=version, specs=[_SPEC], partition=((1000, "id_trunc", "long"),))
    table.write()
    manifests = staged(table, 1001)
    files = [table.data({"id": list(range(start, start + 10))}) for start in (0, 10, 20)]
    manifests.add(entries(files, values={"p1000": pa.array([0, 10, 20])}))
    commit(table, manifests)
    return table


def _mark(table: HandmadeTable, snapshot_id: int, rows: dict[int, list[int]]) -> IcebergPositionDeletes:
    """Deletes rows in the newest snapshot's files, by the files' positions in it."""
    snapshot = loaded(table)
    files = snapshot.files.take(pa.array(list(rows)))
    with_deletes = snapshot.row_files.mark(files, [np.array(each, np.int64) for each in rows.values()])
    assert isinstance(with_deletes, IcebergPositionDeletes)
    manifests = staged(table, snapshot_id)
    manifests.add(with_deletes.added)
    manifests.remove(with_deletes.removed)
    assert commit(table, manifests, "delete").missing == ()
    return with_deletes


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_are_hidden_from_every_reader(tmp_path: Path, version: int) -> None:
    table = _table(tmp_path, version)
    first = _mark(table, 1002, {0: [0, 9], 2: [5]})
    assert (first.num_updated, first.removed.num_rows, len(first.written)) == (0, 0, 2 if version == 2 else 1)
    left = [id for id in range(30) if id not in (0, 9, 25)]
    assert ids_by_all(table) == [left] * 3

    second = _mark(table, 1003, {0: [3], 1: [7]})
    assert (second.num_updated, second.removed.num_rows) == (1, 1)
    assert {path: rows.tolist() for path, rows in second.rows.items()} == {
        second.files["path"][0].as_py(): [3],
        second.files["path"][1].as_py(): [7],
    }
    left = [id for id in left if id not in (3, 17)]
    assert ids_by_all(table) == [left] * 3
    snapshot = loaded(table)
    assert snapshot.row_files.live_rows(snapshot.files).to_pylist() == [7, 9, 9]
    deletes = snapshot.live_files.deletes
    assert sorted(deletes["record_count"].to_pylist()) == [1, 1, 3]
    assert deletes["partition"].to_pylist() != [0, 0, 0]
    name = "total-position-deletes"
    assert table.snapshots[-1]["summary"][name] == "5"
    assert table.snapshots[-1]["summary"]["added-dvs" if version == 3 else "added-position-delete-files"] == "2"


def test_files_of_positions_are_sorted_and_have_field_ids(tmp_path: Path) -> None:
    table = _table(tmp_path, 2)
    with_deletes = _mark(table, 1002, {1: [8, 2]} | {0: [1]})
    found = {}
    for name in with_deletes.written:
        rows = pq.read_table(tmp_path / name)
        assert [field.metadata[b"PARQUET:field_id"] for field in rows.schema] == [b"2147483546", b"2147483545"]
        assert not any(field.nullable for field in rows.schema)
        found[rows["file_path"][0].as_py()] = rows["pos"].to_pylist()
    names = loaded(table).live_files.data["file_path"].to_pylist()
    assert found == {names[1]: [2, 8], names[0]: [1]}
    assert with_deletes.added["referenced_data_file"].to_pylist() == [names[1], names[0]]


def test_a_vector_takes_the_place_of_positions_after_an_upgrade(tmp_path: Path) -> None:
    """A position delete file for this data file only is removed; one for several files stays, and does not count."""
    table = _table(tmp_path, 2)
    names = loaded(table).live_files.data["file_path"].to_pylist()
    _mark(table, 1002, {0: [0]})
    several = table.positions([names[1], f"{names[1]}.other"], [1, 2])
    manifests = staged(table, 1003)
    manifests.add(entries([several], values={"p1000": pa.array([10])}))
    commit(table, manifests, "delete")
    left = [id for id in range(1, 30) if id != 11]
    assert ids_by_all(table)[0] == left
    table.version = 3
    table.extra["next-row-id"] = 0
    table.write()
    with_deletes = _mark(table, 1004, {0: [5], 1: [6]})
    assert with_deletes.removed.num_rows == 1
    left = [id for id in left if id not in (5, 16)]
    assert ids_by_all(table) == [left] * 3
    vectors = {row["referenced_data_file"]: row["record_count"] for row in with_deletes.added.to_pylist()}
    assert vectors == {names[0]: 2, names[1]: 2}


def test_rows_of_a_table_with_equality_deletes_are_not_counted(tmp_path: Path) -> None:
    table = HandmadeTable(tmp_path)
    table.commit(table.data({"id": [1, 2]}))
    table.commit(table.equality({"id": [1]}, [1]), operation="delete")
    snapshot = loaded(table)
    assert snapshot.row_files.live_rows(snapshot.files).to_pylist() == [None]


def test_equality_deletes_become_position_deletes(tmp_path: Path) -> None:
    table = HandmadeTable(tmp_path)
    table.commit(table.data({"id": [1, 2, 3, 4]}))
    assert loaded(table).unresolved_deletes("deleted", "t") is None
    table.commit(table.equality({"id": [2]}, [1]), operation="delete")
    snapshot = loaded(table)
    unresolved = snapshot.unresolved_deletes("deleted", "t")
    assert unresolved is not None and isinstance(snapshot.scan("s", "t"), ComposedScan)
    places = [part.scan for part in unresolved.places.parts if part.scan.row_tracking is not None]
    assert [scan.files["base_row_id"].to_pylist() for scan in places] == [[0]]
    with_deletes = unresolved.with_deletes({0: np.array([1])})
    assert isinstance(with_deletes.scan("s", "t"), Scan) and with_deletes.unresolved_deletes("deleted", "t") is None
    with_deletes.ensure_supported(TableOperation.DML)
    assert with_deletes.row_files.live_rows(with_deletes.files).to_pylist() == [3]
    found = with_deletes.row_files.mark(with_deletes.files, [np.array([3])])
    assert isinstance(found, IcebergPositionDeletes)
    (entry,) = found.added.to_pylist()
    assert entry["record_count"] == 2


def test_deletes_older_than_all_files_delete_nothing(tmp_path: Path) -> None:
    table = HandmadeTable(tmp_path)
    table.commit(table.equality({"id": [2]}, [1]), operation="delete")
    table.commit(table.data({"id": [1, 2]}))
    snapshot = loaded(table)
    assert snapshot.unresolved_deletes("deleted", "t") is None
    assert isinstance(snapshot.scan("s", "t"), Scan)


def test_files_of_several_partitionings_are_read_alike_where_all_have_the_column(tmp_path: Path) -> None:
    """By their metrics; otherwise a column may exist only as the partition value."""
    identity = {"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1001, "name": "id", "transform": "identity"}]}
    for folder, counted in (("known", True), ("unknown", False)):
        table = HandmadeTable(tmp_path / folder, specs=[{"spec-id": 0, "fields": []}, identity])
        table.write()
        manifests = staged(table, 1001)
        counts = {"value_counts": encoded_map({1: 1})} if counted else {}
        manifests.add(entries([table.data({"id": [7]}) | counts], 1, {"p1001": pa.array([7])}))
        manifests.add(entries([table.data({"id": [8, 9]})], 0))
        commit(table, manifests)
        assert isinstance(loaded(table).scan("s", "t"), Scan) == counted
        if counted:
            loaded(table).ensure_supported(TableOperation.DML)
        else:
            with pytest.raises(IcebergRowsNotChangeable):
                loaded(table).ensure_supported(TableOperation.DML)
