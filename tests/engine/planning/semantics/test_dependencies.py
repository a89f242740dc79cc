"""Constraints and generated columns that use a column."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.planning.semantics.dependencies import ensure_unused, uses
from tests.engine.planning.lake import PlanningLake, bound_table

USES = [
    ("a > 0", "a", True, True),
    ("A > 0", "a", True, True),
    ("b > 0", "a", False, False),
    ("s.x > 0", "s", True, False),
    ("s.x > 0", "s.x", True, True),
    ("s.x > 0", "s.y", False, False),
    ("s IS NULL", "s.x", True, True),
    ("size(l) > 0", "l.element.x", True, True),
    ("'a' = b", "a", False, False),
    ("exists(l, e -> e > a)", "a", True, True),
]


@pytest.mark.parametrize(("expression", "path", "used", "whole"), USES)
def test_columns_used_by_an_expression(expression: str, path: str, used: bool, whole: bool) -> None:
    """The column, a part (unless only the whole counts), or its parent."""
    parts = tuple(path.split("."))
    assert uses(expression, parts) is used
    assert uses(expression, parts, whole=True) is whole


@pytest.mark.parametrize(
    ("path", "condition"),
    [
        (("AMOUNT",), "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"),
        (("at",), "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE"),
        (("zz",), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ],
)
def test_columns_that_cannot_change(planning: PlanningLake, path: tuple[str, ...], condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        ensure_unused(bound_table(planning, "ruled"), path)
    assert caught.value.condition == condition


@pytest.mark.parametrize("name", ["id", "day", "note"])
def test_columns_that_can(planning: PlanningLake, name: str) -> None:
    ensure_unused(bound_table(planning, "ruled"), (name,))
