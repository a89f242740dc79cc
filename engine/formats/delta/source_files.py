"""The files that COPY INTO reads, and what the logs of tables know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from engine.delta.commit.loads import not_loaded, read_loads
from engine.delta.conversion.folder_files import find_files
from engine.formats.delta.delta_format import delta_snapshot
from engine.storage.storage import Storage, open_storage
from engine.tables.snapshot import TableSnapshot
from engine.tables.source_files import FolderFile


@dataclass(frozen=True, slots=True)
class DeltaFileSource:
    """`open` gives the folder at a location, whether there is one or not."""

    open: Callable[[str], Storage] = open_storage

    def find(self, location: str) -> tuple[str, list[FolderFile]]:
        """Raises `TableInside`."""
        storage = self.open(location)
        files = list(find_files(storage, lambda: None))
        return (storage.root, files) if files else self._one(location)

    def _one(self, location: str) -> tuple[str, list[FolderFile]]:
        folder, _, name = location.rpartition("/")
        parent = self.open(folder)
        found = (status for status in parent.list_folder("").files if status.name == name)
        files = [FolderFile(path=name, size=each.size, modification_time=each.modified_ms) for each in found]
        return parent.root, files

    def is_fresh(self, snapshot: TableSnapshot, places: pa.Array) -> pa.Array:
        """Raises `DeltaOnlyOperation`, and what reading the record of loads raises."""
        table = delta_snapshot(snapshot, "COPY INTO")
        return not_loaded(table.storage, read_loads(table), places)
