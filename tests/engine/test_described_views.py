"""DESCRIBE and SHOW COLUMNS return a view's stored columns, even after its tables change."""

from __future__ import annotations

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

_COLUMNS = [("a", "int", "c"), ("b", "string", None)]


@pytest.mark.parametrize("kind", ["VIEW", "TEMPORARY VIEW"])
def test_a_view_is_described_without_its_table(session: LakeSession, kind: str) -> None:
    run(session, "CREATE OR REPLACE TABLE gone (x INT, y STRING)")
    run(session, f"CREATE OR REPLACE {kind} seen (a COMMENT 'c', b) AS SELECT x, y FROM gone")
    for describe in ("DESC TABLE seen", "DESCRIBE seen", "DESCRIBE TABLE EXTENDED seen"):
        assert rows(session, describe)[:2] == _COLUMNS
    run(session, "DROP TABLE gone")
    for describe in ("DESC TABLE seen", "DESCRIBE seen", "DESCRIBE TABLE EXTENDED seen"):
        assert rows(session, describe)[:2] == _COLUMNS
    assert rows(session, "SHOW COLUMNS IN seen") == [("a",), ("b",)]
    assert rows(session, "DESCRIBE seen a")[0] == ("col_name", "a")
    assert refuse(session, "SELECT * FROM seen").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert refuse(session, "DESCRIBE not_seen").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(session, "DROP VIEW seen")


def test_the_statement_that_makes_a_view(session: LakeSession) -> None:
    run(
        session,
        "CREATE VIEW told (a COMMENT 'it''s', `b c`) COMMENT 'two' TBLPROPERTIES ('k' = 'v', 'l' 'w') AS SELECT 1, 'x'",
    )
    assert rows(session, "SHOW TBLPROPERTIES told") == [("k", "v"), ("l", "w")]
    assert rows(session, "SHOW TBLPROPERTIES told ('l')") == [("l", "w")]
    ((text,),) = rows(session, "SHOW CREATE TABLE told")
    run(session, "DROP VIEW told")
    run(session, text)
    assert rows(session, "SHOW CREATE TABLE told") == [(text,)]
    assert rows(session, "SELECT * FROM told") == [(1, "x")]
    assert "k" in text and "two" in text and "it''s" in text.replace("\\'", "''")
    run(session, "DROP VIEW told")


def test_the_statement_that_makes_a_temporary_view(session: LakeSession) -> None:
    run(session, "CREATE TEMPORARY VIEW told AS SELECT 1 AS a")
    assert rows(session, "SHOW CREATE TABLE told") == [("CREATE TEMPORARY VIEW `told` (\n  `a`)\nAS SELECT 1 AS a\n",)]
    assert rows(session, "SHOW TBLPROPERTIES told") == []
    run(session, "DROP VIEW told")
    assert refuse(session, "SHOW CREATE TABLE information_schema.tables").condition == "EXPECT_TABLE_NOT_VIEW"


@pytest.mark.parametrize("kind", ["VIEW", "TEMPORARY VIEW"])
def test_duplicate_columns_are_distinguished_by_order(session: LakeSession, kind: str) -> None:
    run(session, "CREATE TABLE pairs (k INT, v STRING)")
    run(session, "INSERT INTO pairs VALUES (1, 'a'), (2, 'b')")
    run(
        session, f"CREATE {kind} joined (a, b, `c d`, e) AS SELECT l.*, r.K, r.v FROM pairs l JOIN pairs r ON l.k < r.k"
    )
    assert rows(session, "SELECT e, `c d`, b, a FROM joined WHERE a = 1") == [("b", 2, "a", 1)]
    run(session, "DROP VIEW joined")
    run(session, "DROP TABLE pairs")


def test_a_column_that_has_become_two_is_refused(session: LakeSession) -> None:
    run(session, "CREATE TABLE grows (k INT)")
    run(session, "CREATE VIEW wide (a, b) AS SELECT *, 1 AS x FROM grows")
    run(session, "ALTER TABLE grows ADD COLUMN y INT")
    assert rows(session, "SELECT b, a FROM wide") == []
    run(session, "ALTER TABLE grows ADD COLUMN X INT")
    assert refuse(session, "SELECT * FROM wide").condition == "INCOMPATIBLE_VIEW_SCHEMA_CHANGE"
    run(session, "DROP VIEW wide")
    run(session, "DROP TABLE grows")
