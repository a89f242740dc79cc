"""DDL on catalogs, schemas and views: the catalog change, and its tolerated error."""

from __future__ import annotations

from typing import Any

import pytest

from catalog import changes
from catalog.conditions import (
    CatalogAlreadyExists,
    CatalogNotFound,
    SchemaAlreadyExists,
    SchemaNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from catalog.entries import CatalogEntry, SchemaEntry, SchemaMode, ViewColumn, ViewEntry
from catalog.names import CatalogName, SchemaName, TableName
from engine.planning.plans.ddl import CatalogPlan, CreateTemporaryViewPlan, DropSchemaPlan, DropTemporaryViewPlan
from engine.planning.plans.reads import ReadPlan
from tests.engine.planning.lake import PlanningLake

SPARK = "spark_catalog"
SCHEMA = SchemaName(SPARK, "s")

PLANS: dict[str, CatalogPlan] = {
    "CREATE CATALOG c COMMENT 'x'": CatalogPlan(
        change=changes.CreateCatalog(CatalogEntry(name=CatalogName("c"), owner="ann", comment="x"))
    ),
    "CREATE CATALOG IF NOT EXISTS c": CatalogPlan(
        change=changes.CreateCatalog(CatalogEntry(name=CatalogName("c"), owner="ann")),
        tolerated=(CatalogAlreadyExists,),
    ),
    "DROP CATALOG c": CatalogPlan(change=changes.DropCatalog(CatalogName("c"))),
    "DROP CATALOG IF EXISTS c": CatalogPlan(change=changes.DropCatalog(CatalogName("c")), tolerated=(CatalogNotFound,)),
    "CREATE SCHEMA s": CatalogPlan(change=changes.CreateSchema(SchemaEntry(name=SCHEMA, owner="ann"))),
    "CREATE DATABASE IF NOT EXISTS other.s COMMENT 'x'": CatalogPlan(
        change=changes.CreateSchema(SchemaEntry(name=SchemaName("other", "s"), owner="ann", comment="x")),
        tolerated=(SchemaAlreadyExists,),
    ),
    "CREATE SCHEMA s LOCATION '/lake/s'": CatalogPlan(
        change=changes.CreateSchema(SchemaEntry(name=SCHEMA, location="/lake/s", owner="ann"))
    ),
    "COMMENT ON SCHEMA s IS 'x'": CatalogPlan(change=changes.SetComment(SCHEMA, "x")),
    "COMMENT ON CATALOG c IS NULL": CatalogPlan(change=changes.SetComment(CatalogName("c"), None)),
    "DROP VIEW small": CatalogPlan(change=changes.DropView(TableName(SPARK, "default", "small"))),
    "DROP VIEW IF EXISTS s.v": CatalogPlan(
        change=changes.DropView(TableName(SPARK, "s", "v")), tolerated=(TableNotFound,)
    ),
}


@pytest.mark.parametrize("text", PLANS)
def test_changes_of_names(planning: PlanningLake, text: str) -> None:
    assert planning.plan(CatalogPlan, text) == PLANS[text]


@pytest.mark.parametrize(
    ("text", "cascade", "tolerated"),
    [
        ("DROP SCHEMA s", False, ()),
        ("DROP SCHEMA IF EXISTS s RESTRICT", False, (SchemaNotFound,)),
        ("DROP DATABASE s CASCADE", True, ()),
    ],
)
def test_dropped_schemas(planning: PlanningLake, text: str, cascade: bool, tolerated: tuple[Any, ...]) -> None:
    assert planning.plan(DropSchemaPlan, text) == DropSchemaPlan(name=SCHEMA, cascade=cascade, tolerated=tolerated)


def test_a_view_with_names_of_its_own(planning: PlanningLake) -> None:
    text = """CREATE VIEW v (x COMMENT 'c', y) COMMENT 'd' TBLPROPERTIES ('k' = 'v')
        AS SELECT a, b FROM plain -- both"""
    plan = planning.plan(CatalogPlan, text, "a INT, b STRUCT<z: DATE>")
    assert isinstance(plan.change, changes.CreateView) and not plan.change.replace
    assert plan.change.entry == ViewEntry(
        name=TableName(SPARK, "default", "v"),
        text="SELECT a, b FROM plain",
        current=SchemaName(SPARK, "default"),
        columns=(
            ViewColumn(name="x", source="a", type="int", comment="c"),
            ViewColumn(name="y", source="b", type="struct<z:date>"),
        ),
        properties=(("k", "v"),),
        owner="ann",
        comment="d",
        schema_mode=SchemaMode.COMPENSATION,
    )


@pytest.mark.parametrize(
    ("head", "replace", "tolerated"),
    [
        ("CREATE VIEW", False, ()),
        ("CREATE OR REPLACE VIEW", True, ()),
        ("CREATE VIEW IF NOT EXISTS", False, (TableAlreadyExists,)),
    ],
)
def test_a_view_that_may_be_there(planning: PlanningLake, head: str, replace: bool, tolerated: tuple[Any, ...]) -> None:
    plan = planning.plan(CatalogPlan, f"{head} v AS SELECT 1 AS a", "a INT")
    assert isinstance(plan.change, changes.CreateView)
    assert (plan.change.replace, plan.tolerated) == (replace, tolerated)


def temporary(planning: PlanningLake, text: str) -> CreateTemporaryViewPlan:
    return planning.plan(CreateTemporaryViewPlan, text, "a INT")


def test_temporary_views(planning: PlanningLake) -> None:
    """IF NOT EXISTS creates a missing view, and leaves an existing one."""
    made = temporary(planning, "CREATE TEMPORARY VIEW tv AS SELECT 1 AS a")
    assert made.entry.name == TableName("system", "session", "tv") and not made.replace and not made.tolerates
    assert temporary(planning, "CREATE OR REPLACE TEMPORARY VIEW tv AS SELECT 1 AS a").replace
    fresh = planning.state
    absent = temporary(planning, "CREATE TEMPORARY VIEW IF NOT EXISTS tv AS SELECT 1 AS a")
    assert absent.tolerates and absent.replace
    planning.state = fresh.with_temporary_view(made.entry)
    try:
        present = temporary(planning, "CREATE TEMPORARY VIEW IF NOT EXISTS TV AS SELECT 1 AS a")
        assert present.tolerates
        assert planning.plan(DropTemporaryViewPlan, "DROP VIEW tv").entry == made.entry
        assert planning.plan(CatalogPlan, "DROP VIEW default.tv").change == changes.DropView(
            TableName(SPARK, "default", "tv")
        )
        assert planning.refused("CREATE VIEW v AS SELECT * FROM tv", "a INT") == "INVALID_TEMP_OBJ_REFERENCE"
        assert [view.temporary for view in planning.plan(ReadPlan, "SELECT * FROM tv, small").views] == [True, False]
        assert planning.plan(CreateTemporaryViewPlan, "CREATE TEMPORARY VIEW t2 AS SELECT * FROM tv", "a INT")
    finally:
        planning.state = fresh


def test_a_view_of_the_catalog_reads_no_variable(planning: PlanningLake) -> None:
    text = "CREATE VIEW v AS SELECT x AS a"
    assert planning.refuse(text, "a INT", variables=("x",)).condition == "INVALID_TEMP_OBJ_REFERENCE"


REFUSED = {
    "CREATE SCHEMA s WITH DBPROPERTIES ('a' = 'b')": "UNSUPPORTED_CLAUSE",
    "DROP CATALOG c CASCADE": "UNSUPPORTED_FEATURE.STATEMENT",
    "CREATE OR REPLACE VIEW small AS SELECT * FROM small": "RECURSIVE_VIEW",
    "CREATE OR REPLACE VIEW small AS SELECT * FROM above_small": "RECURSIVE_VIEW",
    "CREATE VIEW v (x) AS SELECT * FROM plain": "CREATE_VIEW_COLUMN_ARITY_MISMATCH",
    "CREATE VIEW v (x, X) AS SELECT * FROM plain": "COLUMN_ALREADY_EXISTS",
    "CREATE VIEW `a/b` AS SELECT * FROM plain": "INVALID_SCHEMA_OR_RELATION_NAME",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_catalog_ddl_is_rejected(planning: PlanningLake, text: str) -> None:
    if "above_small" in text:
        planning.make_view("above_small", "SELECT * FROM small", "a INT")
    assert planning.refused(text, "a INT, b STRING") == REFUSED[text]


def test_columns_of_one_name_in_the_query(planning: PlanningLake) -> None:
    """They need explicit names in the view."""
    assert planning.refused("CREATE VIEW v AS SELECT 1", "a INT, A INT") == "COLUMN_ALREADY_EXISTS"
    plan = planning.plan(CatalogPlan, "CREATE VIEW v (x, y) AS SELECT 1", "a INT, A INT")
    assert isinstance(plan.change, changes.CreateView)
    assert [(column.name, column.source) for column in plan.change.entry.columns] == [("x", "a"), ("y", "A")]
