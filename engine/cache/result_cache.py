"""Caches results of deterministic queries under keys that include everything the result depends on.

A key contains the versions of the tables that were read, so an entry is never wrong and never needs invalidation: a
table with a new version yields another key, and unused entries are evicted in favor of newer ones. `engine/execution`
builds the keys and decides if a result is cacheable; in this module a key is a digest.

Entries are held in memory up to a byte limit. The least recently used ones are moved to files, with a separate limit,
and read back on access. Concurrent statements with the same key run once, as single-flight (:meth:`ResultCache.claim`):
the first one is the leader, and the others wait for its result, each until it is canceled itself. If the leader is
canceled, another one becomes the leader; if it fails, or its result is not cached, each waiting statement runs
separately.

A query's dependencies (:class:`~engine.runtime.results.Repeatable`, and the files that Spark requests) are only known
after it has run. They are cached by its text, because the key for a result that depends on the session contains more,
and statements must not wait for a result that is never cached.

Threads: one lock guards everything, and no thread blocks while holding it.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import pyarrow as pa

from catalog.errors import SqlError
from engine.cache.cached_result import CachedResult, StoredResult
from engine.concurrency.cancel import CancelToken
from engine.runtime.metrics import MetricFamily, MetricKind, counter, family_with_labels
from engine.runtime.results import FileListRequest, Repeatable
from engine.spool.spool import Spool

logger = logging.getLogger(__name__)

# Errors that may occur while a result is moved to a file and back.
_LOST = (SqlError, pa.ArrowException, EOFError, OSError, MemoryError)
# Maximum number of query texts with cached repeatability, about 150 bytes each.
_TEXTS_MAX = 20_000
# Maximum number of query texts with cached file requests.
_REQUESTS_MAX = 5_000
# Maximum length for one query's file requests: conditions with a join's keys may be long.
_REQUEST_CHARACTERS_MAX = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Counters since the start; entries and bytes are current values.

    `hits` are results from the cache, including `read_back`, those read from files. `misses` are lookups that ran the
    query, `waits` counts waits for an identical query. `cached` results were cached, `stored` moved to files and
    `evicted` removed for lack of space.
    """

    hits: int = 0
    read_back: int = 0
    misses: int = 0
    waits: int = 0
    cached: int = 0
    stored: int = 0
    evicted: int = 0
    entries: int = 0
    bytes: int = 0
    stored_entries: int = 0
    stored_bytes: int = 0


class WaitOutcome(Enum):
    """The next step of a statement that has waited for an in-flight query."""

    # Run separately.
    ALONE = auto()
    # Look up the key again; it may have changed.
    AGAIN = auto()


class InFlightQuery:
    """An in-flight query that runs for all statements with its key. Its leader ends it, once."""

    def __init__(self, cache: ResultCache, key: bytes) -> None:
        self._cache = cache
        self._key = key
        self.is_over = False
        self.is_for_leader_alone = False
        self.waiting: list[threading.Event] = []

    def end(self, *, alone: bool) -> None:
        """Ends the leader's run for waiting statements. `alone`: its result is not for them."""
        self._cache.end_in_flight(self, self._key, alone=alone)


