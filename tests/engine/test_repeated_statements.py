"""Statements that one process began and another one runs again: executed once, or reported as unknown."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import ScopeExceeded
from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.accesses import StatementAccess
from engine.runtime.identity import Identity, Scope
from engine.runtime.request import StatementRequest, derived_id
from engine.runtime.results import RowCounts
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

ANN = Identity("ann")


@dataclass
class Answer:
    """The outcome of a statement: its row counts, and the versions that it reported."""

    counts: RowCounts | None
    versions: list[int]


@dataclass
class Process:
    """A server over the lake."""

    session: LakeSession
    requests: list[StatementRequest] = field(default_factory=list)

    def run(self, text: str, **options: Any) -> Answer:
        versions: list[int] = []
        request = StatementRequest(identity=ANN, on_commit=lambda commit: versions.append(commit.version), **options)
        result = self.session.execute(text, request)
        result.close()
        return Answer(result.row_counts, versions)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


def process_over(folder: Path, driver: SparkDriver) -> Process:
    options = EngineOptions(lake_folder=str(folder), catalog_folder=f"{folder}/.catalog", allowed_roots=(str(folder),))
    return Process(LakeEngine(open_sources(options), driver).open_session(ANN, settings={}, catalog=None, schema=None))


@pytest.fixture
def first(folder: Path, spark_driver: SparkDriver) -> Iterator[Process]:
    made = process_over(folder, spark_driver)
    yield made
    made.session.close()


@pytest.fixture
def second(folder: Path, spark_driver: SparkDriver) -> Iterator[Process]:
    made = process_over(folder, spark_driver)
    yield made
    made.session.close()


def new_id() -> str:
    return str(uuid.uuid4())


def num_versions(process: Process, name: str) -> int:
    return len(rows(process.session, f"DESCRIBE HISTORY {name}"))


def refusal(process: Process, text: str, **options: Any) -> SqlError:
    with pytest.raises(SqlError) as caught:
        process.run(text, **options)
    return caught.value


ROW_CHANGES = (
    "INSERT INTO {t} VALUES (4), (5)",
    "INSERT INTO {t} SELECT x + 10 FROM {t}",
    "INSERT OVERWRITE {t} VALUES (7)",
    "UPDATE {t} SET x = x + 1 WHERE x > 1",
    "DELETE FROM {t} WHERE x > 2",
    "DELETE FROM {t}",
    "MERGE INTO {t} USING (SELECT id + 2 AS x FROM range(3)) s ON {t}.x = s.x "
    "WHEN MATCHED AND s.x = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET x = 30 WHEN NOT MATCHED THEN INSERT *",
)
DELTA_CHANGES = (
    *ROW_CHANGES,
    "INSERT INTO {t} REPLACE WHERE x > 1 VALUES (2), (8)",
    "TRUNCATE TABLE {t}",
    "ALTER TABLE {t} ADD COLUMN y INT",
    "ALTER TABLE {t} SET TBLPROPERTIES ('p' = 'q')",
    "COMMENT ON TABLE {t} IS 'a comment'",
    "RESTORE TABLE {t} TO VERSION AS OF 0",
    "CREATE OR REPLACE TABLE {t} (z STRING)",
    "CREATE OR REPLACE TABLE {t} AS SELECT id FROM range(4)",
)


@pytest.mark.parametrize("text", DELTA_CHANGES)
def test_committed_statement_on_delta_is_answered_from_its_commit(first: Process, second: Process, text: str) -> None:
    run(first.session, "CREATE OR REPLACE TABLE t AS SELECT x FROM VALUES (1), (2), (3) v(x)")
    id, text = new_id(), text.format(t="t")
    done = first.run(text, transaction_id=id)
    run(first.session, "ALTER TABLE t SET TBLPROPERTIES ('later' = 'yes')")
    before = num_versions(first, "t")
    found = second.run(text, transaction_id=id, is_repeated=True)
    assert (found, num_versions(second, "t")) == (done, before)
    assert len(done.versions) == 1


@pytest.mark.parametrize("text", ROW_CHANGES)
def test_committed_statement_on_iceberg_is_answered_from_its_commit(first: Process, second: Process, text: str) -> None:
    run(first.session, "DROP TABLE IF EXISTS i")
    run(first.session, "CREATE TABLE i USING iceberg AS SELECT x FROM VALUES (1), (2), (3) v(x)")
    id, text = new_id(), text.format(t="i")
    done = first.run(text, transaction_id=id)
    before = rows(first.session, "SELECT snapshot_id FROM i.snapshots ORDER BY 1")
    found = second.run(text, transaction_id=id, is_repeated=True)
    assert found == done
    assert rows(second.session, "SELECT snapshot_id FROM i.snapshots ORDER BY 1") == before
    assert len(done.versions) == 1


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_statement_that_is_not_committed_is_executed_with_its_id(first: Process, second: Process, kind: str) -> None:
    run(first.session, "DROP TABLE IF EXISTS fresh")
    run(first.session, f"CREATE TABLE fresh (x INT) USING {kind}")
    id = new_id()
    for _ in range(2):  # the second run finds the first one's commit
        done = second.run("INSERT INTO fresh VALUES (1)", transaction_id=id, is_repeated=True)
        assert done.counts == RowCounts(affected=1, inserted=1)
    assert rows(second.session, "SELECT x FROM fresh") == [(1,)]


CREATIONS = (
    "CREATE TABLE made (x INT)",
    "CREATE TABLE made AS SELECT 1 AS x",
    "CREATE TABLE IF NOT EXISTS made AS SELECT 1 AS x",
    "CREATE OR REPLACE TABLE made AS SELECT 1 AS x",
    "CREATE TABLE made USING iceberg AS SELECT 1 AS x",
    "CREATE TABLE made LIKE template",
)


@pytest.mark.parametrize("text", CREATIONS)
def test_created_table_is_found_by_its_id(first: Process, second: Process, text: str) -> None:
    run(first.session, "DROP TABLE IF EXISTS made")
    run(first.session, "CREATE OR REPLACE TABLE template (x INT)")
    id = new_id()
    done = first.run(text, transaction_id=id)
    found = second.run(text, transaction_id=id, is_repeated=True)
    assert (found.counts, found.versions) == (done.counts, done.versions)
    assert len(rows(second.session, "SELECT x FROM made")) == (1 if "SELECT" in text else 0)


def test_created_table_of_another_statement_is_still_an_error(first: Process, second: Process) -> None:
    run(first.session, "CREATE OR REPLACE TABLE taken AS SELECT 1 AS x")
    options = {"transaction_id": new_id(), "is_repeated": True}
    assert refusal(second, "CREATE TABLE taken (x INT)", **options).condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


@pytest.mark.parametrize("columns", ["(x INT)", "AS SELECT 1 AS x"])
def test_name_is_completed_if_the_log_was_written_before(
    first: Process, second: Process, folder: Path, columns: str
) -> None:
    head, _, query = columns.partition("AS")
    location = folder / "places" / new_id()
    text = f"CREATE TABLE named {head} LOCATION '{location}' {'AS' if query else ''} {query}"
    id = new_id()
    done = first.run(text, transaction_id=id)
    run(first.session, "DROP TABLE named")  # the log stays, as after a crash before the name was recorded
    found = second.run(text, transaction_id=id, is_repeated=True)
    assert (found.counts, found.versions) == (done.counts, [0])
    assert rows(second.session, "SELECT x FROM named") == ([(1,)] if query else [])
    run(second.session, "DROP TABLE named")


def test_definition_of_an_iceberg_table_is_unknown_if_it_changed_since(first: Process, second: Process) -> None:
    run(first.session, "DROP TABLE IF EXISTS d")
    run(first.session, "CREATE TABLE d (x INT) USING iceberg")
    text, id = "ALTER TABLE d ADD COLUMN y INT", new_id()
    assert refusal(second, text, transaction_id=id, is_repeated=True).condition == "STATEMENT_OUTCOME_UNKNOWN"
    later_ms = time.time_ns() // 1_000_000 + 120_000  # as if the table had not been changed for a while
    second.run(text, transaction_id=id, is_repeated=True, began_ms=later_ms)
    assert [name for name, *_ in rows(second.session, "DESCRIBE d")][:2] == ["x", "y"]


def count_files(folder: Path) -> Counter[str]:
    """Returns the number of files by suffix, without the logs and their checksums."""
    found = (
        path for path in folder.rglob("*") if path.is_file() and path.parent.name not in ("_delta_log", "metadata")
    )
    return Counter(path.suffix for path in found)


def paused(first: Process, second: Process, text: str, **options: Any) -> tuple[Answer, Answer]:
    """Runs a statement in the first process, which pauses after it has bound the tables; meanwhile the second process
    runs it again.
    """
    id, other = new_id(), list[Answer]()

    def pause(_: StatementAccess) -> None:
        if not other:
            other.append(second.run(text, transaction_id=id, is_repeated=True))

    return first.run(text, transaction_id=id, on_authorized=pause, **options), other[0]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("text", ROW_CHANGES)
def test_paused_process_commits_nothing_and_leaves_no_files(
    first: Process, second: Process, folder: Path, text: str, kind: str
) -> None:
    run(first.session, "DROP TABLE IF EXISTS p")
    run(first.session, f"CREATE TABLE p USING {kind} AS SELECT x FROM VALUES (1), (2), (3) v(x)")
    before = num_versions(first, "p")
    here, there = paused(first, second, text.format(t="p"))
    assert here == there
    assert num_versions(second, "p") == before + 1
    num_files = count_files(folder / "default" / "p")
    # The second process alone, on an equal table: the first one's files are gone.
    run(first.session, "DROP TABLE p")
    run(first.session, f"CREATE TABLE p USING {kind} AS SELECT x FROM VALUES (1), (2), (3) v(x)")
    second.run(text.format(t="p"))
    assert num_files == count_files(folder / "default" / "p")


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_paused_creation_ends_with_the_other_ones_table(first: Process, second: Process, kind: str) -> None:
    run(first.session, "DROP TABLE IF EXISTS c")
    here, there = paused(first, second, f"CREATE TABLE c USING {kind} AS SELECT id FROM range(3)")
    assert here == there
    assert len(rows(second.session, "SELECT id FROM c")) == 3


def test_process_that_binds_late_looks_for_the_commit(first: Process, second: Process) -> None:
    """It was paused before it bound the table, so the other one's commit is no winning commit."""
    run(first.session, "CREATE OR REPLACE TABLE late (x INT)")
    id, began_ms = new_id(), time.time_ns() // 1_000_000
    done = second.run("INSERT INTO late VALUES (1)", transaction_id=id, is_repeated=True)
    later_ms = began_ms + 5_000
    found = first.run("INSERT INTO late VALUES (1)", transaction_id=id, began_ms=began_ms, now_ms=lambda: later_ms)
    assert (found, rows(first.session, "SELECT x FROM late")) == (done, [(1,)])


