"""INSERT in its forms: replaced rows, operation parameters, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from engine.planning.plans.ddl import CreateTableAsPlan, CreateTablePlan
from engine.planning.plans.writes import (
    InsertPlan,
    KeepAll,
    ReplaceAll,
    ReplaceEqual,
    ReplaceMatching,
    ReplaceRelated,
    ReplaceRows,
    ReplaceTouched,
    TruncatePlan,
)
from engine.tables.operations import IdempotentWrite, TableOperation
from tests.engine.planning.lake import PlanningLake

DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
MERGE_SCHEMA = {"spark.databricks.delta.schema.autoMerge.enabled": "true"}

REPLACEMENTS: dict[str, tuple[str, dict[str, str], object, dict[str, str]]] = {
    "append": ("INSERT INTO sales SELECT 1, 2, DATE'2024-01-01'", {}, KeepAll(), {"mode": "Append"}),
    "append, whatever the mode of overwriting": ("INSERT INTO sales VALUES (1, 2, NULL)", DYNAMIC, KeepAll(), {}),
    "overwrite": ("INSERT OVERWRITE sales VALUES (1, 2, NULL)", {}, ReplaceAll(), {"mode": "Overwrite"}),
    "overwrite, dynamic": (
        "INSERT OVERWRITE sales VALUES (1, 2, NULL)",
        DYNAMIC,
        ReplaceTouched(),
        {"isDynamicPartitionOverwrite": "true"},
    ),
    "overwrite, dynamic without partitions": (
        "INSERT OVERWRITE plain VALUES (1, 'x')",
        DYNAMIC,
        ReplaceAll(),
        {"mode": "Overwrite"},
    ),
    "overwrite a partition, whatever the mode": (
        "INSERT OVERWRITE sales PARTITION (day = '2024-01-01') VALUES (1, 2)",
        DYNAMIC,
        ReplaceTouched(),
        {"isDynamicPartitionOverwrite": "true"},
    ),
    "replace equal": (
        "INSERT INTO sales REPLACE USING (DAY, id) VALUES (1, 2, NULL)",
        {},
        ReplaceEqual(columns=("day", "id")),
        {"replaceUsingCols": "day, id"},
    ),
}


@pytest.mark.parametrize("case", REPLACEMENTS)
def test_rows_replaced_by_an_insert(planning: PlanningLake, case: str) -> None:
    text, settings, replacement, parameters = REPLACEMENTS[case]
    plan = planning.plan(InsertPlan, text, settings=settings)
    assert plan.replacement == replacement
    assert parameters.items() <= plan.description.parameters.items()
    assert plan.description.name == "WRITE" and plan.description.user_name == "ann"
    is_append = isinstance(replacement, KeepAll)
    assert plan.description.operation is (TableOperation.APPEND if is_append else TableOperation.OVERWRITE)
    assert plan.rows.removes is not is_append


def test_an_overwritten_partition_is_named_by_its_value_as_stored(planning: PlanningLake) -> None:
    plan = planning.plan(InsertPlan, "INSERT OVERWRITE sales PARTITION (DAY = '2024-01-01') VALUES (1, 2)")
    assert isinstance(plan.replacement, ReplaceMatching)
    assert plan.replacement.condition == "`DAY` <=> CAST(('2024-01-01'\n) AS date)"
    shown = "`DAY` <=> CAST(('2024-01-01') AS date)"
    assert plan.description.parameters["predicate"] == plan.replacement.shown == shown
    assert plan.rows.static_partitions == {"DAY": "'2024-01-01'"}


@pytest.mark.parametrize(
    ("condition", "is_whole"),
    [
        ("day = DATE'2024-01-01'", True),
        ("sales.DAY = DATE'2024-01-01' OR default.sales.day IS NULL", True),
        ("day = DATE'2024-01-01' AND amount > 0", False),
        ("true", False),
    ],
)
def test_a_condition_on_partition_columns_alone_takes_whole_files(
    planning: PlanningLake, condition: str, is_whole: bool
) -> None:
    plan = planning.plan(InsertPlan, f"INSERT INTO sales REPLACE WHERE {condition} VALUES (1, 2, NULL)")
    assert isinstance(plan.replacement, ReplaceMatching if is_whole else ReplaceRows)
    unqualified = condition.replace("sales.", "").replace("default.", "")
    assert plan.replacement.shown == f"({unqualified})" == plan.description.parameters["predicate"]
    assert plan.rows.replaces == unqualified
    assert plan.expression_checks is not None


def test_rows_replaced_by_a_condition_between_two_tables(planning: PlanningLake) -> None:
    text = "INSERT INTO plain AS t REPLACE ON t.a = s.a (SELECT * FROM small) AS s"
    plan = planning.plan(InsertPlan, text, "a INT")
    related = plan.replacement
    assert isinstance(related, ReplaceRelated)
    assert (related.condition.text, related.alias, related.source_alias) == ("t.a = s.a", "t", "s")
    assert plan.description.parameters["replaceOnCond"] == "t.a = s.a"
    assert [column.name for column in plan.columns] == ["a"]
    unnamed = planning.plan(InsertPlan, text.replace(" AS t ", " ").replace("t.a", "default.plain.a"), "a INT")
    assert isinstance(unnamed.replacement, ReplaceRelated)
    assert (unnamed.replacement.condition.text, unnamed.replacement.alias) == ("plain.a = s.a", "plain")


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("SELECT a, b FROM plain", True),
        ("SELECT a, 'x' FROM small", True),
        ("SELECT id, 'x' FROM sales", False),
        ("VALUES (1, 'x')", False),
    ],
)
def test_insert_query_that_reads_its_target(planning: PlanningLake, source: str, reads: bool) -> None:
    """Then other commits to it are conflicts."""
    assert planning.plan(InsertPlan, f"INSERT INTO plain {source}").reads_table is reads


def test_only_if_absent(planning: PlanningLake) -> None:
    text = "INSERT OVERWRITE sales PARTITION (day = '2024-01-01') IF NOT EXISTS VALUES (1, 2)"
    for settings in ({}, DYNAMIC):
        plan = planning.plan(InsertPlan, text, settings=settings)
        assert plan.only_if_absent and isinstance(plan.replacement, ReplaceMatching)
    assert planning.plan(InsertPlan, text.replace(" IF NOT EXISTS", "")).only_if_absent is False


def test_idempotent_write(planning: PlanningLake) -> None:
    settings = {"spark.databricks.delta.write.txnAppId": "app", "spark.databricks.delta.write.txnVersion": "3"}
    plan = planning.plan(InsertPlan, "INSERT INTO plain VALUES (1, 'x')", settings=settings)
    assert plan.idempotent_write == IdempotentWrite(app_id="app", version=3)
    assert planning.plan(InsertPlan, "INSERT INTO plain VALUES (1, 'x')").idempotent_write is None


def test_columns_by_name_and_new_columns(planning: PlanningLake) -> None:
    text, columns = "INSERT INTO plain BY NAME SELECT 1 AS n, 2 AS a", "n INT, a INT"
    plain = planning.plan(InsertPlan, text, columns)
    assert plain.definition is None and plain.rows.source_columns == ("n", "a")
    evolving = text.replace("INSERT ", "INSERT WITH SCHEMA EVOLUTION ")
    for each, settings in ((evolving, {}), (text, MERGE_SCHEMA)):
        plan = planning.plan(InsertPlan, each, columns, settings)
        assert plan.definition is not None
        assert plan.rows.config == plan.definition.config(plan.rows.table)
        assert list(plan.rows.schema.names) == ["a", "b", "n"]
        assert plan.description.parameters["canMergeSchema"] == "true"
    assert planning.plan(InsertPlan, evolving, "a INT, b STRING").definition is None


REFUSED = {
    "INSERT INTO readable VALUES (1)": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "INSERT INTO plain SELECT * FROM unreadable": "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    "INSERT INTO plain SELECT * FROM empty": "DELTA_READ_TABLE_WITHOUT_COLUMNS",
    "INSERT INTO plain AS t REPLACE WHERE a = 1 VALUES (1, 'x')": "INSERT_REPLACE_WHERE_TABLE_ALIAS_NOT_ALLOWED",
    "INSERT INTO plain (a) REPLACE ON plain.a = s.a (SELECT 1 AS a) AS s": "INSERT_REPLACE_ON_COLUMN_LIST_NOT_ALLOWED",
    "INSERT INTO plain REPLACE WHERE a IN (SELECT a FROM small) VALUES (1, 'x')": "DELTA_UNSUPPORTED_SUBQUERY",
    "INSERT INTO plain REPLACE USING (c) VALUES (1, 'x')": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
    "INSERT INTO sales PARTITION (day = '1', DAY = '2') VALUES (1, 2)": "DUPLICATE_KEY",
    "INSERT OVERWRITE sales PARTITION (month = 1) VALUES (1, 2)": "NON_PARTITION_COLUMN",
    "INSERT OVERWRITE sales PARTITION (day) IF NOT EXISTS VALUES (1, 2, NULL)": "UNSUPPORTED_FEATURE.STATEMENT",
    "INSERT INTO sales PARTITION (day = '2024-01-01') IF NOT EXISTS VALUES (1, 2)": "UNSUPPORTED_FEATURE.STATEMENT",
    "INSERT OVERWRITE plain IF NOT EXISTS VALUES (1, 'x')": "UNSUPPORTED_FEATURE.STATEMENT",
    "INSERT INTO plain IF NOT EXISTS REPLACE WHERE a = 1 VALUES (1, 'x')": "UNSUPPORTED_FEATURE.STATEMENT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_inserts_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text, "a INT") == REFUSED[text]


def test_truncate(planning: PlanningLake) -> None:
    plan = planning.plan(TruncatePlan, "TRUNCATE TABLE sales")
    assert (plan.description.name, plan.description.operation) == ("TRUNCATE", TableOperation.OVERWRITE)
    assert plan.table.label == "`spark_catalog`.`default`.`sales`"
    assert planning.refused("TRUNCATE TABLE readable") == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"


def test_a_table_of_a_query_has_the_columns_of_the_query(planning: PlanningLake) -> None:
    text = "CREATE TABLE made PARTITIONED BY (D) COMMENT 'c' AS SELECT id, day AS d FROM sales"
    plan = planning.plan(CreateTableAsPlan, text, "id BIGINT, d DATE")
    assert list(plan.rows.schema.names) == ["id", "d"] and plan.rows.config.partition_columns == ("d",)
    assert [scan.files.num_rows for scan in plan.source.scans] == [3]
    assert plan.description.name == "CREATE TABLE AS SELECT"
    expected: dict[str, Any] = {"isManaged": True, "description": "c", "partitionBy": ["d"], "clusterBy": []}
    assert expected.items() <= plan.description.parameters.items()
    assert plan.entry.location.endswith("/default/made") and plan.entry.owner == "ann"


def test_a_table_of_a_query_that_is_there_already(planning: PlanningLake) -> None:
    text = "CREATE TABLE IF NOT EXISTS plain AS SELECT 1 AS a"
    assert planning.plan(CreateTablePlan, text, "a INT").entry is None
    assert planning.refused(text.replace(" IF NOT EXISTS", ""), "a INT") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    other = f"CREATE TABLE other LOCATION '{planning.path('plain')}' AS SELECT 1 AS a"
    assert planning.refused(other, "a INT") == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert planning.refused("CREATE TABLE made (a INT) AS SELECT 1 AS a", "a INT") == "_LEGACY_ERROR_TEMP_0035"
