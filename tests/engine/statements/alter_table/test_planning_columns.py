"""ALTER TABLE on columns: the resulting columns, and the conditions of rejected changes."""

from __future__ import annotations

import pytest

from engine.planning.plans.ddl import AlterPlan
from tests.engine.planning.lake import PlanningLake, shown_columns

AFTER = {
    "plain ADD COLUMNS (c INT FIRST, D STRING AFTER a)": "c int, a int, D string, b string",
    "plain ADD COLUMN s STRUCT<x: INT>": "a int, b string, s struct<x:int>",
    "nested ADD COLUMN place.land STRING AFTER city": (
        "id int, place struct<city:string,land:string,zip:int>, tags array<struct<k:string>>, m map<string,int>"
    ),
    "nested ADD COLUMN tags.element.v INT": (
        "id int, place struct<city:string,zip:int>, tags array<struct<k:string,v:int>>, m map<string,int>"
    ),
    "mapped RENAME COLUMN A TO x": "x int, b string, c int",
    "mapped DROP COLUMNS (a, B)": "c int",
    "mapped DROP COLUMN IF EXISTS zz": "a int, b string, c int",
    "mapped DROP COLUMNS IF EXISTS (zz, b)": "a int, c int",
    "plain ALTER COLUMN b FIRST": "b string, a int",
    "plain ALTER COLUMN a AFTER b": "b string, a int",
    "plain ALTER COLUMN a SET NOT NULL": "a int NOT NULL, b string",
    "widening ALTER COLUMN a TYPE BIGINT": "a bigint, b struct<x:smallint>",
    "widening ALTER COLUMN b.x TYPE INT": "a int, b struct<x:int>",
    "widening ALTER COLUMN a TYPE INT": "a int, b struct<x:smallint>",
    "chars ALTER COLUMN v TYPE VARCHAR(9)": "a char(3), v varchar(9), s string",
    "chars ALTER COLUMN v TYPE STRING": "a char(3), v string, s string",
    "chars ALTER COLUMN a TYPE VARCHAR(3)": "a varchar(3), v varchar(5), s string",
    "elements ALTER COLUMN l.element TYPE INT": "l array<int>, m map<smallint,float>",
    "elements ALTER COLUMN m.value TYPE DOUBLE": "l array<smallint>, m map<smallint,double>",
    "elements ALTER COLUMN m.key TYPE INT": "l array<smallint>, m map<int,float>",
}


@pytest.fixture(scope="module", autouse=True)
def elements(planning: PlanningLake) -> None:
    columns = "l ARRAY<SMALLINT>, m MAP<SMALLINT, FLOAT>"
    planning.make(f"CREATE TABLE elements ({columns}) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")


@pytest.mark.parametrize("text", AFTER)
def test_the_columns_afterwards(planning: PlanningLake, text: str) -> None:
    assert shown_columns(planning.plan(AlterPlan, f"ALTER TABLE {text}").definition) == AFTER[text]


@pytest.mark.parametrize(
    ("text", "column", "key", "value"),
    [
        ("plain ALTER COLUMN a COMMENT 'why'", "a", "comment", "why"),
        ("ruled ALTER COLUMN note SET DEFAULT 'x'", "note", "CURRENT_DEFAULT", "'x'"),
        ("ruled ALTER COLUMN amount DROP DEFAULT", "amount", "CURRENT_DEFAULT", None),
        ("ruled ALTER COLUMN note DROP NOT NULL", "note", "CURRENT_DEFAULT", None),
    ],
)
def test_column_change_preserves_metadata(
    planning: PlanningLake, text: str, column: str, key: str, value: str | None
) -> None:
    definition = planning.plan(AlterPlan, f"ALTER TABLE {text}").definition
    field = definition.config("t").schema.field(column)
    assert field is not None and field.metadata.get(key) == value


REFUSED = {
    "plain ADD COLUMN c INT DEFAULT 1": "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
    "plain ADD COLUMN c INT NOT NULL": "DELTA_OPERATION_NOT_ALLOWED_DETAIL",
    "plain ADD COLUMN s STRUCT<x: INT NOT NULL>": "DELTA_OPERATION_NOT_ALLOWED_DETAIL",
    "plain ADD COLUMN c BIGINT GENERATED ALWAYS AS IDENTITY": "DELTA_IDENTITY_COLUMNS_ADD_COLUMN_NOT_SUPPORTED",
    "plain ADD COLUMN c INT GENERATED ALWAYS AS (a)": "UNSUPPORTED_FEATURE.STATEMENT",
    "plain ADD COLUMN A INT": "DELTA_DUPLICATE_COLUMNS_FOUND",
    "plain ADD COLUMN a.x INT": "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT",
    "plain RENAME COLUMN a TO x": "DELTA_UNSUPPORTED_RENAME_COLUMN",
    "plain DROP COLUMN a": "DELTA_UNSUPPORTED_DROP_COLUMN",
    "mapped DROP COLUMN zz": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
    "mapped DROP COLUMNS (a, b, c)": "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA",
    "plain ALTER COLUMN a TYPE BIGINT": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "widening ALTER COLUMN a TYPE STRING": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "widening ALTER COLUMN a TYPE SMALLINT": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "chars ALTER COLUMN v TYPE VARCHAR(3)": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "chars ALTER COLUMN v TYPE CHAR(9)": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "chars ALTER COLUMN a TYPE CHAR(9)": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "chars ALTER COLUMN s TYPE VARCHAR(9)": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "chars ALTER COLUMN v TYPE INT": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "plain ALTER COLUMN a TYPE VARCHAR(3)": "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
    "plain ALTER COLUMN zz COMMENT 'x'": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
    "plain ALTER COLUMN a SET DEFAULT 1": "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
    "nested ALTER COLUMN place.city SET DEFAULT 'x'": "UNSUPPORTED_DEFAULT_VALUE.WITHOUT_SUGGESTION",
    "nested ALTER COLUMN tags.element.k SET NOT NULL": "UNSUPPORTED_FEATURE.STATEMENT",
    "ruled ALTER COLUMN id SET DEFAULT 1": "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED",
    "ruled ALTER COLUMN id TYPE INT": "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED",
    "ruled ALTER COLUMN amount TYPE BIGINT": "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
    "ruled ALTER COLUMN at TYPE STRING": "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
    "ruled RENAME COLUMN amount TO x": "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
    "ruled DROP COLUMN at": "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_alter_columns_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(f"ALTER TABLE {text}") == REFUSED[text]
