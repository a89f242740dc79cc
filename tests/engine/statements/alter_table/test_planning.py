"""ALTER TABLE and COMMENT ON: a statement's plan, and the rows and expressions checked before it."""

from __future__ import annotations

import pytest

from catalog.changes import RenameTable, SetLocation
from catalog.names import TableName
from engine.formats.delta.planning.plans import RewritePlan
from engine.planning.plans.ddl import AlterPlan, CatalogPlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake, data_file, delta_definition, shown_columns

MAPPING = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


def test_a_name_is_the_catalogs(planning: PlanningLake) -> None:
    plan = planning.plan(CatalogPlan, "ALTER TABLE plain RENAME TO other.name")
    assert plan.change == RenameTable(
        TableName("spark_catalog", "default", "plain"), TableName("spark_catalog", "other", "name")
    )
    by_path = f"ALTER TABLE delta.`{planning.path('plain')}` RENAME TO other"
    assert planning.refused(by_path) == "DELTA_CANNOT_RENAME_PATH"


def test_set_location_moves_the_name_of_an_external_table(planning: PlanningLake) -> None:
    for name, columns in (("first", "a INT"), ("second", "a INT"), ("third", "a BIGINT"), ("fourth", "a INT NOT NULL")):
        planning.make(f"CREATE TABLE {name} ({columns}) LOCATION '{planning.folder}/apart/{name}'")
    place = f"{planning.folder}/apart/second"
    plan = planning.plan(CatalogPlan, f"ALTER TABLE first SET LOCATION '{place}'")
    assert plan.change == SetLocation(TableName("spark_catalog", "default", "first"), place)
    for text, condition in {
        f"first SET LOCATION '{planning.folder}/apart/third'": "DELTA_SET_LOCATION_SCHEMA_MISMATCH",
        f"first SET LOCATION '{planning.folder}/apart/fourth'": "DELTA_SET_LOCATION_SCHEMA_MISMATCH",
        f"delta.`{place}` SET LOCATION '{place}'": "DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER",
        f"plain SET LOCATION '{place}'": "UNSUPPORTED_FEATURE.STATEMENT",
    }.items():
        assert planning.refused(f"ALTER TABLE {text}") == condition


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("clustered CLUSTER BY (B)", "a,c.x", "b"),
        ("clustered CLUSTER BY NONE", "a,c.x", ""),
        ("plain CLUSTER BY (a)", "", "a"),
    ],
)
def test_clustering(planning: PlanningLake, text: str, old: str, new: str) -> None:
    plan = planning.plan(AlterPlan, f"ALTER TABLE {text}")
    assert plan.description.name == "CLUSTER BY" and delta_definition(plan.definition).clustering is not None
    assert dict(plan.description.parameters) == {"oldClusteringColumns": old, "newClusteringColumns": new}


def test_existing_rows_are_checked_before_adding_constraint(planning: PlanningLake) -> None:
    plan = planning.plan(AlterPlan, "ALTER TABLE plain ADD CONSTRAINT c CHECK (a > 0)")
    assert plan.checks is not None
    assert plan.expression_checks is not None and len(plan.expression_checks.checks) == 1
    assert delta_definition(plan.definition).metadata.configuration["delta.constraints.c"] == "a > 0"
    not_null = planning.plan(AlterPlan, "ALTER TABLE nested ALTER COLUMN place.CITY SET NOT NULL")
    assert not_null.checks is not None and not_null.expression_checks is None

    for text in (
        "plain ALTER COLUMN a DROP NOT NULL",
        "ruled ALTER COLUMN note SET NOT NULL",
        "plain DROP CONSTRAINT IF EXISTS c",
    ):
        assert planning.plan(AlterPlan, f"ALTER TABLE {text}").checks is None


def test_a_default_is_evaluated_before(planning: PlanningLake) -> None:
    plan = planning.plan(AlterPlan, "ALTER TABLE ruled ALTER COLUMN note SET DEFAULT upper('x')")
    assert plan.expression_checks is not None
    (check,) = plan.expression_checks.checks
    assert check.value is not None


