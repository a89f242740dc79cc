"""Two writers that replace partitions: conflicts, and changes that commit one after the other.

A statement in conflict is not retried here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.tables.operations import CommitDescription, TableOperation
from tests.engine.lake_sessions import rows, run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("run_once", "short_pauses")]

DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic"


@pytest.fixture
def run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.spark.execution_context.RetryPolicy", partial(RetryPolicy, runs_max=1))


@pytest.fixture
def other(lake: Path, engine: LakeEngine, spark_driver: Any) -> Iterator[LakeSession]:
    """Yields a session in another server, which is not serialized with ours."""
    theirs = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = theirs.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something done once, when a statement has written its files and is about to commit."""
    commit = Transaction.commit

    def arrange(work: Callable[[], object]) -> None:
        waiting = [work]

        def commit_later(self: Transaction, *arguments: Any) -> Any:
            if waiting:
                waiting.pop()()
            return commit(self, *arguments)

        monkeypatch.setattr(Transaction, "commit", commit_later)

    return arrange


def outcome(
    session: LakeSession,
    other: LakeSession,
    before_commit: Callable[[Callable[[], object]], None],
    ours: str,
    theirs: str,
) -> str | list[tuple[Any, ...]]:
    """Returns our error condition, or the rows that both statements leave, if theirs commits before ours."""
    before_commit(lambda: run(other, theirs))
    try:
        run(session, ours)
    except SqlError as error:
        return error.condition
    return rows(session, "SELECT k, CAST(d AS STRING) FROM t ORDER BY k, d NULLS LAST")


CASES = [
    # ours, the other's, the rows that both leave or our error
    (
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (7, 7)",
        "INSERT OVERWRITE t PARTITION (d = '2024-01-02') VALUES (8, 8)",
        [(3, None), (7, "2024-01-01"), (8, "2024-01-02")],
    ),
    (
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (7, 7)",
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (8, 8)",
        "DELTA_CONCURRENT_APPEND",
    ),
    (
        "INSERT OVERWRITE t PARTITION (d = '2025-01-01') VALUES (7, 7)",
        "INSERT OVERWRITE t PARTITION (d = '2025-01-02') VALUES (8, 8)",
        [(1, "2024-01-01"), (2, "2024-01-02"), (3, None), (7, "2025-01-01"), (8, "2025-01-02")],
    ),
    (
        "INSERT OVERWRITE t VALUES (7, 7, DATE'2024-01-01'), (7, 7, NULL)",
        "INSERT OVERWRITE t VALUES (8, 8, DATE'2024-01-02'), (8, 8, DATE'2025-01-01')",
        [(7, "2024-01-01"), (7, None), (8, "2024-01-02"), (8, "2025-01-01")],
    ),
    (
        "INSERT OVERWRITE t VALUES (7, 7, DATE'2024-01-01'), (7, 7, NULL)",
        "INSERT OVERWRITE t VALUES (8, 8, NULL)",
        "DELTA_CONCURRENT_APPEND",
    ),
    (
        "INSERT INTO t REPLACE WHERE d >= '2025-01-01' VALUES (7, 7, DATE'2025-03-03')",
        "INSERT OVERWRITE t VALUES (8, 8, DATE'2024-12-31')",
        [(1, "2024-01-01"), (2, "2024-01-02"), (3, None), (7, "2025-03-03"), (8, "2024-12-31")],
    ),
    (
        "INSERT INTO t REPLACE WHERE d >= '2025-01-01' VALUES (7, 7, DATE'2025-03-03')",
        "INSERT OVERWRITE t VALUES (8, 8, DATE'2025-12-31')",
        "DELTA_CONCURRENT_APPEND",
    ),
    (
        "INSERT INTO t REPLACE WHERE d = '2024-01-01' SELECT k, v + 1, d FROM t WHERE d = '2024-01-01'",
        "INSERT OVERWRITE t PARTITION (d = '2024-01-02') VALUES (8, 8)",
        "DELTA_CONCURRENT_APPEND",  # it read the table
    ),
    (
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (7, 7)",
        "INSERT INTO t VALUES (8, 8, DATE'2024-01-01')",
        "DELTA_CONCURRENT_APPEND",  # tables are serializable unless they say otherwise
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), CASES)
def test_writers_of_other_partitions_do_not_meet(
    session: LakeSession,
    other: LakeSession,
    before_commit: Callable[[Callable[[], object]], None],
    ours: str,
    theirs: str,
    expected: str | list[tuple[Any, ...]],
) -> None:
    run(session, "DROP TABLE IF EXISTS t")
    run(session, "CREATE TABLE t (k INT, v INT, d DATE) PARTITIONED BY (d)")
    run(session, "INSERT INTO t VALUES (1, 1, DATE'2024-01-01'), (2, 2, DATE'2024-01-02'), (3, 3, NULL)")
    for each in (session, other):
        run(each, DYNAMIC)
    assert outcome(session, other, before_commit, ours, theirs) == expected


