"""REPLACE COLUMNS: the new column list, and the changes that a table supports."""

from __future__ import annotations

import pytest

from engine.planning.plans.ddl import AlterPlan
from tests.engine.planning.lake import PlanningLake, shown_columns

AFTER = {
    "plain REPLACE COLUMNS (b STRING, a INT)": "b string, a int",
    "plain REPLACE COLUMNS (A INT, n DATE, b STRING)": "a int, n date, b string",
    "mapped REPLACE COLUMNS (c INT, z DATE)": "c int, z date",
    "structs REPLACE COLUMNS (s STRUCT<n: INT, y: INT>, l ARRAY<STRUCT<y: INT>>,"
    " m MAP<STRING, STRUCT<x: INT, n: INT>>)": (
        "s struct<n:int,y:int>, l array<struct<y:int>>, m map<string,struct<x:int,n:int>>"
    ),
    "widening REPLACE COLUMNS (a BIGINT, b STRUCT<x: INT>)": "a bigint, b struct<x:int>",
    "chars REPLACE COLUMNS (v VARCHAR(9), a CHAR(3), s STRING)": "v varchar(9), a char(3), s string",
}


@pytest.fixture(scope="module", autouse=True)
def structs(planning: PlanningLake) -> None:
    columns = "s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, STRUCT<x: INT>>"
    planning.make(f"CREATE TABLE structs ({columns}) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")


@pytest.mark.parametrize("text", AFTER)
def test_the_columns_afterwards(planning: PlanningLake, text: str) -> None:
    assert shown_columns(planning.plan(AlterPlan, f"ALTER TABLE {text}").definition) == AFTER[text]


def test_a_column_that_stays_is_the_same_one(planning: PlanningLake) -> None:
    """It gets its comment from the list; a new column gets a new physical name."""
    before = planning.snapshot("mapped").schema
    text = "ALTER TABLE mapped REPLACE COLUMNS (b STRING COMMENT 'kept', C DATE)"
    assert planning.refused(text) == "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"
    after = planning.plan(AlterPlan, text.replace("C DATE", "d DATE")).definition.config("t").schema
    remaining, new = after.fields
    old = before.field("b")
    physical = "delta.columnMapping.physicalName"
    assert old is not None and remaining.metadata[physical] == old.metadata[physical] and remaining.comment == "kept"
    assert new.metadata[physical] not in {field.metadata[physical] for field in before.fields}


REFUSED = {
    "plain REPLACE COLUMNS (b STRING)": "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
    "plain REPLACE COLUMNS (a INT, b STRING, c INT NOT NULL)": "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
    "plain REPLACE COLUMNS (a BIGINT, b STRING)": "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
    "plain REPLACE COLUMNS (a INT NOT NULL, b STRING)": "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
    "plain REPLACE COLUMNS (a INT DEFAULT 1, b STRING)": (
        "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED"
    ),
    "plain REPLACE COLUMNS (a BIGINT GENERATED ALWAYS AS IDENTITY)": (
        "DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED"
    ),
    "plain REPLACE COLUMNS (a INT, b STRING GENERATED ALWAYS AS (a))": "UNSUPPORTED_FEATURE.STATEMENT",
    "plain REPLACE COLUMNS (a INT FIRST, b STRING)": "UNSUPPORTED_FEATURE.STATEMENT",
    "plain REPLACE COLUMNS (a INT, A INT, b STRING)": "DELTA_DUPLICATE_COLUMNS_FOUND",
    "plain REPLACE COLUMNS (a INT, b STRING, A INT)": "DELTA_DUPLICATE_COLUMNS_FOUND",
    "structs REPLACE COLUMNS (s STRUCT<x: INT, y: INT, X: INT>)": "DELTA_DUPLICATE_COLUMNS_FOUND",
    "ruled REPLACE COLUMNS (id BIGINT)": "DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_replace_columns_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(f"ALTER TABLE {text}") == REFUSED[text]


@pytest.mark.parametrize("columns", ["b INT, c INT", "a INT, b INT, c BIGINT"])
def test_columns_that_a_constraint_uses(planning: PlanningLake, columns: str) -> None:
    if not planning.path("checked").exists():
        planning.make(
            "CREATE TABLE checked (a INT, b INT, c INT, CONSTRAINT k CHECK (a + c > 0)) TBLPROPERTIES"
            " ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
        )
    assert planning.refused(f"ALTER TABLE checked REPLACE COLUMNS ({columns})") == (
        "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"
    )
