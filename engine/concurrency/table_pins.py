"""Which tables the running statements of this server use: since when, and in which versions.

A statement reads files, and writes new ones, long after it has chosen its versions; a statement that removes files
(VACUUM) must leave it these. A statement that uses the newest version needs what was current
since it began; one that reads an older version needs that version and, for a change feed, those after it. The
registration comes before the load of the version, so there is no moment in which a statement has a version that nobody
knows of.

Statements of other servers are not known here; the retention of removed files is for them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pin:
    """One use of a table: since `since_ms` (milliseconds since the epoch), of `version` or the newest one (None)."""

    since_ms: int
    version: int | None


class StatementPins:
    """The uses of one statement."""

    def __init__(self, lock: threading.Lock, now_ms: Callable[[], int]) -> None:
        self._lock = lock
        self._now_ms = now_ms
        self._uses: dict[str, set[Pin]] = {}

    def add(self, location: str, version: int | None) -> Pin:
        """The table at a location is used from now until the statement ends."""
        pin = Pin(self._now_ms(), version)
        with self._lock:
            self._uses.setdefault(_key(location), set()).add(pin)
        return pin

    @contextmanager
    def every_version(self, location: str) -> Iterator[None]:
        """For the block any version may turn out to be the one that is used."""
        pin = self.add(location, 0)
        try:
            yield
        finally:
            with self._lock:
                self._uses[_key(location)].discard(pin)

    def of(self, key: str) -> set[Pin]:
        """The caller holds the lock."""
        return self._uses.get(key, set())


class TablePins:
    """The uses of all tables by all running statements."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statements: set[StatementPins] = set()

    @contextmanager
    def statement(self, now_ms: Callable[[], int]) -> Iterator[StatementPins]:
        """One statement, whose uses are known until the block ends."""
        pins = StatementPins(self._lock, now_ms)
        with self._lock:
            self._statements.add(pins)
        try:
            yield pins
        finally:
            with self._lock:
                self._statements.discard(pins)

    def of(self, location: str) -> frozenset[Pin]:
        """The uses of the table at a location, now."""
        key = _key(location)
        with self._lock:
            return frozenset(pin for statement in self._statements for pin in statement.of(key))


def _key(location: str) -> str:
    """The same for all spellings of a local folder."""
    return location.rstrip("/") if "://" in location else os.path.realpath(location)
