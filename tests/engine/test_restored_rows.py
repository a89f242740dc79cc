"""RESTORE with row ids, deletion vectors, column mapping: rows as before; ids and columns already given out are not
reused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run
from tests.samples import some

pytestmark = pytest.mark.spark

VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED, TRACKED = "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'"
MAPPED = "'delta.columnMapping.mode' = 'name'"


def made(session: LakeSession, properties: str = "'a' = 'b'", clauses: str = "") -> None:
    """Creates version 0, empty, 1 and 2, which add rows, and 3, which deletes a row in each."""
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


@pytest.mark.parametrize("layout", some(LAYOUTS, list(LAYOUTS)[2:]))
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
    if layout == "plain":
        assert sorted(DeltaTable(lake / "default/back").to_pyarrow_table().column("k").to_pylist()) == [1, 2, 3, 9]


def _rows(session: LakeSession, columns: str, version: int | None = None) -> list[tuple[Any, ...]]:
    at = "" if version is None else f"VERSION AS OF {version}"
    return rows(session, f"SELECT {columns} FROM back {at} ORDER BY k")


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


def test_restore_reenables_features_used_by_rows(session: LakeSession) -> None:
    made(session, VECTORS)
    run(session, "ALTER TABLE back DROP FEATURE deletionVectors")
    run(session, "INSERT INTO back VALUES (7, 7)")
    run(session, "RESTORE TABLE back TO VERSION AS OF 3")
    assert keys(session) == [2, 3, 5, 6]
