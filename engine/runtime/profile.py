"""What a statement read, for EXPLAIN and for the log that a client may ask for.

A run collects one :class:`TableRead` for each question that Spark asked of a table's files: a table that occurs twice
in a query under different conditions has two. While Spark works for it, its tasks are counted about once a second.
Threads of one statement may add at once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from engine.table.scan import TableRead


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Tasks of Spark in the stages that were begun; `total` grows as further ones begin."""

    total: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0


class Profile:
    """The lines of one statement, in the order in which they became known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[TableRead | str] = []
        self.tasks = TaskCounts()
        """Of the query that Spark runs for the statement, or ran last."""

    def add_read(self, read: TableRead) -> None:
        """The same question asked again is no other read."""
        with self._lock:
            if read not in self._entries:
                self._entries.append(read)

    def add_note(self, text: str) -> None:
        """A sentence on how the statement was answered."""
        with self._lock:
            self._entries.append(text)

    @property
    def reads(self) -> tuple[TableRead, ...]:
        with self._lock:
            return tuple(entry for entry in self._entries if isinstance(entry, TableRead))

    @property
    def lines(self) -> tuple[str, ...]:
        """All that is known, for people, in the order in which it became known."""
        with self._lock:
            return tuple(map(str, self._entries))