def set_isolation_level(folder: Path, level: str) -> None:
    """Sets the isolation level as other engines do; SQL has no syntax for it."""
    snapshot = load_snapshot(str(folder))
    description = CommitDescription(name="SET TBLPROPERTIES", operation=TableOperation.METADATA)
    transaction = Transaction.on(snapshot, description)
    configuration = {**snapshot.metadata.configuration, "delta.isolationLevel": level}
    transaction.stage(replace(snapshot.metadata, configuration=configuration))
    transaction.commit()


LOOSE = [
    # ours, the other's, the rows that both leave or our error, when new rows may come before or after
    (
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (7, 7)",
        "INSERT INTO t VALUES (8, 8, DATE'2024-01-01')",
        [(2, "2024-01-02"), (7, "2024-01-01"), (8, "2024-01-01")],
    ),
    (
        "INSERT INTO t REPLACE WHERE d = '2024-01-01' AND k < 9 VALUES (7, 7, DATE'2024-01-01')",
        "INSERT INTO t VALUES (8, 8, DATE'2024-01-01')",
        [(2, "2024-01-02"), (7, "2024-01-01"), (8, "2024-01-01")],
    ),
    (
        "INSERT INTO t REPLACE USING (k) VALUES (1, 7, DATE'2024-01-02')",
        "INSERT INTO t VALUES (1, 8, DATE'2024-01-01')",
        [(1, "2024-01-01"), (1, "2024-01-02"), (2, "2024-01-02")],
    ),
    (
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (7, 7)",
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (8, 8)",
        "DELTA_CONCURRENT_APPEND",
    ),
    (
        "INSERT OVERWRITE t PARTITION (d = '2024-01-01') VALUES (7, 7)",
        "INSERT INTO t REPLACE WHERE d < '2024-01-02' SELECT * FROM t WHERE false",
        "DELTA_CONCURRENT_DELETE_READ",
    ),
    (
        "INSERT INTO t SELECT k + 6, v, d FROM t WHERE k = 1",
        "INSERT INTO t REPLACE WHERE d = '2024-01-02' SELECT * FROM t WHERE false",
        "DELTA_CONCURRENT_DELETE_READ",
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), LOOSE)
def test_new_rows_are_no_conflict_where_writes_alone_are_serializable(
    session: LakeSession,
    lake: Path,
    other: LakeSession,
    before_commit: Callable[[Callable[[], object]], None],
    ours: str,
    theirs: str,
    expected: str | list[tuple[Any, ...]],
) -> None:
    run(session, "DROP TABLE IF EXISTS t")
    run(session, "CREATE TABLE t (k INT, v INT, d DATE) PARTITIONED BY (d)")
    set_isolation_level(lake / "default" / "t", "WriteSerializable")
    run(session, "INSERT INTO t VALUES (1, 1, DATE'2024-01-01'), (2, 2, DATE'2024-01-02')")
    assert outcome(session, other, before_commit, ours, theirs) == expected