# Text, statements before, and whether the outcome is known if the statement was executed and if it was not.
CATALOG_STATEMENTS = (
    ("CREATE SCHEMA s1", (), True, True),
    ("CREATE SCHEMA IF NOT EXISTS s1", (), True, True),
    ("CREATE VIEW v1 AS SELECT 1 AS x", (), True, True),
    ("CREATE OR REPLACE VIEW v1 AS SELECT 1 AS x", (), True, True),
    ("CREATE FUNCTION f1() RETURNS INT RETURN 1", (), True, True),
    ("CREATE OR REPLACE FUNCTION f1() RETURNS INT RETURN 1", (), True, True),
    ("DROP TABLE t1", ("CREATE TABLE t1 (x INT)",), True, True),
    ("DROP TABLE IF EXISTS t1", ("CREATE TABLE t1 (x INT)",), True, True),
    ("DROP VIEW v1", ("CREATE VIEW v1 AS SELECT 1 AS x",), True, True),
    ("ALTER TABLE t1 RENAME TO t2", ("CREATE TABLE t1 (x INT)",), True, True),
    ("ALTER VIEW v1 RENAME TO v2", ("CREATE VIEW v1 AS SELECT 1 AS x",), True, True),
    ("DROP FUNCTION f1", ("CREATE FUNCTION f1() RETURNS INT RETURN 1",), True, True),
    ("DROP SCHEMA s1", ("CREATE SCHEMA s1",), True, True),
    ("CREATE TABLE s1.t3 (x INT)", ("CREATE SCHEMA s1",), True, True),
    ("GRANT SELECT ON TABLE t1 TO `ben`", ("CREATE TABLE t1 (x INT)",), True, True),
    ("ALTER TABLE t1 OWNER TO `ben`", ("CREATE TABLE t1 (x INT)",), True, True),
    ("ALTER TABLE t1 SET TAGS ('k' = 'v')", ("CREATE TABLE t1 (x INT)",), True, True),
    ("CREATE GROUP g1", (), True, True),
    ("DROP GROUP g1", ("CREATE GROUP g1",), True, True),
    ("COMMENT ON SCHEMA s1 IS 'c'", ("CREATE SCHEMA s1",), True, True),
    ("SET TIME ZONE 'Asia/Tokyo'", (), True, True),
    ("USE default", (), True, True),
    ("DECLARE w INT", (), True, True),  # the other session does not have it
    ("SET VAR w = 1", ("DECLARE w INT",), False, False),
    ("OPTIMIZE t1", ("CREATE TABLE t1 (x INT)",), True, True),
    ("SELECT 1", (), True, True),
)
_CLEANUP = (
    *("DROP TABLE IF EXISTS t1", "DROP TABLE IF EXISTS t2", "DROP VIEW IF EXISTS v1", "DROP VIEW IF EXISTS v2"),
    *("DROP SCHEMA IF EXISTS s1 CASCADE", "DROP GROUP IF EXISTS g1", "DROP FUNCTION IF EXISTS f1"),
    "DROP TEMPORARY VARIABLE IF EXISTS w",
)


