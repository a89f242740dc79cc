"""Transaction blocks: one commit at the end of a block, or none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from catalog.conditions import ConcurrentModification, StatementCancelled
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.runtime.transaction_block import TransactionBlock
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

ANN = Identity("ann")
# The longest wait for a statement, in seconds.
WAIT_S = 60.0


@dataclass
class Staged:
    """A statement of a block: the rows that it has reported, and its end."""

    counts: list[int | None] = field(default_factory=list)
    error: SqlError | None = None
    reported: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    cancel: CancelToken = field(default_factory=CancelToken)

    def end(self) -> SqlError | None:
        """Waits for the end and returns its error."""
        assert self.thread is not None
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive()
        return self.error


class Block:
    """A client's block over a session."""

    def __init__(self, session: LakeSession) -> None:
        self.session, self.block = session, TransactionBlock()

    def change(self, text: str) -> Staged:
        """Starts a statement, and returns when it has reported its rows or ended."""
        staged = Staged()

        def report(result: ResultStream) -> None:
            staged.counts.append(result.rows_modified)
            staged.reported.set()

        def work() -> None:
            request = StatementRequest(identity=ANN, block=self.block, on_staged=report, cancel=staged.cancel)
            try:
                result = self.session.execute(text, request)
                result.close()
                if not staged.counts:
                    staged.counts.append(result.rows_modified)
            except SqlError as error:
                staged.error = error
            finally:
                staged.reported.set()

        staged.thread = threading.Thread(target=work, daemon=True)
        staged.thread.start()
        assert staged.reported.wait(WAIT_S)
        return staged

    def rows(self, text: str) -> list[tuple[object, ...]]:
        result = self.session.execute(text, StatementRequest(identity=ANN, block=self.block))
        try:
            return [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]
        finally:
            result.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@contextmanager
def open_lake(folder: Path, driver: SparkDriver) -> Iterator[LakeSession]:
    sources = open_sources(EngineOptions(lake_folder=str(folder), catalog_folder=str(folder / ".catalog")))
    session = LakeEngine(sources, driver).open_session(ANN, settings={}, catalog=None, schema=None)
    assert isinstance(session, LakeSession)
    yield session
    session.close()


