"""The contract for catalog stores, and the in-memory store, for servers without persistence and for tests.

A store holds the newest state and replaces it by the next one only if nobody else did so first. All catalog rules are
in :mod:`catalog.changes`, so a store does not depend on them, and a lost race is a value, not an error: the caller
applies its change to the winning state.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from catalog.state import INITIAL_STATE, CatalogState
from catalog.store.changes import ChangeSearch, RecordedChange, find_change, with_change


class CatalogStore(Protocol):
    """A catalog store. Thread-safe, and safe among processes if they share it."""

    def load(self) -> CatalogState:
        """Returns the newest committed state; :data:`~catalog.state.INITIAL_STATE` in a new store."""
        ...

    def newest(self) -> CatalogState:
        """Returns the state that was last loaded or swapped; loads one the first time. Afterwards it needs no
        request.
        """
        ...

    def is_recorded(self, transaction_id: str) -> bool:
        """Returns True if a statement made one of the newest generations up to the one of `newest`."""
        ...

    def find_change(self, transaction_id: str, since_ms: int) -> ChangeSearch:
        """Looks for a statement among the makers of the newest generations; see `catalog/store/changes.py`."""
        ...

    def swap(self, base: CatalogState, new: CatalogState, transaction_id: str | None = None) -> bool:
        """Commits `new`, made from `base` by the statement `transaction_id`, as the next generation; returns False if
        another one was committed first.

        The commit is atomic: all of `new` becomes visible or none of it, even if the process dies midway.
        """
        ...


class MemoryStore:
    """In-memory implementation of :class:`catalog.store.store.CatalogStore`; its content ends with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = INITIAL_STATE
        self._changes: tuple[RecordedChange, ...] = ()

    def load(self) -> CatalogState:
        return self._state

    def newest(self) -> CatalogState:
        return self._state

    def is_recorded(self, transaction_id: str) -> bool:
        return find_change(self._changes, transaction_id, 0).is_found

    def find_change(self, transaction_id: str, since_ms: int) -> ChangeSearch:
        return find_change(self._changes, transaction_id, since_ms)

    def swap(self, base: CatalogState, new: CatalogState, transaction_id: str | None = None) -> bool:
        with self._lock:
            if self._state.generation != base.generation:
                return False
            change = RecordedChange(new.generation, time.time_ns() // 1_000_000, transaction_id)
            self._state, self._changes = new, with_change(self._changes, change)
            return True
