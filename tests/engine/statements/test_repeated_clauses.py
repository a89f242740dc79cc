"""No clause comes twice."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.statements.parse import parse

TWICE = [
    ("CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 1 START WITH 2))", "IDENTITY_COLUMNS", "START"),
    (
        "CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY 1 START WITH 1 INCREMENT BY 1))",
        "IDENTITY_COLUMNS",
        "INCREMENT",
    ),
    ("CREATE TABLE t (a INT NOT NULL NOT NULL)", "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE", "NOT NULL"),
    ("CREATE TABLE t (a INT COMMENT 'x' COMMENT 'x')", "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE", "COMMENT"),
    ("CREATE TABLE t (a INT DEFAULT 1 NOT NULL DEFAULT 1)", "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE", "DEFAULT"),
    ("ALTER TABLE t ADD COLUMN a INT FIRST AFTER b", "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE", "AFTER"),
    ("ALTER TABLE t ALTER COLUMN a COMMENT 'x', A COMMENT 'y'", "NOT_SUPPORTED_CHANGE_SAME_COLUMN", "A"),
    ("CREATE TABLE t (a INT) COMMENT 'x' COMMENT 'y'", "PARSE_SYNTAX_ERROR", "COMMENT"),
    ("CREATE TABLE t (a INT) PARTITIONED BY (a) PARTITIONED BY (a)", "PARSE_SYNTAX_ERROR", "PARTITIONED BY"),
    ("CREATE TABLE t (a INT) CLUSTER BY (a) CLUSTER BY (a)", "PARSE_SYNTAX_ERROR", "CLUSTER BY"),
    ("CREATE TABLE t (a INT) TBLPROPERTIES (a = 1) TBLPROPERTIES (b = 1)", "PARSE_SYNTAX_ERROR", "TBLPROPERTIES"),
    ("CREATE TABLE t (a INT) TBLPROPERTIES (a = 1, a = 1)", "PARSE_SYNTAX_ERROR", "property a"),
    ("CREATE TABLE t (a INT) LOCATION '/x' LOCATION '/y'", "PARSE_SYNTAX_ERROR", "LOCATION"),
    ("CREATE TABLE t (a INT) USING delta USING delta", "PARSE_SYNTAX_ERROR", "USING"),
    ("CREATE TABLE t LIKE s LOCATION '/x' LOCATION '/y'", "PARSE_SYNTAX_ERROR", "LOCATION"),
    ("CREATE SCHEMA s COMMENT 'x' COMMENT 'y'", "PARSE_SYNTAX_ERROR", "end of the statement"),
    ("CREATE SCHEMA s LOCATION '/x' MANAGED LOCATION '/y'", "PARSE_SYNTAX_ERROR", "end of the statement"),
    ("CREATE SCHEMA s WITH DBPROPERTIES (a = 1) WITH DBPROPERTIES (a = 1)", "PARSE_SYNTAX_ERROR", "end of the"),
    ("CREATE VIEW v COMMENT 'x' COMMENT 'y' AS SELECT 1", "PARSE_SYNTAX_ERROR", "AS and the query"),
    ("CREATE VIEW v TBLPROPERTIES (a = 1) TBLPROPERTIES (b = 1) AS SELECT 1", "PARSE_SYNTAX_ERROR", "AS and the query"),
]


@pytest.mark.parametrize(("text", "condition", "reported"), TWICE, ids=[row[0] for row in TWICE])
def test_no_clause_comes_twice(text: str, condition: str, reported: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert caught.value.condition.startswith(condition) and reported in caught.value.full_message
