"""The contract of every store of the catalog, and the store in memory, for servers that keep nothing and for tests.

A store holds the newest state and swaps it for the next one only if nobody did so before. All rules of the catalog are
in :mod:`catalog.changes`, so a store knows nothing of them, and a lost race is a value, not an error: the caller
applies its change to the state that won.
"""

from __future__ import annotations

import threading
from typing import Protocol

from catalog.state import INITIAL_STATE, CatalogState


class CatalogStore(Protocol):
    """Thread-safe, and safe among processes where the store is shared by them."""

    def load(self) -> CatalogState:
        """The newest committed state; :data:`~catalog.state.INITIAL_STATE` in a new store."""
        ...

    def newest(self) -> CatalogState:
        """The state that was loaded or swapped last; loads one if none was. Costs no request after that."""
        ...

    def swap(self, base: CatalogState, new: CatalogState) -> bool:
        """Commit `new`, made from `base`, as the generation after it; False if another one was committed first.

        All of `new` becomes visible at once or none of it, also if the process dies half way.
        """
        ...


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
