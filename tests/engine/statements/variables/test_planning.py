"""DECLARE, SET and DROP VARIABLE."""

from __future__ import annotations

import pytest

from engine.planning.plans.reads import AssignPlan, DeclarePlan, DropVariablePlan
from tests.engine.planning.lake import PlanningLake


@pytest.mark.parametrize(("head", "or_replace"), [("DECLARE", False), ("DECLARE OR REPLACE", True)])
def test_declared(planning: PlanningLake, head: str, or_replace: bool) -> None:
    plan = planning.plan(DeclarePlan, f"{head} VARIABLE x INT DEFAULT 1 + 1")
    assert plan.or_replace is or_replace and plan.read.scans == ()


def test_assignment_from_a_query_reads_its_tables(planning: PlanningLake) -> None:
    assert planning.plan(AssignPlan, "SET VARIABLE x = 1").read.scans == ()
    read = planning.plan(AssignPlan, "SET VAR (x, session.y) = (SELECT a, b FROM plain)").read
    assert [scan.files.num_rows for scan in read.scans] == [2]


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
