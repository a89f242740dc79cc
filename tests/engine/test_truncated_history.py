"""DROP FEATURE … TRUNCATE HISTORY: first the newest version does without the feature, a day later the log does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.delta.maintenance.feature_history import last_version_with
from engine.delta.snapshot.snapshot import load_snapshot
from tests.engine.bare_aging import age
from tests.engine.bare_lake import BareLake

WAIT = "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD"
CASES = {
    # feature: the statement that adds it, and if older versions need it
    "deletionVectors": ("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", True),
    "v2Checkpoint": ("SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')", True),
    "typeWidening": ("SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')", True),
    "columnMapping": ("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", True),
    "vacuumProtocolCheck": ("SET TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')", False),
}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BareLake]:
    opened = BareLake(tmp_path)
    yield opened
    opened.sources.close()


def older(lake: BareLake, days: float) -> BareLake:
    """Backdates the table and a new server's view of it."""
    lake.sources.close()
    for path in (lake.path("freed") / "_delta_log").glob("*.crc"):
        path.unlink()
    age(lake.path("freed"), days)
    return BareLake(lake.folder)


@pytest.mark.parametrize("feature", CASES)
def test_feature_is_dropped_with_its_versions(lake: BareLake, feature: str) -> None:
    change, in_history = CASES[feature]
    lake.answer("CREATE TABLE freed (k INT)")
    lake.answer(f"ALTER TABLE freed {change}")
    lake.answer("ALTER TABLE freed SET TBLPROPERTIES ('x' = 'y')")
    drop = f"ALTER TABLE freed DROP FEATURE {feature} TRUNCATE HISTORY"
    if in_history:
        assert lake.refuse(drop).condition == WAIT
        version = load_snapshot(str(lake.path("freed"))).version
        assert lake.refuse(drop).condition == WAIT
        assert load_snapshot(str(lake.path("freed"))).version == version
        lake = older(lake, 0.9)
        assert lake.refuse(drop).condition == WAIT
        lake = older(lake, 0.2)
    lake.answer(drop)
    snapshot = load_snapshot(str(lake.path("freed")))
    assert not {feature, "checkpointProtection"} & snapshot.config.features
    assert lake.operations("freed")[-1][:2] == ("DROP FEATURE", {"featureName": feature, "truncateHistory": "true"})
    assert last_version_with(snapshot, feature) is None
    commits = [int(path.stem) for path in (lake.path("freed") / "_delta_log").glob("*.json")]
    assert (min(commits) > 1) is in_history and lake.rows("SHOW TBLPROPERTIES freed ('x')") == [("x", "y")]
    lake.sources.close()


def test_versions_that_are_old_already_go_at_once(lake: BareLake) -> None:
    """Later commits do not matter: the required checkpoint is made from a version that is old enough."""
    lake.answer("CREATE TABLE freed (k INT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.answer("ALTER TABLE freed SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    lake = older(lake, 2)
    lake.answer("ALTER TABLE freed SET TBLPROPERTIES ('x' = 'y')")
    lake.answer("ALTER TABLE freed DROP FEATURE deletionVectors TRUNCATE HISTORY")
    snapshot = load_snapshot(str(lake.path("freed")))
    assert "deletionVectors" not in snapshot.config.features
    assert snapshot.version == 3 and load_snapshot(str(lake.path("freed")), 1).version == 1
    lake.sources.close()


def test_a_checkpoint_that_cannot_be_read_keeps_the_versions_before_it(lake: BareLake) -> None:
    lake.answer("CREATE TABLE freed (k INT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.answer("ALTER TABLE freed SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    lake.path("freed").joinpath("_delta_log/00000000000000000001.checkpoint.parquet").write_bytes(b"broken")
    lake = older(lake, 2)
    drop = "ALTER TABLE freed DROP FEATURE deletionVectors TRUNCATE HISTORY"
    assert lake.refuse(drop).condition == "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST"
    assert load_snapshot(str(lake.path("freed")), 0).version == 0
    lake.sources.close()


def test_protection_of_checkpoints_ends_with_the_protected_versions(lake: BareLake) -> None:
    lake.answer("CREATE TABLE freed (k INT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.answer("ALTER TABLE freed DROP FEATURE deletionVectors")
    assert "checkpointProtection" in load_snapshot(str(lake.path("freed"))).config.features
    drop = "ALTER TABLE freed DROP FEATURE checkpointProtection TRUNCATE HISTORY"
    assert lake.refuse(drop).condition == WAIT
    lake = older(lake, 1.1)
    lake.answer(drop)
    snapshot = load_snapshot(str(lake.path("freed")))
    assert "checkpointProtection" not in snapshot.config.features
    assert "delta.requireCheckpointProtectionBeforeVersion" not in snapshot.metadata.configuration
    lake.sources.close()


def test_files_with_vectors_count_until_their_removal_is_gone(lake: BareLake) -> None:
    lake.append("freed", {"k": [1, 2]})
    lake.answer("ALTER TABLE freed SET TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')")
    log = lake.path("freed") / "_delta_log/00000000000000000000.json"
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            path = line["add"]["path"]
            removed = {"path": path, "deletionTimestamp": 1, "dataChange": True, "deletionVector": vector}
    log.with_name("00000000000000000002.json").write_text(
        json.dumps({"commitInfo": {}}) + "\n" + json.dumps({"remove": removed}) + "\n"
    )
    snapshot = load_snapshot(str(lake.path("freed")))
    assert last_version_with(snapshot, "deletionVectors") == 2
