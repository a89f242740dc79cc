"""Snapshots: lazy reads, optional parts, and errors."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from catalog.conditions import (
    DeltaTableNotFound,
    InvalidProtocolVersion,
    LogFileNotFound,
    MalformedLogEntry,
    MissingCommitInfo,
    MissingCommitTimestamp,
    StateNotRecoverable,
    VersionNotFound,
)
from engine.delta import FILES_SCHEMA, TOMBSTONES_SCHEMA, Snapshot, load_snapshot
from engine.delta.snapshot import parsed_stats
from engine.delta.spec.actions import CommitInfo, Metadata, Protocol, SetTransaction, Sidecar
from engine.delta.spec.paths import (
    LAST_CHECKPOINT,
    LOG_DIR,
    checkpoint_name,
    checkpoint_v2_name,
    commit_name,
    compaction_name,
)
from engine.pruning.predicates import And, Predicate, compare
from tests.engine.delta.log_builder import (
    METADATA,
    PROTOCOL,
    SCHEMA_STRING,
    LogBuilder,
    NaiveTable,
    add,
    json_lines,
    remove,
)
from tests.interleave.storages import DictStorage

UUID = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"
ICT_PROTOCOL = Protocol(
    min_reader_version=1, min_writer_version=7, writer_features=("appendOnly", "inCommitTimestamp", "invariants")
)
ICT_METADATA = Metadata(id="t", schema_string=SCHEMA_STRING, configuration={"delta.enableInCommitTimestamps": "true"})


class CountingStorage(DictStorage):
    """Records reads."""

    def __init__(self, other: DictStorage) -> None:
        super().__init__(other.root)
        self.files = other.files
        self.read: list[str] = []

    def read_bytes(self, name: str) -> bytes:
        self.read.append(name.removeprefix(f"{LOG_DIR}/"))
        return super().read_bytes(name)


def paths(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.files["path"].to_pylist())


HISTORY: list[list[Any]] = [[PROTOCOL, METADATA, add("a")], [add("b")], [add("c"), remove("a")], [add("d")]]


def four_versions() -> tuple[LogBuilder, NaiveTable]:
    log, table = LogBuilder(), NaiveTable()
    for actions in HISTORY:
        log.commit(*actions)
        table.apply(actions)
    return log, table


def state_at(version: int) -> list[Any]:
    """Returns a checkpoint's actions for one of the four versions."""
    table = NaiveTable()
    for actions in HISTORY[: version + 1]:
        table.apply(actions)
    return table.actions()


def test_snapshot_properties() -> None:
    log, _ = four_versions()
    snapshot = Snapshot.load(log.storage)
    assert (snapshot.version, snapshot.table_root) == (3, "dict://table")
    assert (snapshot.protocol, snapshot.metadata) == (PROTOCOL, METADATA)
    assert snapshot.schema.names == ("id", "day")
    assert snapshot.partition_columns == ("day",)
    assert paths(snapshot) == ["b", "c", "d"]
    assert (snapshot.num_files, snapshot.size_bytes) == (3, 30)
    assert snapshot.files.schema == FILES_SCHEMA and snapshot.tombstones.schema == TOMBSTONES_SCHEMA
    assert snapshot.tombstones["path"].to_pylist() == ["a"]
    assert snapshot.timestamp_ms == log.storage.stat(f"{LOG_DIR}/{commit_name(3)}").modified_ms
    assert "version=3" in repr(snapshot)


@pytest.mark.parametrize(("version", "expected"), [(0, ["a"]), (1, ["a", "b"]), (2, ["b", "c"]), (3, ["b", "c", "d"])])
@pytest.mark.parametrize("checkpoint", [None, 0, 1, 2, 3])
def test_every_version_can_be_loaded(version: int, expected: list[str], checkpoint: int | None) -> None:
    log, _ = four_versions()
    if checkpoint is not None:
        log.checkpoint(checkpoint, state_at(checkpoint))
        log.put(LAST_CHECKPOINT, json.dumps({"version": checkpoint, "size": 1}).encode())
    snapshot = Snapshot.load(log.storage, version)
    assert (snapshot.version, paths(snapshot)) == (version, expected)