@pytest.mark.parametrize("was_executed", [True, False])
@pytest.mark.parametrize(("text", "before", "if_executed", "if_not"), CATALOG_STATEMENTS, ids=lambda value: str(value))
def test_statement_without_commit_is_repeated_or_unknown(
    first: Process,
    second: Process,
    text: str,
    before: tuple[str, ...],
    if_executed: bool,
    if_not: bool,
    was_executed: bool,
) -> None:
    for each in (*_CLEANUP, *before):
        run(first.session, each)
    later_ms = time.time_ns() // 1_000_000 + 120_000  # the objects before are older than the statement
    options: dict[str, Any] = {"transaction_id": new_id(), "began_ms": later_ms}
    if was_executed:
        first.run(text, **options)
    if if_executed if was_executed else if_not:
        second.run(text, **options, is_repeated=True)
    else:
        assert refusal(second, text, **options, is_repeated=True).condition == "STATEMENT_OUTCOME_UNKNOWN"


def test_paused_process_does_not_change_the_catalog_again(first: Process, second: Process) -> None:
    """The other one has granted the privilege in its place, and somebody has revoked it since."""
    for each in (*_CLEANUP, "CREATE TABLE t1 (x INT)"):
        run(first.session, each)
    id, others = new_id(), list[Answer]()
    text = "GRANT SELECT ON TABLE t1 TO `ben`"

    def pause(_: StatementAccess) -> None:
        if not others:
            others.append(second.run(text, transaction_id=id, is_repeated=True))
            assert len(rows(second.session, "SHOW GRANTS `ben` ON TABLE t1")) == 1
            run(second.session, "REVOKE SELECT ON TABLE t1 FROM `ben`")

    first.run(text, transaction_id=id, on_authorized=pause)
    assert rows(second.session, "SHOW GRANTS `ben` ON TABLE t1") == []


