"""Struct field matching in an INSERT, by the types of the query's columns."""

from __future__ import annotations

import pytest

from engine.binding.bound import BoundTable
from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.writes import InsertPlan
from engine.statements.insert.planning_fields import depends_on_names
from engine.statements.insert.statement import Insert
from tests.engine.planning.lake import PlanningLake

NAME, POSITION, FILLED = FieldMatching.NAME, FieldMatching.POSITION, FieldMatching.FILLED
TABLES = {
    "pairs": "(k INT, s STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING, d: MAP<STRING, STRUCT<e: INT, f: INT>>>>>)",
    "wider": "(k INT, s STRUCT<a: INT, b: INT>) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "parted": "(p INT, s STRUCT<a: INT, b: INT>) PARTITIONED BY (p)",
}
SWAPPED = "s STRUCT<b: ARRAY<STRUCT<d: MAP<STRING, STRUCT<f: INT, e: INT>>, c: STRING>>, a: INT>"
MATCHED = [
    # the statement, its query's columns, the field matching
    ("INSERT INTO pairs SELECT 1", f"k INT, {SWAPPED}", NAME),
    ("INSERT INTO pairs SELECT 1", f"K INT, {SWAPPED.upper()}", NAME),
    ("INSERT INTO pairs SELECT 1", f"k INT, {SWAPPED}, z INT", NAME),
    ("INSERT INTO pairs SELECT 1", f"k VOID, {SWAPPED}", NAME),
    ("INSERT OVERWRITE pairs SELECT 1", f"k INT, {SWAPPED}", NAME),
    ("INSERT INTO pairs REPLACE WHERE k = 1 SELECT 1", f"k INT, {SWAPPED}", NAME),
    ("INSERT INTO parted PARTITION (p = 1) SELECT 1", "s STRUCT<b: INT, a: INT>", NAME),
    ("INSERT INTO pairs SELECT 1", f"k BIGINT, {SWAPPED}", POSITION),
    ("INSERT INTO pairs SELECT 1", f"k INT, {SWAPPED.replace('f: INT', 'f: BIGINT')}", POSITION),
    ("INSERT INTO pairs SELECT 1", f"k BIGINT, {SWAPPED.replace('f: INT', 'g: INT')}", NAME),
    ("INSERT INTO pairs SELECT 1", f"k INT, {SWAPPED.replace('c: STRING', 'C: STRING, x: INT')}", NAME),
    ("INSERT INTO pairs SELECT 1", f"j INT, {SWAPPED}", POSITION),
    ("INSERT INTO pairs SELECT 1", f"{SWAPPED}, k INT", POSITION),
    ("INSERT INTO pairs SELECT 1", "k INT", POSITION),
    ("INSERT INTO pairs (k, s) SELECT 1", f"k INT, {SWAPPED}", POSITION),
    ("INSERT INTO pairs BY NAME SELECT 1", f"{SWAPPED}, k BIGINT", NAME),
    ("INSERT INTO wider SELECT 1", "k INT, s STRUCT<b: BIGINT, a: INT>", POSITION),
    ("INSERT WITH SCHEMA EVOLUTION INTO wider SELECT 1", "k INT, s STRUCT<b: BIGINT, a: INT>", NAME),
    ("INSERT WITH SCHEMA EVOLUTION INTO wider SELECT 1", "k INT, s STRUCT<b: STRING, a: INT>", POSITION),
    ("INSERT WITH SCHEMA EVOLUTION INTO pairs BY NAME SELECT 1", f"k INT, {SWAPPED}", FILLED),
]


@pytest.fixture(scope="module", autouse=True)
def tables(planning: PlanningLake) -> None:
    for name, definition in TABLES.items():
        planning.make(f"CREATE TABLE {name} {definition}")


@pytest.mark.parametrize(("text", "columns", "expected"), MATCHED)
def test_fields_match_by_the_names_of_the_columns(
    planning: PlanningLake, text: str, columns: str, expected: FieldMatching
) -> None:
    assert planning.plan(InsertPlan, text, columns).rows.fields is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO pairs SELECT 1", True),
        ("INSERT INTO pairs BY NAME SELECT 1", False),
        ("INSERT INTO pairs (k) SELECT 1", False),
        ("INSERT INTO plain SELECT 1", False),
    ],
)
def test_names_decide_for_structs_without_a_column_list(planning: PlanningLake, text: str, expected: bool) -> None:
    bound = planning.bound(text)
    assert isinstance(bound.statement, Insert) and isinstance(bound.target, BoundTable)
    assert depends_on_names(bound.target.snapshot.table_config, bound.statement) is expected
