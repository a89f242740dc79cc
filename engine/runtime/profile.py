"""What a statement read, for EXPLAIN and for the log that a client may ask for.

A run collects one :class:`TableRead` for each question that Spark asked of a table's files: a table that stands twice
in a query under different conditions has two. Threads of one statement may add at once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """One version of a table, or the changes of the versions since one, and how many of its data files are read.

    `files_partition` are left by conditions on partition columns, `files` by these and the statistics, `bytes` is the
    size of the latter.
    """

    label: str
    version: int
    files_total: int
    bytes_total: int
    files_partition: int
    files: int
    bytes: int
    since: int | None = None

    def __str__(self) -> str:
        versions = f"version {self.version}" if self.since is None else f"versions {self.since} to {self.version}"
        return (
            f"{self.label}: {versions}, {self.files_total} files, {self.files_partition} after partition"
            f" pruning, {self.files} after statistics; {self.bytes} of {self.bytes_total} bytes"
        )


class Profile:
    """The lines of one statement, in the order in which they became known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[TableRead | str] = []

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
