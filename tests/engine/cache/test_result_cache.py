"""The result cache's store: eviction, spilling to files, and single-flight execution."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from catalog.conditions import StatementCancelled, StatementTimedOut
from engine.cache import result_cache
from engine.cache.cached_result import CachedResult, StoredResult, keep
from engine.cache.result_cache import InFlightQuery, ResultCache, WaitOutcome
from engine.concurrency.cancel import CancelToken
from engine.runtime.results import BIGINT, STRING, Repeatable, small_result
from engine.spool.budget import SpoolBudget
from engine.spool.spool import OwnedSpool


def cached_result(name: str, rows: int = 1000) -> CachedResult:
    """About 30 bytes a row."""
    stream = small_result({"n": BIGINT, "name": STRING}, [(n, f"{name}-{n * 7919 % 9973:013}") for n in range(rows)])
    return keep(stream, list(stream.pieces()), None)


def names_in(found: object) -> str:
    assert isinstance(found, CachedResult)
    (batch,) = found.stream().batches()
    return str(batch["name"][0].as_py()).partition("-")[0]


SIZE = cached_result("x").num_bytes


def claimed(cache: ResultCache, key: bytes) -> CachedResult | InFlightQuery | WaitOutcome:
    found = cache.claim(key, CancelToken())
    if isinstance(found, InFlightQuery):
        found.end(alone=True)
    return found


def missing(cache: ResultCache, key: bytes) -> bool:
    return isinstance(claimed(cache, key), InFlightQuery)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[OwnedSpool]:
    opened = OwnedSpool(str(tmp_path), SpoolBudget(3 * SIZE))
    yield opened
    opened.close()


def files_of(spool: OwnedSpool) -> int:
    return len(list(spool.folder.glob("rows-*")))


def test_cached_result_is_found_by_all_readers() -> None:
    cache = ResultCache(10 * SIZE, SIZE)
    cache.put(b"a", cached_result("a"))
    assert [names_in(claimed(cache, b"a")) for _ in range(3)] == ["a"] * 3
    assert missing(cache, b"b")
    assert (cache.counts.hits, cache.counts.misses, cache.counts.cached) == (3, 1, 1)


def test_lru_entries_are_evicted_first() -> None:
    cache = ResultCache(3 * SIZE, SIZE)
    for name in "abc":
        cache.put(name.encode(), cached_result(name))
    claimed(cache, b"a")
    cache.put(b"d", cached_result("d"))
    assert [missing(cache, key) for key in (b"a", b"b", b"c", b"d")] == [False, True, False, False]
    assert cache.counts.bytes <= 3 * SIZE and cache.counts.evicted == 1


def test_result_larger_than_cache_is_not_cached() -> None:
    cache = ResultCache(2 * SIZE, 2 * SIZE)
    cache.put(b"a", cached_result("a"))
    cache.put(b"large", cached_result("large", 5000))
    assert not cache.holds(b"large") and cache.holds(b"a")


def test_memory_stays_flat() -> None:
    cache = ResultCache(4 * SIZE, SIZE)
    for number in range(500):
        cache.put(b"%d" % number, cached_result("n", 10 + number % 900))
        cache.note_repeatable(b"%d" % number, Repeatable.ALWAYS)
        assert cache.counts.bytes <= 4 * SIZE
    held = sum(entry.num_bytes for entry in cache._entries.values())
    assert held == cache.counts.bytes and len(cache._entries) == cache.counts.entries


def test_facts_about_query_texts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "_TEXTS_MAX", 3)
    cache = ResultCache(SIZE, SIZE)
    for name in (b"a", b"b", b"c"):
        cache.note_repeatable(name, Repeatable.SESSION)
    assert cache.repeatable(b"a") is Repeatable.SESSION
    cache.note_repeatable(b"d", Repeatable.NEVER)
    assert [cache.repeatable(name) for name in (b"a", b"b", b"d")] == [Repeatable.SESSION, None, Repeatable.NEVER]


def test_results_over_the_memory_limit_move_to_files_and_back(spool: OwnedSpool) -> None:
    cache = ResultCache(2 * SIZE, SIZE, spool, 3 * SIZE)
    for name in "abcd":
        cache.put(name.encode(), cached_result(name))
    counts = cache.counts
    assert (counts.entries, counts.stored_entries, counts.stored, counts.evicted) == (2, 2, 2, 0)
    assert files_of(spool) == 2 and counts.stored_bytes == spool.held_bytes() > 0
    assert names_in(claimed(cache, b"a")) == "a"  # and another one moves
    assert (cache.counts.read_back, cache.counts.stored_entries, files_of(spool)) == (1, 2, 2)
    assert [names_in(claimed(cache, name.encode())) for name in "abcd"] == list("abcd")
    assert cache.counts.misses == 0


def test_oldest_spooled_results_are_evicted(spool: OwnedSpool) -> None:
    cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
    for number in range(30):
        cache.put(b"%d" % number, cached_result(str(number % 10)))
        assert spool.held_bytes() == cache.counts.stored_bytes <= 3 * SIZE
    assert cache.holds(b"29") and cache.holds(b"28") and not cache.holds(b"0")
    assert cache.counts.evicted == 30 - cache.counts.entries - cache.counts.stored_entries
    assert files_of(spool) == cache.counts.stored_entries
    cache.close()
    assert files_of(spool) == 0 and spool.held_bytes() == 0


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: file.write_bytes(bytes(file.stat().st_size))])
def test_an_entry_whose_file_is_lost_is_computed_again(spool: OwnedSpool, lose: Callable[[Path], object]) -> None:
    cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
    for name in "ab":
        cache.put(name.encode(), cached_result(name))
    for file in spool.folder.glob("rows-*"):
        lose(file)
    assert missing(cache, b"a") and not missing(cache, b"b")
    assert cache.counts.stored_bytes == 0


def test_an_entry_whose_file_was_changed_is_computed_again(spool: OwnedSpool) -> None:
    """In compressed rows, a changed byte may decode to other, plausible rows."""
    for at in (0.1, 0.5, 0.9, 0.999):
        cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
        for name in "ab":
            cache.put(name.encode(), cached_result(name))
        (file,) = spool.folder.glob("rows-*")
        content = bytearray(file.read_bytes())
        content[int(len(content) * at)] ^= 1
        file.write_bytes(content)
        assert missing(cache, b"a"), at
        cache.close()


def test_a_full_disk_only_loses_the_entry(tmp_path: Path) -> None:
    spool = OwnedSpool(str(tmp_path), SpoolBudget(10))
    cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
    for name in "ab":
        cache.put(name.encode(), cached_result(name))
    assert cache.holds(b"b") and not cache.holds(b"a")
    assert (cache.counts.evicted, cache.counts.stored_bytes, files_of(spool)) == (1, 0, 0)
    spool.close()


class Broken:
    """A spool whose disk or memory fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def writer(self, *_: object, **__: object) -> object:
        raise self._error