@pytest.mark.parametrize("was_executed", [True, False])
def test_change_before_which_an_older_release_wrote_is_unknown(
    first: Process, folder: Path, spark_driver: SparkDriver, *, was_executed: bool
) -> None:
    """The older release leaves the ids out of the generation that it writes."""
    for each in (*_CLEANUP, "CREATE TABLE t1 (x INT)"):
        run(first.session, each)
    text, id = "GRANT SELECT ON TABLE t1 TO `ben`", new_id()
    if was_executed:
        first.run(text, transaction_id=id)
    run(first.session, "CREATE SCHEMA s1")
    newest = max((folder / ".catalog" / "generations").glob("*.json"))
    record = json.loads(newest.read_text())
    del record["changes"]
    newest.write_text(json.dumps(record))
    third = process_over(folder, spark_driver)
    assert refusal(third, text, transaction_id=id, is_repeated=True).condition == "STATEMENT_OUTCOME_UNKNOWN"
    later_ms = time.time_ns() // 1_000_000 + 120_000  # nothing was changed since its begin
    third.run(text, transaction_id=new_id(), is_repeated=True, began_ms=later_ms)
    third.session.close()


def test_object_that_was_created_since_is_not_dropped(first: Process, second: Process) -> None:
    run(first.session, "CREATE OR REPLACE TABLE young (x INT)")
    options: dict[str, Any] = {"transaction_id": new_id(), "is_repeated": True}
    assert refusal(second, "DROP TABLE young", **options).condition == "STATEMENT_OUTCOME_UNKNOWN"
    assert rows(second.session, "SELECT * FROM young") == []


