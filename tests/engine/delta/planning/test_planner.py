"""Attributes of Delta plans that the pipeline needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from catalog.conditions import FeatureDropConflict, TableAlreadyExists
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.formats.delta.planning.maintenance_plans import VacuumPlan
from engine.formats.delta.planning.optimize_plans import OptimizePlan
from engine.formats.delta.planning.plans import BackfillPlan, ClonePlan, DeltaPlan, RewritePlan
from engine.pipeline import plan_statement
from engine.planning.plans.format_plan import FormatPlan
from tests.engine.planning.lake import PlanningLake, data_file


@pytest.fixture(scope="module", autouse=True)
def tables(planning: PlanningLake) -> None:
    vector = inline_deletion_vector(np.array([1], np.uint64))
    on = "TBLPROPERTIES ('delta.{}' = '{}')"
    with_deletes = on.format("enableDeletionVectors", "true")
    planning.make(f"CREATE TABLE own_marked (a INT) {with_deletes}", data_file("1", deletion_vector=vector))
    planning.make(f"CREATE TABLE own_named (a INT) {on.format('columnMapping.mode', 'name')}", data_file("1"))
    planning.make(f"CREATE TABLE own_ids (a INT) {on.format('feature.rowTracking', 'supported')}", data_file("1"))


PLANS: list[tuple[str, type[DeltaPlan], dict[str, Any]]] = [
    ("VACUUM plain", VacuumPlan, {}),
    ("OPTIMIZE plain", OptimizePlan, {"in_steps": True}),
    ("CREATE TABLE other CLONE plain", ClonePlan, {}),
    ("CREATE TABLE IF NOT EXISTS other CLONE plain", ClonePlan, {"tolerated": (TableAlreadyExists,)}),
    ("ALTER TABLE own_ids SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')", BackfillPlan, {"is_last": False}),
    ("ALTER TABLE own_named DROP FEATURE columnMapping", RewritePlan, {"is_repeated": False}),
]


@pytest.mark.parametrize(("text", "kind", "known"), PLANS, ids=[text for text, _, _ in PLANS])
def test_plan_of_each_statement(
    planning: PlanningLake, text: str, kind: type[DeltaPlan], known: dict[str, Any]
) -> None:
    plan = format_plan_of(planning, text)
    assert type(plan.own) is kind
    assert plan == FormatPlan(format="delta", own=plan.own, **known)


def test_files_that_others_go_on_writing(planning: PlanningLake) -> None:
    """The step is made again for these, and not for ever."""
    plan = format_plan_of(planning, "ALTER TABLE own_marked DROP FEATURE deletionVectors")
    assert isinstance(plan.own, RewritePlan) and not plan.is_last and plan.is_repeated
    assert isinstance(plan.repeats_error, FeatureDropConflict)


def test_the_condition_of_optimize_is_checked_before_it_is_written(planning: PlanningLake) -> None:
    plan = format_plan_of(planning, "OPTIMIZE sales WHERE day > '2024-01-01'")
    assert plan.expression_checks is not None and len(plan.expression_checks.checks) == 1


def format_plan_of(planning: PlanningLake, text: str) -> FormatPlan:
    plan = plan_statement(planning.analyzed(text))
    assert isinstance(plan, FormatPlan)
    return plan
