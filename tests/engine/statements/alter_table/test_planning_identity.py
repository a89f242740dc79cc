"""SYNC IDENTITY: the query on the table, and its columns."""

from __future__ import annotations

import pytest

from engine.planning.plans.ddl import SyncIdentityPlan
from engine.tables.column_metadata import IdentityColumn
from tests.engine.planning.lake import PlanningLake


def test_identity_sync_reads_min_and_max(planning: PlanningLake) -> None:
    plan = planning.plan(SyncIdentityPlan, "ALTER TABLE ruled ALTER COLUMN ID SYNC IDENTITY")
    assert plan.column == IdentityColumn(name="id", start=1, step=1, allow_explicit=False, high_water_mark=None)

    assert [scan.label for scan in plan.read.scans] == ["`spark_catalog`.`default`.`ruled`"]
    assert plan.description.name == "CHANGE COLUMN"
    assert dict(plan.description.parameters) == {"column": '{"name": "id"}', "syncIdentity": "true"}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ruled ALTER COLUMN note", "DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN"),
        ("nested ALTER COLUMN place.city", "DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN"),
        ("ruled ALTER COLUMN zz", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ("readable ALTER COLUMN id", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"),
    ],
)
def test_invalid_identity_sync_is_rejected(planning: PlanningLake, text: str, condition: str) -> None:
    assert planning.refused(f"ALTER TABLE {text} SYNC IDENTITY") == condition
