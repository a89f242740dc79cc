"""Formats for one statement, which say what it uses of which table before they load it (`engine.concurrency`)."""

from __future__ import annotations

from engine.concurrency.table_pins import StatementPins
from engine.tables.changes import Bound, TableChanges
from engine.tables.formats import TableFormat, TableFormats
from engine.tables.snapshot import TableSnapshot


def watched(formats: TableFormats, pins: StatementPins) -> TableFormats:
    """The same formats; whatever is loaded by them is noted in `pins`."""
    return TableFormats({name: _Watched(each, pins) for name, each in formats.by_name.items()})


class _Watched:
    """One format. What is neither a version nor found by one passes through."""

    def __init__(self, inner: TableFormat, pins: StatementPins) -> None:
        self._inner, self._pins = inner, pins
        self.name, self.folder, self.describe_files = inner.name, inner.folder, inner.describe_files
        self.prepared, self.create, self.begin = inner.prepared, inner.create, inner.begin
        self.define, self.stored_properties = inner.define, inner.stored_properties
        self.own_condition = inner.own_condition

    def load(self, location: str, version: int | None = None) -> TableSnapshot:
        self._pins.add(location, version)
        return self._inner.load(location, version)

    def find(self, location: str) -> TableSnapshot | None:
        self._pins.add(location, None)
        return self._inner.find(location)

    def load_at(self, location: str, timestamp_ms: int) -> TableSnapshot:
        with self._pins.every_version(location):
            found = self._inner.load_at(location, timestamp_ms)
            self._pins.add(location, found.version)
        return found

    def find_reference(self, location: str, name: str) -> TableSnapshot | None:
        with self._pins.every_version(location):
            found = self._inner.find_reference(location, name)
            if found is not None:
                self._pins.add(location, found.version)
        return found

    def changes(self, snapshot: TableSnapshot, start: Bound, end: Bound | None, *, allow_outside: bool) -> TableChanges:
        with self._pins.every_version(snapshot.table_root):
            found = self._inner.changes(snapshot, start, end, allow_outside=allow_outside)
            if found.versions:
                self._pins.add(snapshot.table_root, found.versions[0])
        return found
