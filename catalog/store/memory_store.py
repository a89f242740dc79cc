"""A store in memory, for a server that serves a folder and keeps nothing, and for tests."""

from __future__ import annotations

import threading

from catalog.state import INITIAL_STATE, CatalogState


class MemoryStore:
    """See :class:`catalog.store.CatalogStore`; forgets all when the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = INITIAL_STATE

    def load(self) -> CatalogState:
        return self._state

    def newest(self) -> CatalogState:
        return self._state

    def swap(self, base: CatalogState, new: CatalogState) -> bool:
        with self._lock:
            if self._state.generation != base.generation:
                return False
            self._state = new
            return True
