"""VACUUM: retention of removed files."""

from __future__ import annotations

import pytest

from engine.formats.delta.planning.maintenance_plans import VacuumPlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake

HOUR_MS = 3_600_000
UNCHECKED = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}


@pytest.fixture(scope="module", autouse=True)
def brief(planning: PlanningLake) -> None:
    planning.make(
        "CREATE TABLE brief (a INT) TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 2 hours')"
    )


RETENTIONS = [
    ("plain", 168, None),
    ("brief", 2, None),
    ("plain RETAIN 200 HOURS", 200, 200),
    ("plain RETAIN 168.5 HOURS", 168.5, 168.5),
    ("brief RETAIN 2 HOURS", 2, 2),
]


@pytest.mark.parametrize(("text", "hours", "given"), RETENTIONS)
def test_how_long(planning: PlanningLake, text: str, hours: float, given: float | None) -> None:
    plan = planning.plan(VacuumPlan, f"VACUUM {text}")
    assert plan.retention_ms == hours * HOUR_MS
    default = 2 if "brief" in text else 168
    said = {} if given is None else {"specifiedRetentionMillis": given * HOUR_MS}
    assert dict(plan.begin.parameters) == {
        "retentionCheckEnabled": True,
        "defaultRetentionMillis": default * HOUR_MS,
        **said,
    }
    assert (plan.begin.name, plan.end.name) == ("VACUUM START", "VACUUM END") and plan.end.parameters == {}
    assert plan.begin.operation is TableOperation.VACUUM and not plan.begin.changes_data


def test_a_shorter_time_without_the_check(planning: PlanningLake) -> None:
    plan = planning.plan(VacuumPlan, "VACUUM plain RETAIN 0 HOURS", settings=UNCHECKED)
    assert plan.retention_ms == 0 and plan.begin.parameters["retentionCheckEnabled"] is False


@pytest.mark.parametrize(
    ("clauses", "lite", "dry_run"),
    [("", False, False), ("LITE", True, False), ("FULL", False, False), ("DRY RUN", False, True)],
)
def test_how_files_are_found(planning: PlanningLake, clauses: str, lite: bool, dry_run: bool) -> None:
    plan = planning.plan(VacuumPlan, f"VACUUM plain {clauses}")
    assert (plan.lite, plan.dry_run) == (lite, dry_run)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("plain RETAIN 167 HOURS", "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"),
        ("brief RETAIN 1 HOURS", "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"),
        ("unreadable", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"),
    ],
)
def test_invalid_vacuum_is_rejected(planning: PlanningLake, text: str, condition: str) -> None:
    assert planning.refused(f"VACUUM {text}") == condition
