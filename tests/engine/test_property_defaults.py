"""Table properties from session settings, and reserved properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run

PREFIX = "spark.databricks.delta.properties.defaults."

SHOWN = {
    "minReaderVersion": "1",
    "minWriterVersion": "2",
    "appendOnly": "false",
    "checkpointInterval": "10",
    "deletedFileRetentionDuration": "interval 7 days",
    "columnMapping.mode": "none",
    "targetFileSize": "<undefined>",
    "feature.deletionVectors": "<undefined>",
}


@pytest.mark.parametrize("key", SHOWN)
def test_setting_shows_the_property_of_new_tables(session: LakeSession, key: str) -> None:
    assert rows(session, f"SET {PREFIX}{key}") == [(PREFIX + key, SHOWN[key])]


@pytest.mark.parametrize("value", ["supported", "ENABLED"])
@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("created", "CREATE TABLE {t} (id INT)"),
        ("selected", "CREATE TABLE {t} AS SELECT 1 AS id"),
        ("replaced", "CREATE OR REPLACE TABLE {t} (id INT)"),
    ],
)
def test_setting_of_a_feature_is_one_of_new_tables(
    lake: Path, session: LakeSession, value: str, name: str, statement: str
) -> None:
    name = f"{name}_{value}".lower()
    run(session, f"SET {PREFIX}feature.domainMetadata = {value}")
    try:
        assert rows(session, f"SET {PREFIX}feature.DOMAINMETADATA") == [
            (f"{PREFIX}feature.domainMetadata", "supported")
        ]
        run(session, statement.format(t=name))
    finally:
        run(session, f"RESET {PREFIX}feature.domainMetadata")
    protocol = next(action["protocol"] for action in actions(lake, name, 0) if "protocol" in action)
    assert "domainMetadata" in protocol["writerFeatures"]
    run(session, f"CREATE TABLE {name}_after (id INT)")
    protocol = next(action["protocol"] for action in actions(lake, f"{name}_after", 0) if "protocol" in action)
    assert "writerFeatures" not in protocol


def test_setting_of_a_feature_is_checked(session: LakeSession) -> None:
    assert refuse(session, f"SET {PREFIX}feature.domainMetadata = true").condition == "INVALID_CONF_VALUE"
    assert refuse(session, f"SET {PREFIX}feature.telepathy = supported").condition == "CONFIG_NOT_AVAILABLE"


UNWRITABLE = "'delta.enableMaterializePartitionColumnsFeature' = 'true'"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE plain SET TBLPROPERTIES ({p})",
        "ALTER TABLE plain SET TBLPROPERTIES ('delta.feature.materializePartitionColumns' = 'supported', {p})",
        "CREATE TABLE made (id INT, p INT) TBLPROPERTIES ({p}) PARTITIONED BY (p)",
        "CREATE TABLE made TBLPROPERTIES ({p}) PARTITIONED BY (p) AS SELECT 1 AS id, 2 AS p",
        "CREATE OR REPLACE TABLE plain (id INT, p INT) TBLPROPERTIES ({p}) PARTITIONED BY (p)",
    ],
)
def test_no_statement_makes_a_table_that_cannot_be_written(session: LakeSession, statement: str) -> None:
    run(session, "CREATE OR REPLACE TABLE plain (id INT, p INT) PARTITIONED BY (p)")
    error = refuse(session, statement.format(p=UNWRITABLE))
    assert (error.condition, error.sqlstate) == ("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", "56038")
    assert "materializePartitionColumns" in error.full_message
    assert rows(session, "SHOW TABLES LIKE 'made'") == []
    run(session, "INSERT INTO plain VALUES (1, 2)")
    assert rows(session, "SELECT * FROM plain") == [(1, 2)]


def test_property_that_is_off_is_accepted(session: LakeSession) -> None:
    run(session, "CREATE OR REPLACE TABLE plain (id INT, p INT) PARTITIONED BY (p)")
    run(session, "ALTER TABLE plain SET TBLPROPERTIES ('delta.enableMaterializePartitionColumnsFeature' = 'false')")
    run(session, "INSERT INTO plain VALUES (1, 2)")
    assert rows(session, "SELECT * FROM plain") == [(1, 2)]
