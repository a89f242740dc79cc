"""DDL: dropped features, SET LOCATION, CREATE TABLE LIKE, session defaults, catalogs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of
from tests.engine.peer_readers import PEERS, comparable
from tests.present import present

pytestmark = pytest.mark.spark


def features_of(lake: Path, name: str) -> set[str]:
    """Returns the features in the log's newest protocol."""
    protocols = [
        action["protocol"]
        for version in range(version_of(lake, name) + 1)
        for action in actions(lake, name, version)
        if "protocol" in action
    ]
    return {*protocols[-1].get("readerFeatures", []), *protocols[-1].get("writerFeatures", [])}


# --- DROP FEATURE -----------------------------------------------------------------------------------------------------

DROPPED = [
    ("'delta.enableDeletionVectors' = 'true'", "deletionVectors", True),
    ("'delta.enableTypeWidening' = 'true'", "TYPEWIDENING", True),
    ("'delta.feature.vacuumProtocolCheck' = 'supported'", "vacuumProtocolCheck", True),
    ("'delta.enableInCommitTimestamps' = 'true'", "inCommitTimestamp", False),
    ("'delta.feature.domainMetadata' = 'supported'", "domainMetadata", False),
]


@pytest.mark.parametrize(("properties", "feature", "protects"), DROPPED)
def test_a_dropped_feature_is_gone_and_older_versions_stay(
    session: LakeSession, lake: Path, properties: str, feature: str, protects: bool
) -> None:
    run(session, "DROP TABLE IF EXISTS lighter")
    run(session, f"CREATE TABLE lighter (id INT) TBLPROPERTIES ({properties})")
    run(session, "INSERT INTO lighter VALUES (1)")
    assert feature.lower() in map(str.lower, features_of(lake, "lighter"))
    run(session, f"ALTER TABLE lighter DROP FEATURE {feature}")
    left = features_of(lake, "lighter")
    assert feature.lower() not in map(str.lower, left) and ("checkpointProtection" in left) == protects
    (row,) = table(session, "DESCRIBE HISTORY lighter LIMIT 1").to_pylist()
    assert (row["operation"], dict(row["operationParameters"])) == (
        "DROP FEATURE",
        {"featureName": feature, "truncateHistory": "false"},
    )
    run(session, "INSERT INTO lighter VALUES (2)")
    assert rows(session, "SELECT * FROM lighter ORDER BY id") == [(1,), (2,)]
    assert rows(session, "SELECT * FROM lighter VERSION AS OF 1") == [(1,)]
    assert PEERS["duckdb"](lake / "default" / "lighter", ["id"]) == [(1,), (2,)]


