"""The server's table formats: the catalog entry's format determines which one loads a table.

`watch_loads` returns formats for one statement, which register the tables and versions that it uses before loading them
(`engine.concurrency`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from catalog.conditions import UnknownTableFormat
from engine.concurrency.table_pins import StatementPins
from engine.storage.storage import Storage
from engine.tables.changes import Bound, TableChanges
from engine.tables.config import TableConfig
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import DataFile, NewFiles, TableTransaction
from engine.types.schema import StructType

DEFAULT_FORMAT = "delta"


class TableFormat(Protocol):
    """Loads tables in one format. A location is an absolute local path or a URL."""

    @property
    def name(self) -> str:
        """Returns the name in the catalog and after USING: lower case."""
        ...

    def load(self, location: str, version: int | None = None) -> TableSnapshot:
        """Loads the table at a location, at `version` or the newest. Raises if it does not exist or cannot be read."""
        ...

    def find(self, location: str) -> TableSnapshot | None:
        """Returns the newest version of the table at a location; None without a table in this format."""
        ...

    def load_at(self, location: str, timestamp_ms: int) -> TableSnapshot:
        """Loads the version that was current at a time, in milliseconds since the epoch."""
        ...

    def find_reference(self, location: str, name: str) -> TableSnapshot | None:
        """Returns the snapshot for a named reference (branch, tag); None for an unknown name."""
        ...

    def prepare_location(self, location: str, definition: TableDefinition) -> str:
        """Returns the location with everything that `folder` and `create` need for a new table."""
        ...

    def folder(self, location: str) -> Storage:
        """Returns the folder for writing a table's files. A new table's location must be `prepare_location`."""
        ...

    def describe_files(
        self,
        folder: Storage,
        table_config: TableConfig,
        files: Sequence[DataFile],
        measured: Collection[str] = (),
    ) -> NewFiles:
        """Builds the table format's entries for new data files: sizes in bytes, row counts and column statistics.

        The statistics are read from the Parquet footers. `measured` are integer columns (logical names) whose minimum
        and maximum the caller needs, as for identity columns.
        """
        ...

    def condition_for_format(self, condition: str, sqlstate: str) -> tuple[str, str]:
        """Returns the condition and SQLSTATE of this format for a condition that formats share."""
        ...

    def stored_properties(self, written: Mapping[str, str]) -> Mapping[str, str]:
        """Returns properties as stored after a statement sets them. Raises for properties that cannot be set."""
        ...

    def define(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> TableDefinition:
        """Returns a new table's definition with these columns, after `changes`. Raises for unsupported features.

        `settings` are the session's, which may contain default properties.
        """
        ...

    def create(
        self, location: str, definition: TableDefinition, description: CommitDescription, now_ms: int
    ) -> TableTransaction:
        """Returns a transaction whose commit is a table's first version. `definition` must come from this format."""
        ...

    def begin(self, snapshot: TableSnapshot, description: CommitDescription, label: str) -> TableTransaction:
        """Returns a transaction on the table version in `snapshot`; `label` is the name in errors."""
        ...

    def changes(
        self,
        snapshot: TableSnapshot,
        start: Bound,
        end: Bound | None,
        *,
        allow_outside: bool,
        requires_feed: bool = True,
    ) -> TableChanges:
        """Returns the changes in versions `start` to `end` (inclusive; None: the snapshot's), `snapshot` being the
        newest one.

        `allow_outside` clamps bounds beyond the newest version to it. Without `requires_feed` the versions only add
        rows, and are read also if the table has no change data feed.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableFormats:
    """All table formats on a server, by name."""

    by_name: Mapping[str, TableFormat]

    def __iter__(self) -> Iterator[TableFormat]:
        return iter(self.by_name.values())

    def __getitem__(self, name: str) -> TableFormat:
        """Returns a format. Raises `UnknownTableFormat`."""
        found = self.by_name.get(name.lower())
        if found is None:
            raise UnknownTableFormat(name, ", ".join(sorted(self.by_name)))
        return found

    def find(self, location: str) -> TableSnapshot | None:
        """Returns the table in any format at a location; None if absent."""
        return next((found for each in self if (found := each.find(location)) is not None), None)

    def pin_versions(self) -> TableFormats:
        """Returns formats for several statements that must see one version of each table."""
        return TableFormats({name: _Pinned(each) for name, each in self.by_name.items()})


class _Pinned:
    """A format that loads each snapshot once."""

    def __init__(self, inner: TableFormat) -> None:
        self.name = inner.name
        self.find = inner.find
        self.changes = inner.changes
        self.folder = inner.folder
        self.describe_files = inner.describe_files
        self.prepare_location = inner.prepare_location
        self.create = inner.create
        self.begin = inner.begin
        self.define = inner.define
        self.stored_properties = inner.stored_properties
        self.condition_for_format = inner.condition_for_format
        self.load = cache(inner.load)
        self.load_at = cache(inner.load_at)
        self.find_reference = cache(inner.find_reference)


def formats_of(*formats: TableFormat) -> TableFormats:
    """Returns the formats by their names in catalog entries."""
    return TableFormats({each.name: each for each in formats})


def watch_loads(formats: TableFormats, pins: StatementPins) -> TableFormats:
    """Returns the formats with every load recorded in `pins`."""
    return TableFormats({name: _Watched(each, pins) for name, each in formats.by_name.items()})


class _Watched:
    """One watched format. Operations that do not load versions are passed through."""

    def __init__(self, inner: TableFormat, pins: StatementPins) -> None:
        self._inner = inner
        self._pins = pins
        self.name = inner.name
        self.folder = inner.folder
        self.describe_files = inner.describe_files
        self.prepare_location = inner.prepare_location
        self.create = inner.create
        self.begin = inner.begin
        self.define = inner.define
        self.stored_properties = inner.stored_properties
        self.condition_for_format = inner.condition_for_format

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

    def changes(
        self,
        snapshot: TableSnapshot,
        start: Bound,
        end: Bound | None,
        *,
        allow_outside: bool,
        requires_feed: bool = True,
    ) -> TableChanges:
        with self._pins.every_version(snapshot.table_root):
            found = self._inner.changes(snapshot, start, end, allow_outside=allow_outside, requires_feed=requires_feed)
            if found.versions:
                self._pins.add(snapshot.table_root, found.versions[0])
        return found
