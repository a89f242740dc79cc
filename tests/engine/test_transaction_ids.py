"""Transaction ids in the commits of statements, in Delta logs and Iceberg snapshots."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest, derived_id
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import actions, rows, run, version_of

pytestmark = pytest.mark.spark

ANN = Identity("ann")


def run_with_id(session: LakeSession, text: str) -> str:
    """Runs a statement with a new transaction id, which it returns."""
    transaction_id = str(uuid.uuid4())
    session.execute(text, StatementRequest(identity=ANN, transaction_id=transaction_id)).close()
    return transaction_id


def txn_ids(lake: Path, name: str, first: int = 0) -> list[str]:
    """Returns the ids in a Delta table's commits from version `first` on."""
    infos = [actions(lake, name, version)[0]["commitInfo"] for version in range(first, version_of(lake, name) + 1)]
    return [info["txnId"] for info in infos]


def summaries(session: LakeSession, name: str) -> list[dict[str, Any]]:
    """Returns the summaries of an Iceberg table's snapshots, oldest first."""
    found = rows(session, f"SELECT summary FROM {name}.snapshots ORDER BY committed_at")
    return [dict(summary) for (summary,) in found]


WRITES = (
    "CREATE OR REPLACE TABLE t (x INT)",
    "INSERT INTO t VALUES (3)",
    "INSERT OVERWRITE t VALUES (1), (2)",
    "UPDATE t SET x = 5 WHERE x = 1",
    "DELETE FROM t WHERE x = 2",
    "MERGE INTO t USING (SELECT 1 AS x) s ON t.x = s.x WHEN NOT MATCHED THEN INSERT *",
    "TRUNCATE TABLE t",
    "ALTER TABLE t SET TBLPROPERTIES ('p' = 'q')",
    "CREATE OR REPLACE TABLE t AS SELECT 1 AS x",
    "RESTORE TABLE t TO VERSION AS OF 0",
)


def test_each_write_to_delta_has_the_id_of_its_request(session: LakeSession, lake: Path) -> None:
    run(session, "DROP TABLE IF EXISTS t")
    expected = [run_with_id(session, text) for text in WRITES]
    assert txn_ids(lake, "t") == expected


def test_checksum_has_the_id_of_its_commit(tmp_path: Path, spark_driver: SparkDriver) -> None:
    sources = open_sources(EngineOptions(lake_folder=str(tmp_path)))
    session = LakeEngine(sources, spark_driver).open_session(ANN, settings={}, catalog=None, schema=None)
    created = run_with_id(session, "CREATE TABLE summed AS SELECT 1 AS x")
    sources.close()  # after the work that follows commits
    checksum = tmp_path / "default" / "summed" / "_delta_log" / f"{0:020}.crc"
    assert json.loads(checksum.read_text())["txnId"] == created
    session.close()


def test_commits_have_different_ids_if_the_request_has_none(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE free (x INT)")
    run(session, "INSERT INTO free VALUES (1)")
    found = txn_ids(lake, "free")
    assert len(set(map(uuid.UUID, found))) == 2


def test_each_of_several_inserts_has_a_derived_id(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE a (x INT)")
    run(session, "CREATE TABLE b (x INT)")
    given = run_with_id(
        session, "FROM range(3) INSERT INTO a SELECT id INSERT INTO b SELECT id INSERT INTO a SELECT id"
    )
    parts = [derived_id(given, "insert", ordinal) for ordinal in range(3)]
    assert txn_ids(lake, "a", 1) == [parts[0], parts[2]]
    assert txn_ids(lake, "b", 1) == [parts[1]]


def test_each_statement_of_a_script_has_a_derived_id(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE s (x INT)")
    script = "BEGIN INSERT INTO s VALUES (1); BEGIN INSERT INTO s VALUES (2); INSERT INTO s VALUES (3); END; END"
    given = run_with_id(session, script)
    assert txn_ids(lake, "s", 1) == [derived_id(given, "statement", ordinal) for ordinal in range(3)]


def test_last_step_has_the_id_and_earlier_ones_derived_ids(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE tracked AS SELECT 1 AS x")
    given = run_with_id(session, "ALTER TABLE tracked SET TBLPROPERTIES ('delta.enableRowTracking' = true)")
    assert txn_ids(lake, "tracked", 1) == [derived_id(given, "step", 0), derived_id(given, "step", 1), given]


def test_compaction_after_a_write_has_an_id_of_its_own(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE packed (x INT) TBLPROPERTIES ('delta.autoOptimize.autoCompact' = true)")
    given = [run_with_id(session, f"INSERT INTO packed VALUES ({value})") for value in range(60)]
    found = txn_ids(lake, "packed", 1)
    names = [actions(lake, "packed", version)[0]["commitInfo"]["operation"] for version in range(1, len(found) + 1)]
    assert [id for id, name in zip(found, names, strict=True) if name == "WRITE"] == given
    assert names.count("OPTIMIZE") == 1 and len(set(found)) == 61


def test_iceberg_snapshots_have_the_id_in_their_summary(session: LakeSession) -> None:
    key = "gateway.transaction-id"
    expected: list[str | None] = [
        run_with_id(session, "CREATE TABLE ice USING iceberg AS SELECT 1 AS x"),
        run_with_id(session, "INSERT INTO ice VALUES (2)"),
        run_with_id(session, "UPDATE ice SET x = 5 WHERE x = 1"),
        run_with_id(session, "DELETE FROM ice WHERE x = 2"),
    ]
    run(session, "INSERT INTO ice VALUES (7)")
    assert [summary.get(key) for summary in summaries(session, "ice")] == [*expected, None]
