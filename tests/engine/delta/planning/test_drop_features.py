"""DROP FEATURE: preconditions, preparatory commits, and the one commit that drops it."""

from __future__ import annotations

import numpy as np
import pytest

from engine.delta.spec.actions import DomainMetadata
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.formats.delta.planning.drop_features import do_without, goes_with_files, stale_files
from engine.formats.delta.planning.plans import RewritePlan, TruncateHistoryPlan
from engine.planning.plans.ddl import AlterPlan
from engine.statements.alter_table.statement import DropFeature
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake, data_file, delta_definition, shown_columns

PROTECTION = "delta.requireCheckpointProtectionBeforeVersion"
VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
MAPPING = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
WIDENED = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"


@pytest.fixture(scope="module", autouse=True)
def tables(planning: PlanningLake) -> None:
    vector = inline_deletion_vector(np.array([1], np.uint64))
    planning.make(f"CREATE TABLE marked (a INT) {VECTORS}", data_file("1", deletion_vector=vector), data_file("2"))
    planning.make(f"CREATE TABLE named (a INT) {MAPPING}", data_file("1"), data_file("2"))
    planning.make(f"CREATE TABLE grown (a INT) {WIDENED}")
    changed = planning.plan(AlterPlan, "ALTER TABLE grown ALTER COLUMN a TYPE BIGINT").definition
    planning.commit("grown", delta_definition(changed).metadata)
    planning.make("CREATE TABLE domains (a INT) TBLPROPERTIES ('delta.feature.domainMetadata' = 'supported')")
    planning.commit("domains", DomainMetadata(domain="mine", configuration="{}", removed=False))
    planning.make("CREATE TABLE stamped (a INT) TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    planning.make("CREATE TABLE guarded (a INT) TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported')")


def drop(planning: PlanningLake, rest: str) -> AlterPlan:
    return planning.plan(AlterPlan, f"ALTER TABLE {rest}")


def test_unused_feature_is_dropped_in_one_commit(planning: PlanningLake) -> None:
    """Older versions stay readable: their checkpoints are protected."""
    plan = drop(planning, "vectors DROP FEATURE DeletionVectors")
    definition = delta_definition(plan.definition)
    protocol, configuration = definition.protocol, definition.metadata.configuration
    assert protocol.writer_features == ("appendOnly", "checkpointProtection", "invariants")
    assert protocol.reader_features is None or "deletionVectors" not in protocol.reader_features
    assert configuration == {PROTECTION: "2"} and definition.drops == {"deletionVectors"}
    assert plan.is_last and plan.description.exclusive
    assert (plan.description.name, dict(plan.description.parameters)) == (
        "DROP FEATURE",
        {"featureName": "DeletionVectors", "truncateHistory": "false"},
    )


def test_files_are_rewritten_first(planning: PlanningLake) -> None:
    """In a separate version, which changes no row and keeps the definition."""
    plan = planning.plan(RewritePlan, "ALTER TABLE marked DROP FEATURE deletionVectors")
    assert plan.files["path"].to_pylist() == ["1"] and not plan.is_last
    assert "deletionVectors" in (delta_definition(plan.definition).protocol.writer_features or ())
    assert (plan.description.name, plan.description.operation) == ("REORG", TableOperation.OVERWRITE)
    assert dict(plan.description.parameters) == {"predicate": "[]", "applyPurge": "true"}
    assert not plan.description.changes_data and not plan.description.exclusive


def test_files_and_names_of_columns_go_in_one_version(planning: PlanningLake) -> None:
    plan = planning.plan(RewritePlan, "ALTER TABLE named DROP FEATURE columnMapping")
    assert plan.files.num_rows == 2 and plan.is_last and plan.description.exclusive
    definition = delta_definition(plan.definition)
    assert definition.drops == {"columnMapping"} and plan.description.name == "DROP FEATURE"
    assert "delta.columnMapping.mode" not in definition.metadata.configuration
    first = planning.plan(RewritePlan, "ALTER TABLE named DROP FEATURE columnMapping TRUNCATE HISTORY")
    assert not first.is_last and first.description.exclusive and first.description.name == "REMOVE COLUMN MAPPING"
    assert "columnMapping" in (delta_definition(first.definition).protocol.writer_features or ())


def test_dropping_type_widening_removes_earlier_types(planning: PlanningLake) -> None:
    plan = drop(planning, "grown DROP FEATURE typeWidening")
    schema_string = delta_definition(plan.definition).metadata.schema_string
    assert shown_columns(plan.definition) == "a bigint" and "typeChanges" not in schema_string


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("vectors DROP FEATURE deletionVectors", '{"delta.enableDeletionVectors":"false"}'),
        ("widening DROP FEATURE typeWidening", '{"delta.enableTypeWidening":"false"}'),
        ("grown DROP FEATURE typeWidening", '{"delta.enableTypeWidening":"false"}'),
        ("mapped DROP FEATURE columnMapping", "{}"),
    ],
)
def test_with_truncated_history_the_newest_version_does_without_first(
    planning: PlanningLake, text: str, written: str
) -> None:
    plan = drop(planning, f"{text} TRUNCATE HISTORY")
    assert not plan.is_last and plan.description.name == "SET TBLPROPERTIES"
    assert dict(plan.description.parameters) == {"properties": written}
    assert text.split()[-1] in (delta_definition(plan.definition).protocol.writer_features or ())


def test_then_the_history_goes(planning: PlanningLake) -> None:
    plan = planning.plan(TruncateHistoryPlan, "ALTER TABLE guarded DROP FEATURE checkpointProtection TRUNCATE HISTORY")
    assert plan.feature == "checkpointProtection"
    assert delta_definition(plan.definition).drops == {"checkpointProtection"}
    assert plan.description.exclusive and plan.description.parameters["truncateHistory"] == "true"


REFUSED = {
    "plain DROP FEATURE deletionVectors": "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
    "plain DROP FEATURE what": "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
    "ruled DROP FEATURE checkConstraints": "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",
    "ruled DROP FEATURE allowColumnDefaults": "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE",
    "tracked DROP FEATURE rowTracking": "UNSUPPORTED_FEATURE.STATEMENT",
    "tracked DROP FEATURE domainMetadata": "DELTA_FEATURE_DROP_DEPENDENT_FEATURE",
    "domains DROP FEATURE domainMetadata": "UNSUPPORTED_FEATURE.STATEMENT",
    "stamped DROP FEATURE inCommitTimestamp TRUNCATE HISTORY": "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED",
    "guarded DROP FEATURE checkpointProtection": (
        "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
    ),
    "readable DROP FEATURE `redirectWriterOnly-preview`": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_drop_features_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(f"ALTER TABLE {text}") == REFUSED[text]


@pytest.mark.parametrize(
    ("feature", "finds", "goes"),
    [
        ("columnMapping", True, True),
        ("DELETIONVECTORS", True, False),
        ("typeWidening-preview", True, False),
        ("rowTracking", False, False),
        ("what", False, False),
    ],
)
def test_features_required_by_files(feature: str, finds: bool, goes: bool) -> None:
    change = DropFeature(feature=feature)
    assert (stale_files(change) is not None) is finds
    assert goes_with_files(change) is goes


@pytest.mark.parametrize("feature", ["deletionVectors", "typeWidening", "columnMapping", "v2Checkpoint"])
def test_unused_feature_drop_changes_no_files(planning: PlanningLake, feature: str) -> None:
    assert do_without(planning.snapshot("plain"), feature) == ()