UNTOUCHED_CASES = [
    ("deletionVectors", "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
    ("nope", "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
    ("appendOnly", "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"),
    ("checkConstraints", "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE"),
    ("domainMetadata", "DELTA_FEATURE_DROP_DEPENDENT_FEATURE"),
    ("rowTracking", "UNSUPPORTED_FEATURE.STATEMENT"),
    ("checkConstraints TRUNCATE HISTORY", "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED"),
    ("checkpointProtection", "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"),
]


def test_a_feature_that_is_needed_stays(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE heavy (id INT, CONSTRAINT c CHECK (id > 0), n SMALLINT) TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', "
        "'delta.enableRowTracking' = 'true', "
        "'delta.feature.vacuumProtocolCheck' = 'supported')",
    )
    run(session, "INSERT INTO heavy VALUES (1, 1)")
    run(session, "ALTER TABLE heavy ALTER COLUMN n TYPE INT")
    run(session, "ALTER TABLE heavy DROP FEATURE vacuumProtocolCheck")
    before = version_of_log(lake, "heavy")
    found = {
        feature: refuse(session, f"ALTER TABLE heavy DROP FEATURE {feature}").condition
        for feature, _ in UNTOUCHED_CASES
    }
    assert found == dict(UNTOUCHED_CASES)
    assert version_of_log(lake, "heavy") == before


def version_of_log(lake: Path, name: str) -> int:
    return max(int(path.stem) for path in (lake / "default" / name / "_delta_log").glob("*.json"))


# --- SET LOCATION -----------------------------------------------------------------------------------------------------


def test_another_table_of_the_same_columns_comes_under_the_name(session: LakeSession, lake: Path) -> None:
    for number in (1, 2):
        run(session, f"CREATE TABLE at_{number} (id INT, p INT) PARTITIONED BY (p) LOCATION '{lake}/moved/{number}'")
        run(session, f"INSERT INTO at_{number} VALUES ({number}, 0)")
    run(session, f"ALTER TABLE at_1 SET LOCATION '{lake}/moved/2'")
    assert rows(session, "SELECT id FROM at_1") == [(2,)]
    run(session, "CREATE TABLE at_home (id INT, p INT) PARTITIONED BY (p)")
    run(session, f"CREATE TABLE flat (id INT, p INT) LOCATION '{lake}/moved/flat'")
    refusals = {
        f"at_1 SET LOCATION '{lake}/moved/flat'": "DELTA_SET_LOCATION_SCHEMA_MISMATCH",
        f"at_1 SET LOCATION '{lake}/moved/none'": "DELTA_TABLE_NOT_FOUND",
        "at_1 SET LOCATION '/etc'": "PATH_NOT_ALLOWED",
        f"at_home SET LOCATION '{lake}/moved/1'": "UNSUPPORTED_FEATURE.STATEMENT",
        f"delta.`{lake}/moved/1` SET LOCATION '{lake}/moved/2'": "DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER",
    }
    assert {text: refuse(session, f"ALTER TABLE {text}").condition for text in refusals} == refusals
    assert rows(session, "SELECT id FROM at_1") == [(2,)]


# --- CREATE TABLE LIKE ------------------------------------------------------------------------------------------------


def test_a_table_like_another_has_its_definition_and_no_rows(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE pattern (id INT NOT NULL COMMENT 'key', `a b` VARCHAR(5), n SMALLINT, "
        "g INT GENERATED ALWAYS AS (id + 1), p DATE, CONSTRAINT small CHECK (id < 9)) PARTITIONED BY (p) "
        "COMMENT 'model' TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', "
        "'mine' = '1')",
    )
    run(session, "INSERT INTO pattern (id, n) VALUES (1, 1)")
    run(session, "ALTER TABLE pattern ALTER COLUMN n TYPE INT")
    run(session, "CREATE TABLE copy LIKE pattern TBLPROPERTIES ('mine' = '2')")
    run(session, "CREATE TABLE IF NOT EXISTS copy LIKE pattern")
    assert rows(session, "SELECT * FROM copy") == [] and rows(session, "DESCRIBE copy") == rows(
        session, "DESCRIBE pattern"
    )
    made = [rows(session, f"SHOW CREATE TABLE {name}")[0][0] for name in ("pattern", "copy")]
    assert made[0].replace("`pattern`", "`copy`").replace("'mine' = '1'", "'mine' = '2'") == made[1]
    run(session, "INSERT INTO copy (id) VALUES (2)")
    assert refuse(session, "INSERT INTO copy (id) VALUES (9)").condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    (metadata,) = [action["metaData"] for action in actions(lake, "copy", 0) if "metaData" in action]
    assert "typeChanges" not in metadata["schemaString"]
    assert refuse(session, "CREATE TABLE copy LIKE pattern").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert refuse(session, "CREATE TABLE other LIKE nope").condition == "TABLE_OR_VIEW_NOT_FOUND"


# --- Session defaults -------------------------------------------------------------------------------------------------


def test_new_tables_have_the_properties_of_their_session(session: LakeSession, lake: Path) -> None:
    prefix = "spark.databricks.delta.properties.defaults."
    run(session, f"SET {prefix}appendOnly = TRUE")
    run(session, f"SET {prefix}logRetentionDuration = interval 60 days")
    run(session, f"SET {prefix}minWriterVersion = 3")
    assert refuse(session, f"SET {prefix}appendOnly = maybe").condition == "INVALID_CONF_VALUE"
    assert refuse(session, f"SET {prefix}nope = 1").condition == "CONFIG_NOT_AVAILABLE"
    run(session, "CREATE TABLE defaulted (a INT) TBLPROPERTIES ('DELTA.logRetentionDuration' = 'interval 61 days')")
    run(session, "CREATE TABLE also AS SELECT 1 AS a")
    settings = [DeltaTable(lake / "default" / name).metadata().configuration for name in ("defaulted", "also")]
    assert [each.get("delta.logRetentionDuration") for each in settings] == ["interval 61 days", "interval 60 days"]
    assert [present(each.get("delta.appendOnly")).lower() for each in settings] == ["true", "true"]
    assert DeltaTable(lake / "default" / "defaulted").protocol().min_writer_version == 3


# --- Catalogs, schemas ------------------------------------------------------------------------------------------------


def test_catalogs_and_schemas_are_created_described_and_dropped(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE CATALOG sales COMMENT 'first'")
    run(session, "CREATE CATALOG IF NOT EXISTS sales")
    assert refuse(session, "CREATE CATALOG sales").condition == "CATALOG_ALREADY_EXISTS"
    run(session, "CREATE SCHEMA sales.eu")
    run(session, "CREATE TABLE sales.eu.orders AS SELECT 1 AS id")
    assert rows(session, "SELECT * FROM sales.eu.orders") == [(1,)]
    run(session, "COMMENT ON CATALOG sales IS 'second'")
    run(session, "COMMENT ON SCHEMA sales.eu IS 'in euros'")
    assert ("Comment", "in euros") in rows(session, "DESCRIBE SCHEMA sales.eu")
    run(session, "COMMENT ON SCHEMA sales.eu IS NULL")
    assert ("Comment", "") in rows(session, "DESCRIBE SCHEMA sales.eu")
    assert refuse(session, "COMMENT ON SCHEMA sales.nope IS 'x'").condition == "SCHEMA_NOT_FOUND"
    assert refuse(session, "COMMENT ON CATALOG nope IS 'x'").condition == "CATALOG_NOT_FOUND"
    assert refuse(session, "DROP CATALOG sales").sqlstate == "2BP01"
    assert refuse(session, "DROP CATALOG sales CASCADE").condition == "UNSUPPORTED_FEATURE.STATEMENT"
    run(session, "DROP TABLE sales.eu.orders")
    run(session, "DROP SCHEMA sales.eu")
    run(session, "DROP CATALOG sales")
    run(session, "DROP CATALOG IF EXISTS sales")
    assert refuse(session, "DROP CATALOG sales").condition == "CATALOG_NOT_FOUND"


def test_a_schema_is_dropped_with_its_tables_and_can_be_made_again(session: LakeSession, lake: Path) -> None:
    """A leftover table folder would be found again, as a table in a schema that nobody created."""
    (lake / "apart").mkdir()
    run(session, "CREATE SCHEMA closing")
    run(session, "CREATE TABLE closing.old AS SELECT 1 AS id")
    run(session, "ALTER TABLE closing.old RENAME TO closing.new")
    run(session, "CREATE VIEW closing.v AS SELECT * FROM closing.new")
    run(session, f"CREATE TABLE closing.elsewhere LOCATION '{lake / 'apart' / 't'}' AS SELECT 2 AS id")
    assert refuse(session, "DROP SCHEMA closing").condition == "SCHEMA_NOT_EMPTY"
    assert rows(session, "SELECT * FROM closing.v") == [(1,)]
    run(session, "DROP SCHEMA closing CASCADE")
    assert refuse(session, "DROP SCHEMA closing CASCADE").condition == "SCHEMA_NOT_FOUND"
    run(session, "DROP SCHEMA IF EXISTS closing CASCADE")
    assert not list((lake / "closing").rglob("*.parquet"))
    assert rows(session, f"SELECT * FROM delta.`{lake / 'apart' / 't'}`") == [(2,)]
    run(session, "CREATE SCHEMA closing")
    assert rows(session, "SHOW TABLES IN closing") == []
    run(session, "CREATE TABLE closing.old AS SELECT 3 AS id")
    assert rows(session, "SELECT * FROM closing.old") == [(3,)]


def test_a_schema_that_is_only_a_folder_gets_a_comment(session: LakeSession, lake: Path) -> None:
    (lake / "found" / "t").mkdir(parents=True)
    DeltaTable.create(lake / "found" / "t", schema=pa.schema([("a", pa.int64())]))
    run(session, "COMMENT ON SCHEMA found IS 'was there'")
    assert ("Comment", "was there") in rows(session, "DESCRIBE SCHEMA found")
    assert comparable(table(session, "SELECT * FROM found.t")) == []
