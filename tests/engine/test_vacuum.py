"""VACUUM as a statement: what it refuses, answers and records, and that versions it retains are read as before."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from catalog.errors import SqlError
from engine.delta.log.storage import LocalStorage
from engine.errors.statement_errors import StatementCancelled
from engine.main import LakeEngine, LakeSession
from engine.runtime.context import StatementContext
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of

pytestmark = pytest.mark.spark

CHECK_OFF = "SET spark.databricks.delta.retentionDurationCheck.enabled = false"
DAY_S = 86_400


def age(lake: Path, name: str, days: float) -> None:
    """The table, its log included, becomes so much older."""
    for path in (lake / "default" / name).rglob("*"):
        time = os.stat(path).st_mtime - days * DAY_S
        os.utime(path, (time, time))
    for path in (lake / "default" / name / "_delta_log").glob("*.json"):
        time_ms = os.stat(path).st_mtime
        text = path.read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] -= int(days * DAY_S * 1000)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (time_ms, time_ms))


def files(lake: Path, name: str) -> set[str]:
    return {path.name for path in (lake / "default" / name).rglob("*.parquet")}


def made(session: LakeSession, lake: Path, clauses: str = "") -> None:
    """Ten days ago: two files, of which one went."""
    run(session, "DROP TABLE IF EXISTS worn")
    shutil.rmtree(lake / "default" / "worn", ignore_errors=True)
    run(session, f"CREATE TABLE worn (k INT) {clauses}")
    run(session, "INSERT INTO worn SELECT /*+ COALESCE(1) */ * FROM VALUES (1), (2)")
    run(session, "INSERT INTO worn VALUES (3)")
    run(session, "DELETE FROM worn WHERE k = 3")
    age(lake, "worn", 10)


def test_the_files_of_versions_before_the_retention_go(session: LakeSession, lake: Path) -> None:
    made(session, lake)
    root = str(lake / "default" / "worn")
    run(session, "INSERT INTO worn VALUES (4)")
    run(session, "DELETE FROM worn WHERE k = 4")
    before = files(lake, "worn")
    listed = table(session, "VACUUM worn DRY RUN")
    assert listed.column_names == ["path"] and len(listed) == 1
    (path,) = listed.column("path").to_pylist()
    assert os.path.dirname(path) == root and files(lake, "worn") == before
    assert rows(session, "VACUUM worn") == [(root,)]
    assert files(lake, "worn") == before - {os.path.basename(path)}
    assert rows(session, "SELECT k FROM worn VERSION AS OF 4 ORDER BY k") == [(1,), (2,), (4,)]
    assert rows(session, "SELECT k FROM worn ORDER BY k") == [(1,), (2,)]
    with pytest.raises(SqlError):
        rows(session, "SELECT k FROM worn VERSION AS OF 2")
    assert rows(session, f"VACUUM delta.`{root}` DRY RUN") == rows(session, f"VACUUM '{root}' LITE DRY RUN") == []
    assert DeltaTable(root).to_pyarrow_table().column("k").to_pylist() == [1, 2]


def test_the_history_says_what_was_removed(session: LakeSession, lake: Path) -> None:
    made(session, lake, "TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')")
    size = sum(add["size"] for add in (line.get("remove") for line in actions(lake, "worn", 3)) if add)
    run(session, "VACUUM worn RETAIN 200 HOURS FULL")
    assert version_of_history(session)[:2] == [
        (5, "VACUUM END", {"status": "COMPLETED"}, {"numDeletedFiles": "1", "numVacuumedDirectories": "1"}),
        (
            4,
            "VACUUM START",
            {
                "retentionCheckEnabled": "true",
                "defaultRetentionMillis": "604800000",
                "specifiedRetentionMillis": "720000000",
            },
            {"numFilesToDelete": "1", "sizeOfDataToDelete": str(size)},
        ),
    ]
    assert json.loads((lake / "default/worn/_delta_log/_last_vacuum_info").read_text()) == {
        "latestCommitVersionOutsideOfRetentionWindow": 3
    }


def version_of_history(session: LakeSession) -> list[Any]:
    found = table(session, "DESCRIBE HISTORY worn").select(
        ["version", "operation", "operationParameters", "operationMetrics"]
    )
    return [
        (version, operation, dict(parameters or ()), dict(metrics or ()))
        for version, operation, parameters, metrics in zip(
            *(column.to_pylist() for column in found.columns), strict=True
        )
    ]


REFUSALS = {
    "RETAIN 167.5 HOURS": "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
    "RETAIN 0 HOURS DRY RUN": "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
    "RETAIN -1 HOURS": "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE",
    "USING INVENTORY (SELECT 1)": "UNSUPPORTED_CLAUSE",
    "RETAIN 200": "PARSE_SYNTAX_ERROR",
    "LITE FULL": "PARSE_SYNTAX_ERROR",
    "DRY RUN DRY RUN": "PARSE_SYNTAX_ERROR",
}


def test_refusals(session: LakeSession, lake: Path) -> None:
    made(session, lake)
    for clauses, condition in REFUSALS.items():
        assert refuse(session, f"VACUUM worn {clauses}").condition == condition, clauses
    too_short = refuse(session, "VACUUM worn RETAIN 1 HOURS")
    assert "spark.databricks.delta.retentionDurationCheck.enabled" in too_short.message
    run(session, "ALTER TABLE worn SET TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported')")
    log = lake / "default/worn/_delta_log/00000000000000000004.json"
    log.write_text(log.read_text().replace("checkpointProtection", "someFeatureOfTomorrow"))
    assert refuse(session, "VACUUM worn").condition == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"


def test_nothing_is_retained_where_the_check_is_off(session: LakeSession, lake: Path) -> None:
    made(session, lake)
    run(session, CHECK_OFF)
    run(session, "DELETE FROM worn WHERE k = 2")
    run(session, "VACUUM worn RETAIN 0 HOURS")
    assert files(lake, "worn") == {os.path.basename(path) for path in DeltaTable(lake / "default/worn").file_uris()}
    assert rows(session, "SELECT k FROM worn") == [(1,)]


def test_a_lite_one_reads_the_log_alone(session: LakeSession, lake: Path) -> None:
    made(session, lake)
    stray = lake / "default/worn/stray.parquet"
    stray.write_bytes(b"x")
    age(lake, "worn", 1)
    assert len(rows(session, "VACUUM worn LITE DRY RUN")) == 1
    run(session, "VACUUM worn LITE")
    assert stray.exists() and len(files(lake, "worn")) == 2
    for number in range(3):  # the second one begins where the first one ended
        (lake / f"default/worn/_delta_log/{number:020}.json").unlink()
    assert refuse(session, "VACUUM worn LITE").condition.startswith("DELTA_")


CUSTOM = {
    "plain": "",
    "vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "feed, partitioned by name": "PARTITIONED BY (p) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true',"
    " 'delta.columnMapping.mode' = 'name', 'delta.checkpointInterval' = '3')",
}


@pytest.mark.parametrize("clauses", CUSTOM.values(), ids=CUSTOM)
def test_every_retained_version_stays_readable(session: LakeSession, lake: Path, clauses: str) -> None:
    """Random histories that grow older by three days with each step, vacuumed after each."""
    run(session, "DROP TABLE IF EXISTS lived")
    run(session, f"CREATE TABLE lived (k INT, p INT) {clauses}")
    chosen = random.Random(clauses)
    model: list[tuple[int, int]] = []
    versions: list[tuple[int, list[tuple[int, int]], int]] = []
    for step in range(5):
        if chosen.random() < 0.6 or not model:
            new = [(step * 10 + number, number % 2) for number in range(4)]
            run(session, f"INSERT INTO lived VALUES {', '.join(map(str, new))}")
            model = model + new
        else:
            gone = chosen.choice(model)[0]
            run(session, f"DELETE FROM lived WHERE k = {gone}")
            model = [row for row in model if row[0] != gone]
        age(lake, "lived", 3)
        versions = [(version, state, days + 3) for version, state, days in versions]
        versions.append((version_of(lake, "lived") if "mapping" not in clauses else _newest(lake), model, 0))
        assert len(rows(session, "VACUUM lived")) == 1
        for version, state, _ in [each for each in versions if each[2] <= 6][-2:]:
            assert sorted(rows(session, f"SELECT * FROM lived VERSION AS OF {version}")) == sorted(state), version
    assert sorted(rows(session, "SELECT * FROM lived")) == sorted(model)


def _newest(lake: Path) -> int:
    return max(int(path.stem) for path in (lake / "default/lived/_delta_log").glob("*.json"))


def test_what_stops_it_is_recorded(session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(session, lake)
    delete = LocalStorage.delete

    def refuse_data(self: LocalStorage, name: str) -> None:
        if name.endswith(".parquet") and "_delta_log" not in name:
            raise PermissionError(13, "Permission denied", name)
        delete(self, name)

    monkeypatch.setattr(LocalStorage, "delete", refuse_data)
    error = refuse(session, "VACUUM worn")
    assert error.condition == "VACUUM_FILES_NOT_REMOVED" and "Permission denied" in error.message
    assert [entry[1:3] for entry in version_of_history(session)[:2]] == [
        ("VACUUM END", {"status": "FAILED"}),
        ("VACUUM START", {"retentionCheckEnabled": "true", "defaultRetentionMillis": "604800000"}),
    ]
    monkeypatch.undo()
    context = StatementContext(principal="ann")
    cancelled = threading.Event()

    def cancel(self: LocalStorage, directory: str) -> Any:
        context.cancel.cancel()
        cancelled.set()
        return listing(self, directory)

    listing = LocalStorage.list_folder
    monkeypatch.setattr(LocalStorage, "list_folder", cancel)
    with pytest.raises(StatementCancelled):
        session.execute("VACUUM worn", context)
    monkeypatch.undo()
    assert cancelled.is_set() and len(files(lake, "worn")) == 2
    assert len(rows(session, "VACUUM worn DRY RUN")) == 1


def test_what_another_table_of_the_catalog_refers_to_stays(
    engine: LakeEngine, session: LakeSession, lake: Path
) -> None:
    made(session, lake)
    clone = lake / "default" / "borrowed"
    shutil.rmtree(clone, ignore_errors=True)
    shutil.copytree(lake / "default/worn/_delta_log", clone / "_delta_log")
    for path in (clone / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            for kind in ("add", "remove"):
                if kind in line:
                    line[kind]["path"] = f"file://{lake}/default/worn/{line[kind]['path']}".replace(" ", "%20")
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (clone / "_delta_log/00000000000000000003.json").unlink()  # it has all rows still
    try:
        assert rows(session, "SELECT k FROM borrowed ORDER BY k") == [(1,), (2,), (3,)]
        assert rows(session, "VACUUM worn DRY RUN") == []
        run(session, "VACUUM worn")
        assert not (lake / "default/worn/_delta_log/_last_vacuum_info").exists()
        assert rows(session, "SELECT k FROM borrowed ORDER BY k") == [(1,), (2,), (3,)]
    finally:
        shutil.rmtree(clone)
    assert len(rows(session, "VACUUM worn DRY RUN")) == 1
