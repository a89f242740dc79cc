"""Delta's implementation of the `engine.tables` format interface, and access to features that only Delta has.

`DeltaFileSource` lists the files for COPY INTO, and reads their load records in table logs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from catalog.conditions import DeltaOnlyOperation, DeltaTableNotFound
from engine.delta.commit.loads import mask_not_loaded, read_loads
from engine.delta.commit.new_files import NewFiles as DeltaFiles
from engine.delta.commit.new_files import describe_files
from engine.delta.commit.transaction import Transaction
from engine.delta.conversion.folder_files import find_files
from engine.delta.definition.metadata_changes import define_table, with_defaults
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.feed.change_feed import load_change_feed
from engine.delta.feed.change_range import resolve_range
from engine.delta.snapshot.commit_times import load_commit_times
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import parse_setting
from engine.storage.storage import Storage, open_storage
from engine.tables.changes import Bound, TableChanges
from engine.tables.config import TableConfig
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription
from engine.tables.snapshot import TableSnapshot
from engine.tables.source_files import FolderFile
from engine.tables.transaction import DataFile, NewFiles
from engine.types.schema import StructType


def delta_snapshot(snapshot: TableSnapshot, operation: str = "The statement") -> Snapshot:
    """Returns a Delta table's snapshot, for a Delta-only operation. Raises `DeltaOnlyOperation`."""
    if not isinstance(snapshot, Snapshot):
        raise DeltaOnlyOperation(snapshot.table_root, operation)
    return snapshot


def delta_config(table_config: TableConfig, operation: str = "The statement") -> DeltaConfig:
    """Returns an existing or new Delta table's configuration. Raises `DeltaOnlyOperation`."""
    if not isinstance(table_config, DeltaConfig):
        raise DeltaOnlyOperation("The table", operation)
    return table_config


def delta_files(new: NewFiles) -> DeltaFiles:
    """Returns the files that a write added to a Delta table."""
    assert isinstance(new, DeltaFiles)
    return new


@dataclass(frozen=True, slots=True)
class DeltaFormat:
    """The Delta format. `read` returns the snapshot for a location, at a version or the newest; `open` returns its
    folder.
    """

    read: Callable[[str, int | None], Snapshot]
    open: Callable[[str], Storage] = open_storage

    @property
    def name(self) -> str:
        return "delta"

    def load(self, location: str, version: int | None = None) -> Snapshot:
        """Loads a snapshot. Raises like `load_snapshot`."""
        return self.read(location, version)

    def find(self, location: str) -> Snapshot | None:
        try:
            return self.read(location, None)
        except DeltaTableNotFound:
            return None

    def load_at(self, location: str, timestamp_ms: int) -> Snapshot:
        """Loads the snapshot that was current at a time. Raises `TimestampBeforeLog`, `TimestampAfterLog`."""
        return self.read(location, load_commit_times(self.read(location, None)).version_at(timestamp_ms))

    def find_reference(self, location: str, name: str) -> None:
        """Returns None: Delta tables have no named versions."""

    def prepare_location(self, location: str, definition: TableDefinition) -> str:
        """Returns the location unchanged: a Delta log needs no preparation before its first version."""
        return location

    def folder(self, location: str) -> Storage:
        return self.open(location)

    def describe_files(
        self,
        folder: Storage,
        table_config: TableConfig,
        files: Sequence[DataFile],
        measured: Collection[str] = (),
    ) -> DeltaFiles:
        """Describes written files from their footers."""
        return describe_files(folder, delta_config(table_config), files, measured)

    def condition_for_format(self, condition: str, sqlstate: str) -> tuple[str, str]:
        return condition, sqlstate

    def stored_properties(self, written: Mapping[str, str]) -> Mapping[str, str]:
        return dict(parse_setting(key, value) for key, value in written.items())

    def define(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> Definition:
        """Defines a new table like `define_table`."""
        changes = with_defaults(changes, settings)
        return define_table(label, schema, partition_columns=partition_columns, changes=changes)

    def create(
        self, location: str, definition: TableDefinition, description: CommitDescription, now_ms: int
    ) -> Transaction:
        """Starts the transaction that creates a table; `definition` is a `Definition`."""
        assert isinstance(definition, Definition)
        transaction = Transaction.create(self.open(location), description)
        transaction.define(replace(definition, metadata=replace(definition.metadata, created_time=now_ms)))
        return transaction

    def begin(self, snapshot: TableSnapshot, description: CommitDescription, label: str) -> Transaction:
        return Transaction.on(delta_snapshot(snapshot), description, table=label)

    def changes(
        self,
        snapshot: TableSnapshot,
        start: Bound,
        end: Bound | None,
        *,
        allow_outside: bool,
        requires_feed: bool = True,
    ) -> TableChanges:
        """Loads the change data feed. Raises like `resolve_range` and `load_change_feed`."""
        table = delta_snapshot(snapshot, "table_changes")
        times = load_commit_times(table)
        versions = resolve_range(times, start, end, allow_outside=allow_outside)
        return load_change_feed(
            table, times, versions, lambda version: self.read(table.table_root, version), requires_feed=requires_feed
        )


@dataclass(frozen=True, slots=True)
class DeltaFileSource:
    """Lists source files for COPY INTO. `open` returns the folder at a location, even if it does not exist."""

    open: Callable[[str], Storage] = open_storage

    def find(self, location: str) -> tuple[str, list[FolderFile]]:
        """Returns the files at a location. Raises `TableInside`."""
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
        """Returns a mask for files that were not loaded.

        Raises `DeltaOnlyOperation`, and reading errors for the load records.
        """
        table = delta_snapshot(snapshot, "COPY INTO")
        return mask_not_loaded(table.storage, read_loads(table), places)
