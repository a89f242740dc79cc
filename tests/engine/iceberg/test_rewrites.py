"""rewrite_data_files, rewrite_position_delete_files, rewrite_manifests: the same rows, for every reader."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_row_changes import MODES, read_by_all
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark


def test_small_files_become_one_in_each_partition(session: LakeSession, lake: Path) -> None:
    properties = ", ".join(f"'{each}' = 'merge-on-read'" for each in MODES)
    run(
        session,
        "CREATE TABLE packed (id BIGINT, kind STRING) USING iceberg PARTITIONED BY (kind)"
        f" TBLPROPERTIES ('format-version' = '3', {properties})",
    )
    for start in (0, 10, 20):
        run(session, f"INSERT INTO packed SELECT id, IF(id % 2 = 0, 'a', '') FROM range({start}, {start} + 10)")
    run(session, "DELETE FROM packed WHERE id IN (3, 8, 21)")
    before = read_by_all(session, lake, "packed")
    ids = rows(session, "SELECT id, _metadata.row_id FROM packed")
    call = "CALL system.rewrite_data_files(table => 'packed', options => map('min-input-files', '2')"
    (answer,) = rows(session, f"{call}, where => \"kind = 'a'\")")
    assert (answer[0], answer[1], answer[3], answer[4]) == (3, 1, 0, 1)
    assert read_by_all(session, lake, "packed") == before
    assert rows(session, f"{call})")[0][:2] == (3, 1)
    assert rows(session, f"{call})")[0][:2] == (0, 0)
    assert read_by_all(session, lake, "packed") == before
    assert sorted(rows(session, "SELECT id, _metadata.row_id FROM packed")) == sorted(ids)
    assert rows(session, "SELECT count(*) FROM packed.delete_files") == [(0,)]
    operations = [each for (each,) in rows(session, "SELECT operation FROM packed.snapshots ORDER BY committed_at")]
    assert operations[-2:] == ["replace", "replace"]

    assert rows(session, "CALL system.rewrite_manifests('packed')")[0][1] == 1
    assert read_by_all(session, lake, "packed") == before
    unsorted = refuse(session, "CALL system.rewrite_data_files(table => 'packed', strategy => 'sort')")
    assert unsorted.condition == "INVALID_PARAMETER_VALUE.PROCEDURE"
    run(session, "ALTER TABLE packed WRITE ORDERED BY id")
    for order, order_id in (
        ("id DESC NULLS LAST", None),
        ("id ASC NULLS FIRST", 1),
        ("zorder(id, kind)", None),
        (None, 1),
    ):
        sort = "strategy => 'sort'" if order is None else f"strategy => 'sort', sort_order => '{order}'"
        assert rows(session, f"CALL system.rewrite_data_files(table => 'packed', {sort})")[0][0] >= 2
        assert rows(session, "SELECT DISTINCT sort_order_id FROM packed.files") == [(order_id,)]
        for (path,) in rows(session, "SELECT file_path FROM packed.files"):
            ids_of_file = pq.read_table(path.removeprefix("file://"), columns=["id"])["id"].to_pylist()
            if "zorder" not in str(order):
                assert ids_of_file == sorted(ids_of_file, reverse="DESC" in str(order)), order
    assert read_by_all(session, lake, "packed") == before
    for wrong in (
        "strategy => 'other'",
        "options => map('no-such', '1')",
        "where => 'id + 1 = 2'",
        "options => map('min-input-files', 'x')",
    ):
        error = refuse(session, f"CALL system.rewrite_data_files(table => 'packed', {wrong})")
        assert (error.condition, wrong) == ("INVALID_PARAMETER_VALUE.PROCEDURE", wrong)


def test_equality_deletes_are_applied(session: LakeSession, lake: Path) -> None:
    table = HandmadeTable(lake / "keyed")
    table.commit(table.data({"id": [1, 2, 3]}))
    table.commit(table.equality({"id": [2]}, [1]), operation="delete")
    table.commit(table.data({"id": [4]}))
    options = "options => map('delete-file-threshold', '1')"
    (answer,) = rows(session, f"CALL system.rewrite_data_files(table => 'keyed', {options})")
    assert (answer[0], answer[1], answer[4]) == (2, 1, 1)
    assert read_by_all(session, lake, "keyed") == [(1,), (3,), (4,)]
    run(session, "DELETE FROM keyed WHERE id = 1")
    assert read_by_all(session, lake, "keyed") == [(3,), (4,)]


def test_files_of_positions_are_put_together(session: LakeSession, lake: Path) -> None:
    table = HandmadeTable(lake / "positions")
    files = [table.data({"id": list(range(start, start + 5))}) for start in (0, 5)]
    table.commit(*files)
    paths = [each["file_path"] for each in files]
    table.commit(table.positions([paths[0], paths[1]], [0, 1]), operation="delete")
    table.commit(table.positions([paths[0], "file:///gone.parquet"], [2, 2]), operation="delete")
    call = "CALL system.rewrite_position_delete_files(table => 'positions')"
    assert rows(session, call)[0][:2] == (2, 2)
    assert read_by_all(session, lake, "positions") == sorted([(id,) for id in (1, 3, 4, 5, 7, 8, 9)], key=str)
    assert rows(session, call)[0][:2] == (0, 0)
