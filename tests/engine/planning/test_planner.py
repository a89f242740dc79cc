"""The plan for each kind of statement."""

from __future__ import annotations

from typing import Any

import pytest

from engine.formats.delta.planning import maintenance_plans as maintenance
from engine.formats.delta.planning.optimize_plans import OptimizePlan
from engine.formats.delta.planning.plans import ClonePlan
from engine.planning.plans import ddl, reads, writes
from engine.sql.query.values import ExplainMode
from tests.engine.planning.lake import PlanningLake

KINDS: list[tuple[str, type[Any]]] = [
    ("SELECT a FROM plain", reads.ReadPlan),
    ("SELECT count(*) FROM plain", reads.AnswerPlan),
    ("EXPLAIN SELECT a FROM plain", reads.ExplainPlan),
    ("EXPLAIN INSERT INTO plain VALUES (1, 'x')", reads.ExplainPlan),
    ("DESCRIBE QUERY SELECT a FROM plain", reads.SchemaPlan),
    ("SHOW TABLES", reads.CommandPlan),
    ("DESCRIBE TABLE plain", reads.CommandPlan),
    ("SET spark.sql.ansi.enabled", reads.CommandPlan),
    ("USE default", reads.CommandPlan),
    ("DECLARE x INT", reads.DeclarePlan),
    ("SET VAR x = 1", reads.AssignPlan),
    ("DROP TEMPORARY VARIABLE x", reads.DropVariablePlan),
    ("CREATE VIEW v AS SELECT 1 AS a", ddl.CatalogPlan),
    ("DROP VIEW v", ddl.CatalogPlan),
    ("CREATE TABLE made (a INT)", ddl.CreateTablePlan),
    ("CREATE OR REPLACE TABLE made (a INT)", ddl.CreateTablePlan),
    ("CREATE TABLE made AS SELECT 1 AS a", ddl.CreateTableAsPlan),
    ("CREATE OR REPLACE TABLE plain (a INT)", ddl.ReplaceTablePlan),
    ("CREATE OR REPLACE TABLE plain AS SELECT 1 AS a", ddl.ReplaceTableAsPlan),
    ("CREATE TABLE made LIKE plain", ddl.CreateTablePlan),
    ("CREATE TABLE made CLONE plain", ClonePlan),
    ("CONVERT TO DELTA plain", ddl.CreateTablePlan),
    ("DROP TABLE plain", ddl.DropTablePlan),
    ("CREATE SCHEMA s", ddl.CatalogPlan),
    ("DROP SCHEMA s", ddl.DropSchemaPlan),
    ("CREATE CATALOG c", ddl.CatalogPlan),
    ("DROP CATALOG c", ddl.CatalogPlan),
    ("ALTER TABLE plain ADD COLUMN c INT", ddl.AlterPlan),
    ("COMMENT ON TABLE plain IS 'x'", ddl.AlterPlan),
    ("COMMENT ON SCHEMA s IS 'x'", ddl.CatalogPlan),
    ("INSERT INTO plain VALUES (1, 'x')", writes.InsertPlan),
    ("DELETE FROM plain", writes.DeletePlan),
    ("UPDATE plain SET a = 1", writes.UpdatePlan),
    ("MERGE INTO plain t USING small s ON t.a = s.a WHEN MATCHED THEN DELETE", writes.MergePlan),
    ("TRUNCATE TABLE plain", writes.TruncatePlan),
    ("VACUUM plain", maintenance.VacuumPlan),
    ("RESTORE TABLE plain TO VERSION AS OF 0", maintenance.RestorePlan),
    ("FSCK REPAIR TABLE plain", maintenance.RepairPlan),
    ("GENERATE symlink_format_manifest FOR TABLE plain", maintenance.ManifestPlan),
    ("ANALYZE TABLE plain COMPUTE STATISTICS", maintenance.AnalyzePlan),
    ("OPTIMIZE plain", OptimizePlan),
    ("REORG TABLE plain APPLY (PURGE)", OptimizePlan),
]


@pytest.mark.parametrize(("text", "kind"), KINDS, ids=[text for text, _ in KINDS])
def test_the_kind_of_plan(planning: PlanningLake, text: str, kind: type[Any]) -> None:
    assert type(planning.plan(kind, text, "a INT")) is kind


@pytest.mark.parametrize(
    ("query", "note"),
    [
        (
            "SELECT count(*) FROM plain",
            "answered from the log of `spark_catalog`.`default`.`plain`, version 1: no file is read",
        ),
        ("SELECT a FROM plain", "not answered from the log: it asks for more than counts, extremes and partition"),
    ],
)
def test_plan_reports_metadata_only_answer(planning: PlanningLake, query: str, note: str) -> None:
    plan = planning.plan(reads.ExplainPlan, f"EXPLAIN COST {query}")
    assert plan.note.startswith(note) and plan.mode is ExplainMode.COST
    assert len(plan.read.scans) == 1
