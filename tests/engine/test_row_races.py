"""Two concurrent row-level changes: which conflict, and what the loser does.

The other statement commits when ours has written its files and is about to commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.transaction import Transaction
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import rows, run
from tests.samples import with_slow

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("short_pauses")]

BOTH, APPEND, DELETE_READ = "both", "DELTA_CONCURRENT_APPEND", "DELTA_CONCURRENT_DELETE_READ"
UPSERT = (
    "MERGE INTO t USING (VALUES (1, 0), (100, 0)) AS s (k, v) ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
ADD_MISSING = "MERGE INTO t USING (VALUES (1, 0), (100, 0)) AS s (k, v) ON t.k = s.k WHEN NOT MATCHED THEN INSERT *"
REMOVE_LONE = (
    "MERGE INTO t USING (VALUES (19)) AS s (k) ON t.k = s.k WHEN NOT MATCHED BY SOURCE AND t.k > 17 THEN DELETE"
)
USING, ON = (
    "INSERT INTO t REPLACE USING (k) VALUES (1, 0), (100, 0)",
    "INSERT INTO t REPLACE ON t.k = s.k (SELECT * FROM VALUES (1, 0), (100, 0) AS s (k, v)) AS s",
)
WHERE = "INSERT INTO t REPLACE WHERE v = 7 VALUES (70, 7)"
# A file whose statistics rule nothing out.
OVERLAPPING = "INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES (0, 0), (500, 90)"

CASES = [
    # ours, the other's, our outcome with deletion vectors, and without (None: not tested)
    ("UPDATE t SET v = v + 1 WHERE k = 1", "DELETE FROM t WHERE k = 2", BOTH, APPEND),
    ("UPDATE t SET v = v + 1 WHERE k = 1", "UPDATE t SET v = v + 1 WHERE k = 1", APPEND, APPEND),
    ("UPDATE t SET v = v + 1 WHERE k = 1", "UPDATE t SET v = v + 1 WHERE k = 11", BOTH, BOTH),
    ("DELETE FROM t WHERE k = 1", "DELETE FROM t WHERE k = 1", DELETE_READ, DELETE_READ),
    ("DELETE FROM t WHERE v = 7", OVERLAPPING, BOTH, None),
    ("DELETE FROM t WHERE v = 7", "INSERT INTO t VALUES (50, 7)", APPEND, None),
    ("DELETE FROM t WHERE k IN (SELECT max(k) FROM t)", OVERLAPPING, APPEND, None),
    ("DELETE FROM t WHERE k = 1", "OPTIMIZE t", APPEND, None),
    (UPSERT, OVERLAPPING, BOTH, BOTH),
    (UPSERT, "INSERT INTO t VALUES (100, 5)", APPEND, None),
    (UPSERT, "DELETE FROM t WHERE k = 2", BOTH, APPEND),
    (UPSERT, "DELETE FROM t WHERE k = 1", DELETE_READ, None),
    (ADD_MISSING, OVERLAPPING, BOTH, None),
    (ADD_MISSING, "DELETE FROM t WHERE k = 1", DELETE_READ, DELETE_READ),
    (REMOVE_LONE, OVERLAPPING.replace("500", "16"), BOTH, None),
    (REMOVE_LONE, OVERLAPPING, APPEND, None),
    (REMOVE_LONE, "DELETE FROM t WHERE k = 17", BOTH, None),
    (USING, OVERLAPPING, BOTH, BOTH),
    (USING, "INSERT INTO t VALUES (100, 5)", APPEND, None),
    (USING, "DELETE FROM t WHERE k = 2", BOTH, None),
    (ON, OVERLAPPING, BOTH, None),
    (ON, "INSERT INTO t VALUES (100, 5)", APPEND, None),
    (WHERE, OVERLAPPING, BOTH, BOTH),
    (WHERE, "INSERT INTO t VALUES (50, 7)", APPEND, None),
    (WHERE, "DELETE FROM t WHERE k = 2", BOTH, None),
    ("INSERT INTO t SELECT count(*), 0 FROM t", OVERLAPPING, APPEND, None),
]
RUNS = [(ours, theirs, "vectors", expected) for ours, theirs, expected, _ in CASES] + [
    (ours, theirs, "plain", expected) for ours, theirs, _, expected in CASES if expected
]
# Conflicts are found as for an upsert in the same layout, and as for the same statement in the other layout.
SLOW = {
    n for n, (ours, _, table, expected) in enumerate(RUNS) if table == "plain" and expected == BOTH and ours != UPSERT
}


@pytest.fixture(scope="module")
def tables(engine: LakeEngine) -> None:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    for name, properties in (("plain", ""), ("vectors", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")):
        run(session, f"CREATE TABLE {name} (k INT, v INT) {properties}")
        for first in (1, 11):
            run(session, f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, id FROM range({first}, {first + 10})")
    session.close()


@pytest.fixture
def other(engine: LakeEngine, tables: None) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something done once, when the next statement has written its files and is about to commit."""
    commit = Transaction.commit

    def arrange(work: Callable[[], object]) -> None:
        waiting = [work]

        def commit_later(self: Transaction, *arguments: Any) -> Any:
            if waiting:
                waiting.pop()()
            return commit(self, *arguments)

        monkeypatch.setattr(Transaction, "commit", commit_later)

    return arrange


@pytest.mark.parametrize(("ours", "theirs", "table", "expected"), with_slow(RUNS, SLOW))
def test_conflicting_row_changes(
    session: LakeSession,
    other: LakeSession,
    before_commit: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    ours: str,
    theirs: str,
    table: str,
    expected: str,
) -> None:
    """If both commit, they leave the rows of a serial execution."""
    monkeypatch.setattr("engine.spark.execution_context.RetryPolicy", partial(RetryPolicy, runs_max=1))
    run(session, f"CREATE OR REPLACE TABLE t SHALLOW CLONE {table}")
    before_commit(lambda: run(other, theirs))
    try:
        run(session, ours)
    except SqlError as error:
        assert error.condition == expected
        assert "committed version" in error.full_message
        return
    assert expected == BOTH
    found = rows(session, "SELECT * FROM t ORDER BY k, v")
    run(session, f"CREATE OR REPLACE TABLE t SHALLOW CLONE {table}")
    run(session, theirs)
    run(session, ours)
    assert rows(session, "SELECT * FROM t ORDER BY k, v") == found


AGAIN = [
    ("UPDATE t SET v = v * 2 WHERE k = 1", "UPDATE t SET v = 5 WHERE k = 1", "k = 1", [(1, 10)]),
    (UPSERT, "INSERT INTO t VALUES (100, 5)", "k > 20", [(100, 0)]),
    ("DELETE FROM t WHERE k = 1", "OPTIMIZE t", "k < 3", [(2, 2)]),
    ("TRUNCATE TABLE t", "INSERT INTO t VALUES (100, 5)", "true", []),
    ("INSERT INTO t VALUES (50, 5)", "ALTER TABLE t SET TBLPROPERTIES ('owner' = 'x')", "k > 20", [(50, 5)]),
]


@pytest.mark.parametrize(("ours", "theirs", "where", "left"), AGAIN)
def test_a_statement_that_lost_is_run_again(
    session: LakeSession,
    other: LakeSession,
    before_commit: Callable[[Callable[[], object]], None],
    lake: Path,
    ours: str,
    theirs: str,
    where: str,
    left: list[tuple[int, int]],
) -> None:
    run(session, "CREATE OR REPLACE TABLE t SHALLOW CLONE vectors")
    before_commit(lambda: run(other, theirs))
    run(session, ours)
    assert rows(session, f"SELECT * FROM t WHERE {where}") == left
