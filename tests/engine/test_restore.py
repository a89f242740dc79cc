"""RESTORE: the next version is what an older one was: rows, definition and row ids; what was given out stays so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of

pytestmark = pytest.mark.spark

VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED, TRACKED = "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'"
MAPPED = "'delta.columnMapping.mode' = 'name'"


def made(session: LakeSession, properties: str = "'a' = 'b'", clauses: str = "") -> None:
    """Version 0 is empty, 1 and 2 add rows, 3 takes one of each away."""
    run(session, "DROP TABLE IF EXISTS back")
    run(session, f"CREATE TABLE back (k INT, p INT) {clauses} TBLPROPERTIES ({properties})")
    run(session, "INSERT INTO back SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 0), (2, 0), (3, 0)")
    run(session, "INSERT INTO back SELECT /*+ COALESCE(1) */ * FROM VALUES (4, 1), (5, 1), (6, 1)")
    run(session, "DELETE FROM back WHERE k IN (1, 4)")


def keys(session: LakeSession, of: str = "back") -> list[int]:
    return [k for (k,) in rows(session, f"SELECT k FROM {of} ORDER BY k")]


LAYOUTS = {
    "plain": ("'a' = 'b'", ""),
    "vectors": (VECTORS, ""),
    "vectors and ids and feed, partitioned": (f"{VECTORS}, {TRACKED}, {FEED}", "PARTITIONED BY (p)"),
    "by name, ids": (f"{MAPPED}, {TRACKED}", ""),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_and_their_ids_come_back(session: LakeSession, lake: Path, layout: str) -> None:
    properties, clauses = LAYOUTS[layout]
    made(session, properties, clauses)
    with_ids = TRACKED in properties
    columns = "k, p, _metadata.row_id, _metadata.row_commit_version" if with_ids else "k, p"
    before = {version: _rows(session, columns, version) for version in (1, 2, 3)}
    run(session, "RESTORE TABLE back TO VERSION AS OF 2")
    assert _rows(session, columns) == before[2]
    run(session, "RESTORE back VERSION AS OF 3")
    assert _rows(session, columns) == before[3]
    run(session, "RESTORE back TO VERSION AS OF 1")
    assert _rows(session, columns) == before[1]
    run(session, "INSERT INTO back VALUES (9, 9)")
    assert keys(session) == [1, 2, 3, 9]
    if with_ids:
        ids = [each for (each,) in rows(session, "SELECT _metadata.row_id FROM back")]
        assert len(set(ids)) == len(ids) and max(ids) > max(row[2] for row in before[2])
    if FEED in properties:
        changes = rows(session, "SELECT k, _change_type FROM table_changes('back', 4, 4) ORDER BY k")
        assert changes == [(1, "insert"), (4, "insert")]
    if MAPPED not in properties and not with_ids:
        assert sorted(DeltaTable(lake / "default/back").to_pyarrow_table().column("k").to_pylist()) == [1, 2, 3, 9]


def _rows(session: LakeSession, columns: str, version: int | None = None) -> list[tuple[Any, ...]]:
    at = "" if version is None else f"VERSION AS OF {version}"
    return rows(session, f"SELECT {columns} FROM back {at} ORDER BY k")


def test_it_answers_and_records_what_it_did(session: LakeSession, lake: Path) -> None:
    made(session)
    sizes = {
        add["path"]: add["size"] for v in (1, 2, 3) for line in actions(lake, "back", v) if (add := line.get("add"))
    }
    older, newer = (load_snapshot(str(lake / "default/back"), version) for version in (2, 3))
    answer = table(session, f"RESTORE '{lake}/default/back' TO VERSION AS OF 2")
    assert answer.to_pylist() == [
        {
            "table_size_after_restore": older.size_bytes,
            "num_of_files_after_restore": 2,
            "num_removed_files": newer.num_files,
            "num_restored_files": 2,
            "removed_files_size": newer.size_bytes,
            "restored_files_size": older.size_bytes,
        }
    ]
    assert sum(sizes.values()) == older.size_bytes + newer.size_bytes
    (info,) = (line["commitInfo"] for line in actions(lake, "back", 4) if "commitInfo" in line)
    assert (info["operation"], info["operationParameters"]) == ("RESTORE", {"version": "2", "timestamp": None})
    assert info["operationMetrics"]["numRestoredFiles"] == "2" and not info["isBlindAppend"]
    assert all(line["add"]["dataChange"] for line in actions(lake, "back", 4) if "add" in line)


def test_a_time_names_the_version_that_was_current(session: LakeSession, lake: Path) -> None:
    made(session)
    for version in range(4):
        path = lake / f"default/back/_delta_log/{version:020}.json"
        os.utime(path, (1_750_000_000 + version * 3600,) * 2)
    run(session, "SET spark.sql.session.timeZone = UTC")
    run(session, "RESTORE TABLE back TO TIMESTAMP AS OF '2025-06-15 16:30:00'")
    assert keys(session) == [1, 2, 3]
    for when, condition in (
        ("'2025-06-15 00:00:00'", "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER"),
        ("current_timestamp() + INTERVAL 1 DAY", "DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER"),
    ):
        assert refuse(session, f"RESTORE TABLE back TO TIMESTAMP AS OF {when}").condition == condition


def test_the_definition_comes_back_and_the_protocol_stays(session: LakeSession, lake: Path) -> None:
    run(session, "DROP TABLE IF EXISTS back")
    run(session, "CREATE TABLE back (k INT, old STRING) CLUSTER BY (k) TBLPROPERTIES ('x' = '1')")
    run(session, "INSERT INTO back VALUES (1, 'a')")
    for change in (
        f"SET TBLPROPERTIES ('x' = '2', {MAPPED}, {VECTORS})",
        "RENAME COLUMN old TO renamed",
        "DROP COLUMN renamed",
        "ADD COLUMN added DATE",
        "CLUSTER BY NONE",
    ):
        run(session, f"ALTER TABLE back {change}")
    run(session, "INSERT INTO back VALUES (2, current_date())")
    mapped = version_of_log(lake)
    run(session, "RESTORE TABLE back TO VERSION AS OF 1")
    assert rows(session, "SELECT * FROM back") == [(1, "a")]
    assert rows(session, "SHOW TBLPROPERTIES back ('x')")[0][-1] == "1"
    detail = table(session, "DESCRIBE DETAIL back").to_pylist()[0]
    assert detail["clusteringColumns"] == ["k"]
    assert {"deletionVectors", "columnMapping"} <= set(detail["tableFeatures"])
    run(session, f"RESTORE TABLE back TO VERSION AS OF {mapped}")
    assert [k for k, _ in rows(session, "SELECT * FROM back ORDER BY k")] == [1, 2]
    assert table(session, "DESCRIBE DETAIL back").to_pylist()[0]["clusteringColumns"] == []
    run(session, "ALTER TABLE back ADD COLUMN again STRING")
    assert [row[2] for row in rows(session, "SELECT * FROM back")] == [None, None]


def version_of_log(lake: Path) -> int:
    return max(int(path.stem) for path in (lake / "default/back/_delta_log").glob("*.json"))


@pytest.mark.parametrize("step", [2, -2])
def test_values_that_were_given_out_are_not_given_again(session: LakeSession, step: int) -> None:
    run(session, "DROP TABLE IF EXISTS back")
    run(session, f"CREATE TABLE back (k BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY {step}), p INT)")
    for p in range(3):
        run(session, f"INSERT INTO back (p) VALUES ({p})")
    run(session, "RESTORE TABLE back TO VERSION AS OF 1")
    run(session, "INSERT INTO back (p) VALUES (9)")
    given = [k for k, _ in rows(session, "SELECT k, p FROM back ORDER BY p")]
    assert given == [1, 1 + 3 * step]
    run(session, "RESTORE TABLE back TO VERSION AS OF 0")
    run(session, "INSERT INTO back (p) VALUES (9)")
    assert keys(session) == [1 + 4 * step]


def test_dropped_features_come_back_where_the_rows_need_them(session: LakeSession) -> None:
    made(session, VECTORS)
    run(session, "ALTER TABLE back DROP FEATURE deletionVectors")
    run(session, "INSERT INTO back VALUES (7, 7)")
    run(session, "RESTORE TABLE back TO VERSION AS OF 3")
    assert keys(session) == [2, 3, 5, 6]


REFUSALS = {
    "TO VERSION AS OF 3": "DELTA_CANNOT_RESTORE_TABLE_VERSION",
    "TO VERSION AS OF 17": "DELTA_CANNOT_RESTORE_TABLE_VERSION",
    "TO VERSION AS OF x": "INVALID_TIME_TRAVEL_SPEC",
    "TO 3": "PARSE_SYNTAX_ERROR",
    "": "PARSE_SYNTAX_ERROR",
}


def test_refusals(session: LakeSession, lake: Path) -> None:
    made(session)
    for clauses, condition in REFUSALS.items():
        error = refuse(session, f"RESTORE TABLE back {clauses}")
        assert error.condition == condition or (condition.startswith("INVALID") and "VERSION" in error.message), clauses
    (gone,) = {line["remove"]["path"] for line in actions(lake, "back", 3) if "remove" in line} - {
        line["add"]["path"] for line in actions(lake, "back", 2) if "add" in line
    }
    os.unlink(lake / "default/back" / gone)
    missing = refuse(session, "RESTORE TABLE back TO VERSION AS OF 1")
    assert missing.condition == "RESTORE_FILES_MISSING" and gone in missing.message
    run(session, "ALTER TABLE back SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    assert refuse(session, "RESTORE TABLE back TO VERSION AS OF 2").condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert version_of(lake, "back") == 4
    run(session, "CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT 1")
    assert refuse(session, "RESTORE TABLE seen TO VERSION AS OF 1").condition == "EXPECT_TABLE_NOT_VIEW"


def test_another_commit_in_between_is_a_conflict(session: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    made(session)
    commit = Transaction.commit

    def late(self: Transaction, *args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        run(session, "INSERT INTO back VALUES (8, 8)")
        return commit(self, *args, **options)

    monkeypatch.setattr(Transaction, "commit", late)
    error = refuse(session, "RESTORE TABLE back TO VERSION AS OF 2")
    assert error.condition == "DELTA_CONCURRENT_WRITE"
    assert keys(session) == [2, 3, 5, 6, 8]