def test_several_inserts_are_found_together_or_unknown(first: Process, second: Process) -> None:
    for name in ("a", "b"):
        run(first.session, f"CREATE OR REPLACE TABLE {name} (x BIGINT)")
    text, id = "FROM range(3) INSERT INTO a SELECT id INSERT INTO b SELECT id", new_id()
    assert first.run(text, transaction_id=id).counts == second.run(text, transaction_id=id, is_repeated=True).counts
    assert [len(rows(second.session, f"SELECT * FROM {name}")) for name in ("a", "b")] == [3, 3]
    partial = new_id()
    first.run("INSERT INTO a VALUES (9)", transaction_id=derived_id(partial, "insert", 0))
    failed = refusal(second, text, transaction_id=partial, is_repeated=True)
    assert failed.condition == "STATEMENT_OUTCOME_UNKNOWN"
    assert len(rows(second.session, "SELECT * FROM b")) == 3


def test_repeated_script_reads_and_stops_before_it_writes(first: Process, second: Process) -> None:
    run(first.session, "CREATE OR REPLACE TABLE scripted (x INT)")
    options: dict[str, Any] = {"transaction_id": new_id(), "is_repeated": True}
    second.run("BEGIN DECLARE n INT DEFAULT 1; SET n = n + 1; SELECT n; END", **options)
    failed = refusal(second, "BEGIN DECLARE n INT = 1; INSERT INTO scripted VALUES (n); END", **options)
    assert failed.condition == "STATEMENT_OUTCOME_UNKNOWN"
    assert rows(second.session, "SELECT * FROM scripted") == []


def test_denied_user_does_not_get_the_outcome_of_a_commit(first: Process, second: Process) -> None:
    run(first.session, "CREATE OR REPLACE TABLE guarded (x INT)")
    text, id = "INSERT INTO guarded VALUES (1)", new_id()
    done = first.run(text, transaction_id=id)
    reader = replace(ANN, scopes=frozenset({Scope.READ_ONLY}))
    with pytest.raises(ScopeExceeded):
        second.session.execute(text, StatementRequest(identity=reader, transaction_id=id, is_repeated=True))
    assert second.run(text, transaction_id=id, is_repeated=True) == done
