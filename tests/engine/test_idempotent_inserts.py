"""Idempotent writes: a repeated write is skipped by its application id and version."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import actions, refuse, rows, run, version_of

pytestmark = pytest.mark.spark

APP, VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"


def number(session: LakeSession, app: str, version: int) -> None:
    run(session, f"SET {APP} = {app}")
    run(session, f"SET {VERSION} = {version}")


SENT = [("loader", 0, 1), ("loader", 0, 0), ("other", 0, 1), ("loader", 5, 1), ("loader", 4, 0), ("loader", 6, 1)]


def test_repeated_idempotent_insert_is_skipped(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE sent (a STRING)")
    for app, version, count in SENT:
        number(session, app, version)
        assert run(session, f"INSERT INTO sent VALUES ('{app} {version}')") == count
    expected = sorted((f"{app} {version}",) for app, version, count in SENT if count)
    assert rows(session, "SELECT a FROM sent ORDER BY a") == expected
    (txn,) = [action["txn"] for action in actions(lake, "sent", 4) if "txn" in action]
    assert (txn["appId"], txn["version"]) == ("loader", 6) and txn["lastUpdated"] > 0
    run(session, f"RESET {VERSION}")
    assert refuse(session, "INSERT INTO sent VALUES ('x')").sqlstate == "42616"
    run(session, f"RESET {APP}")
    run(session, "INSERT INTO sent VALUES ('x')")
    assert version_of(lake, "sent") == 5


REPLACEMENTS = [
    ("CREATE OR REPLACE TABLE", "loader", 1, 1),  # makes it
    ("CREATE OR REPLACE TABLE", "loader", 1, 0),
    ("REPLACE TABLE", "loader", 0, 0),
    ("REPLACE TABLE", "loader", 2, 1),
    ("REPLACE TABLE", "other", 2, 1),
    ("CREATE OR REPLACE TABLE", "other", 2, 0),
]


def test_tables_that_are_made_or_replaced_by_a_query_are_left_out_as_well(session: LakeSession, lake: Path) -> None:
    last = None
    for at, (verb, app, version, count) in enumerate(REPLACEMENTS):
        number(session, app, version)
        assert run(session, f"{verb} remade AS SELECT {at} AS a") == count
        last = at if count else last
        assert rows(session, "SELECT a FROM remade") == [(last,)]
    assert version_of(lake, "remade") == 2
    (txn,) = [action["txn"] for action in actions(lake, "remade", 0) if "txn" in action]
    assert (txn["appId"], txn["version"]) == ("loader", 1)
    number(session, "loader", 9)
    assert run(session, "CREATE TABLE made_once AS SELECT 1 AS a") == 1
    assert run(session, "INSERT INTO made_once VALUES (2)") == 0
    assert refuse(session, "CREATE TABLE made_once AS SELECT 1 AS a").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_concurrent_writes_of_one_transaction_number_commit_once(
    engine: LakeEngine, session: LakeSession, lake: Path
) -> None:
    run(session, "CREATE TABLE raced_numbers (a INT)")

    def send(number_of_sender: int) -> int | str | None:
        other = engine.open_session(Identity("bob"), settings={APP: "job", VERSION: "7"}, catalog=None, schema=None)
        try:
            return run(other, f"INSERT INTO raced_numbers VALUES ({number_of_sender})")
        except SqlError as error:
            return error.condition
        finally:
            other.close()

    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(send, range(4)))
    assert sorted(outcomes, key=str) == [0, 0, 0, 1]
    assert len(rows(session, "SELECT * FROM raced_numbers")) == 1


@pytest.mark.parametrize(("key", "value"), [(VERSION, "-1"), (VERSION, "x"), (VERSION, "1.5")])
def test_numbers_are_whole(session: LakeSession, key: str, value: str) -> None:
    assert refuse(session, f"SET {key} = {value}").condition == "INVALID_CONF_VALUE"
