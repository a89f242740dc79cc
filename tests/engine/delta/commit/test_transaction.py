"""Transactions: read sets, staged actions, and when they give up."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from catalog.conditions import (
    CommitAttemptsExceeded,
    ConcurrentAppend,
    ConcurrentDeleteRead,
    ConcurrentDrop,
    StatementCancelled,
    UnsupportedWriterFeatures,
)
from engine.concurrency.cancel import CancelToken
from engine.concurrency.retry import RetryPolicy, RetryReason
from engine.concurrency.write_queue import WriteQueue
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.delta.spec.actions import SetTransaction
from engine.storage.put_if_absent import put_local
from engine.storage.storage import Storage, open_storage
from engine.tables.operations import TableOperation, with_metrics
from tests.engine.delta.committing import add, append, create, describe
from tests.interleave.storages import DictStorage, Interposed


def named(name: str) -> Any:
    return lambda batch: pc.equal(batch.column("path"), name)


def table() -> DictStorage:
    storage = DictStorage()
    create(storage)
    append(storage, "a", "b", "c")
    return storage


def test_reading_gives_the_files_that_match() -> None:
    transaction = Transaction.on(Snapshot.load(table()), describe(TableOperation.DML))
    assert transaction.read(named("b")).column("path").to_pylist() == ["b"]
    unknown = transaction.read(lambda batch: pa.nulls(batch.num_rows, pa.bool_()))
    assert unknown.column("path").to_pylist() == ["a", "b", "c"]
    assert transaction.read_whole_table().num_rows == 3
    assert transaction.last_version_of("app") is None
    assert transaction.read_version == 1


def test_files_read_by_name_must_still_be_there() -> None:
    storage = table()
    late = Transaction.on(Snapshot.load(storage), describe())
    late.read_files(pa.array(["b"]))
    late.stage(add("late"))
    winner = Transaction.on(Snapshot.load(storage), describe(TableOperation.DML))
    winner.stage_removes(winner.read(named("b")))
    winner.commit()
    with pytest.raises(ConcurrentDeleteRead, match="file b"):
        late.commit()


def test_a_batch_of_files_moves_as_a_batch() -> None:
    storage = table()
    before = Snapshot.load(storage)
    transaction = Transaction.on(before, describe(TableOperation.DML))
    transaction.stage_removes(transaction.read_whole_table())
    transaction.stage(add("d"))
    transaction.commit()
    after = Snapshot.load(storage)
    assert after.files.column("path").to_pylist() == ["d"]
    tombstones = after.tombstones.sort_by("path").to_pylist()
    assert [row["path"] for row in tombstones] == ["a", "b", "c"]
    assert all(row["size"] == 100 and row["partition_values"] == [("day", "2026-01-31")] for row in tombstones)

    restoring = Transaction.on(after, describe(TableOperation.DML))
    restoring.stage_adds(before.files.combine_chunks().to_batches()[0], data_change=False)
    restoring.commit()
    assert sorted(Snapshot.load(storage).files.column("path").to_pylist()) == ["a", "b", "c", "d"]


def test_an_application_s_version_is_found_again() -> None:
    storage = table()
    transaction = Transaction.on(Snapshot.load(storage), describe())
    transaction.stage(SetTransaction(app_id="app", version=4))
    transaction.commit()
    assert Transaction.on(Snapshot.load(storage), describe()).last_version_of("app") == 4


def test_an_operation_that_the_protocol_forbids_writes_nothing() -> None:
    storage = DictStorage()
    create(storage)
    storage.write(
        "_delta_log/00000000000000000001.json",
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["fromTheFuture"]}}\n',
    )
    with pytest.raises(UnsupportedWriterFeatures, match="fromTheFuture"):
        append(storage, "a")
    assert Snapshot.load(storage).version == 1


class AlwaysBeaten(Interposed):
    """A storage where another writer commits before each of our puts."""

    def __init__(self, inner: DictStorage) -> None:
        super().__init__(inner, self._around)
        self.others = 0

    def _around(self, method: str, name: str, do: Any) -> Any:
        if method == "put":
            self.others += 1
            append(self.inner, f"other{self.others}")
        return do()


@pytest.mark.parametrize(
    ("policy", "attempts"),
    [(RetryPolicy(rebases_max=3), 3), (RetryPolicy(rebase_s_max=-1), 1)],
    ids=["times", "seconds"],
)
def test_a_writer_that_is_always_beaten_gives_up(policy: RetryPolicy, attempts: int) -> None:
    storage = table()
    transaction = Transaction.on(Snapshot.load(storage), describe())
    beaten = AlwaysBeaten(storage)
    transaction.storage = beaten
    transaction.stage(add("mine"))
    with pytest.raises(CommitAttemptsExceeded) as raised:
        transaction.commit(policy)
    assert raised.value.attempts == beaten.others == attempts
    newest = Snapshot.load(storage)
    assert "mine" not in newest.files.column("path").to_pylist() and raised.value.version == newest.version


class Synced(Interposed):
    """Counts the commits that are written to the disk, won or lost. Nobody else begins while one is under way."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner, self._around)
        self.written = 0

    def _around(self, method: str, name: str, do: Any) -> Any:
        if method == "put" and not self.inner.exists(name):
            self.written += 1
            time.sleep(0.01)
        return do()


