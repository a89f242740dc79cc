"""The cache: one load, then advances; a limit that holds; tables that come and go."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from catalog.conditions import DeltaTableNotFound
from engine.delta.snapshot.snapshot_cache import SnapshotCache
from engine.delta.spec.paths import commit_name
from tests.engine.delta.log_builder import LogBuilder, add
from tests.interleave.storages import DictStorage

PLENTY = 1 << 30


class Counting(DictStorage):
    reads = 0

    def read_bytes(self, name: str) -> bytes:
        self.reads += name.endswith(".json")
        return super().read_bytes(name)


def table(name: str, files: int = 1) -> LogBuilder:
    log = LogBuilder(Counting(f"dict://{name}"))
    log.create(*(add(f"{name}{i}") for i in range(files)))
    return log


def reads(log: LogBuilder) -> int:
    assert isinstance(log.storage, Counting)
    return log.storage.reads


def test_a_table_is_loaded_once_and_then_advanced() -> None:
    log, cache = table("a"), SnapshotCache(PLENTY)
    first = cache.load(log.storage)
    assert cache.load(log.storage) is first and reads(log) == 1
    log.commit(add("more"))
    second = cache.load(log.storage)
    assert second.version == 1 and reads(log) == 2
    assert first.version == 0


def test_old_versions_are_evicted() -> None:
    log, cache = table("a"), SnapshotCache(PLENTY)
    log.commit(add("more"))
    newest = cache.load(log.storage)
    assert cache.load(log.storage, 0).version == 0
    assert cache.load(log.storage, 1) is newest
    assert cache.load(log.storage) is newest


def test_lru_tables_are_evicted() -> None:
    logs = [table(name, files=200) for name in "abc"]
    cache = SnapshotCache(PLENTY)
    sizes = []
    for log in logs:
        assert cache.load(log.storage).num_files == 200
        sizes.append(cache.num_bytes)
    small = SnapshotCache(sizes[1])
    for log in (*logs, logs[0]):
        small.load(log.storage).num_files  # noqa: B018
    small.load(logs[0].storage)
    assert small.num_bytes <= sizes[1]
    before = [reads(log) for log in logs]
    for log in (logs[0], logs[2]):
        small.load(log.storage)
    assert [reads(log) for log in logs] == before
    small.load(logs[1].storage)
    assert reads(logs[1]) == before[1] + 1


def test_large_table_in_use_stays_cached() -> None:
    log, cache = table("a", files=200), SnapshotCache(0)
    snapshot = cache.load(log.storage)
    assert snapshot.num_files == 200
    assert cache.load(log.storage) is snapshot


def test_a_table_that_is_none_leaves_nothing_behind() -> None:
    cache, storage = SnapshotCache(PLENTY), DictStorage("dict://none")
    for _ in range(2):
        with pytest.raises(DeltaTableNotFound):
            cache.load(storage)
    assert not cache._entries


def test_a_dropped_table_is_forgotten() -> None:
    log, cache = table("a"), SnapshotCache(PLENTY)
    first = cache.load(log.storage)
    cache.forget(log.storage.root)
    assert cache.load(log.storage) is not first
    cache.forget("dict://never")
    log.drop(commit_name(0))
    with pytest.raises(DeltaTableNotFound):
        cache.load(log.storage)


def test_threads_share_one_load() -> None:
    log, cache, barrier = table("a"), SnapshotCache(PLENTY), Barrier(8)

    def load(_: int) -> int:
        barrier.wait()
        return id(cache.load(log.storage))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(load, range(8)))) == 1
    assert reads(log) == 1


def test_a_version_of_a_table_that_was_replaced_is_not_taken_from_memory() -> None:
    log, cache = table("a"), SnapshotCache(PLENTY)
    cache.load(log.storage)
    log.drop(commit_name(0))
    with pytest.raises(DeltaTableNotFound):
        cache.load(log.storage, 0)
    LogBuilder(log.storage).create(add("other"))
    assert cache.load(log.storage, 0).files["path"].to_pylist() == ["other"]


def test_committed_version_comes_from_the_cached_table() -> None:
    log, cache = table("a"), SnapshotCache(PLENTY)
    assert cache.load_committed(log.storage, 0).version == 0
    first = cache.load(log.storage)
    assert cache.load_committed(log.storage, 0) is first
    log.commit(add("more"))
    second = cache.load_committed(log.storage, 1)
    assert second.version == 1 and cache.load(log.storage) is second
    assert cache.load_committed(log.storage, 0).version == 0


def test_hits_and_misses_are_counted() -> None:
    log, cache = table("a"), SnapshotCache(PLENTY)
    for _ in range(4):
        cache.load(log.storage)
    assert (cache.hits, cache.misses, cache.evictions) == (3, 1, 0)