FAILURES = [OSError("a disk"), MemoryError(), pa.ArrowMemoryError("memory"), pa.ArrowInvalid("bytes")]


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_failed_write_loses_the_entry_only(error: Exception) -> None:
    cache = ResultCache(SIZE, SIZE, cast(OwnedSpool, Broken(error)), 3 * SIZE)
    for name in "ab":
        cache.put(name.encode(), cached_result(name))
    assert cache.holds(b"b") and not cache.holds(b"a") and cache.counts.evicted == 1


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_unreadable_stored_result_is_computed_again(
    spool: OwnedSpool, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: object) -> CachedResult:
        raise error

    cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
    for name in "ab":
        cache.put(name.encode(), cached_result(name))
    monkeypatch.setattr(StoredResult, "read", fail)
    assert missing(cache, b"a") and not cache._in_flight


def test_followers_continue_if_leader_fails_during_eviction(spool: OwnedSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
    for name in "ab":
        cache.put(name.encode(), cached_result(name))
    monkeypatch.setattr(cache, "_store", fail)
    with pytest.raises(ZeroDivisionError):
        claimed(cache, b"a")
    assert not cache._in_flight


def test_an_entry_takes_the_memory_that_is_counted() -> None:
    stream = small_result({"n": BIGINT}, [(n,) for n in range(70_000)])  # a little more than half a megabyte
    pieces = list(stream.pieces())
    before = pa.total_allocated_bytes()
    entry = keep(stream, pieces, None)
    assert pa.total_allocated_bytes() - before <= entry.num_bytes


Answers = list[Future[CachedResult | InFlightQuery | WaitOutcome]]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def waiting(cache: ResultCache, count: int, pool: ThreadPoolExecutor, cancel: CancelToken | None = None) -> Answers:
    """So many more that wait for a key which is being computed."""
    before = cache.counts.waits
    found = [pool.submit(cache.claim, b"a", cancel or CancelToken()) for _ in range(count)]
    while cache.counts.waits < before + count:
        threading.Event().wait(0.001)
    return found


def led(cache: ResultCache) -> InFlightQuery:
    in_flight = cache.claim(b"a", CancelToken())
    assert isinstance(in_flight, InFlightQuery)
    return in_flight


def test_identical_queries_wait_for_the_first(pool: ThreadPoolExecutor) -> None:
    cache = ResultCache(10 * SIZE, SIZE)
    in_flight = led(cache)
    others = waiting(cache, 5, pool)
    assert isinstance(cache.claim(b"b", CancelToken()), InFlightQuery), "another key waits for nobody"
    cache.put(b"a", cached_result("a"))
    in_flight.end(alone=False)
    assert [each.result(60) for each in others] == [WaitOutcome.AGAIN] * 5
    assert names_in(claimed(cache, b"a")) == "a"


def test_uncacheable_queries_run_separately(pool: ThreadPoolExecutor) -> None:
    cache = ResultCache(10 * SIZE, SIZE)
    in_flight = led(cache)
    others = waiting(cache, 5, pool)
    in_flight.end(alone=True)
    in_flight.end(alone=False)  # which does nothing any more
    assert [each.result(60) for each in others] == [WaitOutcome.ALONE] * 5


def test_where_the_leader_is_cancelled_one_of_the_others_leads(pool: ThreadPoolExecutor) -> None:
    cache = ResultCache(10 * SIZE, SIZE)
    in_flight = led(cache)
    others = waiting(cache, 3, pool)
    in_flight.end(alone=False)
    assert [each.result(60) for each in others] == [WaitOutcome.AGAIN] * 3
    next_in_flight = led(cache)
    others = waiting(cache, 2, pool)
    next_in_flight.end(alone=True)
    assert {each.result(60) for each in others} == {WaitOutcome.ALONE}


@pytest.mark.parametrize("reason", [StatementCancelled(), StatementTimedOut(1.0)])
def test_waiting_query_can_be_cancelled(
    pool: ThreadPoolExecutor, reason: StatementCancelled | StatementTimedOut
) -> None:
    cache, cancel = ResultCache(10 * SIZE, SIZE), CancelToken()
    in_flight = led(cache)
    (ended,) = waiting(cache, 1, pool, cancel)
    (patient,) = waiting(cache, 1, pool)
    cancel.cancel(reason)
    assert ended.exception(60) is reason
    assert not patient.done()
    in_flight.end(alone=True)
    assert patient.result(60) is WaitOutcome.ALONE


def test_concurrent_readers_load_a_stored_result_once(spool: OwnedSpool, pool: ThreadPoolExecutor) -> None:
    cache = ResultCache(SIZE, SIZE, spool, 3 * SIZE)
    for name in "ab":
        cache.put(name.encode(), cached_result(name))
    found = [pool.submit(_read, cache) for _ in range(8)]
    assert [each.result(60) for each in found] == ["a"] * 8
    assert cache.counts.misses == 0


def _read(cache: ResultCache) -> str:
    while (found := cache.claim(b"a", CancelToken())) is WaitOutcome.AGAIN:
        pass
    return names_in(found)


def test_the_metrics_are_the_counts(spool: OwnedSpool) -> None:
    cache = ResultCache(2 * SIZE, SIZE, spool, 3 * SIZE)
    for name in "abc":
        cache.put(name.encode(), cached_result(name))
    for key in (b"a", b"a", b"nothing"):
        claimed(cache, key)
    found = {family.name: {tuple(s.labels.values()): s.value for s in family.samples} for family in cache.metrics()}
    assert found["gateway_result_cache_lookups_total"] == {("memory",): 1, ("file",): 1, ("miss",): 1}
    assert found["gateway_result_cache_entries"] == {("memory",): 2, ("file",): 1}
    assert found["gateway_result_cache_bytes"] == {("memory",): cache.counts.bytes, ("file",): spool.held_bytes()}
    assert {field.name for field in fields(cache.counts)} >= {"hits", "misses", "waits", "cached", "stored", "evicted"}


def test_rows_are_copied_and_shared() -> None:
    stream = small_result({"n": BIGINT}, [(n,) for n in range(100_000)])
    (large,) = stream.batches()
    part = large.slice(5, 10)
    found = keep(stream, [part], None)
    assert found.num_bytes < 10_000
    (one,), (other,) = found.stream().batches(), found.stream().batches()
    assert one is other and one.equals(part)
    assert found.stream().schema.equals(stream.schema, check_metadata=True)
    assert keep(small_result({"n": BIGINT}, []), [], None).batches == ()
    assert pa.types.is_int64(found.schema.field("n").type)
