"""DELETE and UPDATE by values from large queries: the same rows, and files without any of the values are pruned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import engine.execution.writes.dml.queried_keys as queried_keys
import engine.execution.writes.dml.source_keys as source_keys
from engine.execution.writes.matched_rows import find_rows
from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

FILES = 6
CASES = [
    # condition, its keys, number of files read (None: all)
    ("k IN (SELECT id FROM wanted)", {4, 31}, 2),
    ("t.k IN (SELECT w.id FROM wanted AS w) AND v < 30", {4}, 1),
    ("k IN (SELECT CAST(100 * rand() AS INT) DIV 100 * 7 + 12 FROM wanted)", {12}, 1),
    ("k IN (SELECT id FROM wanted WHERE id > 1000)", set(), 0),
    ("k IN (SELECT id FROM wanted WHERE wanted.id = v)", {4, 31}, None),
    ("k IN (SELECT id FROM wanted WHERE id < bound)", {4}, None),
    ("k IN (SELECT max(k) FROM t)", {59}, 1),
    ("k IN (SELECT string(id) FROM wanted)", {4, 31}, None),
    ("k IN (SELECT id FROM wanted LIMIT 1) AND k IN (SELECT * FROM wanted)", None, None),
]


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Lowers the limits to tables with few files and queries of any size."""
    found: list[int] = []

    def noted(*args: Any, **options: Any) -> Any:
        rows = find_rows(*args, **options)
        found.append(len(rows.files))
        return rows

    monkeypatch.setattr(queried_keys, "find_rows", noted)
    monkeypatch.setattr(queried_keys, "_LARGE_BYTES", -1)
    monkeypatch.setattr(source_keys, "FILES_MIN", 2)
    monkeypatch.setattr(queried_keys, "FILES_MIN", 2)
    yield found


def test_rows_are_those_of_the_query(session: LakeSession, files_read: list[int]) -> None:
    run(session, "CREATE TABLE wanted AS SELECT * FROM VALUES (4), (31), (NULL), (900) AS v(id)")
    run(session, "CREATE TABLE many (k INT, v INT) PARTITIONED BY (p INT) TBLPROPERTIES ('a' = 'b')")
    run(session, f"INSERT INTO many SELECT id, id, id DIV 10 FROM range({FILES * 10})")
    run(session, "DECLARE OR REPLACE VARIABLE bound INT DEFAULT 10")
    run(session, "SET spark.sql.autoBroadcastJoinThreshold = -1")
    for condition, keys, num_files in CASES:
        run(session, "CREATE OR REPLACE TABLE t SHALLOW CLONE many")
        count = run(session, f"UPDATE t SET v = -1 WHERE {condition}")
        changed = {k for (k,) in rows(session, "SELECT k FROM t WHERE v = -1")}
        assert len(changed) == count and (changed == keys if keys is not None else len(changed) <= 1), condition
        assert num_files is None or files_read[-1] == num_files, (condition, files_read)
        run(session, "CREATE OR REPLACE TABLE t SHALLOW CLONE many")
        assert run(session, f"DELETE FROM t WHERE {condition}") == count or keys is None, condition
