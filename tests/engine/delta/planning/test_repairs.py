"""FSCK, GENERATE and ANALYZE."""

from __future__ import annotations

import pytest

from engine.formats.delta.planning.maintenance_plans import AnalyzePlan, ManifestPlan, RepairPlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake


@pytest.mark.parametrize(("clause", "dry_run"), [("", False), (" DRY RUN", True)])
def test_repairs(planning: PlanningLake, clause: str, dry_run: bool) -> None:
    plan = planning.plan(RepairPlan, f"FSCK REPAIR TABLE plain{clause}")
    assert plan.dry_run is dry_run
    assert (plan.description.name, plan.description.operation) == ("FSCK", TableOperation.DML)


def test_manifests(planning: PlanningLake) -> None:
    plan = planning.plan(ManifestPlan, "GENERATE symlink_format_manifest FOR TABLE readable")
    assert plan.table.label == "`spark_catalog`.`default`.`readable`"


@pytest.mark.parametrize(
    ("clause", "no_scan"), [("", False), (" NOSCAN", True), (" FOR COLUMNS A, b", False), (" FOR ALL COLUMNS", False)]
)
def test_statistics(planning: PlanningLake, clause: str, no_scan: bool) -> None:
    plan = planning.plan(AnalyzePlan, f"ANALYZE TABLE plain COMPUTE STATISTICS{clause}")
    assert plan.no_scan is no_scan and plan.description.name == "COMPUTE STATS"
    assert not plan.description.changes_data and plan.description.parameters == {"predicate": "[]"}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("FSCK REPAIR TABLE readable", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"),
        ("GENERATE symlink_format_manifest FOR TABLE unreadable", "DELTA_UNSUPPORTED_FEATURES_FOR_READ"),
        ("ANALYZE TABLE readable COMPUTE STATISTICS", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"),
        ("ANALYZE TABLE plain COMPUTE STATISTICS FOR COLUMNS zz", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ("FSCK REPAIR TABLE small", "EXPECT_TABLE_NOT_VIEW"),
    ],
)
def test_invalid_repairs_are_rejected(planning: PlanningLake, text: str, condition: str) -> None:
    assert planning.refused(text) == condition
