"""A check for each constraint, after existing ones, and its error."""

from __future__ import annotations

from catalog.conditions import NotNullViolated
from engine.enforcement.row_checks import enforce_constraints
from engine.planning.plans.write_plan import RowCheck
from engine.tables.config import Constraint
from tests.engine.enforcement.write_plans import column, plan


def test_each_constraint_is_a_check_of_its_own() -> None:
    before = RowCheck(text="true", shown=(), error=lambda _: NotNullViolated("before"))
    table_config = {"constraints": (Constraint("positive", "a > 0"), Constraint("near", "abs(s.x) < b"))}
    enforced = enforce_constraints(plan(column("a"), column("b"), table_config=table_config, checks=(before,)))
    assert enforced.checks[0] is before
    assert [(check.text, check.shown) for check in enforced.checks[1:]] == [
        ("a > 0", (("a",),)),
        ("abs(s.x) < b", (("b",), ("s", "x"))),
    ]
    error = enforced.checks[1].error({"a": "-1", "b": None})
    assert error.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert "positive" in str(error) and "(a > 0)" in str(error) and "\n - a : -1\n - b : null" in str(error)
