"""CREATE TABLE … CLONE: the clone's definition, its referenced files, and replaceable targets."""

from __future__ import annotations

import pytest

from catalog.conditions import TableAlreadyExists
from engine.formats.delta.planning.plans import ClonePlan
from engine.planning.plans.ddl import CreateTablePlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake, shown_columns


@pytest.mark.parametrize(
    ("how", "shallow", "is_past"),
    [
        ("SHALLOW CLONE sales", True, False),
        ("DEEP CLONE sales VERSION AS OF 1", False, True),
        ("CLONE sales", False, False),
    ],
)
def test_a_new_table(planning: PlanningLake, how: str, shallow: bool, is_past: bool) -> None:
    plan = planning.plan(ClonePlan, f"CREATE TABLE copied {how}")
    assert (plan.shallow, plan.is_past, plan.replaced) == (shallow, is_past, None)
    assert plan.sources == ((str(planning.path("sales")),) if shallow else ())
    assert plan.entry.location == str(planning.path("copied")) and plan.entry.managed and not plan.is_path
    assert shown_columns(plan.definition) == "id bigint, amount int, day date"
    assert plan.definition.metadata.partition_columns == ("day",)
    description = plan.description
    assert (description.name, description.operation, description.exclusive) == ("CLONE", TableOperation.OVERWRITE, True)
    assert dict(description.parameters) == {
        "source": "`spark_catalog`.`default`.`sales`",
        "sourceVersion": 1,
        "isShallow": shallow,
    }


def test_properties(planning: PlanningLake) -> None:
    """From the source and from the statement; row tracking begins in a separate table."""
    plan = planning.plan(ClonePlan, "CREATE TABLE copied CLONE widening TBLPROPERTIES ('x' = 'y')")
    assert plan.definition.metadata.configuration == {"delta.enableTypeWidening": "true", "x": "y"}
    assert plan.definition.metadata.id != planning.snapshot("widening").metadata.id
    tracked = planning.plan(ClonePlan, "CREATE TABLE copied CLONE tracked").definition
    assert tracked.metadata.configuration == {}


def test_a_table_that_is_replaced_stays_the_same_table(planning: PlanningLake) -> None:
    plan = planning.plan(ClonePlan, "CREATE OR REPLACE TABLE plain CLONE sales")
    assert plan.replaced is not None and plan.replaced.snapshot.version == 1
    assert plan.definition.metadata.id == planning.snapshot("plain").metadata.id
    assert plan.entry.location == str(planning.path("plain"))


def test_if_not_exists(planning: PlanningLake) -> None:
    assert planning.plan(CreateTablePlan, "CREATE TABLE IF NOT EXISTS plain CLONE sales").entry is None
    plan = planning.plan(ClonePlan, "CREATE TABLE IF NOT EXISTS copied CLONE sales")
    assert plan.tolerated == (TableAlreadyExists,)
    assert planning.plan(ClonePlan, "CREATE TABLE copied CLONE sales").tolerated == ()


REFUSED = {
    "CREATE TABLE copied CLONE plain TBLPROPERTIES ('delta.appendOnly' = '', 'delta.appendonly' = '')": "DUPLICATE_KEY",
    "CREATE TABLE plain CLONE sales": "TABLE_OR_VIEW_ALREADY_EXISTS",
    "CREATE TABLE copied CLONE small": "DELTA_CLONE_UNSUPPORTED_SOURCE",
    "CREATE TABLE copied CLONE readable": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "CREATE TABLE copied CLONE unreadable": "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    "CREATE OR REPLACE TABLE readable CLONE sales": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "CREATE OR REPLACE TABLE plain CLONE plain": "DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE",
    "CREATE OR REPLACE TABLE appended CLONE sales": "DELTA_CANNOT_MODIFY_APPEND_ONLY",
    "REPLACE TABLE nowhere CLONE sales": "DELTA_CANNOT_REPLACE_MISSING_TABLE",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_clones_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text) == REFUSED[text]


def test_a_place_that_has_a_table(planning: PlanningLake) -> None:
    text = f"CREATE TABLE copied CLONE sales LOCATION '{planning.path('plain')}'"
    assert planning.refused(text) == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
