"""Statements known to have no result set before they run."""

from __future__ import annotations

import pytest

from engine.statements.parse import parse
from engine.statements.registry import may_answer_rows

WITHOUT = [
    "INSERT INTO t VALUES (1)",
    "FROM s INSERT INTO t SELECT 1 INSERT INTO u SELECT 2",
    "DELETE FROM t",
    "UPDATE t SET a = 1",
    "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE t",
    "CREATE TABLE t (a INT)",
    "CREATE TABLE t AS SELECT 1 AS a",
    "CREATE TABLE t LIKE s",
    "ALTER TABLE t ADD COLUMN b INT",
    "DROP TABLE t",
    "CREATE VIEW v AS SELECT 1 AS a",
    "CREATE TEMPORARY VIEW v AS SELECT 1 AS a",
    "DROP VIEW v",
    "COMMENT ON TABLE t IS 'x'",
    "CREATE SCHEMA s",
    "DROP SCHEMA s",
    "USE s",
    "RESET",
    "DECLARE x INT",
    "SET VAR x = 1",
    "/* with */ -- comments\n USE s;",
]
PERHAPS = [
    "SELECT 1",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "SHOW TABLES",
    "DESCRIBE t",
    "EXPLAIN DELETE FROM t",
    "SET a.b = 1",
    "SET -v",
    "OPTIMIZE t",
    "VACUUM t DRY RUN",
    "RESTORE TABLE t TO VERSION AS OF 1",
    "COPY INTO t FROM '/a' FILEFORMAT = CSV VALIDATE",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "BEGIN SELECT 1; END",
]


@pytest.mark.parametrize("text", WITHOUT)
def test_statements_without_rows(text: str) -> None:
    assert not may_answer_rows(parse(text))


@pytest.mark.parametrize("text", PERHAPS)
def test_statements_that_may_have_rows(text: str) -> None:
    assert may_answer_rows(parse(text))