@pytest.mark.parametrize(
    ("text", "name", "key"),
    [
        ("UNSET TBLPROPERTIES ('delta.columnMapping.mode')", "REMOVE COLUMN MAPPING", None),
        ("SET TBLPROPERTIES ('DELTA.columnMapping.mode' = 'NONE')", "REMOVE COLUMN MAPPING", None),
        ("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none', 'x' = 'y')", "SET TBLPROPERTIES", "x"),
    ],
)
def test_the_end_of_column_mapping_writes_all_files(
    planning: PlanningLake, text: str, name: str, key: str | None
) -> None:
    if not planning.path("unmapped").exists():
        planning.make(f"CREATE TABLE unmapped (a INT) {MAPPING}", data_file("1"), data_file("2"))
    plan = planning.plan(RewritePlan, f"ALTER TABLE unmapped {text}")
    assert plan.files.num_rows == 2 and plan.is_last and plan.description.exclusive
    definition = delta_definition(plan.definition)
    assert plan.description.name == name and (key is None or key in definition.metadata.configuration)
    assert "physicalName" not in definition.metadata.schema_string
    assert "columnMapping" in (definition.protocol.writer_features or ())
    without_files = planning.plan(AlterPlan, f"ALTER TABLE mapped {text}")
    assert without_files.description.exclusive and without_files.description.name == name


def test_other_properties_of_a_mapped_table_write_no_file(planning: PlanningLake) -> None:
    plan = planning.plan(AlterPlan, "ALTER TABLE mapped SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert not plan.description.exclusive and "physicalName" in delta_definition(plan.definition).metadata.schema_string


COMMENTS = {
    "COMMENT ON TABLE plain IS 'why'": ("SET TBLPROPERTIES", '{"comment":"why"}', "why", None),
    "COMMENT ON TABLE plain IS NULL": ("SET TBLPROPERTIES", '{"comment":null}', None, None),
    "COMMENT ON COLUMN plain.A IS 'why'": ("CHANGE COLUMN", None, None, "why"),
}


@pytest.mark.parametrize("text", COMMENTS)
def test_comments(planning: PlanningLake, text: str) -> None:
    plan = planning.plan(AlterPlan, text)
    name, properties, description, of_column = COMMENTS[text]
    assert (plan.description.name, plan.description.parameters.get("properties")) == (name, properties)
    assert delta_definition(plan.definition).metadata.description == description
    field = plan.definition.config("t").schema.field("a")
    assert field is not None and field.comment == of_column


REFUSED = {
    "ALTER TABLE plain SET TBLPROPERTIES ('delta.appendOnly' = '', 'delta.appendonly' = '')": "DUPLICATE_KEY",
    "ALTER TABLE readable SET TBLPROPERTIES ('x' = 'y')": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "ALTER TABLE readable DROP COLUMN id": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "COMMENT ON TABLE readable IS 'x'": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "ALTER TABLE small ADD COLUMN x INT": "EXPECT_TABLE_NOT_VIEW",
    "ALTER TABLE plain ADD CHECK (a > 0)": "UNSUPPORTED_FEATURE.STATEMENT",
    "ALTER TABLE plain ADD CONSTRAINT c CHECK (a IN (SELECT 1))": "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT",
    "ALTER TABLE ruled ADD CONSTRAINT Positive CHECK (amount > 1)": "DELTA_CONSTRAINT_ALREADY_EXISTS",
    "ALTER TABLE plain DROP CONSTRAINT c": "DELTA_CONSTRAINT_DOES_NOT_EXIST",
    "ALTER TABLE plain SET TBLPROPERTIES ('delta.what' = 'x')": "DELTA_UNKNOWN_CONFIGURATION",
    "ALTER TABLE sales CLUSTER BY (id)": "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
    "ALTER TABLE plain CLUSTER BY (zz)": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_alters_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text) == REFUSED[text]


def test_definition_changes_of_a_plan(planning: PlanningLake) -> None:
    plan = planning.plan(AlterPlan, "ALTER TABLE plain SET TBLPROPERTIES ('x' = 'y')")
    assert plan.description.operation is TableOperation.METADATA and plan.description.user_name == "ann"
    assert plan.is_last and not plan.description.exclusive and plan.table.snapshot.version == 1
    assert shown_columns(plan.definition) == "a int, b string"
