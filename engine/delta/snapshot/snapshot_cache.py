"""The newest snapshot of every table in use, kept within a limit of memory.

A table's snapshot is loaded once and then advanced: each use costs one listing that begins at the cached version, and
reads only what was committed since. Old versions (time travel) are loaded and not kept.

Threads: one lock guards the order and the sizes. Loading goes on outside of it, under the table's own lock, so that two
statements on one table load it once and never wait for a third on another. Snapshots are immutable, so what was evicted
lives on in the statements that use it.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import Storage

_LOOKS = 16
"""How often all sizes are looked at while each table is loaded once; after each load where there are fewer tables."""


class _Entry:
    __slots__ = ("lock", "snapshot")

    def __init__(self) -> None:
        self.lock = Lock()
        self.snapshot: Snapshot | None = None


class SnapshotCache:
    def __init__(self, bytes_max: int) -> None:
        """At most about `bytes_max` bytes are kept, the most recently used table always."""
        self.bytes_max = bytes_max
        self._lock = Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._loads = 0
        """Since all sizes were looked at."""
        self.hits = self.misses = self.evictions = 0
        """Tables that were there, that had to be loaded from the beginning, and that made room."""

    def load(self, storage: Storage, version: int | None = None) -> Snapshot:
        """The newest version of the table, or `version`. Errors as in `load_snapshot`."""
        if version is not None:
            cached = self._peek(storage.root)
            if cached and cached.version == version and cached.is_in_place():
                return cached
            return Snapshot.load(storage, version)
        with self._lock:
            entry = self._entries.setdefault(storage.root, _Entry())
            self._entries.move_to_end(storage.root)
        with entry.lock:
            with self._lock:
                is_there = entry.snapshot is not None
                self.hits, self.misses = self.hits + is_there, self.misses + (not is_there)
            try:
                entry.snapshot = entry.snapshot.advance() if entry.snapshot else Snapshot.load(storage)
                fresh = entry.snapshot
            finally:
                if entry.snapshot is None:
                    self.forget(storage.root)
        self._evict()
        return fresh

    def load_committed(self, storage: Storage, version: int) -> Snapshot:
        """A version that was committed a moment ago. Errors as in `load_snapshot`.

        It is nearly always the newest one, which costs less from the cached version than from the log.
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
        """Drops a table, such as one that was dropped."""
        with self._lock:
            self._entries.pop(root, None)

    @property
    def num_tables(self) -> int:
        with self._lock:
            return len(self._entries)

    @property
    def num_bytes(self) -> int:
        """About what is kept."""
        with self._lock:
            entries = list(self._entries.values())
        return sum(entry.snapshot.num_bytes for entry in entries if entry.snapshot)

    def _evict(self) -> None:
        """Drops the tables that were not used for longest. Sizes grow after loading, when files are first asked for.

        Of many tables the sizes are looked at once in a while, since a list of all of them loads each.
        """
        with self._lock:
            self._loads += 1
            if self._loads <= len(self._entries) // _LOOKS:
                return
            self._loads = 0
            kept = 0
            for root in list(reversed(self._entries)):
                snapshot = self._entries[root].snapshot
                kept += snapshot.num_bytes if snapshot else 0
                if kept > self.bytes_max and root != next(reversed(self._entries)):
                    del self._entries[root]
                    self.evictions += 1
