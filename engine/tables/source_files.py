"""Files outside tables, for statements that load rows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from engine.tables.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """A file. `path` is relative to the folder, `size` in bytes, `modification_time` in ms since the epoch."""

    path: str
    size: int
    modification_time: int


class FileSource(Protocol):
    """Finds source files, and checks which a table has loaded."""

    def find(self, location: str) -> tuple[str, list[FolderFile]]:
        """Returns a folder and the data files below it; for a single file's location, that file."""
        ...

    def is_fresh(self, snapshot: TableSnapshot, places: pa.Array) -> pa.Array:
        """Returns a mask for the absolute paths or URLs that the table has not loaded."""
        ...


class NoFiles:
    """The file source for a server without storage."""

    def find(self, location: str) -> tuple[str, list[FolderFile]]:
        return location, []

    def is_fresh(self, snapshot: TableSnapshot, places: pa.Array) -> pa.Array:
        return pa.repeat(True, len(places))
