"""The table versions that this server's running statements use, and since when.

A statement reads files, and writes new ones, long after it has selected its versions; a statement that removes files
(VACUUM) must keep these. A statement on the newest version needs all versions that were current since it began. One
that reads an older version needs that version and, for a change feed, the later ones. A pin is registered before the
version is loaded, so that a statement never uses an unregistered version.

Statements on other servers are not registered here; the retention period for removed files protects them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pin:
    """One use of a table: since `since_ms` (milliseconds since the epoch), at `version` or at the newest one (None)."""

    since_ms: int
    version: int | None


class StatementPins:
    """One statement's pins."""

    def __init__(self, lock: threading.Lock, now_ms: Callable[[], int]) -> None:
        self._lock = lock
        self._now_ms = now_ms
        self._uses: dict[str, set[Pin]] = {}

    def add(self, location: str, version: int | None) -> Pin:
        """Pins the table at a location from now until the statement ends."""
        pin = Pin(self._now_ms(), version)
        with self._lock:
            self._uses.setdefault(_key(location), set()).add(pin)
        return pin

    @contextmanager
    def every_version(self, location: str) -> Iterator[None]:
        """Pins all versions for the block, while the version to use is not determined yet."""
        # Version 0 stands for the oldest, and with it for all: which one the time travel
        # expression names is known only after the log was read.
        pin = self.add(location, 0)
        try:
            yield
        finally:
            with self._lock:
                self._uses[_key(location)].discard(pin)

    def of(self, key: str) -> set[Pin]:
        """Returns the pins for a table key. The caller holds the lock."""
        return self._uses.get(key, set())


class TablePins:
    """All running statements' pins on all tables."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statements: set[StatementPins] = set()

    @contextmanager
    def statement(self, now_ms: Callable[[], int]) -> Iterator[StatementPins]:
        """Registers a statement's pins until the block ends."""
        pins = StatementPins(self._lock, now_ms)
        with self._lock:
            self._statements.add(pins)
        try:
            yield pins
        finally:
            with self._lock:
                self._statements.discard(pins)

    def of(self, location: str) -> frozenset[Pin]:
        """Returns the current pins on the table at a location."""
        key = _key(location)
        with self._lock:
            return frozenset(pin for statement in self._statements for pin in statement.of(key))


def _key(location: str) -> str:
    """Returns the same key for all spellings of a local directory."""
    return location.rstrip("/") if "://" in location else os.path.realpath(location)