def test_checkpoint_files_are_read_lazily() -> None:
    log, _ = four_versions()
    sidecar = log.sidecar("s.parquet", [add("a")])
    log.put(checkpoint_v2_name(0, UUID, "json"), json_lines([PROTOCOL, METADATA, sidecar]))
    log.drop("_sidecars/s.parquet", commit_name(0))
    snapshot = Snapshot.load(log.storage)
    assert snapshot.metadata == METADATA
    with pytest.raises(LogFileNotFound, match=r"s\.parquet"):
        snapshot.files  # noqa: B018


@pytest.mark.parametrize(
    "damage",
    [
        lambda log: log.put(checkpoint_name(2), b"garbage"),
        lambda log: log.put(checkpoint_name(2), b""),
        lambda log: log.checkpoint(2, [PROTOCOL, METADATA, Sidecar(path="gone.parquet", size_in_bytes=1)]),
        lambda log: log.put(checkpoint_v2_name(2, UUID, "json"), b"{"),
        lambda log: log.put(compaction_name(1, 3), b"{"),
    ],
)
@pytest.mark.parametrize("older", [False, True])
def test_an_unreadable_checkpoint_is_done_without(damage: Callable[[LogBuilder], None], older: bool) -> None:
    log, _ = four_versions()
    if older:
        log.checkpoint(1, state_at(1))
        log.drop(commit_name(0))
    damage(log)
    log.put(LAST_CHECKPOINT, b'{"version":2,"size":1}')
    snapshot = Snapshot.load(log.storage)
    assert (snapshot.version, paths(snapshot)) == (3, ["b", "c", "d"])
    assert snapshot.tombstones["path"].to_pylist() == ["a"]


def test_where_nothing_stands_in_the_unreadable_file_is_named() -> None:
    log, _ = four_versions()
    log.put(checkpoint_name(2), b"garbage")
    log.drop(commit_name(0))
    with pytest.raises(MalformedLogEntry, match=checkpoint_name(2)):
        Snapshot.load(log.storage)


def test_an_unreadable_commit_is_named() -> None:
    log, _ = four_versions()
    log.put(commit_name(1), b"{")
    with pytest.raises(MalformedLogEntry, match=commit_name(1)):
        Snapshot.load(log.storage)
    assert Snapshot.load(log.storage, 0).version == 0


class CleanedUp(DictStorage):
    """The first listing is from before a clean-up: it shows no checkpoint, and commits that have gone."""

    listings = 0

    def list_names(self, directory: str, start: str = "") -> list[str]:
        self.listings += 1
        names = super().list_names(directory, start)
        if self.listings > 1:
            return names
        self.delete(f"{LOG_DIR}/{commit_name(0)}")
        return [name for name in names if "checkpoint" not in name]


def test_whole_log_is_listed_from_its_first_version() -> None:
    log, _ = four_versions()
    names = sorted(path.rpartition("/")[2] for path in log.storage.files if path.startswith(f"{LOG_DIR}/"))
    snapshot = Snapshot.load(log.storage)
    assert [status.name for status in snapshot.list_log()] == names
    assert [status.name for status in snapshot.advance_once().list_log()] == names


def test_partition_column_that_the_schema_does_not_have_is_malformed() -> None:
    log = LogBuilder()
    log.commit(PROTOCOL, replace(METADATA, partition_columns=("day", "nowhere")))
    with pytest.raises(MalformedLogEntry, match="nowhere"):
        assert Snapshot.load(log.storage).config


def test_application_has_the_version_of_its_last_transaction() -> None:
    log = LogBuilder()
    log.create(SetTransaction(app_id="app", version=3))
    log.commit(SetTransaction(app_id="app", version=7))
    snapshot = Snapshot.load(log.storage)
    assert (snapshot.last_write_of("app"), snapshot.last_write_of("other")) == (7, None)


def test_a_log_cleaned_up_meanwhile_is_listed_again() -> None:
    log, _ = four_versions()
    storage = CleanedUp()
    storage.files = dict(log.storage.files)
    log.storage = storage
    log.checkpoint(2, state_at(2))
    assert paths(Snapshot.load(storage)) == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("actions", "error", "missing"),
    [
        ([METADATA], StateNotRecoverable, "protocol"),
        ([PROTOCOL], StateNotRecoverable, "metaData"),
        ([Protocol(min_reader_version=4, min_writer_version=7), METADATA], InvalidProtocolVersion, "4"),
    ],
)
def test_a_log_that_cannot_be_understood_is_refused(actions: list[Any], error: type[Exception], missing: str) -> None:
    log = LogBuilder()
    log.commit(*actions)
    with pytest.raises(error, match=missing):
        Snapshot.load(log.storage)


