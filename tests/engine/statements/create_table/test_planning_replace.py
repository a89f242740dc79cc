"""REPLACE TABLE and CREATE OR REPLACE TABLE on an existing table."""

from __future__ import annotations

import pytest

from engine.planning.plans.ddl import CreateTablePlan, ReplaceTableAsPlan, ReplaceTablePlan
from engine.tables.operations import IdempotentWrite, TableOperation
from tests.engine.planning.lake import PlanningLake, delta_definition, shown_columns


@pytest.mark.parametrize(
    ("head", "name"),
    [("REPLACE TABLE", "REPLACE TABLE"), ("CREATE OR REPLACE TABLE", "CREATE OR REPLACE TABLE")],
)
def test_the_same_table_with_another_definition(planning: PlanningLake, head: str, name: str) -> None:
    text = f"{head} sales (n INT DEFAULT 1, CONSTRAINT c CHECK (n > 0)) COMMENT 'new'"
    text += " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    plan = planning.plan(ReplaceTablePlan, text)
    metadata = delta_definition(plan.definition).metadata
    assert metadata.id == planning.snapshot("sales").metadata.id
    assert shown_columns(plan.definition) == "n int" and metadata.partition_columns == ()
    assert (metadata.description, metadata.configuration) == ("new", {"delta.constraints.c": "n > 0"})
    assert plan.expression_checks is not None and len(plan.expression_checks.checks) == 2
    description = plan.description
    assert (description.name, description.operation) == (name, TableOperation.OVERWRITE)
    assert description.parameters["isManaged"] is True and description.parameters["partitionBy"] == []


def test_with_the_rows_of_a_query(planning: PlanningLake) -> None:
    """The query may read the replaced table."""
    settings = {"spark.databricks.delta.write.txnAppId": "app", "spark.databricks.delta.write.txnVersion": "3"}
    text = "CREATE OR REPLACE TABLE sales PARTITIONED BY (D) AS SELECT id, day AS d FROM sales"
    plan = planning.plan(ReplaceTableAsPlan, text, "id BIGINT, d DATE", settings)
    assert shown_columns(plan.definition) == "id bigint, d date"
    assert plan.rows.config.partition_columns == ("d",) and not plan.rows.removes
    assert [scan.files.num_rows for scan in plan.source.scans] == [3]
    assert plan.description.name == "CREATE OR REPLACE TABLE AS SELECT"
    assert plan.idempotent_write == IdempotentWrite(app_id="app", version=3)


def test_identity_columns_begin_again(planning: PlanningLake) -> None:
    columns = "id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5), note STRING"
    plan = planning.plan(ReplaceTablePlan, f"REPLACE TABLE ruled ({columns})")
    (identity,) = plan.definition.config("t").identities
    assert (identity.start, identity.high_water_mark) == (5, None)
    assert delta_definition(plan.definition).metadata.configuration == {}


def test_replace_creates_a_missing_table(planning: PlanningLake) -> None:
    plan = planning.plan(CreateTablePlan, "CREATE OR REPLACE TABLE fresh (a INT)")
    assert plan.description is not None and plan.description.name == "CREATE OR REPLACE TABLE"


REFUSED = {
    "REPLACE TABLE plain": "DELTA_SCHEMA_NOT_PROVIDED",
    "REPLACE TABLE fresh (a INT)": "DELTA_CANNOT_REPLACE_MISSING_TABLE",
    "REPLACE TABLE appended (a INT)": "DELTA_CANNOT_MODIFY_APPEND_ONLY",
    "REPLACE TABLE readable (a INT)": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "REPLACE TABLE plain (a INT) AS SELECT 1 AS a": "_LEGACY_ERROR_TEMP_0035",
    "REPLACE TABLE plain (a INT) OPTIONS ('x' = 'y')": "UNSUPPORTED_CLAUSE",
    "REPLACE TABLE plain (a INT, b INT) PARTITIONED BY (a) CLUSTER BY (b)": "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
    "REPLACE TABLE small (a INT)": "EXPECT_TABLE_NOT_VIEW",
    "REPLACE TABLE clustered (a INT, b INT) PARTITIONED BY (a)": (
        "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_replace_tables_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text, "a INT") == REFUSED[text]
