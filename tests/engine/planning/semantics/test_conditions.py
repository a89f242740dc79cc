"""Conditions that select a table's rows: name resolution, and errors before Spark's analysis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.errors import SqlError
from engine.binding.bound import BoundTable
from engine.planning.plans.writes import ReplaceMatching, ReplaceRows
from engine.planning.semantics.conditions import (
    ensure_no_metadata,
    joint_condition,
    partitions_matching,
    rows_matching,
    target_condition,
    target_condition_check,
)
from engine.sql.expressions import parse_any_expression
from tests.engine.planning.lake import PlanningLake, bound_table


@pytest.fixture(scope="module")
def sales(planning: PlanningLake) -> BoundTable:
    return bound_table(planning, "sales")


OWN = [
    ("id = 1", None, "id = 1"),
    ("sales.id = 1 OR default.SALES.id = 2", None, "id = 1 OR id = 2"),
    ("`spark_catalog`.`default`.`sales`.`id` = 1", None, "`id` = 1"),
    ("other.id = 1", None, "other.id = 1"),
    ("sales.zz = 1", None, "sales.zz = 1"),
    ("t.id = 1", "t", "id = 1"),
    ("T.id = sales.id", "t", "id = sales.id"),
    ("id > 1 -- sales.id", None, "id > 1 -- sales.id"),
    ("'sales.id' = sales.day", None, "'sales.id' = day"),
]


@pytest.mark.parametrize(("text", "alias", "own"), OWN)
def test_columns_of_the_table_alone(sales: BoundTable, text: str, alias: str | None, own: str) -> None:
    assert target_condition(sales, "DELETE", text, alias).text == own


JOINT = [
    ("default.sales.id = s.id", False, "sales.id = s.id"),
    ("spark_catalog.default.sales.id = s.id", False, "sales.id = s.id"),
    ("sales.id = s.id", False, "sales.id = s.id"),
    ("default.sales.id = s.id", True, "default.sales.id = s.id"),
]


@pytest.mark.parametrize(("text", "has_alias", "joint"), JOINT)
def test_columns_of_the_table_and_of_others(sales: BoundTable, text: str, has_alias: bool, joint: str) -> None:
    """The table has its last name there, unless it has an alias."""
    assert joint_condition(sales, "REPLACE ON", text, has_alias=has_alias).text == joint


PARTITIONS = [
    ("day = '2024-01-01'", True),
    ("DAY IS NULL OR day > current_date()", True),
    ("day.x = 1", True),
    ("day = '2024-01-01' AND id = 1", False),
    ("true", False),
    ("current_date() > '2024-01-01'", False),
]


@pytest.mark.parametrize(("text", "decide"), PARTITIONS)
def test_conditions_on_partition_columns_alone(sales: BoundTable, text: str, decide: bool) -> None:
    own = target_condition(sales, "DELETE", text)
    found = partitions_matching(sales, own)
    assert found == (ReplaceMatching(condition=f"({text}\n)", shown=f"({text})") if decide else None)


def test_rows_that_go(sales: BoundTable) -> None:
    assert isinstance(rows_matching(sales, target_condition(sales, "DELETE", "day IS NULL")), ReplaceMatching)
    found = rows_matching(sales, target_condition(sales, "DELETE", "(id)\n= 1"))
    assert isinstance(found, ReplaceRows) and found.shown == "((id) = 1)"


def test_condition_check_query(sales: BoundTable) -> None:
    plan = target_condition_check(sales, "DELETE", target_condition(sales, "DELETE", "sales.id = 1"))
    (check,) = plan.checks
    error = check.mistyped("int")
    assert error is not None and "id = 1" in error.full_message


REFUSED = [
    ("id IN (SELECT 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
    ("EXISTS (SELECT 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
    ("_metadata.file_path = 'x'", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ("sales._METADATA.row_index = 1", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ("id =", "PARSE_SYNTAX_ERROR"),
    ("id = 1) OR (true", "PARSE_SYNTAX_ERROR"),
    ("id = 1; DROP TABLE sales", "UNSUPPORTED_STATEMENT"),
]


@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_invalid_conditions_are_rejected(sales: BoundTable, text: str, condition: str) -> None:
    makers: tuple[Callable[[], object], ...] = (
        lambda: target_condition(sales, "DELETE", text),
        lambda: joint_condition(sales, "REPLACE ON", text, has_alias=True),
    )
    for make in makers:
        with pytest.raises(SqlError) as caught:
            make()
        assert caught.value.condition == condition


def test_a_column_that_is_called_so(planning: PlanningLake) -> None:
    planning.make("CREATE TABLE odd (_metadata INT)")
    ensure_no_metadata(bound_table(planning, "odd"), "DELETE", parse_any_expression("_metadata = 1"))
