"""Post-commit work, whose failure does not fail the commit."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from engine.delta.commit.transaction import Committed, Transaction, clock_ms
from engine.delta.maintenance import after_commit as maintenance
from engine.delta.maintenance.after_commit import PostCommit, PostCommitQueue, run_hooks
from engine.delta.snapshot.checksum import ensure_checksum
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.snapshot.snapshot_cache import SnapshotCache
from engine.delta.spec.actions import Add, Remove
from engine.delta.spec.properties import DAY_MS
from engine.storage.storage import Storage
from tests.engine.delta.committing import add, append, create, describe, metadata
from tests.gateway.http.conftest import eventually
from tests.interleave.storages import DictStorage, Interposed


def history(versions: int, configuration: dict[str, str] | None = None) -> DictStorage:
    storage = DictStorage()
    run_hooks(PostCommit(create(storage, metadata(configuration=configuration))))
    for version in range(1, versions):
        run_hooks(PostCommit(append(storage, f"f{version}")))
    return storage


def checkpoints(storage: DictStorage) -> list[int]:
    return sorted(int(name.split("/")[1][:20]) for name in storage.files if ".checkpoint" in name)


@pytest.mark.parametrize(
    ("interval", "expected"), [(None, [10, 20]), ("5", [5, 10, 15, 20]), ("1", list(range(1, 24))), ("100", [])]
)
def test_a_checkpoint_every_so_many_commits(interval: str | None, expected: list[int]) -> None:
    storage = history(24, {"delta.checkpointInterval": interval} if interval else {})
    assert checkpoints(storage) == expected


def test_every_version_has_a_checksum_that_holds() -> None:
    storage = history(12)
    assert all(storage.exists(f"_delta_log/{version:020}.crc") for version in range(12))
    assert all(ensure_checksum(Snapshot.load(storage, version)) for version in range(12))


def test_after_a_checksum_was_missed_the_files_are_counted() -> None:
    storage = history(3)
    storage.delete(f"_delta_log/{2:020}.crc")
    run_hooks(PostCommit(append(storage, "more")))
    assert ensure_checksum(Snapshot.load(storage))


def test_a_corrupt_checksum_before_does_not_matter() -> None:
    storage = history(3)
    storage.write(f"_delta_log/{2:020}.crc", b"{")
    run_hooks(PostCommit(append(storage, "more")))
    assert ensure_checksum(Snapshot.load(storage))


@pytest.mark.parametrize("is_enabled", ["true", "false"])
def test_the_log_is_cleaned_with_a_checkpoint(is_enabled: str) -> None:
    storage = history(11, {"delta.enableExpiredLogCleanup": is_enabled})
    for version in range(11, 20):
        append(storage, f"f{version}")
    run_hooks(PostCommit(append(storage, "f20"), clock=lambda: clock_ms() + 40 * DAY_MS))
    first = min(int(name.split("/")[1][:20]) for name in storage.files if name.endswith(".json"))
    assert first == (20 if is_enabled == "true" else 0)
    assert Snapshot.load(storage).num_files == 20


def test_a_version_that_has_a_checkpoint_gets_no_second() -> None:
    storage = history(10)
    committed = append(storage, "f10")
    run_hooks(PostCommit(committed))
    before = storage.files[f"_delta_log/{10:020}.checkpoint.parquet"]
    run_hooks(PostCommit(committed))
    assert storage.files[f"_delta_log/{10:020}.checkpoint.parquet"] == before


def test_failed_post_commit_task_is_logged_and_others_run(caplog: pytest.LogCaptureFixture) -> None:
    storage = history(10)

    def around(method: str, name: str, do: Any) -> Any:
        if name.endswith(".crc"):
            raise OSError("no space left")
        return do()

    committed = append(storage, "f10")
    object.__setattr__(committed, "storage", Interposed(storage, around))
    with caplog.at_level(logging.WARNING):
        run_hooks(PostCommit(committed))
    assert checkpoints(storage) == [10]
    assert ["write_version_checksum failed after version 10" in record.getMessage() for record in caplog.records] == [
        True
    ]


def test_a_queue_works_in_the_background() -> None:
    storage = DictStorage()
    work = PostCommitQueue()
    work.submit(create(storage))
    for number in range(10):
        work.submit(append(storage, f"f{number}"))
    work.drain()
    assert checkpoints(storage) == [10]
    work.submit(append(storage, "last"))
    work.close()
    assert storage.exists(f"_delta_log/{11:020}.crc")


def test_only_the_newest_of_quick_commits_gets_a_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "_QUIET_S", 30)
    monkeypatch.setattr(maintenance, "_UNWRITTEN_S", 30)
    storage = DictStorage()
    work = PostCommitQueue()
    work.submit(create(storage))
    work.drain()
    for number in range(5):
        work.submit(append(storage, f"f{number}"))
    work.drain()
    names = sorted(name for name in storage.files if name.endswith(".crc"))
    assert names == [f"_delta_log/{5:020}.crc"]
    assert ensure_checksum(Snapshot.load(storage))
    work.close()


def test_no_deferred_checksum_is_written_for_a_table_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "_QUIET_S", 30)
    deleted, retained = DictStorage("dict://going"), DictStorage("dict://staying")
    work = PostCommitQueue()
    for storage in (deleted, retained):
        work.submit(create(storage))
        work.submit(append(storage, "f"))
    assert eventually(lambda: work._known.has_deferred and not work._waiting)
    work.forget(deleted.root)
    work.close()
    assert [storage.exists(f"_delta_log/{1:020}.crc") for storage in (deleted, retained)] == [False, True]


def test_only_the_first_and_the_newest_due_version_of_quick_commits_get_a_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(maintenance, "_QUIET_S", 30)
    monkeypatch.setattr(maintenance, "_UNWRITTEN_S", 30)
    storage, cache = DictStorage(), SnapshotCache(1 << 30)
    work = PostCommitQueue(cache.load_committed)
    work.submit(create(storage))
    for number in range(44):
        work.submit(append(storage, f"f{number}"))
    assert eventually(lambda: not work._waiting and work._due.are_waiting)
    assert checkpoints(storage) == [10]
    work.drain()
    assert checkpoints(storage) == [10, 40]
    loaded = Snapshot.load(storage)
    assert loaded.num_files == 44 and loaded.log_segment.checkpoint is not None
    assert loaded.log_segment.checkpoint.version == 40
    work.close()


def test_checkpoint_waits_no_longer_than_its_limit_in_a_burst_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "_QUIET_S", 30)
    monkeypatch.setattr(maintenance, "_UNWRITTEN_S", 0.2)
    storage = DictStorage()
    work = PostCommitQueue()
    work.submit(create(storage))
    numbers = iter(range(100_000))

    def commit() -> list[int]:
        work.submit(append(storage, f"f{next(numbers)}"))
        return checkpoints(storage)

    assert eventually(lambda: len(commit()) >= 3)
    work.close()
    found = checkpoints(storage)
    assert found[0] == 10 and all(version % 10 == 0 for version in found)


def test_deferred_checkpoint_is_not_written_into_another_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server drops the table, and creates one in its place."""
    monkeypatch.setattr(maintenance, "_QUIET_S", 30)
    monkeypatch.setattr(maintenance, "_UNWRITTEN_S", 30)

    def load_all(storage: Storage, version: int) -> Snapshot:
        snapshot = Snapshot.load(storage, version)
        _ = snapshot.files, snapshot.tombstones
        return snapshot

    storage = DictStorage()
    work = PostCommitQueue(load_all)
    work.submit(create(storage))
    for number in range(20):
        work.submit(append(storage, f"f{number}"))
    assert eventually(lambda: not work._waiting and work._due.are_waiting)
    storage.delete_tree()
    create(storage)
    work.close()
    assert checkpoints(storage) == [] and Snapshot.load(storage).version == 0


