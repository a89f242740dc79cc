"""Global temporary views: shared by one user's sessions, and read with the session's privileges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake


class Sessions:
    """Several principals' sessions, some with two each."""

    def __init__(self, lake: GuardedLake, driver: SparkDriver) -> None:
        self._engine = LakeEngine(lake.sources, driver)
        identities = {
            "root": lake.identity("root"),
            "ann": lake.identity("ann"),
            "ann again": lake.identity("ann"),
            "ann of readers": lake.identity("ann", "readers"),
            "eve": lake.identity("eve"),
            "anonymous ann": Identity("ann"),
        }
        self._sessions = {name: (self._opened(each), each) for name, each in identities.items()}

    def _opened(self, identity: Identity) -> LakeSession:
        return self._engine.open_session(identity, settings={}, catalog=None, schema=None)

    def rows(self, who: str, text: str) -> list[tuple[Any, ...]]:
        session, identity = self._sessions[who]
        result = session.execute(text, StatementRequest(identity=identity))
        table = pa.Table.from_batches(result.batches(), result.schema)
        result.close()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def refuse(self, who: str, text: str) -> SqlError:
        with pytest.raises(SqlError) as caught:
            self.rows(who, text)
        return caught.value

    def close(self) -> None:
        for session, _ in self._sessions.values():
            session.close()


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[Sessions]:
    folder = tmp_path_factory.mktemp("shared") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.table("shop/t")
    lake.table("shop/of_group")
    found = Sessions(lake, spark_driver)
    for text in (
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT SELECT ON shop.t TO ann",
        "GRANT SELECT ON shop.t TO eve",
        "GRANT SELECT ON shop.of_group TO GROUP readers",
    ):
        found.rows("root", text)
    found.rows("ann", "CREATE GLOBAL TEMPORARY VIEW v AS SELECT id, 'of ann' AS who FROM shop.t")
    yield found
    found.close()


def test_view_is_visible_to_sessions_of_its_user_alone(sessions: Sessions) -> None:
    text = "SELECT DISTINCT who FROM global_temp.v"
    assert sessions.rows("ann", text) == [("of ann",)] == sessions.rows("ann again", text)
    for who in ("eve", "root", "anonymous ann"):
        assert sessions.refuse(who, text).sqlstate == "42P01"
        assert sessions.refuse(who, "DROP VIEW global_temp.v").sqlstate == "42P01"
        assert sessions.rows(who, "SHOW VIEWS IN global_temp") == []
    assert sessions.rows("ann again", "SHOW VIEWS IN global_temp") == [("global_temp", "v", True)]


def test_user_cannot_replace_the_view_of_another(sessions: Sessions) -> None:
    sessions.rows("eve", "CREATE GLOBAL TEMPORARY VIEW v AS SELECT 'of eve' AS who")
    assert sessions.rows("eve", "SELECT who FROM global_temp.v") == [("of eve",)]
    assert sessions.rows("ann again", "SELECT DISTINCT who FROM global_temp.v") == [("of ann",)]
    sessions.rows("eve", "DROP VIEW global_temp.v")
    assert sessions.rows("ann again", "SELECT DISTINCT who FROM global_temp.v") == [("of ann",)]


def test_view_is_read_with_the_rights_of_the_session(sessions: Sessions) -> None:
    text = "SELECT count(*) FROM global_temp.of_group"
    sessions.rows("ann of readers", "CREATE GLOBAL TEMPORARY VIEW of_group AS SELECT * FROM shop.of_group")
    assert sessions.rows("ann of readers", text) == [(2,)]
    assert sessions.refuse("ann", text).sqlstate in ("42501", "42P01")  # without the other login's group
    sessions.rows("root", "GRANT SELECT ON shop.of_group TO ann")
    assert sessions.rows("ann", text) == [(2,)]
    sessions.rows("root", "REVOKE SELECT ON shop.of_group FROM ann")
    assert sessions.refuse("ann", text).sqlstate in ("42501", "42P01")
    assert sessions.rows("ann of readers", text) == [(2,)]


def test_view_over_a_table_that_may_not_be_read_is_rejected(sessions: Sessions) -> None:
    text = "CREATE GLOBAL TEMPORARY VIEW denied AS SELECT * FROM shop.of_group"
    assert sessions.refuse("eve", text).sqlstate in ("42501", "42P01")
    sessions.rows("eve", "CREATE GLOBAL TEMPORARY VIEW denied AS SELECT * FROM shop.t")


def test_number_of_views_is_limited(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.runtime.global_views.VIEWS_MAX", 2)
    sessions.rows("root", "CREATE GLOBAL TEMPORARY VIEW a AS SELECT 1 AS x")
    sessions.rows("root", "CREATE GLOBAL TEMPORARY VIEW b AS SELECT 1 AS x")
    error = sessions.refuse("root", "CREATE GLOBAL TEMPORARY VIEW c AS SELECT 1 AS x")
    assert (error.condition, error.sqlstate) == ("GLOBAL_TEMP_VIEWS_EXCEEDED", "54000")
    sessions.rows("root", "CREATE OR REPLACE GLOBAL TEMPORARY VIEW b AS SELECT 2 AS x")
    sessions.rows("root", "DROP VIEW global_temp.a")
    sessions.rows("root", "CREATE GLOBAL TEMPORARY VIEW c AS SELECT 1 AS x")
