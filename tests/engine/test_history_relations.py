"""`(DESCRIBE HISTORY t)` as a relation of a query, as in Databricks and delta-spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run, table

pytestmark = pytest.mark.spark


@pytest.fixture
def shop(session: LakeSession) -> Iterator[LakeSession]:
    for text in (
        "CREATE SCHEMA shop",
        "USE shop",
        "CREATE TABLE t (id INT)",
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t WHERE id = 1",
        "CREATE VIEW v AS SELECT * FROM t",
    ):
        run(session, text)
    yield session
    run(session, "DROP SCHEMA shop CASCADE")


def test_relation_has_the_rows_and_types_of_the_statement(shop: LakeSession) -> None:
    expected = table(shop, "DESCRIBE HISTORY t")
    found = table(shop, "SELECT * FROM (DESCRIBE HISTORY shop.t) ORDER BY version DESC")
    assert found.schema.names == expected.schema.names
    assert [str(each) for each in found.schema.types] == [str(each) for each in expected.schema.types]
    comparable = [column for column in found.schema.names if column != "operationMetrics"]
    assert found.select(comparable).to_pylist() == expected.select(comparable).to_pylist()
    metrics = [sorted(row) for row in expected["operationMetrics"].to_pylist()]
    assert [sorted(row) for row in found["operationMetrics"].to_pylist()] == metrics


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select operation from (describe history `spark_catalog`.`shop`.`t`)", ["DELETE", "WRITE", "CREATE TABLE"]),
        ("SELECT h.operation FROM (DESC HISTORY t LIMIT 2) AS h WHERE h.version < 2", ["WRITE"]),
        ("SELECT operation FROM t, (DESCRIBE HISTORY t) h", []),
        (
            "SELECT h.operation FROM (DESCRIBE HISTORY t) h JOIN (SELECT 0 AS version) o ON h.version = o.version",
            ["CREATE TABLE"],
        ),
        ("SELECT operation FROM (SELECT * FROM (DESCRIBE HISTORY t LIMIT 1))", ["DELETE"]),
        ("WITH h AS (SELECT * FROM (DESCRIBE HISTORY t)) SELECT operation FROM h WHERE version = 2", ["DELETE"]),
        ("SELECT operationParameters['mode'] FROM (DESCRIBE HISTORY t) WHERE version = 1", ["Append"]),
    ],
)
def test_history_is_read_like_a_table(shop: LakeSession, text: str, expected: list[str]) -> None:
    assert sorted(str(operation) for (operation,) in rows(shop, text)) == sorted(expected)


def test_history_of_a_path_and_in_a_view_and_an_insert(shop: LakeSession) -> None:
    path = table(shop, "DESCRIBE DETAIL t")["location"].to_pylist()[0]
    assert rows(shop, f"SELECT count(*) FROM (DESCRIBE HISTORY '{path}')") == [(3,)]
    assert rows(shop, f"SELECT count(*) FROM (DESCRIBE HISTORY delta.`{path}`)") == [(3,)]
    run(shop, "CREATE VIEW log AS SELECT version, operation FROM (DESCRIBE HISTORY t)")
    run(shop, "CREATE TABLE copied AS SELECT * FROM log")
    run(shop, "INSERT INTO t VALUES (2)")
    assert rows(shop, "SELECT max(version) FROM log") == [(3,)]
    assert rows(shop, "SELECT max(version) FROM copied") == [(2,)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT * FROM (DESCRIBE HISTORY nope)", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM (DESCRIBE HISTORY v)", "EXPECT_TABLE_NOT_VIEW"),
        ("SELECT * FROM (DESCRIBE HISTORY t LIMIT x)", "PARSE_SYNTAX_ERROR"),
        ("SELECT * FROM (DESCRIBE HISTORY t WHERE true)", "PARSE_SYNTAX_ERROR"),
        ("SELECT * FROM (DESCRIBE DETAIL t)", "UNSUPPORTED_CLAUSE"),
        ("SELECT (DESCRIBE HISTORY t)", "UNSUPPORTED_CLAUSE"),
    ],
)
def test_unsupported_history_is_rejected(shop: LakeSession, text: str, condition: str) -> None:
    assert refuse(shop, text).condition == condition


def test_history_of_a_protected_table_is_rejected_as_the_statement_is(shop: LakeSession) -> None:
    run(shop, "CREATE FUNCTION only_positive(x INT) RETURNS BOOLEAN RETURN x > 0")
    run(shop, "ALTER TABLE t SET ROW FILTER only_positive ON (id)")
    statement = refuse(shop, "DESCRIBE HISTORY t")
    relation = refuse(shop, "SELECT * FROM (DESCRIBE HISTORY t)")
    assert (relation.condition, relation.sqlstate) == (statement.condition, statement.sqlstate)
    run(shop, "ALTER TABLE t DROP ROW FILTER")
    assert rows(shop, "SELECT count(*) FROM (DESCRIBE HISTORY t)") == [(3,)]
