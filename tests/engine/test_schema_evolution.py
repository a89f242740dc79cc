"""INSERT WITH SCHEMA EVOLUTION: the query's new columns are added, only with that clause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table_of, version_of

pytestmark = pytest.mark.spark

MAPPED = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
GROWN = [
    ("", "WITH SCHEMA EVOLUTION INTO grown BY NAME SELECT 'x' AS n, 2 AS K", [(1, None), (2, "x")]),
    ("", "WITH SCHEMA EVOLUTION INTO grown SELECT 2, 'x' AS n", [(1, None), (2, "x")]),
    (MAPPED, "WITH SCHEMA EVOLUTION INTO grown BY NAME SELECT 2 AS k, 'x' AS n", [(1, None), (2, "x")]),
    (MAPPED, "WITH SCHEMA EVOLUTION OVERWRITE grown SELECT 2, 'x' AS `n m`", [(2, "x")]),
    ("", "WITH SCHEMA EVOLUTION INTO grown BY NAME SELECT 2 AS k", [(1,), (2,)]),
    ("", "WITH SCHEMA EVOLUTION INTO grown REPLACE WHERE k = 1 SELECT 1, named_struct('a', 5) AS n", [(1, {"a": 5})]),
    (
        "",
        "WITH SCHEMA EVOLUTION INTO grown BY NAME SELECT 2 AS k, TIMESTAMP_NTZ'2024-01-01 00:00:00' IS NULL AS n",
        [(1, None), (2, False)],
    ),
]


@pytest.mark.parametrize(("properties", "text", "expected"), GROWN)
def test_new_columns_are_added(
    session: LakeSession, lake: Path, properties: str, text: str, expected: list[tuple[Any, ...]]
) -> None:
    run(session, "DROP TABLE IF EXISTS grown")
    run(session, f"CREATE TABLE grown (k INT){properties}")
    run(session, "INSERT INTO grown VALUES (1)")
    run(session, f"INSERT {text}")
    assert rows(session, "SELECT * FROM grown ORDER BY k") == expected
    assert version_of(lake, "grown") == 2
    has_metadata = any("metaData" in action for action in actions(lake, "grown", 2))
    assert has_metadata == (len(expected[0]) > 1)
    if not properties:
        assert sorted(tuple(row.values()) for row in table_of(lake, "grown").to_pylist()) == expected


def test_the_setting_asks_for_it_too(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE asked (id BIGINT GENERATED ALWAYS AS IDENTITY, k INT)")
    text = "INSERT INTO asked BY NAME SELECT 1 AS k, 'x' AS n"
    assert refuse(session, text).condition == "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"
    run(session, "SET spark.databricks.delta.schema.autoMerge.enabled = true")
    run(session, text)
    run(session, "INSERT INTO asked BY NAME SELECT 2 AS k")
    assert rows(session, "SELECT * FROM asked ORDER BY id") == [(1, 1, "x"), (2, 2, None)]


REFUSED = [
    ("BY NAME SELECT 1 AS k, array(NULL) AS n", "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"),
    ("BY NAME SELECT 1 AS k, 2 AS `a b`", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ("SELECT 1, 2 AS K", "DELTA_DUPLICATE_COLUMNS_FOUND"),
    ("(k) SELECT 1, 2 AS n", "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"),
]


@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_columns_that_no_table_can_have_are_refused(
    session: LakeSession, lake: Path, text: str, condition: str
) -> None:
    run(session, "CREATE TABLE IF NOT EXISTS small (k INT)")
    assert refuse(session, f"INSERT WITH SCHEMA EVOLUTION INTO small {text}").condition == condition
    assert version_of(lake, "small") == 0 and not list((lake / "default" / "small").rglob("*.parquet"))
