"""Row tracking on a table that has rows: the feature, ids in steps, the property last."""

from __future__ import annotations

import json

import pytest

from engine.formats.delta.planning import row_tracking
from engine.formats.delta.planning.plans import BackfillPlan
from engine.planning.plans.ddl import AlterPlan
from tests.engine.planning.lake import PlanningLake, data_file, delta_definition

SET = "SET TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'x' = 'y')"
SUPPORTED = "TBLPROPERTIES ('delta.feature.rowTracking' = 'supported')"


@pytest.fixture(scope="module", autouse=True)
def tables(planning: PlanningLake) -> None:
    with_ids = {"base_row_id": 0, "default_row_commit_version": 1}
    planning.make(f"CREATE TABLE begun (a INT) {SUPPORTED}", data_file("1", **with_ids), data_file("2"), data_file("3"))
    planning.make(f"CREATE TABLE filled (a INT) {SUPPORTED}", data_file("1", **with_ids))


def test_first_every_new_file_gets_ids(planning: PlanningLake) -> None:
    plan = planning.plan(AlterPlan, f"ALTER TABLE plain {SET}")
    assert not plan.is_last and plan.description.name == "UPGRADE PROTOCOL" and not plan.description.changes_data
    definition = delta_definition(plan.definition)
    assert definition.protocol.writer_features == ("appendOnly", "domainMetadata", "invariants", "rowTracking")
    assert definition.metadata.configuration == {}
    assert json.loads(plan.description.parameters["newProtocol"])["minWriterVersion"] == 7


def test_then_the_files_that_have_none(planning: PlanningLake, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planning.plan(BackfillPlan, f"ALTER TABLE begun {SET}")
    assert plan.files["path"].to_pylist() == ["2", "3"] and plan.description.name == "ROW TRACKING BACKFILL"
    assert not plan.description.changes_data
    monkeypatch.setattr(row_tracking, "FILES_MAX", 1)
    assert planning.plan(BackfillPlan, f"ALTER TABLE begun {SET}").files["path"].to_pylist() == ["2"]


@pytest.mark.parametrize("table", ["filled", "tracked"])
def test_last_the_property(planning: PlanningLake, table: str) -> None:
    plan = planning.plan(AlterPlan, f"ALTER TABLE {table} {SET}")
    assert plan.is_last and plan.description.name == "SET TBLPROPERTIES"
    configuration = delta_definition(plan.definition).metadata.configuration
    assert configuration["delta.enableRowTracking"] == "true" and configuration["x"] == "y"
    assert len([key for key in configuration if "materialized" in key]) == 2


def test_switching_it_off_is_one_step(planning: PlanningLake) -> None:
    plan = planning.plan(AlterPlan, "ALTER TABLE begun SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')")
    configuration = delta_definition(plan.definition).metadata.configuration
    assert plan.is_last and configuration["delta.enableRowTracking"] == "false"


def test_in_whatever_case_it_is_written(planning: PlanningLake) -> None:
    text = "ALTER TABLE plain SET TBLPROPERTIES ('DELTA.ENABLEROWTRACKING' = 'True')"
    assert planning.plan(AlterPlan, text).description.name == "UPGRADE PROTOCOL"
