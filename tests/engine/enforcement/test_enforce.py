"""All checks in sequence: the effects of their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.conditions import IdentityValueGiven, NotNullColumnMissing
from engine.enforcement.enforce import enforce_write
from engine.tables.column_metadata import IdentityColumn
from engine.tables.config import Constraint
from tests.engine.enforcement.write_plans import DATE, LONG, STRING, column, plan

IDENTITY = IdentityColumn(name="i", start=1, step=1, allow_explicit=False, high_water_mark=None)
COLUMNS = (
    column("i", LONG, nullable=False),
    column("a"),
    column("day", DATE),
    column("s", STRING, CURRENT_DEFAULT="'x'"),
)
CONSTRAINTS = {
    "identities": (IDENTITY,),
    "generations": {"day": "date_add(DATE'2024-01-01', a)"},
    "constraints": (Constraint("few", "a < 9"),),
    "partition_columns": ("s",),
}


def test_every_column_has_one_source() -> None:
    done = enforce_write(plan(*COLUMNS, table_config=CONSTRAINTS, insert_columns=("a",), replaces="a = 1"))
    assert [item.name for item in done.target_columns] == ["a"]
    assert done.identities == (IDENTITY,)
    assert set(done.constants) == {"s"} and set(done.generated) == {"day"} and set(done.stored_as) == {"s"}
    assert [check.text for check in done.checks] == ["a < 9", "`i` IS NOT NULL", "a = 1"]


def test_table_without_constraints_adds_only_the_target_columns() -> None:
    before = plan(column("a"), column("b", STRING))
    done = enforce_write(before)
    assert done == replace(before, target_columns=before.schema.fields)
    assert enforce_write(done) == done


def test_a_given_generated_column_is_checked_first() -> None:
    done = enforce_write(plan(*COLUMNS, table_config=CONSTRAINTS, insert_columns=("a", "day")))
    assert done.generated == {} and done.checks[0].text.startswith("`day` <=> ")


def test_without_a_column_list_all_are_given() -> None:
    with pytest.raises(IdentityValueGiven):
        enforce_write(plan(*COLUMNS, table_config=CONSTRAINTS))


def test_missing_columns_are_rejected_before_execution() -> None:
    with pytest.raises(NotNullColumnMissing):
        enforce_write(plan(column("a", nullable=False), column("b"), insert_columns=("b",)))
