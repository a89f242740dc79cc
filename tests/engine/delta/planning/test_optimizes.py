"""OPTIMIZE and REORG TABLE: files and columns to rearrange; compaction after a write."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.names import PATH_SCHEMA
from engine.formats.delta.planning.optimize_plans import Cluster, Merge, OptimizePlan, Purge, Zorder
from engine.formats.delta.planning.optimizes import auto_compaction
from engine.formats.registry import PLANNERS
from engine.planning.plans.writes import DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan
from engine.statements.format_planning import RowPlan, follow_up_of
from engine.statements.maintenance.statement import Optimize
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake

GOALS: dict[str, tuple[object, dict[str, Any]]] = {
    "OPTIMIZE plain": (Merge(), {"zOrderBy": [], "clusterBy": [], "auto": False}),
    "OPTIMIZE sales ZORDER BY (ID, amount)": (
        Zorder(columns=(("id",), ("amount",))),
        {"zOrderBy": ["id", "amount"], "clusterBy": [], "auto": False},
    ),
    "OPTIMIZE nested ZORDER BY (PLACE.zip)": (
        Zorder(columns=(("place", "zip"),)),
        {"zOrderBy": ["place.zip"], "clusterBy": [], "auto": False},
    ),
    "OPTIMIZE clustered": (
        Cluster(columns=(("a",), ("c", "x")), is_full=False),
        {"zOrderBy": [], "clusterBy": ["a", "c.x"], "auto": False, "isFull": False},
    ),
    "OPTIMIZE clustered FULL": (
        Cluster(columns=(("a",), ("c", "x")), is_full=True),
        {"zOrderBy": [], "clusterBy": ["a", "c.x"], "auto": False, "isFull": True},
    ),
    "REORG TABLE plain APPLY (PURGE)": (Purge(), {"applyPurge": True}),
}


@pytest.mark.parametrize("text", GOALS)
def test_goals(planning: PlanningLake, text: str) -> None:
    plan = planning.plan(OptimizePlan, text)
    goal, parameters = GOALS[text]
    assert plan.goal == goal and plan.condition is None and plan.expression_checks is None and plan.left is None
    assert plan.description.name == text.split()[0] and plan.description.operation is TableOperation.OPTIMIZE
    assert dict(plan.description.parameters) == {"predicate": [], **parameters}
    assert not plan.description.changes_data


@pytest.mark.parametrize("head", ["OPTIMIZE sales", "REORG TABLE sales"])
def test_partitions(planning: PlanningLake, head: str) -> None:
    tail = " APPLY (PURGE)" if "REORG" in head else ""
    plan = planning.plan(OptimizePlan, f"{head} WHERE sales.day >\n '2024-01-01'{tail}")
    assert plan.condition == "(day >\n '2024-01-01'\n)" and plan.expression_checks is not None
    assert plan.description.parameters["predicate"] == ["(day > '2024-01-01')"]


REFUSED = {
    "OPTIMIZE sales WHERE amount > 1": "DELTA_NON_PARTITION_COLUMN_REFERENCE",
    "REORG TABLE plain WHERE a = 1 APPLY (PURGE)": "DELTA_NON_PARTITION_COLUMN_REFERENCE",
    "OPTIMIZE sales WHERE day IN (SELECT day FROM sales)": "DELTA_UNSUPPORTED_SUBQUERY",
    "OPTIMIZE clustered WHERE a = 1": "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE",
    "OPTIMIZE clustered ZORDER BY (b)": "DELTA_CLUSTERING_WITH_ZORDER_BY",
    "OPTIMIZE plain FULL": "DELTA_OPTIMIZE_FULL_NOT_SUPPORTED",
    "OPTIMIZE sales ZORDER BY (day)": "DELTA_ZORDERING_ON_PARTITION_COLUMN",
    "OPTIMIZE sales ZORDER BY (zz)": "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST",
    "OPTIMIZE nested ZORDER BY (tags)": "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS",
    "OPTIMIZE readable": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "REORG TABLE readable APPLY (PURGE)": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_optimizes_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text) == REFUSED[text]


def test_a_column_whose_statistics_are_left_out(planning: PlanningLake) -> None:
    planning.make("CREATE TABLE measured (a INT, b INT) TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'a')")
    assert planning.plan(OptimizePlan, "OPTIMIZE measured ZORDER BY (a)").goal == Zorder(columns=(("a",),))
    assert planning.refused("OPTIMIZE measured ZORDER BY (a, b)") == "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS"


WRITES: dict[str, tuple[type[Any], str]] = {
    "insert": (InsertPlan, "INSERT INTO {} VALUES (1)"),
    "delete": (DeletePlan, "DELETE FROM {} WHERE a = 1"),
    "update": (UpdatePlan, "UPDATE {} SET a = 1"),
    "merge": (MergePlan, "MERGE INTO {} t USING sales s ON t.a = s.id WHEN MATCHED THEN DELETE"),
}


def plan_of(planning: PlanningLake, table: str, write: str) -> RowPlan:
    kind, text = WRITES[write]
    found: RowPlan = planning.plan(kind, text.format(table), "id BIGINT")
    return found


@pytest.mark.parametrize("write", WRITES)
def test_compaction_after_a_write(planning: PlanningLake, write: str) -> None:
    if not planning.path("auto").exists():
        planning.make("CREATE TABLE auto (a INT) TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')")
    wanted = Optimize(table_parts=("spark_catalog", "default", "auto"), is_auto=True)
    assert auto_compaction(plan_of(planning, "auto", write)) == wanted
    path = str(planning.path("auto"))
    by_path = auto_compaction(plan_of(planning, f"delta.`{path}`", write))
    assert by_path == Optimize(table_parts=(PATH_SCHEMA, path), is_auto=True)
    assert auto_compaction(plan_of(planning, "plain", write)) is None
    assert auto_compaction(plan_of(planning, "clustered", write)) is None


def test_no_compaction_after_other_statements(planning: PlanningLake) -> None:
    assert follow_up_of(PLANNERS, planning.plan(TruncatePlan, "TRUNCATE TABLE auto")) is None
