"""CREATE TABLE … LIKE: properties that the new table copies, and history that it does not."""

from __future__ import annotations

import pytest

from catalog.conditions import TableAlreadyExists
from engine.delta.definition.like_tables import define_like
from engine.delta.definition.table_draft import Definition
from engine.planning.plans.ddl import AlterPlan, CreateTablePlan
from tests.engine.planning.lake import PlanningLake, delta_definition, shown_columns


def like(planning: PlanningLake, rest: str) -> CreateTablePlan:
    return planning.plan(CreateTablePlan, f"CREATE TABLE another LIKE {rest}")


def definition_of(plan: CreateTablePlan) -> Definition:
    assert isinstance(plan.definition, Definition)
    return plan.definition


def test_columns_and_partitioning(planning: PlanningLake) -> None:
    plan = like(planning, "sales")
    assert shown_columns(plan.definition) == "id bigint, amount int, day date"
    assert definition_of(plan).metadata.partition_columns == ("day",)
    assert plan.entry is not None and plan.entry.location == str(planning.path("another"))
    assert plan.description is not None and plan.description.name == "CREATE TABLE"
    assert plan.description.parameters["partitionBy"] == ["day"]


def test_column_definitions_and_constraints_are_copied(planning: PlanningLake) -> None:
    config = definition_of(like(planning, "ruled")).config("another")
    assert [constraint.expression for constraint in config.constraints] == ["amount > 0"]
    assert dict(config.generations) == {"day": "CAST(at AS DATE)"}
    assert [(each.name, each.high_water_mark) for each in config.identities] == [("id", None)]
    assert config.schema.fields[3].metadata == {"CURRENT_DEFAULT": "7"} and not config.schema.fields[4].nullable


def test_clustering_and_the_comment(planning: PlanningLake) -> None:
    assert like(planning, "clustered").description is not None
    plan = like(planning, "clustered")
    assert plan.description is not None and plan.description.parameters["clusterBy"] == ["a", "c.x"]
    planning.make("CREATE TABLE told (a INT) COMMENT 'why'")
    assert definition_of(like(planning, "told")).metadata.description == "why"


def test_properties(planning: PlanningLake) -> None:
    """Only settable properties are copied; the statement's override the other table's."""
    written = "TBLPROPERTIES ('x' = 'y', 'delta.enableTypeWidening' = 'false')"
    configuration = definition_of(like(planning, f"widening {written}")).metadata.configuration
    assert configuration == {"delta.enableTypeWidening": "false", "x": "y"}
    tracked = definition_of(like(planning, "tracked")).metadata.configuration
    theirs = planning.snapshot("tracked").metadata.configuration
    assert tracked["delta.enableRowTracking"] == "true" and tracked != theirs  # other names for the row id columns


def test_the_past_is_not_taken_over(planning: PlanningLake) -> None:
    """Column ids, types from before widening, high-water marks."""
    planning.make("CREATE TABLE widened (a INT, b STRUCT<x: INT>) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    for path in ("a", "b.x"):
        change = f"ALTER TABLE widened ALTER COLUMN {path} TYPE BIGINT"
        planning.commit("widened", delta_definition(planning.plan(AlterPlan, change).definition).metadata)
    assert "typeChanges" in planning.snapshot("widened").metadata.schema_string
    assert "typeChanges" not in definition_of(like(planning, "widened")).metadata.schema_string
    own = definition_of(like(planning, "mapped")).config("another").schema
    theirs = planning.snapshot("mapped").schema
    physical = "delta.columnMapping.physicalName"
    assert not {field.metadata[physical] for field in own.fields} & {
        field.metadata[physical] for field in theirs.fields
    }


def test_the_weakest_protocol(planning: PlanningLake) -> None:
    """Features that the other table merely lists are not needed."""
    snapshot = planning.snapshot("guarded_like")
    assert define_like("another", snapshot.config).protocol.writer_features is None


@pytest.fixture(scope="module", autouse=True)
def guarded(planning: PlanningLake) -> None:
    planning.make(
        "CREATE TABLE guarded_like (a INT) TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported')"
    )


def test_if_not_exists(planning: PlanningLake) -> None:
    assert planning.plan(CreateTablePlan, "CREATE TABLE IF NOT EXISTS plain LIKE sales").entry is None
    assert planning.plan(CreateTablePlan, "CREATE TABLE IF NOT EXISTS another LIKE sales").tolerated == (
        TableAlreadyExists,
    )


REFUSED = {
    "CREATE TABLE another LIKE plain TBLPROPERTIES ('delta.appendOnly' = '', 'delta.appendonly' = '')": "DUPLICATE_KEY",
    "CREATE TABLE plain LIKE sales": "TABLE_OR_VIEW_ALREADY_EXISTS",
    "CREATE TABLE another LIKE small": "EXPECT_TABLE_NOT_VIEW",
    "CREATE TABLE another LIKE plain TBLPROPERTIES ('delta.what' = 'x')": "DELTA_UNKNOWN_CONFIGURATION",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_like_tables_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text) == REFUSED[text]
    elsewhere = f"CREATE TABLE another LIKE sales LOCATION '{planning.path('plain')}'"
    assert planning.refused(elsewhere) == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
