"""A cache with the newest snapshot of each table in use, within a memory limit.

A table's snapshot is loaded once and then advanced: each use costs one listing that begins at the cached version, and
reads only newer commits. Old versions (time travel) are loaded and not cached.

Threads: one lock guards the order and the sizes. Loading happens outside this lock, under the table's own lock. So two
statements on one table load it once, and do not wait for a statement on another table. Snapshots are immutable, so
statements can continue to use an evicted one.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import Storage

# How often all sizes are recomputed while each table is loaded once; with fewer tables, after each load.
_LOOKS = 16


class _Entry:
    __slots__ = ("lock", "snapshot")

    def __init__(self) -> None:
        self.lock = Lock()
        self.snapshot: Snapshot | None = None


class SnapshotCache:
    def __init__(self, bytes_max: int) -> None:
        """Creates a cache with about `bytes_max` bytes. The most recently used table is always cached."""
        self.bytes_max = bytes_max
        self._lock = Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        # Loads since all sizes were recomputed.
        self._loads = 0
        # Numbers of cached tables found, of complete loads, and of evicted tables.
        self.hits = self.misses = self.evictions = 0

    def load(self, storage: Storage, version: int | None = None) -> Snapshot:
        """Returns the table's newest version, or `version`. Errors as in `load_snapshot`."""
        if version is not None:
            cached = self._peek(storage.root)
            # The version may belong to a table that was dropped and recreated since; its
            # own log decides.
            if cached and cached.version == version and cached.is_in_place():
                return cached
            return Snapshot.load(storage, version)
        with self._lock:
            entry = self._entries.setdefault(storage.root, _Entry())
            self._entries.move_to_end(storage.root)
        # The listing happens under the table's lock: a statement that waits here starts
        # after an earlier one's listing has ended, and its own listing sees all commits
        # that it must see.
        with entry.lock:
            with self._lock:
                is_there = entry.snapshot is not None
                self.hits, self.misses = self.hits + is_there, self.misses + (not is_there)
            try:
                entry.snapshot = entry.snapshot.advance() if entry.snapshot else Snapshot.load(storage)
                fresh = entry.snapshot
            finally:
                # A path without a table must not leave an entry, or each misspelled path
                # would stay in memory.
                if entry.snapshot is None:
                    self.forget(storage.root)
        self._evict()
        return fresh

    def load_committed(self, storage: Storage, version: int) -> Snapshot:
        """Returns a version that was just committed. Errors as in `load_snapshot`.

        It is nearly always the newest version, which is cheaper to load from the cached version than from the log.
        """
        cached = self._peek(storage.root)
        if cached is not None and cached.version < version:
            cached = self.load(storage)
        if cached is not None and cached.version == version and cached.is_in_place():
            return cached
        return Snapshot.load(storage, version)

    def _peek(self, root: str) -> Snapshot | None:
        with self._lock:
            entry = self._entries.get(root)
        return entry.snapshot if entry else None

    def forget(self, root: str) -> None:
        """Evicts a table, for example after it was dropped."""
        with self._lock:
            self._entries.pop(root, None)

    @property
    def num_tables(self) -> int:
        """Returns the number of tables with a cached snapshot."""
        with self._lock:
            return len(self._entries)

    @property
    def num_bytes(self) -> int:
        """Returns the approximate size of all cached snapshots, in bytes."""
        with self._lock:
            entries = list(self._entries.values())
        return sum(entry.snapshot.num_bytes for entry in entries if entry.snapshot)

    def _evict(self) -> None:
        """Evicts the least recently used tables. Snapshots grow after loading, when their files are first accessed.

        With many tables, sizes are recomputed only occasionally, since listing all tables loads each one.
        """
        with self._lock:
            self._loads += 1
            if self._loads <= len(self._entries) // _LOOKS:
                return
            self._loads = 0
            retained = 0
            for root in list(reversed(self._entries)):
                snapshot = self._entries[root].snapshot
                retained += snapshot.num_bytes if snapshot else 0
                # The table in use stays even if it alone exceeds the limit; the next
                # statement on it would load it again otherwise.
                if retained > self.bytes_max and root != next(reversed(self._entries)):
                    del self._entries[root]
                    self.evictions += 1
