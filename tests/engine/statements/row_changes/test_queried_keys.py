"""Queries in DELETE and UPDATE conditions that may run first: their texts, and the texts over their rows."""

from __future__ import annotations

import pytest

from engine.planning.plans.writes import DeletePlan, QueriedKey, UpdatePlan
from tests.engine.planning.lake import PlanningLake


def queried(planning: PlanningLake, text: str) -> QueriedKey | None:
    plan = planning.plan(UpdatePlan if text.startswith("UPDATE") else DeletePlan, text)
    assert isinstance(plan, UpdatePlan | DeletePlan)
    return plan.queried


def test_the_query_and_what_stands_for_it(planning: PlanningLake) -> None:
    found = queried(planning, "DELETE FROM plain t WHERE t.b > 'x' AND t.a IN (SELECT s.id FROM sales s)")
    assert found is not None and found.path == ("a",)

    assert [scan.relation for scan in found.query.scans] == ["__scan_1"]
    assert found.relation == "__kept_0" and found.places.target == "__scan_0"

    assert found.places.scan.files["base_row_id"].to_pylist() == [0, 1]


def test_the_with_clause_goes_with_it(planning: PlanningLake) -> None:
    text = "WITH c AS (SELECT id FROM sales) UPDATE plain SET b = 'x' WHERE plain.a IN (SELECT * FROM c)"
    found = queried(planning, text.replace("WITH c AS (SELECT id FROM sales) UPDATE", "UPDATE").replace("c)", "sales)"))
    assert found is not None
    found = queried(planning, "DELETE FROM plain WHERE a IN (WITH c AS (SELECT id FROM sales) SELECT * FROM c)")
    assert found is not None and [scan.files.num_rows for scan in found.query.scans] == [3]


def test_the_table_itself_may_be_queried(planning: PlanningLake) -> None:
    found = queried(planning, "DELETE FROM plain WHERE a IN (SELECT max(a) FROM plain) AND b IN (SELECT 'x')")
    assert found is not None and found.path == ("a",)
    assert [scan.files.num_rows for scan in found.query.scans] == [2]


NONE = [
    "DELETE FROM plain",
    "DELETE FROM plain WHERE a = 1",
    "DELETE FROM plain WHERE a NOT IN (SELECT id FROM sales)",
    "DELETE FROM plain WHERE zz IN (SELECT id FROM sales)",
    "DELETE FROM chars WHERE a IN (SELECT a FROM chars)",
    "DELETE FROM nested WHERE tags IN (SELECT tags FROM nested)",
]


@pytest.mark.parametrize("text", NONE)
def test_no_query_to_run_first(planning: PlanningLake, text: str) -> None:
    assert queried(planning, text) is None


def test_a_column_that_is_called_like_a_function(planning: PlanningLake) -> None:
    """On its own the query would call the function instead of reading the column."""
    planning.make("CREATE TABLE people (k INT, user STRING)")
    assert queried(planning, "DELETE FROM people WHERE k IN (SELECT id FROM sales WHERE user = 'x')") is None
