"""Iceberg as one of the formats of `engine.tables`.

A table is a folder with metadata, or a metadata file (the table as the file says, whatever was committed since), or one
of a REST catalog, which gives out its metadata.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock

from catalog.conditions import IcebergSnapshotNotFound, IcebergTableNotFound, RestConflict, TableAlreadyExists
from catalog.discovery.roots import AllowedRoots, canonical_location
from catalog.rest.names import RestCatalogs, is_rest, table_at, without_place
from engine.formats.iceberg.rest_creation import NewRestTable, staged_address
from engine.formats.iceberg.rest_store import RestMetadataStore
from engine.iceberg.commit.file_store import FileMetadataStore, clock_ms
from engine.iceberg.commit.metadata_files import folder_of, is_metadata_file, load_newest
from engine.iceberg.commit.metadata_store import MetadataStore
from engine.iceberg.definition.changes import define_table
from engine.iceberg.definition.column_types import table_schema
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.metadata_updates import creating_updates
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.changes import IcebergChanges, load_changes
from engine.iceberg.snapshot.snapshot import FORMAT, NO_VERSION, IcebergSnapshot
from engine.iceberg.spec.conditions import own_condition
from engine.iceberg.spec.metadata import MAIN, SnapshotInfo, TableMetadata, parse_metadata, read_metadata
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.iceberg.writing.new_files import FileSchema, IcebergNewFiles, describe_files
from engine.storage.lent_storage import LentStorage, lease_of
from engine.storage.storage import FileStatus, Storage
from engine.tables.changes import Bound
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription
from engine.tables.rules import TableRules
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import DataFile
from engine.types.schema import StructType

_SNAPSHOTS_MAX = 200


@dataclass(frozen=True, slots=True)
class _Found:
    """Metadata as it was found; `stamp` tells it from other metadata of that name."""

    storage: Storage
    name: str
    metadata: TableMetadata
    stamp: FileStatus
    address: str | None = None


class IcebergFormat:
    """`open` gives the folder at a location. `cache_bytes` bounds what is kept between statements: half is for what was
    decoded of immutable files, half for snapshots, of which the most recently used one is always kept.
    `rest` are catalogs whose tables have addresses; `ensure_free` raises where one that is at an address, or will be,
    may not lie at a location, and is told whether metadata there may be its own, or that of a dropped table.
    """

    name = FORMAT

    def __init__(
        self,
        open: Callable[[str], Storage],
        cache_bytes: int,
        clock: Callable[[], int] = clock_ms,
        rest: RestCatalogs | None = None,
        ensure_free: Callable[[str, str, bool], None] = lambda address, location, may_have_metadata: None,
    ) -> None:
        self._open = open
        self._clock = clock
        self._rest = rest or RestCatalogs()
        self._ensure_free = ensure_free
        self._decoded = Decoded(cache_bytes // 2)
        self._lock = Lock()
        self._snapshots: OrderedDict[tuple[object, ...], IcebergSnapshot] = OrderedDict()
        self._snapshots_bytes_max = cache_bytes // 2

    def load(self, location: str, version: int | None = None) -> IcebergSnapshot:
        """Raises `IcebergTableNotFound`, `IcebergSnapshotNotFound`, `MalformedIcebergFile`,
        `IcebergFeatureNotSupported`.
        """
        found = self._metadata(location)
        metadata = found.metadata
        if version is None:
            current = metadata.current_snapshot_id
            return self._snapshot(found, current, metadata.current_schema_id, branch=MAIN)
        if version == NO_VERSION and metadata.current_snapshot_id is None:
            return self._snapshot(found, None, metadata.current_schema_id, branch=MAIN)
        info = metadata.snapshots.get(version)
        if info is None:
            raise IcebergSnapshotNotFound(found.storage.root, str(version))
        return self._snapshot(found, version, _schema_of(metadata, info))

    def find(self, location: str) -> IcebergSnapshot | None:
        try:
            return self.load(location)
        except IcebergTableNotFound:
            return None

    def load_at(self, location: str, timestamp_ms: int) -> IcebergSnapshot:
        """The snapshot that was current at a time, by the log of current snapshots."""
        found = self._metadata(location)
        metadata = found.metadata
        ids = [id for time, id in metadata.snapshot_log if time <= timestamp_ms]
        info = metadata.snapshots.get(ids[-1]) if ids else None
        if info is None:
            raise IcebergSnapshotNotFound(found.storage.root, f"of {timestamp_ms} ms since the epoch, or before")
        return self._snapshot(found, info.snapshot_id, _schema_of(metadata, info))

    def find_reference(self, location: str, name: str) -> IcebergSnapshot | None:
        """A tag has the columns of its snapshot, a branch those of the table. Raises `IcebergSnapshotNotFound`."""
        found = self._metadata(location)
        metadata = found.metadata
        reference = metadata.refs.get(name)
        info = None if reference is None else metadata.snapshots.get(reference.snapshot_id)
        if reference is None or info is None:
            raise IcebergSnapshotNotFound(found.storage.root, f"with the name {name}")
        schema = metadata.current_schema_id if reference.is_branch else _schema_of(metadata, info)
        return self._snapshot(found, info.snapshot_id, schema, branch=name if reference.is_branch else None)

    def _metadata(self, location: str) -> _Found:
        if is_rest(location):
            return self._rest_metadata(location)
        if not is_metadata_file(location):
            storage = self._open(location)
            return load_newest(storage, lambda name, status: self._read(storage, name, status))
        try:
            return self._read(self._open(folder_of(location)), location)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise IcebergTableNotFound(location) from error

    def _read(self, storage: Storage, name: str, known: FileStatus | None = None) -> _Found:
        status = known or storage.stat(name)
        metadata = self._decoded.get(
            ("metadata", storage.root, name, status),
            lambda: parse_metadata(storage.read_bytes(name), name, storage.root),
            lambda found: 4 * status.size + 1000 * (1 + len(found.snapshots)),
        )
        return _Found(storage, name, metadata, status)

    def _rest_metadata(self, location: str) -> _Found:
        """As a catalog describes it: no metadata file is read. Raises `PathNotAllowed` for tables out of our roots."""
        found = self._rest.load(location)
        if found is None:
            raise IcebergTableNotFound(location)
        name = found.metadata_location or location
        name = name.removeprefix(f"{str(found.metadata.get('location')).rstrip('/')}/")
        key = ("rest metadata", location, name, found.etag, found.metadata.get("last-updated-ms"))
        metadata = self._decoded.get(
            key,
            lambda: read_metadata(found.metadata, name, location),
            lambda parsed: 20_000 + 3000 * len(parsed.snapshots),
        )
        storage = self._open_place(location, metadata.location)
        stamp = FileStatus(name=str(found.etag), size=0, modified_ms=metadata.last_updated_ms)
        return _Found(storage, name, metadata, stamp, address=location)

    def _snapshot(
        self, loaded: _Found, snapshot_id: int | None, schema_id: int, *, branch: str | None = None
    ) -> IcebergSnapshot:
        """The one that another statement has made of the same metadata, or a new one."""
        lease = lease_of(loaded.storage)
        key = (loaded.storage.root, lease, loaded.address, loaded.name, loaded.stamp, snapshot_id, schema_id, branch)
        with self._lock:
            found = self._snapshots.get(key)
            if found is None:
                found = self._snapshots[key] = IcebergSnapshot(
                    storage=loaded.storage,
                    metadata_name=loaded.name,
                    metadata=loaded.metadata,
                    info=None if snapshot_id is None else loaded.metadata.snapshots[snapshot_id],
                    iceberg_schema=loaded.metadata.schemas[schema_id],
                    decoded=self._decoded.apart(lease),
                    address=loaded.address,
                    branch=branch,
                )
                self._drop_old()
            self._snapshots.move_to_end(key)
        table_schema(found.iceberg_schema.struct)  # for its error
        return found

    def _drop_old(self) -> None:
        """Keeps the newest snapshots within the limits; who uses one that is dropped keeps it."""
        kept = 0
        for position, key in enumerate(reversed(list(self._snapshots))):
            kept += self._snapshots[key].num_bytes
            if position >= _SNAPSHOTS_MAX or (position and kept > self._snapshots_bytes_max):
                del self._snapshots[key]

    def prepared(self, location: str, definition: TableDefinition) -> str:
        """A REST catalog is asked for the place, if the statement did not say it. Raises as `staged_address`."""
        if not is_rest(location):
            return location
        assert isinstance(definition, IcebergDefinition)
        at = self._rest.place(location)
        try:
            staged, described = staged_address(location, at, creating_updates(definition))
        except RestConflict as error:
            raise TableAlreadyExists(f"{at.client.name}.{'.'.join(at.namespace)}.{at.table}") from error
        place = self._rest.place(staged).location
        assert place is not None
        self._rest.keep_staged(staged, canonical_location(place), described)
        is_chosen = at.location is None
        self._ensure_free(location, self._open_place(location, place).root, is_chosen)
        return staged

    def folder(self, location: str) -> Storage:
        """Raises `PathNotAllowed` for a place that a REST catalog chose out of our roots."""
        if not is_rest(location):
            return self._open(location)
        place = self._rest.place(location).location
        assert place is not None, "a table of a REST catalog is prepared before its files are written"
        return self._open_place(location, place)

    def _open_place(self, address: str, location: str) -> Storage:
        """Where a REST catalog says that the table at an address lies. Raises `PathNotAllowed`, `RestTableInLake`."""
        canonical = canonical_location(location)
        lent = self._rest.lent_options(address, canonical)
        storage = self._open(canonical)
        if lent is not None:
            find_others, storage = storage.find_others, LentStorage(canonical, lent, storage.allowed_roots)
            storage.find_others = find_others
        if storage.allowed_roots is not None:
            AllowedRoots(storage.allowed_roots).ensure_allowed(canonical)
        self._rest.places.ensure_allowed(str(table_at(address).name), canonical)
        return storage

    def _open_new(self, address: str, location: str) -> Storage:
        """As `_open_place`, of a table that was made there just now. Raises `LocationOverlap`."""
        storage = self._open_place(address, location)
        self._ensure_free(without_place(address), canonical_location(location), True)
        return storage

    def own_condition(self, condition: str, sqlstate: str) -> tuple[str, str]:
        return own_condition(condition, sqlstate)

    def stored_properties(self, written: Mapping[str, str]) -> Mapping[str, str]:
        return written

    def describe_files(
        self, folder: Storage, rules: TableRules, files: Sequence[DataFile], measured: Collection[str] = ()
    ) -> IcebergNewFiles:
        """Reads the footer of each file."""
        assert isinstance(rules, IcebergDefinition)
        location = rules.before.location if rules.before else self._store(folder).location
        schema = FileSchema(
            location=location,
            schema=rules.iceberg_schema,
            spec=rules.spec,
            properties=rules.properties,
            sort_order_id=rules.order.order_id if rules.sort_columns else None,
            sorted_ids=frozenset(each.source_id for each in rules.order.fields),
        )
        return describe_files(folder, schema, files)

    def define(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> IcebergDefinition:
        """As `define_table`."""
        return define_table(label, schema, partition_columns, changes)

    def create(
        self, location: str, definition: TableDefinition, description: CommitDescription, now_ms: int
    ) -> IcebergTransaction:
        """`definition` is an `IcebergDefinition`."""
        store: MetadataStore = (
            NewRestTable(
                at=self._rest.place(location),
                open=partial(self._open_place, location),
                open_made=partial(self._open_new, location),
                clock=self._clock,
            )
            if is_rest(location)
            else self._store(self._open(location))
        )
        transaction = IcebergTransaction(store, None, description, table=without_place(location))
        transaction.define(definition)
        return transaction

    def begin(self, snapshot: TableSnapshot, description: CommitDescription, label: str) -> IcebergTransaction:
        assert isinstance(snapshot, IcebergSnapshot)
        snapshot.ensure_supported(description.operation)
        assert snapshot.branch is not None
        return IcebergTransaction(self._store_of(snapshot), snapshot, description, table=label, branch=snapshot.branch)

    def _store(self, folder: Storage) -> FileMetadataStore:
        return FileMetadataStore(storage=folder, clock=self._clock)

    def _store_of(self, snapshot: IcebergSnapshot) -> MetadataStore:
        if snapshot.address is None:
            return self._store(snapshot.storage)
        at = self._rest.place(snapshot.address)
        opened = partial(self._open_place, snapshot.address)
        return RestMetadataStore(at=at, open=opened, clock=self._clock, folder=snapshot.metadata.location)

    def changes(
        self, snapshot: TableSnapshot, start: Bound, end: Bound | None, *, allow_outside: bool
    ) -> IcebergChanges:
        """As `load_changes`."""
        assert isinstance(snapshot, IcebergSnapshot)
        return load_changes(snapshot, start, end, allow_outside=allow_outside)


def _schema_of(metadata: TableMetadata, info: SnapshotInfo) -> int:
    """The columns of an older snapshot are those that it was written with."""
    known = info.schema_id is not None and info.schema_id in metadata.schemas
    return info.schema_id if known and info.schema_id is not None else metadata.current_schema_id
