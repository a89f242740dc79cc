"""New rows satisfy the condition under which others go."""

from __future__ import annotations

from engine.enforcement.row_checks import enforce_replace_where
from tests.engine.enforcement.write_plans import column, plan


def test_without_a_condition_nothing_is_checked() -> None:
    write = plan(column("a"))
    assert enforce_replace_where(write) is write


def test_the_condition_is_checked() -> None:
    (check,) = enforce_replace_where(plan(column("a"), replaces="a = 1 OR a IS NULL")).checks
    assert (check.text, check.shown) == ("a = 1 OR a IS NULL", (("a",),))
    error = check.error({"a": "2"})
    assert error.condition == "DELTA_REPLACE_WHERE_MISMATCH" and "- a : 2" in str(error)
