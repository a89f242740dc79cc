"""Row tracking enabled for a table with rows: all get stable ids, also with concurrent commits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.formats.delta.planning import row_tracking
from engine.tables.operations import TableOperation
from tests.engine.bare_lake import BareLake
from tests.engine.delta.committing import describe

BEGIN = "ALTER TABLE begun SET TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'x' = 'y')"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BareLake]:
    """Yields a table with three files."""
    opened = BareLake(tmp_path)
    for p in range(3):
        opened.append("begun", {"k": [p * 2, p * 2 + 1], "p": [p, p]}, partition_by=["p"])
    yield opened
    opened.sources.close()


def ids(lake: BareLake) -> dict[str, range]:
    """Returns each file's row ids."""
    files = load_snapshot(str(lake.path("begun"))).files.select(["path", "base_row_id", "stats"]).to_pylist()
    counts = {file["path"]: json.loads(file["stats"])["numRecords"] for file in files}
    return {file["path"]: range(file["base_row_id"], file["base_row_id"] + counts[file["path"]]) for file in files}


def test_every_file_has_ids_that_stay(lake: BareLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tracking, "FILES_MAX", 2)
    lake.answer(BEGIN)
    steps = ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL", "ROW TRACKING BACKFILL", "SET TBLPROPERTIES"]
    assert [name for name, _, _ in lake.operations("begun")[3:]] == steps
    snapshot = load_snapshot(str(lake.path("begun")))
    assert snapshot.files.column("data_change").to_pylist() == [False] * 3
    assert sorted(snapshot.files.column("default_row_commit_version").to_pylist()) == [4, 4, 5]
    assert sorted(row for rows in ids(lake).values() for row in rows) == list(range(6))
    assert sorted(lake.table("begun").column("k").to_pylist()) == list(range(6))
    before = ids(lake)
    names = {key: text for key, text in snapshot.metadata.configuration.items() if "materialized" in key}
    lake.answer("ALTER TABLE begun SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')")
    lake.answer(BEGIN)
    again = load_snapshot(str(lake.path("begun"))).metadata.configuration
    assert {key: again[key] for key in names} == names and len(names) == 2
    assert ids(lake) == before


@pytest.mark.parametrize(("more", "is_alone"), [("", True), (", 'x' = 'y'", False)])
def test_the_commit_that_enables_it_says_so_where_it_does_nothing_else(
    lake: BareLake, more: str, is_alone: bool
) -> None:
    """By delta-spark's tag: its transactions rebase over this commit, and fail for any other metadata change."""
    lake.answer(f"ALTER TABLE begun SET TBLPROPERTIES ('delta.enableRowTracking' = 'true'{more})")
    lake.answer("ALTER TABLE begun SET TBLPROPERTIES ('z' = 'z')")
    logs = sorted((lake.path("begun") / "_delta_log").glob("*.json"))
    infos = [line["commitInfo"] for log in logs for line in map(json.loads, log.open()) if "commitInfo" in line]
    reported = [info.get("tags", {}).get("rowTrackingEnablementOnly") for info in infos]
    assert reported == [*[None] * (len(logs) - 2), "true" if is_alone else None, None]


def test_a_table_without_rows_gets_no_version_for_them(lake: BareLake) -> None:
    lake.answer("CREATE TABLE empty (k INT)")
    lake.answer(BEGIN.replace("begun", "empty"))
    assert [name for name, _, _ in lake.operations("empty")] == [
        "CREATE TABLE",
        "UPGRADE PROTOCOL",
        "SET TBLPROPERTIES",
    ]


def add_rows(lake: BareLake) -> None:
    """Appends as a writer with row tracking would, or as an older one."""
    snapshot = load_snapshot(str(lake.path("begun")))
    lake.path("begun").joinpath("p=1").mkdir(exist_ok=True)
    (some, *_) = snapshot.files.slice(0, 1).to_batches()
    from_file = lake.path("begun") / some.column("path")[0].as_py()
    copy = from_file.with_name("copied.parquet")
    copy.write_bytes(from_file.read_bytes())
    name = copy.relative_to(lake.path("begun")).as_posix()
    for column in ("path", "log_path"):
        some = some.set_column(some.schema.get_field_index(column), column, pa.array([name]))
    for column in ("base_row_id", "default_row_commit_version"):
        at = some.schema.get_field_index(column)
        some = some.set_column(at, some.schema.field(at), pa.nulls(1, pa.int64()))
    transaction = Transaction.on(snapshot, describe())
    transaction.stage_adds(some)
    transaction.commit()


def drop_file(lake: BareLake) -> None:
    snapshot = load_snapshot(str(lake.path("begun")))
    transaction = Transaction.on(snapshot, describe(TableOperation.DML, "DELETE"))
    transaction.stage_removes(snapshot.files.slice(1, 1))
    transaction.commit()


def drop_all(lake: BareLake) -> None:
    snapshot = load_snapshot(str(lake.path("begun")))
    transaction = Transaction.on(snapshot, describe(TableOperation.DML, "DELETE"))
    transaction.stage_removes(snapshot.files)
    transaction.commit()


@pytest.mark.parametrize("step", range(3))
@pytest.mark.parametrize(("event", "count"), [(add_rows, 8), (drop_file, 4), (drop_all, 0)])
def test_commits_between_row_tracking_steps_are_included(
    lake: BareLake, monkeypatch: pytest.MonkeyPatch, step: int, event: Callable[[BareLake], None], count: int
) -> None:
    commit, calls = Transaction.commit, iter(range(100))

    def between(self: Transaction, *args: Any, **options: Any) -> Any:
        if next(calls) == step:
            monkeypatch.setattr(Transaction, "commit", commit)
            event(lake)
        return commit(self, *args, **options)

    monkeypatch.setattr(Transaction, "commit", between)
    lake.answer(BEGIN)
    present = {Path(path).name for path in DeltaTable(lake.path("begun")).file_uris()}
    assert {Path(path).name for path in ids(lake)} == present
    given = [row for rows in ids(lake).values() for row in rows]
    assert len(set(given)) == len(given) == count
    assert load_snapshot(str(lake.path("begun"))).config.is_enabled("rowTracking")


def test_files_without_a_count_of_rows_stop_it_until_they_are_analyzed(lake: BareLake) -> None:
    log = lake.path("begun") / "_delta_log/00000000000000000002.json"
    log.write_text(log.read_text().replace("numRecords", "numberOf"))
    assert lake.refuse(BEGIN).condition == "DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS"
    assert not load_snapshot(str(lake.path("begun"))).config.is_enabled("rowTracking")
    lake.answer("ANALYZE TABLE begun COMPUTE DELTA STATISTICS")
    lake.answer(BEGIN)
    assert sorted(row for rows in ids(lake).values() for row in rows) == list(range(6))
