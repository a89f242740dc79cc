"""Requests to Spark before planning, and statements without any."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from engine.pipeline import analyze_statement, authorize_statement
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.reads import QueryColumn, ReadPlan
from tests.engine.planning.lake import PlanningLake, query_columns

COLUMNS = query_columns("a INT")


@dataclass
class RecordedColumns:
    """Returns `COLUMNS` and a variable for every query, and records requests."""

    columns: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        self.columns.append(plan.text)
        return COLUMNS

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        self.variables.append(plan.text)
        return ("x",)

    def setting(self, key: str) -> str | None:
        return None


def analyzed(planning: PlanningLake, text: str) -> tuple[AnalyzedStatement, RecordedColumns]:
    query = RecordedColumns()
    return analyze_statement(authorize_statement(planning.bound(text)), query), query


WITH_COLUMNS = (
    "CREATE TABLE made AS SELECT a FROM plain",
    "CREATE OR REPLACE TABLE plain AS SELECT a FROM plain",
    "CREATE TEMPORARY VIEW v AS SELECT a FROM plain",
    "INSERT INTO plain BY NAME SELECT a FROM plain",
    "INSERT WITH SCHEMA EVOLUTION INTO plain SELECT a FROM plain",
    "INSERT INTO plain AS t REPLACE ON t.a = s.a (SELECT a FROM plain) AS s",
    "EXPLAIN INSERT INTO plain BY NAME SELECT a FROM plain",
    "MERGE INTO sales t USING (SELECT a FROM plain) s ON t.id = s.a WHEN MATCHED THEN DELETE",
)


@pytest.mark.parametrize("text", WITH_COLUMNS)
def test_statements_whose_plan_depends_on_the_columns_of_a_query(planning: PlanningLake, text: str) -> None:
    found, query = analyzed(planning, text)
    assert found.columns == COLUMNS and found.query.text == query.columns[0]
    assert len(query.columns) == 1 and not query.variables


WITHOUT_COLUMNS = (
    "SELECT a FROM plain",
    "EXPLAIN SELECT a FROM plain",
    "DESCRIBE QUERY SELECT a FROM plain",
    "SET VAR x = (SELECT a FROM plain)",
    "INSERT INTO plain SELECT a FROM plain",
    "INSERT OVERWRITE plain SELECT a FROM plain",
    "INSERT INTO plain REPLACE USING (a) SELECT a FROM plain",
)


@pytest.mark.parametrize("text", WITHOUT_COLUMNS)
def test_unused_query_columns_are_not_analyzed(planning: PlanningLake, text: str) -> None:
    found, query = analyzed(planning, text)
    assert found.columns is None and query == RecordedColumns()
    assert [scan.label for scan in found.query.scans] == ["`spark_catalog`.`default`.`plain`"]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE IF NOT EXISTS plain AS SELECT a FROM plain",
        "CREATE TABLE made (a INT)",
        "CREATE TABLE made LIKE plain",
        "ALTER TABLE plain ADD COLUMN c INT",
        "DELETE FROM plain WHERE a IN (SELECT a FROM plain)",
        "UPDATE plain SET a = 1",
        "TRUNCATE TABLE plain",
        "OPTIMIZE plain",
        "VACUUM plain",
        "SHOW TABLES",
        "DESCRIBE TABLE plain",
    ],
)
def test_statements_without_a_source(planning: PlanningLake, text: str) -> None:
    found, query = analyzed(planning, text)
    assert found == AnalyzedStatement(bound=found.bound) and query == RecordedColumns()


def test_the_variables_of_a_view_of_the_catalog(planning: PlanningLake) -> None:
    """A temporary view may read them."""
    found, query = analyzed(planning, "CREATE VIEW v AS SELECT a FROM plain")
    assert found.variables == ("x",) and query.variables == query.columns == [found.query.text]
    assert analyzed(planning, "CREATE TEMPORARY VIEW v AS SELECT a FROM plain")[0].variables == ()


def test_an_insert_says_of_its_rows(planning: PlanningLake) -> None:
    found, _ = analyzed(planning, "INSERT INTO ruled (note, id) VALUES ('x', DEFAULT)")
    assert found.insert is not None and found.insert.rows.insert_columns == ("note",)
