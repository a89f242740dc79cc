"""RESTORE: the version and the definition that a table gets back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.formats.delta.planning.maintenance_plans import RestorePlan
from engine.planning.plans.ddl import AlterPlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake, delta_definition, shown_columns


@pytest.fixture(scope="module", autouse=True)
def changed(planning: PlanningLake) -> None:
    """Version 1 has another column."""
    planning.make("CREATE TABLE changed (a INT)")
    altered = planning.plan(AlterPlan, "ALTER TABLE changed ADD COLUMN b INT")
    planning.commit("changed", delta_definition(altered.definition).metadata)


def test_an_older_version(planning: PlanningLake) -> None:
    plan = planning.plan(RestorePlan, "RESTORE TABLE changed TO VERSION AS OF 0")
    assert plan.restored.version == 0 and plan.table.snapshot.version == 1
    assert shown_columns(plan.definition) == "a int"
    description = plan.description
    assert (description.name, description.operation) == ("RESTORE", TableOperation.OVERWRITE)
    assert description.exclusive and dict(description.parameters) == {"version": "0", "timestamp": None}


def test_a_version_before_row_tracking_was_dropped(planning: PlanningLake) -> None:
    """Files that came since have no ids."""
    planning.make("CREATE TABLE untracked (a INT) TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    plain = planning.snapshot("plain")
    planning.commit("untracked", plain.config.protocol, replace(plain.metadata, id="untracked"))
    assert planning.refused("RESTORE TABLE untracked TO VERSION AS OF 0") == "UNSUPPORTED_FEATURE.STATEMENT"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("changed TO VERSION AS OF 1", "DELTA_CANNOT_RESTORE_TABLE_VERSION"),
        ("changed TO VERSION AS OF 7", "DELTA_CANNOT_RESTORE_TABLE_VERSION"),
        ("small TO VERSION AS OF 0", "EXPECT_TABLE_NOT_VIEW"),
    ],
)
def test_invalid_restore_is_rejected(planning: PlanningLake, text: str, condition: str) -> None:
    assert planning.refused(f"RESTORE TABLE {text}") == condition
