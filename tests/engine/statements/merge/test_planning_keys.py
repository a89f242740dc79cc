"""MERGE keys: columns that the condition equates with source columns, unconverted."""

from __future__ import annotations

import pytest

from engine.planning.plans.writes import MergePlan
from tests.engine.planning.lake import PlanningLake

COLUMNS = "k INT, s STRING, d DATE, x DOUBLE, st STRUCT<i: INT>"
KEYS = [
    ("t.k = s.k", [("k", "k")]),
    ("s.k = t.k", [("k", "k")]),
    ("t.k = s.k AND t.d = s.d", [("d", "d"), ("k", "k")]),
    ("(t.k = s.k) AND t.s > 'x'", [("k", "k")]),
    ("t.l = s.k", [("l", "k")]),
    ("l = s.k", [("l", "k")]),
    ("t.st.i = s.st.i", [("st.i", "st.i")]),
    ("t.k = s.k OR t.d = s.d", []),
    ("NOT t.k = s.k", []),
    ("t.k > s.k", []),
    ("k = s.k", []),
    ("t.k = t.l", []),
    ("s.k = s.k", []),
    ("t.x = s.x", []),
    ("t.k = s.s", []),
    ("t.st = s.st", []),
    ("t.c = s.s", []),
    ("t.vc = s.s", [("vc", "s")]),
    ("t.k = s.k + 1", []),
    ("t.zz = s.k", []),
]


@pytest.fixture(scope="module", autouse=True)
def target(planning: PlanningLake) -> None:
    planning.make(
        "CREATE TABLE keyed (k INT, l BIGINT, s STRING, d DATE, x DOUBLE, st STRUCT<i: INT>, c CHAR(3), vc VARCHAR(3))"
    )


def keys(planning: PlanningLake, condition: str, clause: str = "WHEN MATCHED THEN DELETE") -> list[tuple[str, str]]:
    text = f"MERGE INTO keyed t USING (SELECT 1) s ON {condition} {clause}"
    plan = planning.plan(MergePlan, text, COLUMNS)
    head = f"{plan.source.relation}."
    assert all(key.of_source.startswith(head) for key in plan.keys)
    return sorted((".".join(key.path), key.of_source.removeprefix(head).replace("`", "")) for key in plan.keys)


@pytest.mark.parametrize(("condition", "expected"), KEYS)
def test_key_columns_of_a_merge_condition(
    planning: PlanningLake, condition: str, expected: list[tuple[str, str]]
) -> None:
    """An unqualified name that both sides have belongs to neither."""
    assert keys(planning, condition) == expected


def test_no_key_where_rows_that_match_nothing_change(planning: PlanningLake) -> None:
    assert keys(planning, "t.k = s.k", "WHEN NOT MATCHED BY SOURCE THEN DELETE") == []
    assert keys(planning, "t.k = s.k", "WHEN NOT MATCHED THEN INSERT (k) VALUES (1)") == [("k", "k")]
