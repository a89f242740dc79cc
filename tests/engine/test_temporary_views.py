"""Temporary views: qualified names, and global ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> LakeEngine:
    folder: Path = tmp_path_factory.mktemp("lake")
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def condition(session: LakeSession, text: str) -> str:
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    return caught.value.condition


QUALIFIED = (
    *("SELECT a FROM session.v", "SELECT v.a FROM session.v", "SELECT a FROM system.session.v"),
    *("SELECT a FROM `System`.SESSION.V", "SELECT max(w.a) FROM session.v w", "TABLE session.v"),
    "WITH c AS (SELECT * FROM session.v) SELECT a FROM c",
    "SELECT (SELECT a FROM system.session.v)",
)


@pytest.mark.parametrize("text", QUALIFIED)
def test_qualified_name_means_the_temporary_view(session: LakeSession, text: str) -> None:
    rows(session, "CREATE TEMPORARY VIEW v AS SELECT 7 AS a")
    assert rows(session, text) == [(7,)]


@pytest.mark.parametrize("name", ["v", "session.v", "system.session.v"])
def test_qualified_name_in_definitions(session: LakeSession, name: str) -> None:
    rows(session, f"CREATE TEMPORARY VIEW {name} AS SELECT 7 AS a")
    assert condition(session, "CREATE TEMPORARY VIEW v AS SELECT 8 AS a") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    rows(session, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT 8 AS a")
    assert rows(session, f"DESCRIBE {name}") == [("a", "int", None)]
    rows(session, f"ALTER VIEW {name} AS SELECT 9 AS a")
    assert rows(session, "SELECT a FROM v") == [(9,)]
    rows(session, f"ALTER VIEW {name} RENAME TO session.w")
    assert rows(session, "SELECT a FROM w") == [(9,)]
    rows(session, "DROP VIEW session.w")
    assert condition(session, "SELECT a FROM w") == "TABLE_OR_VIEW_NOT_FOUND"


REJECTED = {
    "CREATE TEMPORARY VIEW default.v AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "CREATE OR REPLACE TEMP VIEW spark_catalog.session.v AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "SELECT * FROM session.nothing": "TABLE_OR_VIEW_NOT_FOUND",
    "SELECT * FROM default.v": "TABLE_OR_VIEW_NOT_FOUND",
    "CREATE VIEW kept AS SELECT * FROM session.v": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE VIEW kept AS SELECT * FROM system.session.v": "INVALID_TEMP_OBJ_REFERENCE",
}


@pytest.mark.parametrize("text", REJECTED)
def test_other_qualifiers_are_rejected(session: LakeSession, text: str) -> None:
    rows(session, "CREATE TEMPORARY VIEW v AS SELECT 7 AS a")
    assert condition(session, text) == REJECTED[text]


def test_persistent_view_in_a_schema_named_session_reads_the_persistent_one(session: LakeSession) -> None:
    rows(session, "CREATE SCHEMA IF NOT EXISTS session")
    rows(session, "CREATE OR REPLACE VIEW session.v AS SELECT 'persistent' AS a")
    rows(session, "CREATE OR REPLACE VIEW default.reading AS SELECT a FROM session.v")
    assert rows(session, "SELECT a FROM session.v") == [("persistent",)]
    rows(session, "CREATE TEMPORARY VIEW v AS SELECT 'temporary' AS a")
    assert rows(session, "SELECT session.v.a, reading.a FROM session.v, default.reading") == [
        ("temporary", "persistent")
    ]
    rows(session, "DROP SCHEMA spark_catalog.session CASCADE")


def test_temporary_views_are_listed_with_those_of_any_schema(session: LakeSession) -> None:
    rows(session, "CREATE SCHEMA listed")
    rows(session, "CREATE TABLE listed.t (a INT)")
    rows(session, "CREATE VIEW listed.w AS SELECT 1 AS a")
    rows(session, "CREATE TEMPORARY VIEW tmp_listed AS SELECT 1 AS a")
    own = ("", "tmp_listed", True)
    for statement, expected in (
        ("SHOW TABLES IN listed", [("listed", "t", False), ("listed", "w", False), own]),
        ("SHOW TABLES IN listed LIKE '*t'", [("listed", "t", False)]),
        ("SHOW VIEWS IN listed", [("listed", "w", False), own]),
    ):
        found = [row for row in rows(session, statement) if row[0] or row[1] == "tmp_listed"]
        assert found == expected, statement
    rows(session, "DROP VIEW tmp_listed")
    rows(session, "DROP SCHEMA listed CASCADE")


@pytest.fixture
def other(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def shared(session: LakeSession) -> Iterator[str]:
    """Yields a global view; all are dropped after the test."""
    rows(session, "CREATE GLOBAL TEMPORARY VIEW g (a COMMENT 'c') AS SELECT 7")
    yield "global_temp.g"
    for namespace, name, _ in rows(session, "SHOW VIEWS IN global_temp"):
        if namespace:
            rows(session, f"DROP VIEW global_temp.{name}")


def test_sessions_share_a_global_view(session: LakeSession, other: LakeSession, shared: str) -> None:
    assert rows(other, f"SELECT g.a FROM {shared}") == [(7,)] == rows(other, "SELECT a FROM GLOBAL_TEMP.G AS x")
    assert condition(other, "SELECT * FROM g") == "TABLE_OR_VIEW_NOT_FOUND"
    assert condition(other, "SELECT * FROM spark_catalog.global_temp.g") == "TABLE_OR_VIEW_NOT_FOUND"
    assert condition(other, "CREATE GLOBAL TEMP VIEW g AS SELECT 1 AS a") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    rows(other, "CREATE GLOBAL TEMP VIEW IF NOT EXISTS g AS SELECT 1 AS a")
    assert rows(session, f"SELECT a FROM {shared}") == [(7,)]
    rows(other, "CREATE OR REPLACE GLOBAL TEMPORARY VIEW g AS SELECT 8 AS b")
    assert rows(session, f"SELECT b FROM {shared}") == [(8,)]
    rows(other, f"ALTER VIEW {shared} AS SELECT 9 AS c")
    assert rows(session, f"SELECT c FROM {shared}") == [(9,)]
    rows(other, f"ALTER VIEW {shared} RENAME TO global_temp.h")
    assert condition(session, f"SELECT * FROM {shared}") == "TABLE_OR_VIEW_NOT_FOUND"
    rows(session, "DROP VIEW global_temp.h")
    assert condition(other, "DROP VIEW global_temp.h") == "TABLE_OR_VIEW_NOT_FOUND"
    assert rows(other, "DROP VIEW IF EXISTS global_temp.h") == []


def test_global_view_is_shown_and_described(session: LakeSession, shared: str) -> None:
    rows(session, "CREATE TEMPORARY VIEW own AS SELECT 1 AS a")
    for kind in ("VIEWS", "TABLES"):
        assert rows(session, f"SHOW {kind} IN global_temp") == [("global_temp", "g", True), ("", "own", True)]
        assert rows(session, f"SHOW {kind} IN global_temp LIKE 'g*'") == [("global_temp", "g", True)]
    assert rows(session, f"DESCRIBE {shared}") == [("a", "int", "c")]
    ((text,),) = rows(session, f"SHOW CREATE TABLE {shared}")
    assert text.startswith("CREATE GLOBAL TEMPORARY VIEW `g` (")


def test_global_view_reads_under_captured_settings(session: LakeSession, other: LakeSession, shared: str) -> None:
    rows(session, "SET spark.sql.ansi.enabled = false")
    rows(session, "CREATE OR REPLACE GLOBAL TEMPORARY VIEW g AS SELECT CAST('x' AS INT) AS a")
    assert rows(other, f"SELECT a FROM {shared}") == [(None,)]
    assert condition(other, "SELECT CAST('x' AS INT)") == "CAST_INVALID_INPUT"


def test_global_view_may_read_another(session: LakeSession, other: LakeSession, shared: str) -> None:
    rows(session, f"CREATE GLOBAL TEMPORARY VIEW onto AS SELECT a + 1 AS a FROM {shared}")
    rows(session, "CREATE TEMPORARY VIEW own AS SELECT a + 1 AS a FROM global_temp.onto")
    assert rows(other, "SELECT a FROM global_temp.onto") == [(8,)] == rows(session, "SELECT a - 1 FROM own")


OF_SESSION = {
    "CREATE GLOBAL TEMPORARY VIEW h AS SELECT * FROM own": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE GLOBAL TEMPORARY VIEW h AS SELECT * FROM session.own": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE GLOBAL TEMPORARY VIEW h AS SELECT own_function() AS x": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE GLOBAL TEMPORARY VIEW h AS SELECT own_variable AS x": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE VIEW h AS SELECT * FROM global_temp.g": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE FUNCTION h() RETURN (SELECT max(a) FROM global_temp.g)": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE GLOBAL TEMPORARY VIEW global_temp.h AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "CREATE GLOBAL TEMPORARY VIEW session.h AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "CREATE TEMPORARY VIEW global_temp.h AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "CREATE OR REPLACE GLOBAL TEMPORARY VIEW g AS SELECT * FROM global_temp.g": "RECURSIVE_VIEW",
    "ALTER VIEW global_temp.g RENAME TO default.h": "UNSUPPORTED_FEATURE.STATEMENT",
    "ALTER VIEW global_temp.g SET TBLPROPERTIES ('a' = 'b')": "EXPECT_PERMANENT_VIEW_NOT_TEMP",
    "INSERT INTO global_temp.g VALUES (1)": "EXPECT_TABLE_NOT_VIEW",
    "USE global_temp": "SCHEMA_NOT_FOUND",
}


@pytest.mark.parametrize("text", OF_SESSION)
def test_rejected_statement_about_global_views(session: LakeSession, shared: str, text: str) -> None:
    rows(session, "CREATE TEMPORARY VIEW own AS SELECT 1 AS a")
    rows(session, "CREATE TEMPORARY FUNCTION own_function() RETURN 1")
    rows(session, "DECLARE own_variable INT DEFAULT 1")
    assert condition(session, text) == OF_SESSION[text]
    assert rows(session, f"SELECT a FROM {shared}") == [(7,)]


def test_text_of_a_global_view_does_not_see_views_of_its_reader(session: LakeSession, other: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE TABLE named AS SELECT 'table' AS a")
    rows(session, "CREATE OR REPLACE GLOBAL TEMPORARY VIEW reading AS SELECT a FROM named")
    rows(other, "CREATE TEMPORARY VIEW named AS SELECT 'view' AS a")
    assert rows(other, "SELECT reading.a, named.a FROM global_temp.reading, named") == [("table", "view")]
    rows(session, "DROP VIEW global_temp.reading")
