"""EXPLAIN for a writing statement: its query, and the changed files."""

from __future__ import annotations

import pytest

from engine.planning.plans.reads import ExplainPlan
from engine.sql.query.values import ExplainMode
from tests.engine.planning.lake import PlanningLake

ONE_BY_ONE = "files with other rows are written again without them, files of nothing else are removed"
DELETION_VECTOR_TEXT = (
    "those in files with other rows are marked in deletion vectors, files of nothing else are removed"
)
NOTES = {
    "INSERT INTO sales VALUES (1, 2, NULL)": "new files are added, no file is removed",
    "INSERT OVERWRITE sales VALUES (1, 2, NULL)": "new files are added, all 3 files are removed",
    "INSERT INTO sales REPLACE WHERE day IS NULL VALUES (1, 2, NULL)": (
        "new files are added, the files of the partitions (day IS NULL) are removed"
    ),
    "INSERT INTO sales REPLACE WHERE id = 1 VALUES (1, 2, NULL)": (
        f"new files are added; of the rows (id = 1), {ONE_BY_ONE}"
    ),
    "INSERT INTO sales REPLACE USING (id, day) VALUES (1, 2, NULL)": (
        f"new files are added; of the rows that equal a new one in id, day, {ONE_BY_ONE}"
    ),
    "INSERT INTO vectors AS t REPLACE ON t.a = s.a (SELECT 1 AS a, 'x' AS p) AS s": (
        f"new files are added; of the rows that match a new one by t.a = s.a, {DELETION_VECTOR_TEXT}"
    ),
    "DELETE FROM sales": "all 3 files are removed, by the log alone if it has their row counts",
    "DELETE FROM sales WHERE day > '1'": (
        "the files of the partitions (day > '1') are removed, by the log alone if it has their row counts"
    ),
    "DELETE FROM sales WHERE id = 1": f"of the rows (id = 1), {ONE_BY_ONE}",
    "DELETE FROM vectors WHERE a = 1": f"of the rows (a = 1), {DELETION_VECTOR_TEXT}",
    "MERGE INTO sales t USING plain s ON t.id = s.a WHEN MATCHED THEN DELETE": (
        f"files without any of its values of id are not read; of the rows that change or go, {ONE_BY_ONE}"
    ),
    "MERGE INTO sales t USING small s ON t.id > s.a WHEN NOT MATCHED THEN INSERT (id) VALUES (s.a)": (
        "the source is read first; new rows and new values are in new files; no file is removed"
    ),
    "UPDATE sales SET id = 1": (
        "files with rows that change are written again, with the new values and the rows that stay"
    ),
    "UPDATE sales SET id = (SELECT 1)": f"new values are in new files; of the rows that change, {ONE_BY_ONE}",
    "UPDATE vectors SET a = 1": f"new values are in new files; of the rows that change, {DELETION_VECTOR_TEXT}",
}


@pytest.mark.parametrize("text", NOTES)
def test_explained_file_changes(planning: PlanningLake, text: str) -> None:
    plan = planning.plan(ExplainPlan, f"EXPLAIN {text}", "a INT, p STRING")
    table = "vectors" if "vectors" in text else "sales"
    path = "; literals are written without a job" if text.startswith("INSERT") else ""
    assert plan.note == f"`spark_catalog`.`default`.`{table}`: {NOTES[text]}{path}"


def test_dynamic_overwriting(planning: PlanningLake) -> None:
    settings = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    plan = planning.plan(ExplainPlan, "EXPLAIN INSERT OVERWRITE sales VALUES (1, 2, NULL)", settings=settings)
    assert plan.note.endswith(
        "the files of the partitions that get new rows are removed; literals are written without a job"
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("INSERT INTO plain SELECT id, day FROM sales", "SELECT id, day FROM `__scan_0` AS `sales`"),
        ("DELETE FROM plain WHERE a = 1", "bitmap_construct_agg"),
        ("UPDATE plain SET b = 'x' WHERE a = 1", "bitmap_construct_agg"),
    ],
)
def test_explained_query(planning: PlanningLake, text: str, read: str) -> None:
    plan = planning.plan(ExplainPlan, f"EXPLAIN FORMATTED {text}")
    assert read in plan.read.text and plan.mode is ExplainMode.FORMATTED


def test_explain_rejects_what_the_statement_rejects(planning: PlanningLake) -> None:
    assert planning.refused("EXPLAIN DELETE FROM readable") == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"
