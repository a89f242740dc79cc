"""Storage levels of DataFrames and names of tables that a session's client has cached, as it reads them back.

They have no other effect: the server caches results and columns for all sessions.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from gateway.connect.proto import pb2

_CACHED_MAX = 1000
# Spark's MEMORY_AND_DISK_DESER, the default of `cache` and `persist`.
DEFAULT_LEVEL = pb2.StorageLevel(use_disk=True, use_memory=True, deserialized=True, replication=1)
_NO_LEVEL = pb2.StorageLevel(replication=1)


@dataclass(slots=True)
class CachedFrames:
    """Levels by key: a plan's digest, or a table's full name. Forgets the oldest beyond a number. Thread-safe."""

    _levels: OrderedDict[bytes | str, pb2.StorageLevel] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, key: bytes | str, level: pb2.StorageLevel = DEFAULT_LEVEL) -> None:
        """Sets the level of a key that has none, as Spark does."""
        with self._lock:
            self._levels.setdefault(key, level)
            while len(self._levels) > _CACHED_MAX:
                self._levels.popitem(last=False)

    def remove(self, key: bytes | str) -> None:
        """Forgets a key; an unknown one is not an error."""
        with self._lock:
            self._levels.pop(key, None)

    def clear(self) -> None:
        """Forgets all keys."""
        with self._lock:
            self._levels.clear()

    def level(self, key: bytes | str) -> pb2.StorageLevel:
        """Returns the level of a key; the level NONE for an unknown one."""
        with self._lock:
            return self._levels.get(key, _NO_LEVEL)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._levels
