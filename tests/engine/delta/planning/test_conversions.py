"""CONVERT TO DELTA: checks before the files are read."""

from __future__ import annotations

import pytest

from engine.formats.delta.planning.plans import ConvertPlan
from engine.planning.plans.ddl import CreateTablePlan
from engine.tables.definition_changes import SetProperty
from engine.tables.operations import TableOperation
from engine.types.schema import PrimitiveType, StructField
from tests.engine.planning.lake import PlanningLake

DEFAULTS = "spark.databricks.delta.properties.defaults."


@pytest.mark.parametrize(
    ("clauses", "has_statistics", "columns"),
    [
        ("", True, ()),
        ("NO STATISTICS PARTITIONED BY (p INT)", False, (StructField("p", PrimitiveType.INTEGER),)),
    ],
)
def test_a_folder_of_parquet_files(
    planning: PlanningLake, clauses: str, has_statistics: bool, columns: tuple[StructField, ...]
) -> None:
    plan = planning.plan(ConvertPlan, f"CONVERT TO DELTA parquet.`{planning.folder}/pq` {clauses}")
    assert (plan.has_statistics, plan.partition_columns) == (has_statistics, columns)
    assert plan.entry.location == f"{planning.folder}/pq" and not plan.entry.managed
    description = plan.description
    assert (description.name, description.operation, description.exclusive) == ("CONVERT", TableOperation.APPEND, True)
    assert dict(description.parameters) == {
        "partitionedBy": [column.name for column in columns],
        "collectStats": has_statistics,
        "sourceFormat": "parquet",
    }


def test_properties_of_every_new_table(planning: PlanningLake) -> None:
    text = f"CONVERT TO DELTA parquet.`{planning.folder}/pq`"
    plan = planning.plan(ConvertPlan, text, settings={f"{DEFAULTS}enableDeletionVectors": "true"})
    assert plan.changes == (SetProperty(key="delta.enableDeletionVectors", value="true"),)
    by_id = {f"{DEFAULTS}columnMapping.mode": "id"}
    assert planning.refused(text, settings=by_id) == "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"


def test_a_delta_table_is_left_as_it_is(planning: PlanningLake) -> None:
    for text in ("CONVERT TO DELTA plain", f"CONVERT TO DELTA parquet.`{planning.path('plain')}`"):
        assert planning.plan(CreateTablePlan, text).entry is None