def test_unknown_features_do_not_hinder_loading() -> None:
    log = LogBuilder()
    protocol = Protocol(min_reader_version=3, min_writer_version=9, reader_features=("x",), writer_features=("x",))
    log.commit(protocol, METADATA, add("a"))
    assert paths(Snapshot.load(log.storage)) == ["a"]


# --- Statistics ------------------------------------------------------------------------------------------------------


def test_statistics_stand_beside_the_files() -> None:
    log = LogBuilder()
    log.create(*(add(f"f{i}", stats=f'{{"numRecords":{i},"minValues":{{"id":{i}}}}}') for i in range(5)))
    log.commit(remove("f2"), add("f5"))
    snapshot = Snapshot.load(log.storage)
    stats = snapshot.stats()
    names = [f"f{i}" for i in stats["num_records"].to_pylist() if i is not None]
    assert snapshot.files["path"].to_pylist()[:4] == names
    assert [row["id"] if row else None for row in stats["min_values"].to_pylist()] == [0, 1, 3, 4, None]
    assert snapshot.stats(np.array([1, 4]))["num_records"].to_pylist() == [1, None]
    assert snapshot.stats().column_names == snapshot.stats(np.array([], np.int64)).column_names


COLUMNS = 6


def test_only_requested_statistics_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """First the columns in the first condition, then all; conditions select the same files."""
    log = LogBuilder()
    schema = json.loads(SCHEMA_STRING)
    schema["fields"] = [
        {"name": f"c{at}", "type": "long", "nullable": True, "metadata": {}} for at in range(COLUMNS)
    ] + [field for field in schema["fields"] if field["name"] == "day"]

    def stats(file: int) -> str:
        bounds = {f"c{at}": (file * 7 + at * 3) % 11 for at in range(COLUMNS) if (file + at) % 5}
        return json.dumps(
            {"numRecords": 2, "minValues": bounds, "maxValues": bounds, "nullCount": dict.fromkeys(bounds, 0)}
        )

    metadata = Metadata(id="t", schema_string=json.dumps(schema), partition_columns=("day",))
    log.commit(Protocol(min_reader_version=1, min_writer_version=2), metadata)
    log.commit(*(add(f"f{file}", stats=stats(file)) for file in range(30)))
    whole = Snapshot.load(log.storage)
    conditions: list[Predicate] = [
        compare("c1", "=", 3),
        And((compare("C2", ">", 5), compare("c1", "<", 9))),
        compare("c5", "<=", 4),
    ]
    expected = [whole.pruning().prune(each).tolist() for each in conditions]
    monkeypatch.setattr(parsed_stats, "MANY_FILES", 20)
    snapshot = Snapshot.load(log.storage)
    parsed: list[int] = []
    for condition in conditions[:1] * 2 + conditions[1:]:
        assert snapshot.pruning().prune(condition).tolist() == expected[conditions.index(condition)]
        parsed.append(snapshot.stats(columns=["c1"])["null_count"].type.num_fields)
    assert parsed == [1, 1, COLUMNS, COLUMNS]
    assert snapshot.stats().equals(whole.stats())
    log.commit(remove("f1"), add("f99", stats=stats(99)))
    later = snapshot.advance()
    assert [len(later.stats(columns=["c3"])), later.stats(columns=["c3"])["null_count"].type.num_fields] == [
        30,
        COLUMNS,
    ]
    afresh = Snapshot.load(log.storage)
    assert afresh.counted_files(["c4"]).statistics["min_values"].type.names == ["c4"]
    assert afresh.stats(np.array([0, 5]), ["c4"])["num_records"].to_pylist() == [2, 2]
    assert afresh.pruning().prune(conditions[2]).sum() > 0
    assert afresh.stats(columns=[])["max_values"].type.num_fields == COLUMNS


