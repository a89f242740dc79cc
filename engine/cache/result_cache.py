"""Results of queries that give the same answer again, kept under a key that says all that the answer depends on.

A key has the versions of the tables that were read, so no entry is ever wrong and none has to be invalidated: a table
that has a new version is asked for under another key, and what nobody asks for any more makes room for what is newer.
What goes into a key is decided in `engine/execution`, which also knows what may be kept; here a key is a digest.

Entries are kept in memory within a limit of bytes; the least recently used go to files, within a limit of their own,
and come back when they are asked for. Statements that ask for the same key at the same
time run once (:meth:`ResultCache.claim`): the first one leads, and the others wait for its answer, each until it is
cancelled itself. Where the leader was cancelled another one leads; where it failed, or its answer is not kept, each of
them runs by itself.

What a query's answer depends on (:class:`~engine.runtime.results.Repeatable`, and which files Spark asks for) is only
known when it has run. It is remembered by its text, since the key of an answer that depends on the session has more in
it, and nobody should wait for an answer that is never kept.

Threads: one lock guards everything; nothing is waited for while it is held.
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
from engine.cache.kept_result import KeptResult, StoredResult
from engine.concurrency.cancel import CancelToken
from engine.runtime.metrics import MetricFamily, MetricKind, counter, labelled
from engine.runtime.results import FileQuestion, Repeatable
from engine.spool.spool import Spool

logger = logging.getLogger(__name__)

_LOST = (SqlError, pa.ArrowException, EOFError, OSError, MemoryError)
"""What may become of an answer on its way to a file and back."""
_TEXTS_MAX = 20_000
"""Of which is remembered whether they give the same answer again; about 150 bytes each."""
_QUESTIONS_MAX = 5_000
"""Texts of which is remembered which files they ask for."""
_QUESTIONS_CHARACTERS_MAX = 2_000
"""Of one text: those of a condition with the keys of a join may be many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Since the start, but for the entries and bytes, which are there now.

    `hits` are answers that came from the cache, `read_back` those of them that were in files. `misses` are queries that
    were looked up and ran, `waits` how often one waited for another. `kept` were put into the cache, `stored` moved to
    files and `evicted` removed to make room.
    """

    hits: int = 0
    read_back: int = 0
    misses: int = 0
    waits: int = 0
    kept: int = 0
    stored: int = 0
    evicted: int = 0
    entries: int = 0
    bytes: int = 0
    stored_entries: int = 0
    stored_bytes: int = 0


class Turn(Enum):
    """What those do who have waited for a flight."""

    ALONE = auto()
    """Run by themselves."""
    AGAIN = auto()
    """Look for the key again, which may be another one by now."""


class Flight:
    """A query that runs for all who ask for its key. Its leader ends it, once."""

    def __init__(self, cache: ResultCache, key: bytes) -> None:
        self._cache = cache
        self._key = key
        self.is_over = False
        self.is_for_leader_alone = False
        self.waiting: list[threading.Event] = []

    def end(self, *, alone: bool) -> None:
        """The leader's run is over, as far as others wait for it. `alone`: its answer is not for them."""
        self._cache.end_flight(self, self._key, alone=alone)


