"""The table formats of a server: the format that the catalog names for a table is the one that loads it.

`watched` makes the formats of one statement, which register the tables and versions it uses before they load them
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
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription
from engine.tables.rules import TableRules
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import DataFile, NewFiles, TableTransaction
from engine.types.schema import StructType

DEFAULT_FORMAT = "delta"


class TableFormat(Protocol):
    """Loads the tables of one format. A location is an absolute local path or a URL."""

    @property
    def name(self) -> str:
        """As in the catalog and after USING: lower case."""
        ...

    def load(self, location: str, version: int | None = None) -> TableSnapshot:
        """The table at a location, at `version` or at its newest. Raises where there is none, or none that we read."""
        ...

    def find(self, location: str) -> TableSnapshot | None:
        """The newest version of the table at a location; None where there is no table of this format."""
        ...

    def load_at(self, location: str, timestamp_ms: int) -> TableSnapshot:
        """The version that was current at a time, in milliseconds since the epoch."""
        ...

    def find_reference(self, location: str, name: str) -> TableSnapshot | None:
        """The snapshot that a name of the table's own refers to (a branch, a tag); None for an unknown name."""
        ...

    def prepared(self, location: str, definition: TableDefinition) -> str:
        """The location with all that `folder` and `create` have to know of a new table before it has files."""
        ...

    def folder(self, location: str) -> Storage:
        """Where the files of a table at a location are written. A new one's is `prepared`."""
        ...

    def describe_files(
        self, folder: Storage, rules: TableRules, files: Sequence[DataFile], measured: Collection[str] = ()
    ) -> NewFiles:
        """Files that were written, as the format adds them to a table. `measured` are columns of whole numbers whose
        extremes are wanted, by logical name.
        """
        ...

    def own_condition(self, condition: str, sqlstate: str) -> tuple[str, str]:
        """Returns the condition and SQLSTATE of this format for a condition that formats share."""
        ...

    def stored_properties(self, written: Mapping[str, str]) -> Mapping[str, str]:
        """Properties as a table has them when a statement has set them. Raises for those that cannot be set."""
        ...

    def define(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> TableDefinition:
        """The definition of a new table with these columns, after `changes`. Raises for what the format lacks.

        `settings` are those of the session, which may have defaults of properties.
        """
        ...

    def create(
        self, location: str, definition: TableDefinition, description: CommitDescription, now_ms: int
    ) -> TableTransaction:
        """A transaction whose commit is the first version of a table. `definition` is one that the format made."""
        ...

    def begin(self, snapshot: TableSnapshot, description: CommitDescription, label: str) -> TableTransaction:
        """A transaction that changes the table as `snapshot` shows it; `label` is what errors call it."""
        ...

    def changes(self, snapshot: TableSnapshot, start: Bound, end: Bound | None, *, allow_outside: bool) -> TableChanges:
        """What the versions from `start` to `end` changed (both included; None: the snapshot's), `snapshot` being the
        newest one. `allow_outside` takes ends beyond the newest version for the newest.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableFormats:
    """All formats of a server, by name."""

    by_name: Mapping[str, TableFormat]

    def __iter__(self) -> Iterator[TableFormat]:
        return iter(self.by_name.values())

    def __getitem__(self, name: str) -> TableFormat:
        """Raises `UnknownTableFormat`."""
        found = self.by_name.get(name.lower())
        if found is None:
            raise UnknownTableFormat(name, ", ".join(sorted(self.by_name)))
        return found

    def find(self, location: str) -> TableSnapshot | None:
        """The table of whatever format at a location; None where there is none."""
        return next((found for each in self if (found := each.find(location)) is not None), None)

    def pinned(self) -> TableFormats:
        """The same, for several statements that are to see one version of each table."""
        return TableFormats({name: _Pinned(each) for name, each in self.by_name.items()})


class _Pinned:
    """A format whose snapshots are loaded once."""

    def __init__(self, inner: TableFormat) -> None:
        self.name = inner.name
        self.find = inner.find
        self.changes = inner.changes
        self.folder = inner.folder
        self.describe_files = inner.describe_files
        self.prepared = inner.prepared
        self.create = inner.create
        self.begin = inner.begin
        self.define = inner.define
        self.stored_properties = inner.stored_properties
        self.own_condition = inner.own_condition
        self.load = cache(inner.load)
        self.load_at = cache(inner.load_at)
        self.find_reference = cache(inner.find_reference)


def formats_of(*formats: TableFormat) -> TableFormats:
    return TableFormats({each.name: each for each in formats})


def watched(formats: TableFormats, pins: StatementPins) -> TableFormats:
    """The same formats; whatever is loaded by them is noted in `pins`."""
    return TableFormats({name: _Watched(each, pins) for name, each in formats.by_name.items()})


class _Watched:
    """One format. What is neither a version nor found by one passes through."""

    def __init__(self, inner: TableFormat, pins: StatementPins) -> None:
        self._inner = inner
        self._pins = pins
        self.name = inner.name
        self.folder = inner.folder
        self.describe_files = inner.describe_files
        self.prepared = inner.prepared
        self.create = inner.create
        self.begin = inner.begin
        self.define = inner.define
        self.stored_properties = inner.stored_properties
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