def test_writers_of_one_server_are_serialized(tmp_path: Path) -> None:
    storage = Synced(open_storage(str(tmp_path)))
    create(storage)
    storage.written, retries = 0, list[RetryReason]()
    policy = RetryPolicy(write_queue=WriteQueue(), on_retry=retries.append)
    writers = [Transaction.on(Snapshot.load(storage), describe()) for _ in range(8)]
    for number, writer in enumerate(writers):
        writer.stage(add(f"file{number}"))
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda writer: writer.commit(replace(policy, cancel=CancelToken())), writers))
    assert sorted(each.version for each in made) == list(range(1, 9))
    assert storage.written == 8, "nobody writes what another one has made"
    assert all(each.attempts <= 2 for each in made) and len(retries) == sum(each.attempts - 1 for each in made)
    assert Snapshot.load(storage).num_files == 8


def test_waiting_writer_sees_the_commit_before_its_own(tmp_path: Path) -> None:
    """It takes the next version at its first attempt, or conflicts without one."""
    storage = Synced(open_storage(str(tmp_path)))
    create(storage)
    append(storage, "a")
    write_queue = WriteQueue()
    adds, reads = (Transaction.on(Snapshot.load(storage), describe(TableOperation.DML)) for _ in range(2))
    reads.read_whole_table()
    for number, each in enumerate((adds, reads)):
        each.stage(add(f"mine{number}"))
    with ThreadPoolExecutor(2) as threads:
        with write_queue.hold(storage.root, CancelToken(), 60):
            late = [
                threads.submit(each.commit, RetryPolicy(write_queue=write_queue, cancel=CancelToken()))
                for each in (adds, reads)
            ]
            time.sleep(0.2)
            append(storage, "b")
            storage.written = 0
        committed = late[0].result(30)
        assert (committed.version, committed.attempts) == (3, 1)
        with pytest.raises(ConcurrentAppend):
            late[1].result(30)
    assert storage.written == 1


def test_waiting_writer_is_cancelled(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    create(storage)
    write_queue, cancel = WriteQueue(), CancelToken()
    writer = Transaction.on(Snapshot.load(storage), describe())
    writer.stage(add("mine"))
    with write_queue.hold(storage.root, CancelToken(), 60), ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(writer.commit, RetryPolicy(write_queue=write_queue, cancel=cancel))
        time.sleep(0.05)
        assert not waiting.done()
        cancel.cancel()
        with pytest.raises(StatementCancelled):
            waiting.result(30)
    assert Snapshot.load(storage).num_files == 0


def test_writers_wait_briefly_for_a_writer_without_an_answer(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    create(storage)
    write_queue = WriteQueue()
    writer = Transaction.on(Snapshot.load(storage), describe())
    writer.stage(add("mine"))
    with write_queue.hold(storage.root, CancelToken(), 60):
        append(storage, "a")
        made = writer.commit(RetryPolicy(write_queue=write_queue, queue_s_max=0.05))
        assert (made.version, made.attempts) == (2, 1)
        with write_queue.hold(storage.root, CancelToken(), 0) as has_waited:
            assert not has_waited, "a turn that is not to be waited for is not"
    with write_queue.hold(storage.root, CancelToken(), 60) as has_waited:
        assert not has_waited


def test_a_version_that_is_there_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing such a file would be wasted."""
    path = str(tmp_path / "x")
    assert put_local(path, b"first")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    assert not put_local(path, b"second") and synced == []
    assert put_local(f"{path}y", b"other") and len(synced) == 2
    assert Path(path).read_bytes() == b"first"


def test_many_winners_are_read_at_once() -> None:
    storage = table()
    transaction = Transaction.on(Snapshot.load(storage), describe())
    for number in range(20):
        append(storage, f"other{number}")
    transaction.stage(add("mine"))
    committed = transaction.commit()
    assert (committed.version, committed.attempts) == (22, 2)


def test_metrics_become_known_late() -> None:
    description = with_metrics(describe(metrics={"a": 1}), b=2)
    assert description.metrics == {"a": 1, "b": 2}


def test_a_local_table_from_first_to_last(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "lake" / "t"))
    create(storage)
    append(storage, "day=2026-01-31/a b%.parquet".replace("%", "%25").replace(" ", "%20"))
    snapshot = load_snapshot(str(tmp_path / "lake" / "t"))
    assert snapshot.files.column("path").to_pylist() == ["day=2026-01-31/a b%.parquet"]


@pytest.mark.parametrize("versions", [None, 1, 2, 3, 5], ids=lambda versions: f"made again: {versions}")
@pytest.mark.parametrize("when", ["before the first", "between them", "never"])
def test_two_versions_that_only_say_something_leave_the_log_of_another_table_as_it_is(
    versions: int | None, when: str
) -> None:
    """The table has versions 0 and 1; another one in its place has as many as given, or does not exist."""
    storage = table()
    snapshot = Snapshot.load(storage)

    def replace_table() -> dict[str, tuple[bytes, int]]:
        storage.files.clear()
        if versions is not None:
            create(storage)
            for number in range(1, versions):
                append(storage, f"other-{number}")
        return dict(storage.files)

    def tell(before: Committed | None = None) -> Committed:
        found = Transaction.on(snapshot, describe(TableOperation.VACUUM, "VACUUM START")).after(before)
        return found.only_telling(is_reported_again=before is None).commit()

    others = replace_table() if when == "before the first" else None
    begun = tell()
    if when == "never":
        ended = tell(begun)
        assert [begun.version, ended.version, Snapshot.load(storage).version] == [2, 3, 3]
        assert ended.untold is begun
        return
    others = others if others is not None else replace_table()
    with pytest.raises(ConcurrentDrop):
        tell(begun)
    assert storage.files == others


def test_a_version_of_another_table_is_not_taken_back() -> None:
    storage = table()
    committed = append(storage, "d")
    name = f"_delta_log/{committed.version:020}.json"
    ours = storage.files.pop(name)
    append(storage, "e")
    committed.take_back()
    assert name in storage.files
    storage.files[name] = ours
    committed.take_back()
    assert name not in storage.files
