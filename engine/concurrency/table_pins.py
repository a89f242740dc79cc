"""Which tables the running statements of this server use: since when, and in which versions.

A statement reads files, and writes new ones, long after it has chosen its versions; whoever removes files
(`engine.write.vacuum`) must leave it these. A statement that uses the newest version needs what was current since it
began; one that reads an older version needs that version and, for a change feed, those after it. The registration comes
before the load of the version, so there is no moment in which a statement has a version that nobody knows of.

Statements of other servers are not known here; the retention of removed files is for them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pin:
    """One use of a table: since `since_ms` (milliseconds since the epoch), of `version` or the newest one (None)."""

    since_ms: int
    version: int | None


class TablePins:
    """The uses of all tables by all running statements."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statements: dict[int, dict[str, set[Pin]]] = {}
        self._next = 0

    @contextmanager
    def pinning(
        self, load: Callable[[str, int | None], T], now_ms: Callable[[], int]
    ) -> Iterator[Callable[[str, int | None], T]]:
        """`load`, which takes the location of a table and a version, for one statement: pinned until the block ends."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            uses = self._statements[number] = {}

        def pinned(location: str, version: int | None) -> T:
            with self._lock:
                uses.setdefault(_key(location), set()).add(Pin(now_ms(), version))
            return load(location, version)

        try:
            yield pinned
        finally:
            with self._lock:
                del self._statements[number]

    def of(self, location: str) -> frozenset[Pin]:
        """The uses of the table at a location, now."""
        key = _key(location)
        with self._lock:
            return frozenset(pin for uses in self._statements.values() for pin in uses.get(key, ()))


def _key(location: str) -> str:
    """The same for all spellings of a local folder."""
    return location if "://" in location else os.path.realpath(location)