@pytest.fixture(scope="module")
def lake(folder: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    with open_lake(folder, spark_driver) as session:
        yield session


@pytest.fixture(params=["delta", "iceberg"])
def session(lake: LakeSession, request: pytest.FixtureRequest) -> LakeSession:
    for name in ("t", "other", "made"):
        run(lake, f"DROP TABLE IF EXISTS {name}")
    for name in ("t", "other"):
        run(lake, f"CREATE TABLE {name} (id INT, s STRING) USING {request.param}")
    run(lake, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return lake


def history(session: LakeSession, name: str) -> list[str]:
    return [row[0] for row in rows(session, f"SELECT operation FROM (DESCRIBE HISTORY {name})")]


CHANGES = [
    ("UPDATE t SET s = 'x' WHERE id = 1", 1, [(1, "x"), (2, "b")]),
    ("DELETE FROM t WHERE id = 2", 1, [(1, "a")]),
    ("MERGE INTO t USING (SELECT 2 id) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET s = 'm'", 1, [(1, "a"), (2, "m")]),
    ("INSERT INTO t SELECT 3, 'c'", 1, [(1, "a"), (2, "b"), (3, "c")]),
    ("TRUNCATE TABLE t", None, []),
]


@pytest.mark.parametrize(("text", "count", "after"), CHANGES)
def test_change_is_visible_after_the_commit_alone(
    session: LakeSession, text: str, count: int | None, after: list[tuple[int, str]]
) -> None:
    before, versions = rows(session, "SELECT * FROM t ORDER BY id"), len(history(session, "t"))
    block = Block(session)
    staged = block.change(text)
    assert staged.error is None
    assert count is None or staged.counts == [count]
    assert rows(session, "SELECT * FROM t ORDER BY id") == before
    block.block.commit()
    assert staged.end() is None
    assert rows(session, "SELECT * FROM t ORDER BY id") == after
    assert len(history(session, "t")) == versions + 1


@pytest.mark.parametrize(("text", "count", "after"), CHANGES)
def test_cancelled_change_leaves_nothing(
    session: LakeSession, folder: Path, text: str, count: int | None, after: list[tuple[int, str]]
) -> None:
    before, files = rows(session, "SELECT * FROM t ORDER BY id"), data_files(folder)
    versions = history(session, "t")
    block = Block(session)
    staged = block.change(text)
    staged.cancel.cancel()
    error = staged.end()
    assert isinstance(error, StatementCancelled)
    assert rows(session, "SELECT * FROM t ORDER BY id") == before != after
    assert history(session, "t") == versions
    assert data_files(folder) == files


def data_files(folder: Path) -> set[Path]:
    return {
        path for suffix in ("parquet", "bin") for path in folder.rglob(f"*.{suffix}") if "_delta_log" not in str(path)
    }


def test_inserts_of_a_block_are_one_commit(session: LakeSession, folder: Path) -> None:
    versions = len(history(session, "t"))
    block = Block(session)
    texts = [
        "INSERT INTO t VALUES (3, 'c')",
        "INSERT INTO t (s, id) VALUES ('d', 4), ('e', 5)",
        "INSERT INTO t (id) SELECT id + 100 FROM other",
        "INSERT INTO t (id) VALUES (6)",
    ]
    staged = [block.change(text) for text in texts]
    assert [each.counts for each in staged] == [[1], [2], [0], [1]]
    assert [each.error for each in staged] == [None] * 4
    assert rows(session, "SELECT count(*) FROM t") == [(2,)]
    block.block.commit()
    assert staged[0].end() is None
    assert rows(session, "SELECT * FROM t WHERE id > 2 ORDER BY id") == [(3, "c"), (4, "d"), (5, "e"), (6, None)]
    assert len(history(session, "t")) == versions + 1


def test_metrics_count_the_rows_of_all_inserts(lake: LakeSession, folder: Path) -> None:
    run(lake, "CREATE OR REPLACE TABLE counted (id INT)")
    block = Block(lake)
    staged = [block.change(f"INSERT INTO counted VALUES ({n}), ({n + 1})") for n in range(3)]
    block.block.commit()
    assert staged[0].end() is None
    ((metrics,),) = rows(lake, "SELECT operationMetrics FROM (DESCRIBE HISTORY counted LIMIT 1)")
    found = dict(metrics) if not isinstance(metrics, str) else json.loads(metrics)
    assert (found["numFiles"], found["numOutputRows"]) == ("3", "6")


def test_rolled_back_inserts_leave_no_file(session: LakeSession, folder: Path) -> None:
    files = data_files(folder)
    block = Block(session)
    staged = [block.change(f"INSERT INTO t VALUES ({n}, 'x')") for n in range(3)]
    assert data_files(folder) > files
    staged[0].cancel.cancel()
    assert staged[0].end() is not None
    assert data_files(folder) == files
    assert rows(session, "SELECT count(*) FROM t") == [(2,)]


REJECTED = [
    ("INSERT INTO t VALUES (3, 'c')", "SELECT * FROM t", "READ_OF_CHANGED_TABLE"),
    ("INSERT INTO t VALUES (3, 'c')", "INSERT INTO t SELECT * FROM t", "READ_OF_CHANGED_TABLE"),
    ("INSERT INTO t VALUES (3, 'c')", "INSERT INTO other VALUES (3, 'c')", "SECOND_CHANGE"),
    ("INSERT INTO t VALUES (3, 'c')", "DELETE FROM t", "READ_OF_CHANGED_TABLE"),
    ("UPDATE t SET s = 'x'", "INSERT INTO t VALUES (3, 'c')", "SECOND_CHANGE"),
    ("UPDATE t SET s = 'x'", "CREATE TABLE made (id INT)", "SECOND_CHANGE"),
    ("CREATE TABLE made (id INT)", "INSERT INTO made VALUES (1)", "READ_OF_CHANGED_TABLE"),
    ("CREATE TABLE made (id INT)", "SELECT * FROM made", "READ_OF_CHANGED_TABLE"),
    ("INSERT INTO t VALUES (3, 'c')", "OPTIMIZE t", "STATEMENT"),
    ("INSERT INTO t VALUES (3, 'c')", "BEGIN SELECT 1; END", "STATEMENT"),
]


@pytest.mark.parametrize(("first", "second", "condition"), REJECTED)
def test_block_rejects_what_one_commit_cannot_have(
    session: LakeSession, first: str, second: str, condition: str
) -> None:
    block = Block(session)
    staged = block.change(first)
    assert staged.error is None
    error = block.change(second).error
    assert error is not None and error.sqlstate == "0A000"
    assert error.condition == f"TRANSACTION_BLOCK_NOT_SUPPORTED.{condition}"
    assert "autocommit" in error.full_message
    assert block.rows("SELECT count(*) FROM other") == [(0,)]
    block.block.commit()
    assert staged.end() is None


def test_queries_of_a_block_see_one_version(session: LakeSession) -> None:
    block = Block(session)
    assert block.rows("SELECT count(*) FROM t") == [(2,)]
    run(session, "INSERT INTO t VALUES (3, 'c')")
    run(session, "INSERT INTO other VALUES (3, 'c')")
    assert block.rows("SELECT count(*) FROM t") == [(2,)]
    assert block.rows("SELECT count(*) FROM other") == [(1,)]  # read for the first time
    assert rows(session, "SELECT count(*) FROM t") == [(3,)]
    block.block.commit()
    assert Block(session).rows("SELECT count(*) FROM t") == [(3,)]


def test_conflicting_commit_fails_the_block(session: LakeSession) -> None:
    block = Block(session)
    staged = block.change("UPDATE t SET s = 'x' WHERE id = 1")
    run(session, "UPDATE t SET s = 'y' WHERE id = 1")
    block.block.commit()
    error = staged.end()
    assert isinstance(error, ConcurrentModification)
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(1, "y"), (2, "b")]


def test_append_of_others_does_not_conflict(session: LakeSession) -> None:
    block = Block(session)
    staged = [block.change("INSERT INTO t VALUES (3, 'c')"), block.change("INSERT INTO t VALUES (4, 'd')")]
    run(session, "INSERT INTO t VALUES (5, 'e')")
    block.block.commit()
    assert staged[0].end() is None
    assert [row[0] for row in rows(session, "SELECT id FROM t ORDER BY id")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "made", "gone"),
    [
        ("CREATE TABLE made (id INT)", "SELECT * FROM made", "DROP TABLE made"),
        ("CREATE TABLE made AS SELECT 1 AS id", "SELECT * FROM made", "DROP TABLE made"),
        ("CREATE VIEW made_view AS SELECT 1 AS id", "SELECT * FROM made_view", "DROP VIEW made_view"),
        ("CREATE SCHEMA made_schema", "SHOW TABLES IN made_schema", "DROP SCHEMA made_schema"),
    ],
)
def test_definition_is_there_after_the_commit_alone(session: LakeSession, text: str, made: str, gone: str) -> None:
    block = Block(session)
    staged = block.change(text)
    assert staged.error is None
    refuse(session, made)
    block.block.commit()
    assert staged.end() is None
    run(session, made)
    block = Block(session)
    staged = block.change(gone)
    run(session, made)
    staged.cancel.cancel()
    assert staged.end() is not None
    run(session, gone)


def test_second_insert_with_identity_values_is_rejected(lake: LakeSession) -> None:
    run(lake, "CREATE OR REPLACE TABLE numbered (n BIGINT GENERATED ALWAYS AS IDENTITY, s STRING)")
    block = Block(lake)
    staged = block.change("INSERT INTO numbered (s) VALUES ('a'), ('b')")
    assert staged.counts == [2]
    block.block.commit()
    assert staged.end() is None
    assert rows(lake, "SELECT s FROM numbered ORDER BY s") == [("a",), ("b",)]


def test_violated_constraint_is_reported_by_the_insert(session: LakeSession) -> None:
    run(session, "DROP TABLE t")
    run(session, "CREATE TABLE t (id INT NOT NULL, s STRING)")
    block = Block(session)
    staged = block.change("INSERT INTO t VALUES (1, 'a')")
    assert block.change("INSERT INTO t VALUES (NULL, 'b')").error is not None
    block.block.commit()
    assert staged.end() is None
    assert rows(session, "SELECT id FROM t") == [(1,)]
