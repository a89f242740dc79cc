"""Existing rows before a new constraint: one query, and the first rule that rows break."""

from __future__ import annotations

import pytest

from catalog.conditions import RowsViolateConstraint, RowsViolateNotNull
from engine.planning.plans.expression_checks import RowChecks
from engine.planning.semantics.expression_checks import ensure_satisfied, plan_row_checks
from tests.engine.planning.lake import PlanningLake, bound_table


@pytest.fixture
def checks(planning: PlanningLake) -> RowChecks:
    table = bound_table(planning, "nested")
    found = plan_row_checks(table, [("c", "id > 0 -- why"), ("d", "__scan_0 IS NULL")], [("place", "city")])
    assert found is not None
    return found


def test_row_checks_read_the_table_once(checks: RowChecks) -> None:
    assert [scan.relation for scan in checks.read.scans] == ["___scan_0"]


def test_the_first_that_is_broken(checks: RowChecks) -> None:
    ensure_satisfied(checks, (0, 0, 0))
    with pytest.raises(RowsViolateConstraint) as constraint:
        ensure_satisfied(checks, (0, 5, 1))
    assert (constraint.value.constraint, constraint.value.rows) == ("d", 5)
    with pytest.raises(RowsViolateNotNull) as not_null:
        ensure_satisfied(checks, (0, 0, 1))
    assert (not_null.value.column, not_null.value.rows) == ("place.city", 1)
    assert (
        "violate the new NOT NULL constraint on place.city" in not_null.value.full_message
    )  # Delta's words, as dbt reads


def test_table_without_constraints_is_not_checked(planning: PlanningLake) -> None:
    assert plan_row_checks(bound_table(planning, "plain"), [], []) is None
