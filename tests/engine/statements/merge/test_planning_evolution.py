"""Schema evolution: columns that a query or MERGE adds, and columns that must stay."""

from __future__ import annotations

import pytest

from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.writes import InsertPlan
from engine.planning.semantics.query_columns import given_fields
from engine.statements.merge.planning_evolution import assigned_fields
from engine.types.schema import StructType
from engine.types.sql_types import format_sql_type
from tests.engine.planning.lake import PlanningLake, query_columns

MANY = {
    "computed": "(a INT, b INT, s STRUCT<x: INT>, free INT, twice BIGINT GENERATED ALWAYS AS (b * 2L),"
    " CONSTRAINT c CHECK (a > 0), CONSTRAINT whole CHECK (s IS NOT NULL))"
    " TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "fields": "(a INT, s STRUCT<x: INT>, CONSTRAINT c CHECK (s.x > 0))",
    "wide": "(a INT, l ARRAY<SMALLINT>, m MAP<STRING, FLOAT>, c VARCHAR(3))"
    " TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "voids": "(a INT, n VOID)",
}


@pytest.fixture(scope="module", autouse=True)
def tables(planning: PlanningLake) -> None:
    for name, definition in MANY.items():
        planning.make(f"CREATE TABLE {name} {definition}")


def schema_after(planning: PlanningLake, table: str, columns: str, how: str = "") -> str | None:
    """Returns the table's columns after an INSERT with these query columns; None if unchanged."""
    text = f"INSERT WITH SCHEMA EVOLUTION INTO {table} {how} SELECT 1"
    definition = planning.plan(InsertPlan, text, columns).definition
    return None if definition is None else format_sql_type(definition.config(table).schema)


NESTED = "struct<id:int,place:struct<city:string,zip:int{place}>,tags:array<struct<k:string{tags}>>,m:map<string,int>>"
BY_NAME = {
    "plain": [
        ("a INT", None),
        ("B STRING, a INT", None),
        ("n INT, a INT, O STRING", "struct<a:int,b:string,n:int,O:string>"),
        ("a BIGINT", None),
        ("n STRUCT<x: INT>", "struct<a:int,b:string,n:struct<x:int>>"),
    ],
    "nested": [
        ("place STRUCT<land: STRING, ZIP: INT>", NESTED.format(place=",land:string", tags="")),
        ("tags ARRAY<STRUCT<v: INT>>", NESTED.format(place="", tags=",v:int")),
        ("tags ARRAY<STRUCT<k: STRING>>, m MAP<STRING, INT>", None),
        ("place STRUCT<city: INT>", None),
    ],
    "widening": [
        ("a BIGINT", "struct<a:bigint,b:struct<x:smallint>>"),
        ("a TINYINT", None),
        ("a STRING", None),
        ("b STRUCT<x: INT>", "struct<a:int,b:struct<x:int>>"),
    ],
    "wide": [
        ("l ARRAY<INT>", "struct<a:int,l:array<int>,m:map<string,float>,c:varchar(3)>"),
        ("m MAP<STRING, DOUBLE>", "struct<a:int,l:array<smallint>,m:map<string,double>,c:varchar(3)>"),
        ("c STRING", None),
    ],
    "voids": [("n STRING", "struct<a:int,n:string>"), ("a BIGINT", None)],
}


@pytest.mark.parametrize(
    ("table", "columns", "after"), [(table, *case) for table, cases in BY_NAME.items() for case in cases]
)
def test_by_name(planning: PlanningLake, table: str, columns: str, after: str | None) -> None:
    found = schema_after(planning, table, columns, "BY NAME")
    assert found == (after if after is None else after.replace("varchar(3)", "string"))


@pytest.mark.parametrize(
    ("table", "columns", "after"),
    [
        ("plain", "x INT, y STRING, Z DATE", "struct<a:int,b:string,Z:date>"),
        ("plain", "b INT", None),
        ("nested", "i INT, p STRUCT<x: STRING, y: INT, z: INT>", NESTED.format(place=",z:int", tags="")),
        ("plain (a)", "a INT, b STRING, c INT", None),
    ],
)
def test_by_position(planning: PlanningLake, table: str, columns: str, after: str | None) -> None:
    """A column list leaves nothing over."""
    assert schema_after(planning, table, columns) == after


HELD: dict[str, list[tuple[str, str | None]]] = {
    "computed": [
        ("a BIGINT", "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"),
        ("s STRUCT<y: INT>", "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"),
        ("b BIGINT", "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH"),
        ("free BIGINT, a INT", None),
    ],
    "fields": [("s STRUCT<y: INT>", None)],
}


@pytest.mark.parametrize(
    ("table", "columns", "condition"), [(table, *case) for table, cases in HELD.items() for case in cases]
)
def test_expression_on_a_column_prevents_its_widening(
    planning: PlanningLake, table: str, columns: str, condition: str | None
) -> None:
    """A constraint on a struct's field allows new sibling fields."""
    text = f"INSERT WITH SCHEMA EVOLUTION INTO {table} BY NAME SELECT 1"
    if condition is None:
        assert planning.plan(InsertPlan, text, columns).definition is not None
    else:
        assert planning.refused(text, columns) == condition


@pytest.mark.parametrize(
    ("statement", "columns", "fields"),
    [
        ("WITH SCHEMA EVOLUTION INTO nested BY NAME SELECT 1", "id INT", FieldMatching.FILLED),
        ("INTO nested BY NAME SELECT 1", "id INT", FieldMatching.NAME),
        ("WITH SCHEMA EVOLUTION INTO plain SELECT 1", "a INT, b STRING", FieldMatching.POSITION),
    ],
)
def test_fields_that_only_the_table_has_are_null_by_name_alone(
    planning: PlanningLake, statement: str, columns: str, fields: FieldMatching
) -> None:
    assert planning.plan(InsertPlan, f"INSERT {statement}", columns).rows.fields is fields


@pytest.mark.parametrize(
    ("paths", "takes_all", "assigned"),
    [
        ([], True, "struct<id:int,s:struct<i:struct<a:int,b:int>,j:int>,l:array<struct<a:int>>>"),
        ([], False, "struct<>"),
        ([("s",)], False, "struct<s:struct<i:struct<a:int,b:int>,j:int>>"),
        ([("s", "i", "b"), ("l",)], False, "struct<s:struct<i:struct<b:int>>,l:array<struct<a:int>>>"),
        ([("s", "i"), ("s", "x")], False, "struct<s:struct<i:struct<a:int,b:int>>>"),
    ],
)
def test_assigned_parts_of_a_source_are_whole_fields_at_their_paths(
    paths: list[tuple[str, ...]], takes_all: bool, assigned: str
) -> None:
    columns = query_columns("id INT, s STRUCT<i: STRUCT<a: INT, b: INT>, j: INT>, l ARRAY<STRUCT<a: INT>>")
    found = assigned_fields(given_fields(columns), paths, takes_all=takes_all)
    assert format_sql_type(StructType(tuple(found))) == assigned