class ResultCache:
    """The server-wide result cache; see the module."""

    def __init__(
        self, bytes_max: int, entry_bytes_max: int, spool: Spool | None = None, stored_bytes_max: int = 0
    ) -> None:
        """Creates a cache. `entry_bytes_max` limits one result's rows. Files are written to `spool`, if given."""
        self.bytes_max = bytes_max
        self.entry_bytes_max = min(entry_bytes_max, bytes_max)
        self._spool = spool
        self.stored_bytes_max = stored_bytes_max if spool is not None else 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, CachedResult] = OrderedDict()
        self._stored: OrderedDict[bytes, StoredResult] = OrderedDict()
        self._in_flight: dict[bytes, InFlightQuery] = {}
        self._repeatable: OrderedDict[bytes, Repeatable] = OrderedDict()
        self._file_requests: OrderedDict[bytes, tuple[FileListRequest, ...]] = OrderedDict()
        self._files: OrderedDict[bytes, bytes] = OrderedDict()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> CacheCounts:
        """Returns the counters since the start, and the present numbers of entries and bytes."""
        with self._lock:
            sizes = {"entries": len(self._entries), "stored_entries": len(self._stored)}
            return CacheCounts(**self._counts, **sizes)

    def repeatable(self, text: bytes) -> Repeatable | None:
        """Returns the cached repeatability for the query text with this digest, or None if unknown."""
        with self._lock:
            if text in self._repeatable:
                self._repeatable.move_to_end(text)
            return self._repeatable.get(text)

    def note_repeatable(self, text: bytes, found: Repeatable) -> None:
        """Records the repeatability for the query text with this digest; may drop the least recently used text."""
        with self._lock:
            self._repeatable[text] = found
            self._repeatable.move_to_end(text)
            if len(self._repeatable) > _TEXTS_MAX:
                self._repeatable.popitem(last=False)

    def file_requests(self, scope: bytes) -> tuple[FileListRequest, ...] | None:
        """Returns the files that the query with this digest last requested, or None if not cached."""
        with self._lock:
            if scope in self._file_requests:
                self._file_requests.move_to_end(scope)
            return self._file_requests.get(scope)

    def note_file_requests(self, scope: bytes, file_requests: tuple[FileListRequest, ...]) -> None:
        """Records the file lists that a query requested, under its scope (`ReadKey.request_scope`).

        The next identical query can then be answered from the cache while the files are the same, at whatever version.
        The least recently used scope is evicted.
        """
        with self._lock:
            self._file_requests.pop(scope, None)
            # Recorded as a whole or not at all: some of the requests would make a key that
            # misses a dependency.
            if sum(len(each.filters) for each in file_requests) <= _REQUEST_CHARACTERS_MAX:
                self._file_requests[scope] = file_requests
                if len(self._file_requests) > _REQUESTS_MAX:
                    self._file_requests.popitem(last=False)

    def files(self, versions: bytes) -> bytes | None:
        """Returns the recorded digest of the files that the requests select at the versions with this digest."""
        with self._lock:
            return self._files.get(versions)

    def note_files(self, versions: bytes, files: bytes) -> None:
        """Records the digest of the files that the requests select at the versions with this digest."""
        with self._lock:
            self._files[versions] = files
            if len(self._files) > _TEXTS_MAX:
                self._files.popitem(last=False)

    def holds(self, key: bytes) -> bool:
        """Returns whether the key has an entry, without counting as a lookup."""
        with self._lock:
            return key in self._entries or key in self._stored

    def claim(self, key: bytes, cancel: CancelToken) -> CachedResult | InFlightQuery | WaitOutcome:
        """Returns the entry, or a flight that the caller leads and must end.

        If another statement leads, waits for its end. Raises the reason of `cancel` as soon as it is canceled.
        """
        with self._lock:
            cached = self._entries.get(key)
            in_flight = self._in_flight.get(key)
            stored = None
            if cached is not None:
                self._entries.move_to_end(key)
                self._counts["hits"] += 1
                return cached
            # No query with this key is in flight: the caller leads, and reads the file if there is one.
            if in_flight is None:
                led = self._in_flight[key] = InFlightQuery(self, key)
                # The file belongs to the leader alone now: eviction must not delete it
                # while it is read, outside the lock.
                stored = self._stored.pop(key, None)
                self._counts["stored_bytes"] -= stored.file.size if stored is not None else 0
                self._counts["misses"] += stored is None
            else:
                over = threading.Event()
                in_flight.waiting.append(over)
                self._counts["waits"] += 1
        if in_flight is None:
            return led if stored is None else self._read_back(key, stored, led)
        # The wait is outside the lock, and each waiting statement can be cancelled by
        # itself.
        _await(over, cancel)
        return WaitOutcome.ALONE if in_flight.is_for_leader_alone else WaitOutcome.AGAIN

    def _read_back(self, key: bytes, stored: StoredResult, in_flight: InFlightQuery) -> CachedResult | InFlightQuery:
        """Reads an entry back from its file. If the file is lost, the query must run."""
        is_led = False
        try:
            cached = stored.read()
            with self._lock:
                self._counts["hits"] += 1
                self._counts["read_back"] += 1
            self._put(key, cached)
            in_flight.end(alone=False)
            return cached
        except _LOST as error:
            logger.warning("an answer that was kept in a file is lost: %s", error)
            with self._lock:
                self._counts["misses"] += 1
            is_led = True
            return in_flight
        finally:
            if not is_led:
                in_flight.end(alone=True)  # if it has not ended yet

    def end_in_flight(self, in_flight: InFlightQuery, key: bytes, *, alone: bool) -> None:
        """See :meth:`InFlightQuery.end`; a second call does nothing."""
        with self._lock:
            if in_flight.is_over:
                return
            in_flight.is_over, in_flight.is_for_leader_alone = True, alone
            del self._in_flight[key]
            waiting, in_flight.waiting = in_flight.waiting, []
        for each in waiting:
            each.set()

    def put(self, key: bytes, cached: CachedResult) -> None:
        """Caches a result, unless it alone exceeds the limit."""
        if cached.num_bytes <= self.bytes_max:
            with self._lock:
                self._counts["cached"] += 1
            self._put(key, cached)

    def _put(self, key: bytes, cached: CachedResult) -> None:
        old = []
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = cached
            self._counts["bytes"] += cached.num_bytes - (before.num_bytes if before else 0)
            while self._counts["bytes"] > self.bytes_max:
                old.append(self._entries.popitem(last=False))
                self._counts["bytes"] -= old[-1][1].num_bytes
        # Writing a file takes milliseconds, which no lookup should wait for; meanwhile the
        # entry is in neither place and counts as missing.
        for each in old:
            self._store(*each)

    def _store(self, key: bytes, cached: CachedResult) -> None:
        """Moves an entry to a file, if it fits after evicting older ones."""
        stored = None
        if self._spool is not None and cached.num_bytes <= self.stored_bytes_max:
            self._evict(cached.num_bytes)
            try:
                stored = StoredResult.write(cached, self._spool)
            except _LOST as error:
                logger.warning("an answer is not kept in a file: %s", error)
        with self._lock:
            if stored is None:
                self._counts["evicted"] += 1
                return
            before = self._stored.pop(key, None)
            self._stored[key] = stored
            self._counts["stored"] += 1
            self._counts["stored_bytes"] += stored.file.size - (before.file.size if before else 0)
        if before is not None:
            before.file.close()

    def _evict(self, num_bytes: int) -> None:
        """Evicts entries in files until `num_bytes` more fit."""
        gone = []
        with self._lock:
            while self._stored and self._counts["stored_bytes"] + num_bytes > self.stored_bytes_max:
                _, oldest = self._stored.popitem(last=False)
                self._counts["stored_bytes"] -= oldest.file.size
                self._counts["evicted"] += 1
                gone.append(oldest)
        for each in gone:
            each.file.close()

    def metrics(self) -> Iterator[MetricFamily]:
        """Yields metrics for monitoring."""
        counts = self.counts
        results = (("memory", counts.hits - counts.read_back), ("file", counts.read_back), ("miss", counts.misses))
        looked_up = (({"result": name}, float(value)) for name, value in results)
        name, text = "gateway_result_cache_lookups_total", "Queries looked up: answered from memory or a file, or run."
        yield family_with_labels(MetricKind.COUNTER, name, text, looked_up)
        yield counter("gateway_result_cache_waits_total", "Queries that waited for the same one.", counts.waits)
        yield counter("gateway_result_cache_kept_total", "Answers put into the cache.", counts.cached)
        yield counter("gateway_result_cache_evictions_total", "Answers removed to make room.", counts.evicted)
        for unit, text, in_memory, in_files in (
            ("entries", "Answers that are kept.", counts.entries, counts.stored_entries),
            ("bytes", "Bytes of the answers that are kept.", counts.bytes, counts.stored_bytes),
            ("max_bytes", "Bytes that kept answers may take.", self.bytes_max, self.stored_bytes_max),
        ):
            values = (({"place": "memory"}, float(in_memory)), ({"place": "file"}, float(in_files)))
            yield family_with_labels(MetricKind.GAUGE, f"gateway_result_cache_{unit}", text, values)

    def close(self) -> None:
        """Removes all entries."""
        with self._lock:
            stored = list(self._stored.values())
            self._entries.clear()
            self._stored.clear()
            self._counts["bytes"] = self._counts["stored_bytes"] = 0
        for each in stored:
            each.file.close()


def _await(over: threading.Event, cancel: CancelToken) -> None:
    # A token runs a callback at once if it is cancelled already, so that no cancellation is
    # lost between the two lines.
    cancel.on_cancel(over.set)
    try:
        over.wait()
    finally:
        cancel.forget(over.set)
    cancel.ensure_live()
