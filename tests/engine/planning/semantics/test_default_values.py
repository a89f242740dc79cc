"""DEFAULT as a value: the constant that replaces it, or a column that the table fills."""

from __future__ import annotations

import pytest

from engine.planning.plans.writes import InsertPart, InsertPlan
from tests.engine.planning.lake import PlanningLake

READ = {
    "INSERT INTO ruled (amount, note) VALUES (DEFAULT, 'x'), (1, DEFAULT)": (
        "VALUES (CAST((7\n) AS int), 'x'), (1, CAST(NULL AS string))",
        ("amount", "note"),
    ),
    "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', DEFAULT)": (
        "SELECT c0 FROM (VALUES ('x', NULL), ('y', NULL)\n) AS given(c0, c1)",
        ("note",),
    ),
    "INSERT INTO ruled (day, amount, at) SELECT DEFAULT, DEFAULT, now()": (
        "SELECT c1, c2 FROM (SELECT NULL, CAST((7\n) AS int), now()\n) AS given(c0, c1, c2)",
        ("amount", "at"),
    ),
    "INSERT INTO ruled VALUES (DEFAULT, now(), DEFAULT, DEFAULT, 'x')": (
        "SELECT c1, c3, c4 FROM (VALUES (NULL, now(), NULL, CAST((7\n) AS int), 'x')\n) AS given(c0, c1, c2, c3, c4)",
        ("at", "amount", "note"),
    ),
    "INSERT INTO plain VALUES (DEFAULT, 'x')": ("VALUES (CAST(NULL AS int), 'x')", ()),
    "INSERT INTO sales PARTITION (day = '2024-01-01') (amount, id) VALUES (DEFAULT, 1)": (
        "VALUES (CAST(NULL AS int), 1)",
        ("amount", "id"),
    ),
    "INSERT INTO plain VALUES (1, 'DEFAULT')": ("VALUES (1, 'DEFAULT')", ()),
    "INSERT INTO plain VALUES (1, 'x', DEFAULT)": ("VALUES (1, 'x', DEFAULT)", ()),
}


@pytest.mark.parametrize("text", READ)
def test_default_values_that_are_read(planning: PlanningLake, text: str) -> None:
    """Spark reports one value too many."""
    plan = planning.plan(InsertPlan, text)
    assert (plan.source.text, plan.rows.insert_columns) == READ[text]


def test_rows_that_leave_other_columns_to_the_table_are_other_parts(planning: PlanningLake) -> None:
    text = "INSERT INTO ruled (note, at, day) VALUES ('x', NULL, DEFAULT), ('y', NULL, NULL), ('z', NULL, DEFAULT)"
    plan = planning.plan(InsertPlan, text)
    with_numbers = "VALUES ('x', NULL, NULL, 0), ('y', NULL, NULL, 1), ('z', NULL, NULL, 0)"
    inserts: list[InsertPlan | InsertPart] = [plan, *plan.more]
    parts = [(part.source.text, part.rows.insert_columns) for part in inserts]
    assert parts == [
        (f"SELECT c0, c1 FROM ({with_numbers}\n) AS given(c0, c1, c2, c3) WHERE c3 = 0", ("note", "at")),
        (f"SELECT c0, c1, c2 FROM ({with_numbers}\n) AS given(c0, c1, c2, c3) WHERE c3 = 1", ("note", "at", "day")),
    ]


def test_rows_that_say_it_for_the_same_columns_are_one_part(planning: PlanningLake) -> None:
    text = "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', 1), (DEFAULT, DEFAULT), ((('z')), (2))"
    plan = planning.plan(InsertPlan, text)
    (other,) = plan.more
    null = "CAST(NULL AS string)"
    rows = f"(VALUES ('x', NULL, 0), ('y', 1, 1), ({null}, NULL, 0), ((('z')), (2), 1)\n) AS given(c0, c1, c2)"
    assert [(part.source.text, part.rows.insert_columns) for part in (plan, other)] == [
        (f"SELECT c0 FROM {rows} WHERE c2 = 0", ("note",)),
        (f"SELECT c0, c1 FROM {rows} WHERE c2 = 1", ("note", "id")),
    ]


REFUSED = [
    "INSERT INTO plain BY NAME SELECT DEFAULT",
    "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', 1) LIMIT 2",
    "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', 1) AS v (a, b)",
    "INSERT WITH SCHEMA EVOLUTION INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', 1)",
    "INSERT INTO ruled (id, note) VALUES (DEFAULT, 'x'), (1, DEFAULT) UNION ALL SELECT 1, 'x'",
    "INSERT INTO ruled (id, day) VALUES (DEFAULT, DEFAULT)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_default_values_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text, "a INT") == "UNSUPPORTED_FEATURE.STATEMENT"
