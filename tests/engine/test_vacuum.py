"""VACUUM as a statement: its errors, answers and records; retained versions stay readable."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from catalog.conditions import StatementCancelled
from engine.formats.delta.delta_format import DeltaFormat
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.storage.storage import LocalStorage
from engine.tables.formats import watch_loads
from tests.engine.bare_aging import age, data_files
from tests.engine.bare_lake import BareLake

CHECK_OFF = "SET spark.databricks.delta.retentionDurationCheck.enabled = false"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BareLake]:
    opened = BareLake(tmp_path / "a lake")
    yield opened
    opened.sources.close()


@pytest.fixture
def worn(lake: BareLake) -> Path:
    """Creates two files ten days ago, one of them removed."""
    lake.append("worn", {"k": [1, 2]})
    lake.append("worn", {"k": [3]})
    delete(lake, "k = 3")
    age(lake.path("worn"), 10)
    return lake.path("worn")


def delete(lake: BareLake, predicate: str, name: str = "worn") -> None:
    DeltaTable(lake.path(name)).delete(predicate)


def keys(lake: BareLake, version: int | None = None, name: str = "worn") -> list[int]:
    return sorted(lake.table(name, version).column("k").to_pylist())


def test_the_files_of_versions_before_the_retention_go(lake: BareLake, worn: Path) -> None:
    lake.append("worn", {"k": [4]})
    delete(lake, "k = 4")
    before = data_files(worn)
    listed = lake.answer("VACUUM worn DRY RUN")
    assert listed.column_names == ["path"] and listed.num_rows == 1
    (path,) = listed.column("path").to_pylist()
    assert os.path.dirname(path) == str(worn) and data_files(worn) == before
    assert lake.rows("VACUUM worn") == [(str(worn),)]
    assert data_files(worn) == before - {os.path.basename(path)}
    assert [keys(lake, version) for version in (2, 3, 4, None)] == [[1, 2], [1, 2, 4], [1, 2], [1, 2]]
    with pytest.raises(Exception, match=r"not found|No such file"):
        keys(lake, 1)
    assert lake.rows(f"VACUUM delta.`{worn}` DRY RUN") == lake.rows(f"VACUUM '{worn}' LITE DRY RUN") == []


def test_the_history_says_what_was_removed(lake: BareLake, worn: Path) -> None:
    (size,) = (
        line["remove"]["size"] for line in _lines(worn / "_delta_log/00000000000000000002.json") if "remove" in line
    )
    lake.answer("VACUUM worn RETAIN 200 HOURS FULL")
    assert lake.operations("worn")[3:] == [
        (
            "VACUUM START",
            {
                "retentionCheckEnabled": "true",
                "defaultRetentionMillis": "604800000",
                "specifiedRetentionMillis": "720000000",
            },
            {"numFilesToDelete": "1", "sizeOfDataToDelete": str(size)},
        ),
        ("VACUUM END", {"status": "COMPLETED"}, {"numDeletedFiles": "1", "numVacuumedDirectories": "1"}),
    ]
    assert _lines(worn / "_delta_log/_last_vacuum_info") == [{"latestCommitVersionOutsideOfRetentionWindow": 2}]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


REFUSALS = {
    "RETAIN 167.5 HOURS": "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
    "RETAIN 0 HOURS DRY RUN": "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
    "RETAIN -1 HOURS": "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE",
    "USING INVENTORY (SELECT 1)": "UNSUPPORTED_CLAUSE",
    "RETAIN 200": "PARSE_SYNTAX_ERROR",
    "RETAIN HOURS": "PARSE_SYNTAX_ERROR",
    "LITE FULL": "PARSE_SYNTAX_ERROR",
    "DRY RUN DRY RUN": "PARSE_SYNTAX_ERROR",
}


def test_refusals(lake: BareLake, worn: Path) -> None:
    for clauses, condition in REFUSALS.items():
        assert lake.refuse(f"VACUUM worn {clauses}").condition == condition, clauses
    too_short = lake.refuse("VACUUM worn RETAIN 1 HOURS")
    assert "spark.databricks.delta.retentionDurationCheck.enabled" in too_short.hint
    lake.answer("ALTER TABLE worn SET TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')")
    assert len(lake.rows("VACUUM worn DRY RUN")) == 1
    log = worn / "_delta_log/00000000000000000003.json"
    log.write_text(log.read_text().replace('"invariants"', '"someFeatureOfTomorrow"'))
    lake.sources.close()
    assert BareLake(lake.folder).refuse("VACUUM worn").condition == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"


def test_vacuum_without_retention_check_deletes_all_unreferenced_files(lake: BareLake, worn: Path) -> None:
    lake.answer(CHECK_OFF)
    delete(lake, "k = 2")
    lake.answer("VACUUM worn RETAIN 0 HOURS")
    assert data_files(worn) == {os.path.basename(path) for path in DeltaTable(worn).file_uris()}
    assert keys(lake) == [1]


def test_a_lite_one_reads_the_log_alone(lake: BareLake, worn: Path) -> None:
    (worn / "stray.parquet").write_bytes(b"x")
    age(worn, 1)
    assert len(lake.rows("VACUUM worn LITE DRY RUN")) == 1
    lake.answer("VACUUM worn LITE")
    assert (worn / "stray.parquet").exists() and len(data_files(worn)) == 2
    assert lake.operations("worn")[-1][2]["numDeletedFiles"] == "1"


@pytest.mark.parametrize("partition_by", [None, ["p"]])
def test_every_retained_version_stays_readable(lake: BareLake, partition_by: list[str] | None) -> None:
    """A random history that grows three days older with each step, vacuumed after each."""
    selected = random.Random(str(partition_by))
    options: dict[str, Any] = {"partition_by": partition_by} if partition_by else {}
    model: list[int] = []
    versions: list[tuple[int, list[int], int]] = []
    for step in range(10):
        if selected.random() < 0.5 or not model:
            new = [step * 10 + number for number in range(4)]
            lake.append("lived", {"k": new, "p": [k % 2 for k in new]}, **options)
            model = model + new
        elif selected.random() < 0.3 and len(versions) > 1:
            version, model, _ = versions[-2]
            lake.answer(f"RESTORE lived TO VERSION AS OF {version}")
        else:
            gone = selected.choice(model)
            delete(lake, f"k = {gone}", "lived")
            model = [k for k in model if k != gone]
        versions.append((DeltaTable(lake.path("lived")).version(), model, 0))
        age(lake.path("lived"), 3)
        versions = [(version, state, days + 3) for version, state, days in versions]
        lake.answer(f"VACUUM lived {selected.choice(('', 'LITE'))}")
        for version, state, days in versions:
            if days <= 9:  # the one after it is three days younger, so it was current until six days ago at least
                assert keys(lake, version, "lived") == sorted(state), (step, version)
    with pytest.raises(Exception, match=r"not found|No such file"):
        for version, _, _ in versions:
            keys(lake, version, "lived")


def test_failed_vacuum_is_recorded(lake: BareLake, worn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove = LocalStorage.delete

    def refuse_data(self: LocalStorage, name: str) -> None:
        if name.endswith(".parquet"):
            raise PermissionError(13, "Permission denied", name)
        remove(self, name)

    monkeypatch.setattr(LocalStorage, "delete", refuse_data)
    error = lake.refuse("VACUUM worn")
    assert error.condition == "VACUUM_FILES_NOT_REMOVED" and "Permission denied" in error.full_message
    assert [(name, parameters) for name, parameters, _ in lake.operations("worn")[3:]] == [
        ("VACUUM START", {"retentionCheckEnabled": "true", "defaultRetentionMillis": "604800000"}),
        ("VACUUM END", {"status": "FAILED"}),
    ]
    assert not (worn / "_delta_log/_last_vacuum_info").exists()


def test_a_cancelled_one_leaves_the_table_as_it_was(
    lake: BareLake, worn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, listing = StatementRequest(identity=Identity("ann")), LocalStorage.list_folder

    def cancel(self: LocalStorage, directory: str) -> Any:
        request.cancel.cancel()
        return listing(self, directory)

    monkeypatch.setattr(LocalStorage, "list_folder", cancel)
    with pytest.raises(StatementCancelled):
        lake.answer("VACUUM worn", request)
    monkeypatch.undo()
    assert len(data_files(worn)) == 2
    assert lake.sources.pins.of(str(worn)) == frozenset()


def test_files_of_shallow_clones_are_retained(lake: BareLake, worn: Path) -> None:
    clone = lake.path("borrowed")
    shutil.copytree(worn / "_delta_log", clone / "_delta_log", ignore=shutil.ignore_patterns("*.tmp"))
    (clone / "_delta_log/00000000000000000002.json").unlink()  # it has all rows still
    for path in (clone / "_delta_log").glob("*.json"):
        lines = _lines(path)
        for line in lines:
            if "add" in line:
                line["add"]["path"] = f"file://{worn}/{line['add']['path']}".replace(" ", "%20")
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (lake.path("broken") / "_delta_log").mkdir(parents=True)
    (lake.path("broken") / "_delta_log/00000000000000000000.json").write_text("no JSON")
    assert lake.rows("VACUUM worn DRY RUN") == []
    lake.answer("VACUUM worn")
    assert not (worn / "_delta_log/_last_vacuum_info").exists()
    assert len(data_files(worn)) == 2
    shutil.rmtree(clone)
    assert len(lake.rows("VACUUM worn LITE DRY RUN")) == 1


def test_logs_of_other_tables_are_read_once(lake: BareLake, worn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until they have new files from other tables, which the table may have got in any way."""
    for name in ("one", "two"):
        lake.append(name, {"k": [1]})
    loaded: list[str] = []
    load = DeltaFormat.load

    def noted(self: DeltaFormat, location: str, version: int | None = None) -> Any:
        loaded.append(os.path.basename(location))
        return load(self, location, version)

    monkeypatch.setattr(DeltaFormat, "load", noted)

    def others() -> set[str]:
        loaded.clear()
        assert len(lake.rows("VACUUM worn DRY RUN")) == remaining
        return set(loaded) - {"worn"}

    remaining = 1
    assert others() == {"one", "two"} and others() == set()
    lake.append("one", {"k": [2]})
    assert others() == set()
    add = next(line for line in _lines(worn / "_delta_log/00000000000000000001.json") if "add" in line)
    add["add"]["path"] = f"file://{worn}/{add['add']['path']}".replace(" ", "%20")
    (lake.path("one") / "_delta_log/00000000000000000002.json").write_text(json.dumps(add) + "\n")
    remaining = 0
    assert others() == {"one"} and others() == {"one"}
    shutil.rmtree(lake.path("one"))
    lake.append("one", {"k": [7]})
    remaining = 1
    assert others() == {"one"} and others() == set()
    shutil.rmtree(lake.path("one"))
    lake.append("one", {"k": [7], "other": [8]})
    assert others() == {"one"}


