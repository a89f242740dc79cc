"""Rows of an INSERT, from its text."""

from __future__ import annotations

import pytest

from engine.planning.analyzed import InsertRows
from tests.engine.planning.lake import PlanningLake

MERGE_SCHEMA = {"spark.databricks.delta.schema.autoMerge.enabled": "true"}


def rows_of(planning: PlanningLake, text: str, settings: dict[str, str] | None = None) -> InsertRows:
    found = planning.analyzed(text, "a INT", settings or {}).insert
    assert found is not None
    return found


def test_columns_and_partitions(planning: PlanningLake) -> None:
    found = rows_of(planning, "INSERT INTO sales PARTITION (day = date '2024-01-01') (id, amount) VALUES (1, 2)").rows
    assert found.insert_columns == ("id", "amount")
    assert found.static_partitions == {"day": "date '2024-01-01'"}
    assert found.config is planning.bound("INSERT INTO sales VALUES (1)").target.snapshot.table_config  # type: ignore[union-attr]
    dynamic = rows_of(planning, "INSERT INTO sales PARTITION (day) VALUES (1, 2, NULL)").rows
    assert dynamic.static_partitions == {}


@pytest.mark.parametrize(
    ("text", "removes", "replaces"),
    [
        ("INSERT INTO plain VALUES (1, 'x')", False, None),
        ("INSERT OVERWRITE plain VALUES (1, 'x')", True, None),
        ("INSERT INTO plain REPLACE WHERE plain.a > 1 VALUES (1, 'x')", True, "a > 1"),
        ("INSERT INTO plain REPLACE USING (a) VALUES (1, 'x')", True, None),
        ("INSERT INTO plain AS t REPLACE ON t.a = s.a (SELECT 1 AS a) AS s", True, None),
    ],
)
def test_inserts_that_replace_rows(planning: PlanningLake, text: str, removes: bool, replaces: str | None) -> None:
    found = rows_of(planning, text)
    assert (found.rows.removes, found.rows.replaces) == (removes, replaces)
    assert (None if found.condition is None else found.condition.text) == replaces


@pytest.mark.parametrize(
    ("text", "settings", "evolves"),
    [
        ("INSERT INTO plain VALUES (1, 'x')", {}, False),
        ("INSERT WITH SCHEMA EVOLUTION INTO plain VALUES (1, 'x')", {}, True),
        ("INSERT INTO plain VALUES (1, 'x')", MERGE_SCHEMA, True),
    ],
)
def test_inserts_that_append_rows(planning: PlanningLake, text: str, settings: dict[str, str], evolves: bool) -> None:
    assert rows_of(planning, text, settings).evolves is evolves


REFUSED = {
    "INSERT INTO sales PARTITION (day = '1', DAY = '2') VALUES (1, 2)": "DUPLICATE_KEY",
    "INSERT INTO sales PARTITION (day, day) VALUES (1, 2)": "DUPLICATE_KEY",
    "INSERT INTO plain AS t REPLACE WHERE a = 1 VALUES (1, 'x')": "INSERT_REPLACE_WHERE_TABLE_ALIAS_NOT_ALLOWED",
    "INSERT INTO plain (a) REPLACE ON a = 1 SELECT 1 AS a": "INSERT_REPLACE_ON_COLUMN_LIST_NOT_ALLOWED",
}


@pytest.mark.parametrize("text", REFUSED)
def test_clauses_that_do_not_go_together(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text, "a INT") == REFUSED[text]