def test_statistics_are_by_physical_name() -> None:
    schema = json.loads(SCHEMA_STRING)
    for i, field in enumerate(schema["fields"]):
        field["metadata"] = {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": f"col-{i}"}
    log = LogBuilder()
    metadata = Metadata(
        id="t",
        schema_string=json.dumps(schema),
        partition_columns=("day",),
        configuration={"delta.columnMapping.mode": "name"},
    )
    log.commit(
        Protocol(min_reader_version=2, min_writer_version=5), metadata, add("a", stats='{"minValues":{"col-0":7}}')
    )
    assert Snapshot.load(log.storage).stats()["min_values"].to_pylist() == [{"col-0": 7}]


# --- Advancing -------------------------------------------------------------------------------------------------------


def test_advancing_reads_new_commits_only() -> None:
    log, _ = four_versions()
    storage = CountingStorage(log.storage)
    snapshot = Snapshot.load(storage)
    snapshot.files  # noqa: B018
    storage.read.clear()
    assert snapshot.advance() is snapshot
    log.commit(add("e"), remove("b"))
    later = snapshot.advance()
    assert storage.read == [commit_name(4)]
    assert (paths(snapshot), paths(later)) == (["b", "c", "d"], ["c", "d", "e"])
    assert storage.read == [commit_name(4)]
    assert later.timestamp_ms > snapshot.timestamp_ms


def test_advancing_past_a_clean_up_loads_afresh() -> None:
    log, table = four_versions()
    snapshot = Snapshot.load(log.storage, 1)
    log.checkpoint(3, table.actions())
    log.drop(*(commit_name(version) for version in range(4)))
    later = snapshot.advance()
    assert (later.version, paths(later)) == (3, ["b", "c", "d"])


@pytest.mark.parametrize("versions", [1, 4, 6])
def test_another_table_in_the_same_place_is_noticed(versions: int) -> None:
    log, _ = four_versions()
    snapshot = Snapshot.load(log.storage)
    log.drop(*(commit_name(version) for version in range(4)))
    other = LogBuilder(log.storage)
    other.create(add("other0"))
    for version in range(1, versions):
        other.commit(add(f"other{version}"))
    later = snapshot.advance()
    assert paths(later) == [f"other{version}" for version in range(versions)]


def test_a_table_that_has_gone_is_named() -> None:
    log, _ = four_versions()
    snapshot = Snapshot.load(log.storage)
    log.drop(*(commit_name(version) for version in range(4)))
    with pytest.raises(DeltaTableNotFound):
        snapshot.advance()


def test_statistics_follow_a_new_column() -> None:
    log = LogBuilder()
    log.create(add("a", stats='{"minValues":{"id":1,"more":2}}'))
    before = Snapshot.load(log.storage)
    assert before.stats()["min_values"].to_pylist() == [{"id": 1}]
    schema = json.loads(SCHEMA_STRING)
    schema["fields"].append({"name": "more", "type": "long", "nullable": True, "metadata": {}})
    log.commit(Metadata(id="table", schema_string=json.dumps(schema), partition_columns=("day",)))
    assert before.advance().stats()["min_values"].to_pylist() == [{"id": 1, "more": 2}]
    assert before.stats()["min_values"].to_pylist() == [{"id": 1}]


# --- Commit info and timestamps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("covered", [False, True])
def test_in_commit_timestamps(covered: bool) -> None:
    log = LogBuilder()
    log.commit(CommitInfo(in_commit_timestamp=111), ICT_PROTOCOL, ICT_METADATA)
    log.commit(CommitInfo(in_commit_timestamp=222, operation="WRITE"), add("a"))
    if covered:
        log.checkpoint(1, [ICT_PROTOCOL, ICT_METADATA, add("a")])
    snapshot = Snapshot.load(log.storage)
    assert snapshot.timestamp_ms == 222
    assert snapshot.commit_info is not None and snapshot.commit_info.operation == "WRITE"
    assert Snapshot.load(log.storage, 0).advance().timestamp_ms == 222


@pytest.mark.parametrize(
    ("actions", "error"), [([add("a")], MissingCommitInfo), ([CommitInfo(operation="x")], MissingCommitTimestamp)]
)
def test_a_missing_in_commit_timestamp_is_named(actions: list[Any], error: type[Exception]) -> None:
    log = LogBuilder()
    log.commit(CommitInfo(in_commit_timestamp=1), ICT_PROTOCOL, ICT_METADATA)
    log.commit(*actions)
    with pytest.raises(error):
        Snapshot.load(log.storage).timestamp_ms  # noqa: B018


def test_a_version_without_its_commit_has_its_checkpoints_time() -> None:
    log, table = four_versions()
    log.checkpoint(3, table.actions())
    log.drop(*(commit_name(version) for version in range(4)))
    snapshot = Snapshot.load(log.storage)
    assert snapshot.timestamp_ms == log.storage.stat(f"{LOG_DIR}/{checkpoint_name(3)}").modified_ms
    assert snapshot.commit_info is None


# --- Table locations -------------------------------------------------------------------------------------------------


def on_disk(log: LogBuilder, root: Path) -> None:
    for name, (data, _) in log.storage.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.mark.parametrize("folder", ["plain", "with space", "50%25", "caf\u00e9#1", "a+b=c?"])
@pytest.mark.parametrize("form", ["{}", "{}/", "file://{}", "file:{}"])
def test_local_tables(tmp_path: Path, folder: str, form: str) -> None:
    log, _ = four_versions()
    on_disk(log, tmp_path / folder)
    snapshot = load_snapshot(form.format(tmp_path / folder))
    assert paths(snapshot) == ["b", "c", "d"]
    assert snapshot.table_root == str(tmp_path / folder)


@pytest.mark.parametrize("milliseconds", [1, 999])
def test_recreated_table_whose_commit_has_the_same_size_and_second(tmp_path: Path, milliseconds: int) -> None:
    """A local file's time is exact, also if it happens to be a whole second."""
    for column, time_ms in (("one", 1_700_000_000_000), ("two", 1_700_000_000_000 + milliseconds)):
        log = LogBuilder()
        log.commit(PROTOCOL, replace(METADATA, name=column))
        on_disk(log, tmp_path / column)
        commit = tmp_path / column / LOG_DIR / commit_name(0)
        os.utime(commit, ns=(time_ms * 1_000_000, time_ms * 1_000_000))
    (tmp_path / "one").rename(tmp_path / "table")
    before = load_snapshot(str(tmp_path / "table"))
    (tmp_path / "table").rename(tmp_path / "dropped")
    (tmp_path / "two").rename(tmp_path / "table")
    assert before.advance().metadata.name == "two"


def test_tables_on_fsspec() -> None:
    log, _ = four_versions()
    log.checkpoint(1, state_at(1))
    memory = fsspec.filesystem("memory")
    for name, (data, _) in log.storage.files.items():
        memory.pipe_file(f"/lake/table/{name}", data)
    try:
        snapshot = load_snapshot("memory://lake/table")
        assert paths(snapshot) == ["b", "c", "d"]
        memory.pipe_file(f"/lake/table/{LOG_DIR}/{commit_name(4)}", json_lines([add("e")]))
        assert paths(snapshot.advance()) == ["b", "c", "d", "e"]
        assert snapshot.timestamp_ms > 1_600_000_000_000
    finally:
        memory.rm("/lake", recursive=True)


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, lambda path: path.write_text("a file")])
def test_folder_without_a_table_is_rejected(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "x")
    with pytest.raises(DeltaTableNotFound, match="DELTA_TABLE_NOT_FOUND"):
        load_snapshot(str(tmp_path / "x"))


def test_a_version_that_is_not_there(tmp_path: Path) -> None:
    log, _ = four_versions()
    on_disk(log, tmp_path)
    with pytest.raises(VersionNotFound, match="0 to 3"):
        load_snapshot(str(tmp_path), 4)


def test_foreign_files_in_the_log_are_ignored(tmp_path: Path) -> None:
    log, _ = four_versions()
    on_disk(log, tmp_path)
    folder = tmp_path / LOG_DIR
    (folder / f".{commit_name(9)}.crc").write_bytes(b"x")
    (folder / f"{commit_name(9)}.tmp").write_bytes(b"x")
    (folder / commit_name(8)).mkdir()
    shutil.copy(folder / commit_name(3), folder / "3.json")
    os.utime(folder / commit_name(3), ns=(10**18, 10**18 + 999_999))
    snapshot = load_snapshot(str(tmp_path))
    assert (snapshot.version, snapshot.timestamp_ms) == (3, 10**12)


def test_many_threads_load_files_once() -> None:
    log, table = four_versions()
    log.checkpoint(3, table.actions())
    snapshot = Snapshot.load(log.storage)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: snapshot.live_files, range(32)))
    assert len({id(one) for one in found}) == 1