def test_no_deferred_checkpoint_is_written_for_a_table_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "_QUIET_S", 30)
    monkeypatch.setattr(maintenance, "_UNWRITTEN_S", 30)
    deleted, retained = DictStorage("dict://going"), DictStorage("dict://staying")
    work = PostCommitQueue()
    for storage in (deleted, retained):
        work.submit(create(storage))
        for number in range(20):
            work.submit(append(storage, f"f{number}"))
    assert eventually(lambda: not work._waiting and len(work._due._waiting) == 2)
    work.forget(deleted.root)
    work.close()
    assert [checkpoints(deleted), checkpoints(retained)] == [[10], [10, 20]]


def test_advanced_snapshots_equal_those_of_the_log() -> None:
    """Includes removed files, one of which is added again."""
    storage = DictStorage()
    cache = SnapshotCache(1 << 30)
    create(storage)
    cache.load(storage)
    for number in range(12):
        append(storage, f"f{number}")
        advanced = cache.load_committed(storage, number + 1)
        _ = advanced.config, advanced.tombstones, advanced.files
    gone = [Remove(path=path, deletion_timestamp=clock_ms(), data_change=True) for path in ("f3", "f5")]
    actions: list[Add | Remove] = [*gone, add("f3"), add("g")]
    for staged in actions:
        transaction = Transaction.on(cache.load(storage), describe())
        transaction.stage(staged)
        version = transaction.commit().version
        advanced, loaded = cache.load_committed(storage, version), Snapshot.load(storage, version)
        assert advanced.config == loaded.config
        for rows in ("files", "tombstones"):
            both = [sorted(getattr(each, rows).column("path").to_pylist()) for each in (advanced, loaded)]
            assert both[0] == both[1], (version, rows)


def test_dropped_table_has_no_post_commit_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running work is awaited, waiting work is discarded; other tables' work continues."""
    started, may_go, done = threading.Event(), threading.Event(), []

    def slow(after: PostCommit) -> None:
        started.set()
        may_go.wait(30)
        done.append(after.committed.storage)

    monkeypatch.setattr(maintenance, "HOOKS", (slow,))
    deleted, retained = DictStorage("dict://going"), DictStorage("dict://staying")
    work = PostCommitQueue()
    for committed in (create(deleted), append(deleted, "f"), create(retained)):
        work.submit(committed)
    started.wait(30)
    threading.Timer(0.1, may_go.set).start()
    work.forget(deleted.root)
    assert done[:1] == [deleted]
    work.close()
    assert done == [deleted, retained]


def test_work_that_hangs_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    may_go = threading.Event()
    monkeypatch.setattr(maintenance, "HOOKS", (lambda after: may_go.wait(30),))
    monkeypatch.setattr(maintenance, "_CLOSE_S", 0.05)
    work = PostCommitQueue()
    work.submit(create(DictStorage()))
    work.close()
    assert "does not end" in caplog.text
    may_go.set()


def test_a_full_queue_drops_work_and_blocks_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    may_go, done = threading.Event(), []

    def slow(after: PostCommit) -> None:
        may_go.wait(30)
        done.append(after.committed.version)

    monkeypatch.setattr(maintenance, "HOOKS", (slow,))
    storage = DictStorage()
    work = PostCommitQueue(waiting_max=1)
    commits: list[Committed] = [create(storage), *(append(storage, f"f{number}") for number in range(5))]
    for committed in commits:
        work.submit(committed)
    may_go.set()
    work.close()
    assert 1 <= len(done) < len(commits)
    assert "too much waits" in caplog.text
