"""Results of queries that give the same answer again, kept under a key that says all that the answer depends on.

A key has the versions of the tables that were read, so no entry is ever wrong and none has to be invalidated: a table
that has a new version is asked for under another key, and what nobody asks for any more makes room for what is newer.
What goes into a key is decided in `engine/execute`, which also knows what may be kept; here a key is a digest.

Entries are kept within a limit of bytes; the least recently used go. Statements that ask for the same key at the same
time run once (:meth:`ResultCache.claim`): the first one leads, and the others wait for its answer, each until it is
cancelled itself. Where the leader was cancelled another one leads; where it failed, or its answer is not kept, each of
them runs by itself.

What a query's answer depends on (:class:`~engine.runtime.results.Repeatable`) is only known when it has run. It is
remembered by its text, since the key of an answer that depends on the session has more in it, and nobody should wait
for an answer that is never kept.

Threads: one lock guards everything; nothing is waited for while it is held.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import Enum, auto

from engine.cache.kept_result import KeptResult
from engine.concurrency.cancel import CancelToken
from engine.runtime.results import Repeatable

_TEXTS_MAX = 20_000
"""Of which is remembered whether they give the same answer again; about 150 bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Since the start, but for `entries` and `bytes`, which are there now.

    `hits` are answers that came from the cache, `misses` queries that were looked up and ran, `waits` how often one
    waited for another one. `kept` were put into the cache, `evicted` made room for others.
    """

    hits: int = 0
    waits: int = 0
    misses: int = 0
    kept: int = 0
    evicted: int = 0
    entries: int = 0
    bytes: int = 0


class Turn(Enum):
    """What those do who have waited for a flight."""

    ALONE = auto()
    """Run by themselves."""
    AGAIN = auto()
    """Look for the key again, which may be another one by now."""


class Flight:
    """A query that runs for all who ask for its key. Its leader ends it, once."""

    def __init__(self, cache: ResultCache, key: bytes) -> None:
        self._cache, self._key = cache, key
        self.is_over = False
        self.is_for_leader_alone = False
        self.waiting: list[threading.Event] = []

    def end(self, *, alone: bool) -> None:
        """The leader's run is over, as far as others wait for it. `alone`: its answer is not for them."""
        self._cache.end_flight(self, self._key, alone=alone)


class ResultCache:
    """One for the whole server; see the module."""

    def __init__(self, bytes_max: int, entry_bytes_max: int) -> None:
        """`entry_bytes_max` bounds the rows of one result, and what is copied of one that turns out to be larger."""
        self._bytes_max = bytes_max
        self.entry_bytes_max = min(entry_bytes_max, bytes_max)
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, KeptResult] = OrderedDict()
        self._flights: dict[bytes, Flight] = {}
        self._repeatable: OrderedDict[bytes, Repeatable] = OrderedDict()
        self._counts = CacheCounts()

    @property
    def counts(self) -> CacheCounts:
        with self._lock:
            return replace(self._counts, entries=len(self._entries))

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

    def holds(self, key: bytes) -> bool:
        """Whether there is an entry, for those who only want to know."""
        with self._lock:
            return key in self._entries

    def claim(self, key: bytes, cancel: CancelToken) -> KeptResult | Flight | Turn:
        """The entry, or a flight that the caller leads and has to end. Where another one leads, its end is waited for.

        Raises the reason of `cancel` as soon as that is thrown.
        """
        with self._lock:
            kept, flight = self._entries.get(key), self._flights.get(key)
            if kept is not None:
                self._entries.move_to_end(key)
                self._counts = replace(self._counts, hits=self._counts.hits + 1)
                return kept
            if flight is None:
                self._counts = replace(self._counts, misses=self._counts.misses + 1)
                led = self._flights[key] = Flight(self, key)
                return led
            over = threading.Event()
            flight.waiting.append(over)
            self._counts = replace(self._counts, waits=self._counts.waits + 1)
        _await(over, cancel)
        return Turn.ALONE if flight.is_for_leader_alone else Turn.AGAIN

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
        if kept.num_bytes > self._bytes_max:
            return
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = kept
            held = self._counts.bytes + kept.num_bytes - (before.num_bytes if before else 0)
            evicted = 0
            while held > self._bytes_max:
                _, gone = self._entries.popitem(last=False)
                held -= gone.num_bytes
                evicted += 1
            counts = self._counts
            self._counts = replace(counts, bytes=held, kept=counts.kept + 1, evicted=counts.evicted + evicted)

    def clear(self) -> None:
        """Forget all entries."""
        with self._lock:
            self._entries.clear()
            self._counts = replace(self._counts, bytes=0)


def _await(over: threading.Event, cancel: CancelToken) -> None:
    cancel.on_cancel(over.set)
    try:
        over.wait()
    finally:
        cancel.forget(over.set)
    cancel.ensure_live()
