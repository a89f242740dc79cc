"""DEFAULT as a value: the constant that replaces it, or a column that the table fills."""

from __future__ import annotations

import pytest

from engine.planning.plans.writes import InsertPart, InsertPlan
from tests.engine.planning.lake import PlanningLake

WRITTEN: dict[str, tuple[str, ...]] = {
    "INSERT INTO ruled (amount, note) VALUES (DEFAULT, 'x'), (1, DEFAULT)": ("amount", "note"),
    "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', DEFAULT)": ("note",),
    "INSERT INTO ruled (day, amount, at) SELECT DEFAULT, DEFAULT, now()": ("amount", "at"),
    "INSERT INTO ruled VALUES (DEFAULT, now(), DEFAULT, DEFAULT, 'x')": ("at", "amount", "note"),
    "INSERT INTO plain VALUES (DEFAULT, 'x')": (),
    "INSERT INTO sales PARTITION (day = '2024-01-01') (amount, id) VALUES (DEFAULT, 1)": ("amount", "id"),
    "INSERT INTO plain VALUES (1, 'DEFAULT')": (),
    "INSERT INTO plain VALUES (1, 'x', DEFAULT)": (),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_columns_filled_by_the_table_are_not_inserted(planning: PlanningLake, text: str) -> None:
    """Spark reports one value too many."""
    assert planning.plan(InsertPlan, text).rows.insert_columns == WRITTEN[text]


def test_rows_that_leave_other_columns_to_the_table_are_other_parts(planning: PlanningLake) -> None:
    text = "INSERT INTO ruled (note, at, day) VALUES ('x', NULL, DEFAULT), ('y', NULL, NULL), ('z', NULL, DEFAULT)"
    plan = planning.plan(InsertPlan, text)
    inserts: list[InsertPlan | InsertPart] = [plan, *plan.more]
    assert [part.rows.insert_columns for part in inserts] == [("note", "at"), ("note", "at", "day")]


def test_rows_that_say_it_for_the_same_columns_are_one_part(planning: PlanningLake) -> None:
    text = "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT), ('y', 1), (DEFAULT, DEFAULT), ((('z')), (2))"
    plan = planning.plan(InsertPlan, text)
    (other,) = plan.more
    assert (plan.rows.insert_columns, other.rows.insert_columns) == (("note",), ("note", "id"))


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