@pytest.mark.parametrize("clone", ["borrowed", "delta.`{folder}/elsewhere/borrowed`"])
def test_shallow_clones_keep_their_files(lake: BareLake, worn: Path, clone: str) -> None:
    """Also clones without a catalog name, and files that only their older versions reference."""
    clone = clone.format(folder=lake.folder)
    lake.answer(f"CREATE TABLE {clone} SHALLOW CLONE worn VERSION AS OF 1")
    lake.answer("RESTORE TABLE worn TO VERSION AS OF 0")
    age(worn, 10)
    assert lake.rows("VACUUM worn DRY RUN") == []
    lake.answer(f"TRUNCATE TABLE {clone}")
    assert lake.rows("VACUUM worn DRY RUN") == []
    if clone == "borrowed":
        lake.answer("DROP TABLE borrowed")
        assert len(lake.rows("VACUUM worn DRY RUN")) == 1


def test_a_running_statement_keeps_what_it_uses(lake: BareLake, worn: Path) -> None:
    lake.answer(CHECK_OFF)
    pins, now_ms = lake.sources.pins, StatementRequest(identity=Identity("ann")).now_ms
    with pins.statement(now_ms) as uses:
        watch_loads(lake.sources.formats, uses)["delta"].load(str(worn), 1)
        assert lake.rows("VACUUM worn RETAIN 0 HOURS DRY RUN") == []
        lake.answer("VACUUM worn RETAIN 0 HOURS")
        assert keys(lake, 1) == [1, 2, 3]
    with pins.statement(now_ms) as uses:
        watch_loads(lake.sources.formats, uses)["delta"].load(str(worn))
        (worn / "written.parquet").write_bytes(b"not committed yet")
        delete(lake, "k = 2")
        assert len(lake.rows("VACUUM worn RETAIN 0 HOURS DRY RUN")) == 1
    assert len(lake.rows("VACUUM worn RETAIN 0 HOURS DRY RUN")) == 2
    os.utime(worn / "written.parquet", (time.time() - 70, time.time() - 70))
    assert len(lake.rows("VACUUM worn RETAIN 0 HOURS DRY RUN")) == 3
