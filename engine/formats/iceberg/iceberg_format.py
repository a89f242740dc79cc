"""Iceberg's implementation of the `engine.tables` format interface.

A table is a folder with metadata, or a single metadata file (a static table that ignores later commits), or a REST
catalog table, whose metadata the catalog returns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock

from catalog.conditions import IcebergSnapshotNotFound, IcebergTableNotFound, RestConflict, TableAlreadyExists
from catalog.rest.names import RestCatalogs, is_rest, table_at, without_place
from catalog.roots import AllowedRoots, canonical_location
from engine.formats.iceberg.rest_creation import NewRestTable, staged_address
from engine.formats.iceberg.rest_store import RestMetadataStore
from engine.iceberg.commit.file_store import FileMetadataStore, clock_ms, read_metadata_file
from engine.iceberg.commit.metadata_files import folder_of, is_metadata_file, load_newest
from engine.iceberg.commit.metadata_store import MetadataStore
from engine.iceberg.definition.changes import define_table
from engine.iceberg.definition.column_types import table_schema
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.metadata_updates import creating_updates
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.changes import IcebergChanges, load_changes
from engine.iceberg.snapshot.snapshot import FORMAT, NO_VERSION, IcebergSnapshot
from engine.iceberg.spec.conditions import iceberg_condition
from engine.iceberg.spec.metadata import MAIN, SnapshotInfo, TableMetadata, parse_metadata, read_metadata
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.iceberg.writing.new_files import FileSchema, IcebergNewFiles, describe_files
from engine.storage.storage import FileStatus, Storage
from engine.storage.vended_storage import VendedStorage, credentials_id_of
from engine.tables.changes import Bound
from engine.tables.config import TableConfig
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import DataFile
from engine.types.schema import StructType

_SNAPSHOTS_MAX = 200


@dataclass(frozen=True, slots=True)
class _FoundMetadata:
    """Loaded metadata; `stamp` distinguishes it from other metadata with the same name."""

    storage: Storage
    name: str
    metadata: TableMetadata
    stamp: FileStatus
    address: str | None = None


class IcebergFormat:
    """The Iceberg format. `open` returns the folder at a location.

    `cache_bytes` limits what is cached between statements: half for decoded immutable files, half for snapshots, of
    which the most recently used one is always cached. `rest` are the catalogs for tables with addresses. `ensure_free`
    raises if a table at an address may not be located at a location; its flag permits metadata there that may be the
    table's own, or a dropped table's.
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
        """Loads a snapshot.

        Raises `IcebergTableNotFound`, `IcebergSnapshotNotFound`, `MalformedIcebergFile`, `IcebergFeatureNotSupported`.
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
        """Loads the snapshot that was current at a time, by the snapshot log."""
        found = self._metadata(location)
        metadata = found.metadata
        ids = [id for time, id in metadata.snapshot_log if time <= timestamp_ms]
        info = metadata.snapshots.get(ids[-1]) if ids else None
        if info is None:
            raise IcebergSnapshotNotFound(found.storage.root, f"of {timestamp_ms} ms since the epoch, or before")
        return self._snapshot(found, info.snapshot_id, _schema_of(metadata, info))

    def find_reference(self, location: str, name: str) -> IcebergSnapshot | None:
        """Finds a branch or tag. A tag has its snapshot's columns, a branch the table's. Raises
        `IcebergSnapshotNotFound`.
        """
        found = self._metadata(location)
        metadata = found.metadata
        reference = metadata.refs.get(name)
        info = None if reference is None else metadata.snapshots.get(reference.snapshot_id)
        if reference is None or info is None:
            raise IcebergSnapshotNotFound(found.storage.root, f"with the name {name}")
        schema = metadata.current_schema_id if reference.is_branch else _schema_of(metadata, info)
        return self._snapshot(found, info.snapshot_id, schema, branch=name if reference.is_branch else None)

    def _metadata(self, location: str) -> _FoundMetadata:
        if is_rest(location):
            return self._rest_metadata(location)
        if not is_metadata_file(location):
            storage = self._open(location)
            return load_newest(storage, lambda name, status: self._read(storage, name, status))
        try:
            return self._read(self._open(folder_of(location)), location)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise IcebergTableNotFound(location) from error

    def _read(self, storage: Storage, name: str, known: FileStatus | None = None) -> _FoundMetadata:
        status = known or storage.stat(name)
        metadata = self._decoded.get(
            ("metadata", storage.root, name, status),
            lambda: parse_metadata(read_metadata_file(storage, name, status, self._cached_bytes), name, storage.root),
            lambda found: 4 * status.size + 1000 * (1 + len(found.snapshots)),
        )
        return _FoundMetadata(storage, name, metadata, status)

    def _cached_bytes(self, key: tuple[object, ...], read: Callable[[], bytes]) -> bytes:
        return self._decoded.get(key, read, len)

    def _rest_metadata(self, location: str) -> _FoundMetadata:
        """Returns metadata from a catalog, without reading a metadata file. Raises `PathNotAllowed` for tables outside
        the allowed roots.
        """
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
        return _FoundMetadata(storage, name, metadata, stamp, address=location)

    def _snapshot(
        self, loaded: _FoundMetadata, snapshot_id: int | None, schema_id: int, *, branch: str | None = None
    ) -> IcebergSnapshot:
        """Returns the cached snapshot for the same metadata, or a new one."""
        credentials_id = credentials_id_of(loaded.storage)
        key = (
            loaded.storage.root,
            credentials_id,
            loaded.address,
            loaded.name,
            loaded.stamp,
            snapshot_id,
            schema_id,
            branch,
        )
        with self._lock:
            found = self._snapshots.get(key)
            if found is None:
                found = self._snapshots[key] = IcebergSnapshot(
                    storage=loaded.storage,
                    metadata_name=loaded.name,
                    metadata=loaded.metadata,
                    info=None if snapshot_id is None else loaded.metadata.snapshots[snapshot_id],
                    iceberg_schema=loaded.metadata.schemas[schema_id],
                    decoded=self._decoded.apart(credentials_id),
                    address=loaded.address,
                    branch=branch,
                )
                self._drop_old()
            self._snapshots.move_to_end(key)
        table_schema(found.iceberg_schema.struct)  # raises for unsupported types
        return found

    def _drop_old(self) -> None:
        """Evicts old snapshots beyond the limits; statements that use an evicted one are unaffected."""
        remaining = 0
        for position, key in enumerate(reversed(list(self._snapshots))):
            remaining += self._snapshots[key].num_bytes
            if position >= _SNAPSHOTS_MAX or (position and remaining > self._snapshots_bytes_max):
                del self._snapshots[key]

    def prepare_location(self, location: str, definition: TableDefinition) -> str:
        """Requests the location from a REST catalog, unless the statement has one. Raises like `staged_address`."""
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
        self._rest.cache_staged_credentials(staged, canonical_location(place), described)
        is_selected = at.location is None
        self._ensure_free(location, self._open_place(location, place).root, is_selected)
        return staged

    def folder(self, location: str) -> Storage:
        """Returns the table's folder. Raises `PathNotAllowed` if a REST catalog chose a location outside the allowed
        roots.
        """
        if not is_rest(location):
            return self._open(location)
        place = self._rest.place(location).location
        assert place is not None, "a table of a REST catalog is prepared before its files are written"
        return self._open_place(location, place)

    def _open_place(self, address: str, location: str) -> Storage:
        """Opens the location that a REST catalog has for an address. Raises `PathNotAllowed`, `RestTableInLake`."""
        canonical = canonical_location(location)
        vended = self._rest.vended_options(address, canonical)
        storage = self._open(canonical)
        if vended is not None:
            find_others, storage = storage.find_others, VendedStorage(canonical, vended, storage.allowed_roots)
            storage.find_others = find_others
        if storage.allowed_roots is not None:
            AllowedRoots(storage.allowed_roots).ensure_allowed(canonical)
        self._rest.places.ensure_allowed(str(table_at(address).name), canonical)
        return storage

    def _open_new(self, address: str, location: str) -> Storage:
        """Opens like `_open_place`, for a table that was just created there. Raises `LocationOverlap`."""
        storage = self._open_place(address, location)
        self._ensure_free(without_place(address), canonical_location(location), True)
        return storage

    def condition_for_format(self, condition: str, sqlstate: str) -> tuple[str, str]:
        return iceberg_condition(condition, sqlstate)

    def stored_properties(self, written: Mapping[str, str]) -> Mapping[str, str]:
        return written

    def describe_files(
        self,
        folder: Storage,
        table_config: TableConfig,
        files: Sequence[DataFile],
        measured: Collection[str] = (),
    ) -> IcebergNewFiles:
        """Describes written files from their footers."""
        assert isinstance(table_config, IcebergDefinition)
        location = table_config.before.location if table_config.before else self._store(folder).location
        schema = FileSchema(
            location=location,
            schema=table_config.iceberg_schema,
            spec=table_config.spec,
            properties=table_config.properties,
            sort_order_id=table_config.order.order_id if table_config.sort_columns else None,
            sorted_ids=frozenset(each.source_id for each in table_config.order.fields),
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
        """Defines a new table like `define_table`."""
        return define_table(label, schema, partition_columns, changes)

    def create(
        self, location: str, definition: TableDefinition, description: CommitDescription, now_ms: int
    ) -> IcebergTransaction:
        """Starts the transaction that creates a table; `definition` is an `IcebergDefinition`."""
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
        snapshot.ensure_begun(description.operation)
        assert snapshot.branch is not None
        return IcebergTransaction(self._store_of(snapshot), snapshot, description, table=label, branch=snapshot.branch)

    def _store(self, folder: Storage) -> FileMetadataStore:
        return FileMetadataStore(storage=folder, clock=self._clock, cache=self._cached_bytes)

    def _store_of(self, snapshot: IcebergSnapshot) -> MetadataStore:
        if snapshot.address is None:
            return self._store(snapshot.storage)
        at = self._rest.place(snapshot.address)
        opened = partial(self._open_place, snapshot.address)
        return RestMetadataStore(at=at, open=opened, clock=self._clock, folder=snapshot.metadata.location)

    def changes(
        self,
        snapshot: TableSnapshot,
        start: Bound,
        end: Bound | None,
        *,
        allow_outside: bool,
        requires_feed: bool = True,
    ) -> IcebergChanges:
        """Loads changes like `load_changes`."""
        assert isinstance(snapshot, IcebergSnapshot)
        return load_changes(snapshot, start, end, allow_outside=allow_outside)


def _schema_of(metadata: TableMetadata, info: SnapshotInfo) -> int:
    """Returns the schema id; an older snapshot has the columns with which it was written."""
    known = info.schema_id is not None and info.schema_id in metadata.schemas
    return info.schema_id if known and info.schema_id is not None else metadata.current_schema_id
