"""On a local disk a snapshot advances by commit names, and equals the snapshot from a listing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from catalog.conditions import DeltaTableNotFound, VersionsNotContiguous
from engine.delta.maintenance.checkpoint_writer import write_checkpoint
from engine.delta.maintenance.log_cleanup import truncate_log
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.storage.storage import FileStatus, LocalStorage
from tests.engine.delta.log_builder import LogWriter, add


class Counting(LocalStorage):
    """Counts log listings."""

    listings = 0

    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        self.listings += directory == LOG_DIR
        return super().list_files(directory, start)


@pytest.fixture
def log(tmp_path: Path) -> LogWriter:
    built = LogWriter(Counting(str(tmp_path)))
    built.create(add("0"))
    return built


def listings(log: LogWriter) -> int:
    assert isinstance(log.storage, Counting)
    return log.storage.listings


def ensure_same(snapshot: Snapshot, log: LogWriter) -> None:
    loaded = Snapshot.load(log.storage)
    assert snapshot.version == loaded.version
    assert sorted(snapshot.files.column("path").to_pylist()) == sorted(loaded.files.column("path").to_pylist())


@pytest.mark.parametrize("count", [0, 1, 2, 14, 15, 16, 17, 40])
def test_commits_are_found(log: LogWriter, count: int) -> None:
    snapshot = Snapshot.load(log.storage)
    for number in range(count):
        log.commit(add(f"more {number}"))
    advanced = snapshot.advance()
    assert advanced.version == count and (advanced is snapshot) is (count == 0)
    assert listings(log) == (count > 15)
    ensure_same(advanced, log)


def test_a_log_is_seldom_listed_and_checkpoints_are_found(log: LogWriter) -> None:
    snapshot = Snapshot.load(log.storage)
    for number in range(1, 101):
        log.commit(add(f"more {number}"))
        snapshot = snapshot.advance()
        if number % 10 == 0:
            write_checkpoint(snapshot, 0)
    assert listings(log) <= 20
    checkpoint = snapshot.log_segment.checkpoint
    assert checkpoint is not None and checkpoint.version >= 80
    assert len(snapshot.log_segment.deltas) <= 20
    ensure_same(snapshot, log)


def test_a_missing_version_is_noticed(log: LogWriter) -> None:
    snapshot = Snapshot.load(log.storage)
    log.commit(add("1"))
    log.commit(add("2"))
    log.storage.delete(f"{LOG_DIR}/{commit_name(1)}")
    with pytest.raises(VersionsNotContiguous):
        snapshot.advance()


def test_another_table_in_the_place_is_noticed(log: LogWriter, tmp_path: Path) -> None:
    snapshot = Snapshot.load(log.storage)
    log.storage.delete(f"{LOG_DIR}/{commit_name(0)}")
    with pytest.raises(DeltaTableNotFound):
        snapshot.advance()
    LogWriter(log.storage).create(add("another one"), add("and one more"))
    os.utime(tmp_path / LOG_DIR / commit_name(0), (1, 1))
    ensure_same(snapshot.advance(), log)


def test_a_log_that_was_cut_off_beyond_the_snapshot_is_noticed(log: LogWriter) -> None:
    old = Snapshot.load(log.storage)
    for number in range(1, 21):
        log.commit(add(f"more {number}"))
    newest = old.advance()
    write_checkpoint(newest, 0)
    before = listings(log)
    assert truncate_log(log.storage, newest.config, 0, -1) == () and listings(log) == before
    far = 10**14
    assert truncate_log(log.storage, newest.config, far, far) and listings(log) > before
    ensure_same(old.advance(), log)