class ResultCache:
    """One for the whole server; see the module."""

    def __init__(
        self, bytes_max: int, entry_bytes_max: int, spool: Spool | None = None, stored_bytes_max: int = 0
    ) -> None:
        """`entry_bytes_max` bounds the rows of one result. Files go to `spool`, if there is one."""
        self.bytes_max = bytes_max
        self.entry_bytes_max = min(entry_bytes_max, bytes_max)
        self._spool = spool
        self.stored_bytes_max = stored_bytes_max if spool is not None else 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, KeptResult] = OrderedDict()
        self._stored: OrderedDict[bytes, StoredResult] = OrderedDict()
        self._flights: dict[bytes, Flight] = {}
        self._repeatable: OrderedDict[bytes, Repeatable] = OrderedDict()
        self._questions: OrderedDict[bytes, tuple[FileQuestion, ...]] = OrderedDict()
        self._files: OrderedDict[bytes, bytes] = OrderedDict()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> CacheCounts:
        with self._lock:
            sizes = {"entries": len(self._entries), "stored_entries": len(self._stored)}
            return CacheCounts(**self._counts, **sizes)

    def repeatable(self, text: bytes) -> Repeatable | None:
        """What is known of the query that has this digest of its text; None: nothing yet."""
        with self._lock:
            if text in self._repeatable:
                self._repeatable.move_to_end(text)
            return self._repeatable.get(text)

    def note_repeatable(self, text: bytes, found: Repeatable) -> None:
        with self._lock:
            self._repeatable[text] = found
            self._repeatable.move_to_end(text)
            if len(self._repeatable) > _TEXTS_MAX:
                self._repeatable.popitem(last=False)

    def questions(self, asker: bytes) -> tuple[FileQuestion, ...] | None:
        """Which files the query with this digest asked for last; None: nothing that could be remembered."""
        with self._lock:
            if asker in self._questions:
                self._questions.move_to_end(asker)
            return self._questions.get(asker)

    def note_questions(self, asker: bytes, asked: tuple[FileQuestion, ...]) -> None:
        with self._lock:
            self._questions.pop(asker, None)
            if sum(len(each.filters) for each in asked) <= _QUESTIONS_CHARACTERS_MAX:
                self._questions[asker] = asked
                if len(self._questions) > _QUESTIONS_MAX:
                    self._questions.popitem(last=False)

    def files(self, versions: bytes) -> bytes | None:
        """What was noted of the files that questions lead to at the versions with this digest."""
        with self._lock:
            return self._files.get(versions)

    def note_files(self, versions: bytes, files: bytes) -> None:
        with self._lock:
            self._files[versions] = files
            if len(self._files) > _TEXTS_MAX:
                self._files.popitem(last=False)

    def holds(self, key: bytes) -> bool:
        """Whether there is an entry, for those who only want to know."""
        with self._lock:
            return key in self._entries or key in self._stored

    def claim(self, key: bytes, cancel: CancelToken) -> KeptResult | Flight | Turn:
        """The entry, or a flight that the caller leads and has to end. Where another one leads, its end is waited for.

        Raises the reason of `cancel` as soon as that is thrown.
        """
        with self._lock:
            kept = self._entries.get(key)
            flight = self._flights.get(key)
            stored = None
            if kept is not None:
                self._entries.move_to_end(key)
                self._counts["hits"] += 1
                return kept
            if flight is None:
                led = self._flights[key] = Flight(self, key)
                stored = self._stored.pop(key, None)
                self._counts["stored_bytes"] -= stored.file.size if stored is not None else 0
                self._counts["misses"] += stored is None
            else:
                over = threading.Event()
                flight.waiting.append(over)
                self._counts["waits"] += 1
        if flight is None:
            return led if stored is None else self._read_back(key, stored, led)
        _await(over, cancel)
        return Turn.ALONE if flight.is_for_leader_alone else Turn.AGAIN

    def _read_back(self, key: bytes, stored: StoredResult, flight: Flight) -> KeptResult | Flight:
        """The entry that is in a file; where that is lost, the query has to run."""
        is_led = False
        try:
            kept = stored.read()
            with self._lock:
                self._counts["hits"] += 1
                self._counts["read_back"] += 1
            self._put(key, kept)
            flight.end(alone=False)
            return kept
        except _LOST as error:
            logger.warning("an answer that was kept in a file is lost: %s", error)
            with self._lock:
                self._counts["misses"] += 1
            is_led = True
            return flight
        finally:
            if not is_led:
                flight.end(alone=True)  # where it has not ended by now

    def end_flight(self, flight: Flight, key: bytes, *, alone: bool) -> None:
        """See :meth:`Flight.end`; ending it again does nothing."""
        with self._lock:
            if flight.is_over:
                return
            flight.is_over, flight.is_for_leader_alone = True, alone
            del self._flights[key]
            waiting, flight.waiting = flight.waiting, []
        for each in waiting:
            each.set()

    def put(self, key: bytes, kept: KeptResult) -> None:
        """Keep a result, unless it alone is too large."""
        if kept.num_bytes <= self.bytes_max:
            with self._lock:
                self._counts["kept"] += 1
            self._put(key, kept)

    def _put(self, key: bytes, kept: KeptResult) -> None:
        old = []
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = kept
            self._counts["bytes"] += kept.num_bytes - (before.num_bytes if before else 0)
            while self._counts["bytes"] > self.bytes_max:
                old.append(self._entries.popitem(last=False))
                self._counts["bytes"] -= old[-1][1].num_bytes
        for each in old:
            self._store(*each)

    def _store(self, key: bytes, kept: KeptResult) -> None:
        """Move an entry to a file, where there is room for it once older ones are gone."""
        stored = None
        if self._spool is not None and kept.num_bytes <= self.stored_bytes_max:
            self._make_room(kept.num_bytes)
            try:
                stored = StoredResult.write(kept, self._spool)
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

    def _make_room(self, num_bytes: int) -> None:
        """For a file of at most so many bytes."""
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
        """Measurements for those who watch the server."""
        counts = self.counts
        results = (("memory", counts.hits - counts.read_back), ("file", counts.read_back), ("miss", counts.misses))
        looked_up = (({"result": name}, float(value)) for name, value in results)
        name, text = "gateway_result_cache_lookups_total", "Queries looked up: answered from memory or a file, or run."
        yield labelled(MetricKind.COUNTER, name, text, looked_up)
        yield counter("gateway_result_cache_waits_total", "Queries that waited for the same one.", counts.waits)
        yield counter("gateway_result_cache_kept_total", "Answers put into the cache.", counts.kept)
        yield counter("gateway_result_cache_evictions_total", "Answers removed to make room.", counts.evicted)
        for unit, text, in_memory, in_files in (
            ("entries", "Answers that are kept.", counts.entries, counts.stored_entries),
            ("bytes", "Bytes of the answers that are kept.", counts.bytes, counts.stored_bytes),
            ("max_bytes", "Bytes that kept answers may take.", self.bytes_max, self.stored_bytes_max),
        ):
            values = (({"place": "memory"}, float(in_memory)), ({"place": "file"}, float(in_files)))
            yield labelled(MetricKind.GAUGE, f"gateway_result_cache_{unit}", text, values)

    def close(self) -> None:
        """Forget all entries."""
        with self._lock:
            stored = list(self._stored.values())
            self._entries.clear()
            self._stored.clear()
            self._counts["bytes"] = self._counts["stored_bytes"] = 0
        for each in stored:
            each.file.close()


def _await(over: threading.Event, cancel: CancelToken) -> None:
    cancel.on_cancel(over.set)
    try:
        over.wait()
    finally:
        cancel.forget(over.set)
    cancel.ensure_live()
