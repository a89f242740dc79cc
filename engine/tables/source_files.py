"""Files that are no table's, for statements that take rows out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from engine.tables.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """`path` is relative to the folder, `size` in bytes, `modification_time` in ms since the epoch."""

    path: str
    size: int
    modification_time: int


class FileSource(Protocol):
    """Finds files, and knows which a table has loaded."""

    def find(self, location: str) -> tuple[str, list[FolderFile]]:
        """A folder and the data files below it: of a folder, or of the one file that is at the location."""
        ...

    def is_fresh(self, snapshot: TableSnapshot, places: pa.Array) -> pa.Array:
        """For each of these absolute paths or URLs, whether the table has not loaded it."""
        ...


class NoFiles:
    """Of a server without storage."""

    def find(self, location: str) -> tuple[str, list[FolderFile]]:
        return location, []

    def is_fresh(self, snapshot: TableSnapshot, places: pa.Array) -> pa.Array:
        return pa.repeat(True, len(places))
