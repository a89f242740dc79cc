"""DECLARE, SET and DROP VARIABLE."""

from __future__ import annotations

import pytest

from engine.planning.plans.reads import AssignPlan, DeclarePlan, DropVariablePlan
from tests.engine.planning.lake import PlanningLake


@pytest.mark.parametrize(("head", "or_replace"), [("DECLARE", False), ("DECLARE OR REPLACE", True)])
def test_declared(planning: PlanningLake, head: str, or_replace: bool) -> None:
    plan = planning.plan(DeclarePlan, f"{head} VARIABLE x INT DEFAULT 1 + 1")
    assert plan.or_replace is or_replace and plan.read.text.endswith("x INT DEFAULT 1 + 1") and plan.read.scans == ()


ASSIGNED = {
    "SET VARIABLE x = 1": "SET VARIABLE (`x`) = (SELECT (1\n) AS `x`\n)",
    "SET VAR (x, session.y) = (SELECT a, b FROM plain)": (
        "SET VARIABLE (`x`, `session`.`y`) = (SELECT a, b FROM `__scan_0` AS `plain`\n)"
    ),
}


@pytest.mark.parametrize("text", ASSIGNED)
def test_assigned(planning: PlanningLake, text: str) -> None:
    assert planning.plan(AssignPlan, text).read.text == ASSIGNED[text]


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("DROP TEMPORARY VARIABLE X", DropVariablePlan(name="x", if_exists=False)),
        ("DROP TEMPORARY VARIABLE IF EXISTS SESSION.x", DropVariablePlan(name="x", if_exists=True)),
        ("DROP TEMPORARY VARIABLE system.session.x", DropVariablePlan(name="x", if_exists=False)),
    ],
)
def test_dropped(planning: PlanningLake, text: str, plan: DropVariablePlan) -> None:
    assert planning.plan(DropVariablePlan, text) == plan


@pytest.mark.parametrize("name", ["other.x", "system.x", "session.system.x"])
def test_a_name_that_is_no_variables(planning: PlanningLake, name: str) -> None:
    assert planning.refused(f"DROP TEMPORARY VARIABLE {name}") == "UNRESOLVED_VARIABLE"
