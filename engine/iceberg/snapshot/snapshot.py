"""A snapshot of an Iceberg table, as defined by `engine.tables`.

The metadata file is read when the table is loaded; manifests are read when files are first needed. Both are immutable,
so decoded content is cached across statements (`engine.iceberg.manifests.decoded`). A snapshot's version is its id,
which implies no order; a table without snapshots has the version 0.

`load_snapshot` opens the current snapshot for a table in a folder.

Source: Iceberg table specification, "Snapshots", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import (
    IcebergFeatureNotSupported,
    IcebergFileNotFound,
    IcebergMetadataTableNotFound,
    IcebergRefNotWritable,
    IcebergRowsNotChangeable,
    IcebergTableIsStatic,
)
from engine.iceberg.commit.metadata_files import load_newest, version_of
from engine.iceberg.definition.changes import change_definition, redefine_table
from engine.iceberg.definition.column_types import table_schema
from engine.iceberg.definition.definition import IcebergDefinition, definition_of
from engine.iceberg.definition.properties import COMMENT, NAME_MAPPING
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.manifests.manifest_list import Manifest, decode_manifest_list, named_manifest
from engine.iceberg.manifests.metrics import METRICS
from engine.iceberg.partitions.shown_partitions import shown_partitions
from engine.iceberg.snapshot.column_names import ROW_LINEAGE, pushable_names
from engine.iceberg.snapshot.deletes import DeleteReader, deleted_positions, equality_deletes, vectors, with_rows
from engine.iceberg.snapshot.file_kinds import ensure_without_deletes, file_columns, file_kinds
from engine.iceberg.snapshot.footers import READ_BY_IDS, FileColumns, parse_name_mapping
from engine.iceberg.snapshot.hidden_columns import NO_HIDDEN_COLUMNS, HiddenColumns, of_files_alone, requested_columns
from engine.iceberg.snapshot.live_files import LIVE, LiveFiles, live_entries, live_files, removed_entries
from engine.iceberg.snapshot.manifest_pruning import digest_of, left_out, narrowed_manifests
from engine.iceberg.snapshot.metadata_tables import NAMES, TableMetadataSource, ancestry, metadata_table
from engine.iceberg.snapshot.places import Places
from engine.iceberg.snapshot.pruning import FileKnowledge, IcebergPruning, distinct_counts, measured_columns
from engine.iceberg.snapshot.row_files import IcebergRowFiles
from engine.iceberg.snapshot.scans import (
    ScanSource,
    applied_deletes,
    build_deleted_rows_query,
    build_scan,
    requires_footers,
)
from engine.iceberg.snapshot.shared_files import ensure_not_converted, shared_files
from engine.iceberg.snapshot.transaction_ids import find_record
from engine.iceberg.spec.metadata import MAIN, SnapshotInfo, TableMetadata, parse_metadata
from engine.iceberg.spec.types import IcebergSchema
from engine.iceberg.writing.new_files import scanned_files
from engine.pruning.estimates import DistinctCounts
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.deletion_vectors import DELETION_VECTOR, Rows
from engine.storage.storage import FileStatus, Storage, open_storage
from engine.storage.vended_storage import credentials_id_of
from engine.tables.config import Constraint
from engine.tables.definition import TableDetails
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import HISTORY_SCHEMA, CommitSearch, TableOperation
from engine.tables.row_files import RowFiles
from engine.tables.scan import ComposedScan, FileKind, RowTracking, Scan
from engine.tables.shared_files import SharedFiles
from engine.tables.snapshot import MetadataTable
from engine.types.schema import StructType
from engine.types.value_bytes import value_bytes

FORMAT = "iceberg"
_LINEAGE_VERSION = 3
# Operations that change nothing.
_READS = frozenset([TableOperation.READ, TableOperation.CDF_READ])
# The version for a table without snapshots.
NO_VERSION = 0


@dataclass(frozen=True, eq=False)
class IcebergSnapshot:
    """An immutable snapshot, safe to share between threads.

    `metadata_name` is the metadata file, relative to the table's folder. `info` is the snapshot that is read, None for
    a table without one; `iceberg_schema` are its columns. `address` identifies a REST catalog table. `branch` is the
    one that has this snapshot as its head; None: it cannot be written.
    """

    storage: Storage
    metadata_name: str
    metadata: TableMetadata
    info: SnapshotInfo | None
    iceberg_schema: IcebergSchema
    decoded: Decoded
    address: str | None = None
    branch: str | None = MAIN
    # Rows deleted by equality deletes, by position in `files`, if a statement has found them all: the search is then
    # not repeated.
    resolved_deletes: Mapping[int, Rows] | None = None

    # The manifests that a query needs, if not all.
    needed: tuple[Manifest, ...] | None = None

    format = FORMAT
    checks: tuple[Constraint, ...] = ()
    partition_generations: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> int:
        return self.info.snapshot_id if self.info else NO_VERSION

    @cached_property
    def stamp(self) -> str:
        """Identifies the metadata, whose files never change, and the part that is read."""
        metadata, schema = self.metadata, self.iceberg_schema.schema_id
        found = (metadata.table_uuid, self.address, self.metadata_name, metadata.last_updated_ms, self.version, schema)
        return repr((*found, self.branch, self.needed and digest_of(self.needed)))

    @property
    def table_root(self) -> str:
        return self.storage.root

    @property
    def label(self) -> str:
        """Returns the table's provisional name in messages."""
        return self.storage.root

    @cached_property
    def schema(self) -> StructType:
        return table_schema(self.iceberg_schema.struct)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Returns an empty tuple: file pruning uses the partition values, but rows contain the source columns."""
        return ()

    @property
    def table_config(self) -> IcebergDefinition:
        return self.definition

    @cached_property
    def details(self) -> TableDetails:
        metadata = self.metadata
        return replace(
            self.definition.table_details,
            id=metadata.table_uuid,
            created_ms=metadata.metadata_log[0].timestamp_ms if metadata.metadata_log else None,
            modified_ms=self.info.timestamp_ms if self.info else metadata.last_updated_ms,
        )

    def creating_properties(self, label: str) -> list[tuple[str, str]]:
        found = self.details.properties.items()
        return sorted((key, value) for key, value in found if value is not None and key != COMMENT)

    @cached_property
    def definition(self) -> IcebergDefinition:
        return definition_of(self.metadata, self.iceberg_schema, self.label)

    def change_definition(self, label: str, changes: Iterable[DefinitionChange]) -> IcebergDefinition:
        """Returns the changed definition. Raises like `change_definition`."""
        return change_definition(replace(self.definition, name=label), changes)

    def replace_definition(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> IcebergDefinition:
        """Returns the replaced definition. Raises like `change_definition`."""
        return redefine_table(replace(self.definition, name=label), schema, partition_columns, changes)

    @property
    def row_files(self) -> RowFiles:
        return IcebergRowFiles(self)

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises like :meth:`ensure_begun`, and `FolderOfTwoTables`, `IcebergRowsNotChangeable`."""
        self.ensure_begun(operation)
        if operation in _READS:
            return
        if self.address is None:
            ensure_not_converted(self.storage, self.label)
        if operation is TableOperation.DML and isinstance(self.scan("changed", self.label), ComposedScan):
            raise IcebergRowsNotChangeable(self.label)

    def ensure_begun(self, operation: TableOperation) -> None:
        """Checks, without a request, that a transaction can begin here: planning has checked the rest, and the commit
        checks again that nobody has converted the table.

        Raises like `IcebergDefinition.ensure_supported`, and `IcebergTableIsStatic`, `IcebergRefNotWritable`.
        """
        self.definition.ensure_supported(operation)
        if operation in _READS:
            return
        if self.is_static:
            raise IcebergTableIsStatic(self.label, self.metadata_name)
        if self.branch is None:
            raise IcebergRefNotWritable(self.label, f"The snapshot {self.version}")

    # --- Files ---

    @property
    def is_static(self) -> bool:
        """Returns True if the table is a fixed metadata file.

        Its later versions are in a catalog that is not connected.
        """
        return self.address is None and version_of(self.metadata_name) is None

    @property
    def places(self) -> Places:
        """Returns the mapping from paths in metadata to paths in the storage."""
        return Places(self.storage.root, self.metadata.location)

    @cached_property
    def manifests(self) -> tuple[Manifest, ...]:
        """Returns the manifests in use. Raises `IcebergFileNotFound`, `MalformedIcebergFile`, `LogPathNotAllowed`."""
        if self.needed is not None:
            return self.needed
        return () if self.info is None else self.manifests_of(self.info)

    def manifests_of(self, info: SnapshotInfo) -> tuple[Manifest, ...]:
        """Returns another snapshot's manifests. Raises like `manifests`."""
        if info.key_id is not None:
            raise IcebergFeatureNotSupported(self.label, "encryption")
        # Version 1 allows the manifests in the snapshot itself, without a list.
        if info.manifest_list is None:
            return tuple(named_manifest(path, info.snapshot_id, self.read) for path in info.manifests)
        name = info.manifest_list
        return self._decoded_list(name, info.snapshot_id, lambda: self.read(name))

    def _decoded_list(self, name: str, snapshot_id: int, read: Callable[[], bytes]) -> tuple[Manifest, ...]:
        key = ("manifest list", self.storage.root, name, snapshot_id)
        return self.decoded.get(key, lambda: decode_manifest_list(read(), name), lambda found: 400 * len(found))

    def cache_manifest_list(self, name: str, snapshot_id: int, data: bytes) -> None:
        """Caches the list of a snapshot that was just committed, for the table's next statements."""
        self._decoded_list(name, snapshot_id, lambda: data)

    def read(self, path: str) -> bytes:
        """Reads a file that the metadata references."""
        try:
            return self.storage.read_bytes(self.places.path(path))
        except FileNotFoundError as error:
            raise IcebergFileNotFound(self.label, path) from error

    def _read_all(self, paths: list[str]) -> Iterator[bytes]:
        try:
            yield from self.storage.read_many([self.places.path(path) for path in paths])
        except FileNotFoundError as error:
            raise IcebergFileNotFound(self.label, str(error.filename or error)) from error

    @cached_property
    def live_files(self) -> LiveFiles:
        """Returns the live files. Raises like `live_files`."""
        return live_files(self.manifests, self._read_all, self.decoded, self.storage.root, self.metadata.format_version)

    def entries_of(self, manifests: Sequence[Manifest]) -> list[pa.Table]:
        """Returns each manifest's live entries, with all inherited values. Raises like `live_files`."""
        version = self.metadata.format_version
        return live_entries(list(manifests), self._read_all, self.decoded, self.storage.root, version)

    def removed_of(self, manifests: Sequence[Manifest]) -> list[pa.Table]:
        """Returns each manifest's entries for files that its snapshot removed. Raises like `live_files`."""
        return removed_entries(list(manifests), self._read_all, self.decoded, self.storage.root)

    @cached_property
    def files(self) -> pa.Table:
        """Returns the data files, aligned with `live_files.data`."""
        found = self.live_files
        reader = DeleteReader(self.storage, self.places, self.decoded)
        deleted = vectors(found.data, found.deletes, reader, self.label)
        if self.resolved_deletes:
            deleted = with_rows(self.storage, deleted, self.resolved_deletes)
        return self.as_scan_files(found.data, deleted)

    def as_scan_files(self, entries: pa.Table, deleted: pa.Array | None = None) -> pa.Table:
        """Adds the columns that every `Scan.files` has, and deletion vectors. Raises `LogPathNotAllowed`."""
        files = scanned_files(self.places.paths(entries["file_path"]), entries, deleted)
        # Paths in manifests are absolute and come from any writer: each must lie in a place
        # that this table may read.
        for batch in files.to_batches():
            self.storage.confinement.ensure_files(batch)
        return files

    @property
    def num_files(self) -> int:
        return int(self.live_files.data.num_rows)

    @cached_property
    def size_bytes(self) -> int:
        return int(pc.sum(self.live_files.data["file_size_in_bytes"]).as_py() or 0)

    @property
    def left_out(self) -> tuple[int, int]:
        """Returns the skipped files and bytes, by the manifest list and the snapshot's summary."""
        if self.needed is None or self.info is None:
            return 0, 0
        return left_out(self.manifests_of(self.info), self.info.summary, self.live_files)

    @property
    def num_bytes(self) -> int:
        """Returns the approximate memory in bytes, without decoded manifests."""
        live, files = self.__dict__.get("live_files"), self.__dict__.get("files")  # if they are loaded
        tables = [*([] if live is None else [live.data, live.deletes]), *([] if files is None else [files])]
        # Metrics belong to the decoded manifests, and are counted there.
        own = [table.select([name for name in table.column_names if name not in METRICS]) for table in tables]
        return sum(map(value_bytes, own))

    @cached_property
    def _pushable_names(self) -> Mapping[int, str]:
        return pushable_names(self.metadata.schemas)

    @cached_property
    def _equality(self) -> pa.Table:
        found = equality_deletes(self.live_files.deletes, self.label)
        return found if self.resolved_deletes is None else found.slice(0, 0)

    @cached_property
    def has_equality_deletes(self) -> bool:
        """Returns True if equality deletes delete any rows."""
        if not self._equality.num_rows:
            return False
        source = replace(self.scan_source(self.files, self.live_files.data), equality=self._equality)
        return bool(applied_deletes(source, self.label))

    def scan(self, relation: str, label: str) -> Scan | ComposedScan:
        """Returns the scan. Raises errors that name unsupported files."""
        return self._scan(relation, label, NO_HIDDEN_COLUMNS)

    def scan_for_query(self, relation: str, label: str, asks: Callable[[str], bool]) -> Scan | ComposedScan:
        """Returns the scan for one query. Raises like `scan`."""
        hidden = requested_columns(self.metadata, self.iceberg_schema, self._row_tracking, asks)
        if self._named_kinds:
            hidden = of_files_alone(hidden)
        return self._scan(relation, label, hidden)

    def _scan(self, relation: str, label: str, hidden: HiddenColumns) -> Scan | ComposedScan:
        found = build_scan(replace(self._whole_source(label), hidden=hidden), relation, label)
        return replace(found, row_tracking=self._row_tracking) if isinstance(found, Scan) else found

    def narrow(self, condition: Predicate) -> IcebergSnapshot:
        """Prunes manifests that the query does not need, unless all files are loaded. Raises like `manifests`."""
        # With all manifests decoded there is nothing to save, and other statements share
        # that result.
        if "live_files" in self.__dict__ or self.resolved_deletes is not None:
            return self
        needed = narrowed_manifests(self.manifests, condition, self.iceberg_schema, self.metadata.specs)
        return self if needed is None else replace(self, needed=needed)

    def of_files(self, rows: pa.Array) -> IcebergSnapshot:
        """Returns a snapshot with only these `files` rows."""
        found, live = replace(self), self.live_files
        found.__dict__.update(live_files=replace(live, data=live.data.take(rows)), files=self.files.take(rows))
        return found

    def unresolved_deletes(self, relation: str, label: str) -> EqualityDeleted | None:
        """Returns the rows that equality deletes match. Raises like `scan`."""
        if not self._equality.num_rows:
            return None
        places = build_deleted_rows_query(self._whole_source(label), relation, label)
        return None if places is None else EqualityDeleted(self, places)

    def _whole_source(self, label: str) -> ScanSource:
        data = self.live_files.data
        equality = self._equality
        return replace(
            self.scan_source(self.files, data),
            equality=equality,
            equality_files=self.as_scan_files(equality),
            footers=self._footers(label),
        )

    @cached_property
    def _kinds(self) -> pa.ChunkedArray:
        return file_kinds(self.live_files.data, self.label)

    @property
    def _named_kinds(self) -> list[FileKind]:
        """Returns the formats among data files that are read by names."""
        found = pc.unique(self._kinds).to_pylist()
        return [kind for kind in FileKind if kind.value in found and kind is not FileKind.PARQUET]

    def _footers(self, label: str) -> list[FileColumns] | None:
        """Returns all data files' footers, if any is needed. Raises like `scan`."""
        text = self.metadata.properties.get(NAME_MAPPING)
        kinds = self._named_kinds
        if requires_footers(self.iceberg_schema, text is not None):
            kinds = [FileKind.PARQUET, *kinds]
        if not kinds:
            return None
        mapping = None if text is None else parse_name_mapping(text)
        found = [READ_BY_IDS] * self.num_files
        for kind in kinds:
            places = np.flatnonzero(np.asarray(self._kinds) == kind.value)
            files = self.files.take(pa.array(places))
            columns = file_columns(kind, self.storage, files["path"].to_pylist(), mapping, self.decoded)
            ensure_without_deletes(kind, files, label)
            for place, each in zip(places.tolist(), columns, strict=True):
                found[place] = each
        return found

    def scan_source(self, files: pa.Table, data: pa.Table) -> ScanSource:
        """Returns the scan input for these data files, without equality deletes and footers."""
        none = self._equality.slice(0, 0)
        return ScanSource(
            root=self.storage.root,
            schema=self.iceberg_schema,
            schemas=self.metadata.schemas,
            specs=self.metadata.specs,
            files=files,
            data=data,
            equality=none,
            equality_files=self.as_scan_files(none),
            footers=None,
            pushed=self._pushable_names,
            file_places=self.storage.confinement.places,
            credentials_id=credentials_id_of(self.storage),
        )

    @property
    def _row_tracking(self) -> RowTracking | None:
        """Returns None for tables without row ids: older versions, or upgraded and not written since."""
        # "Row Lineage": after an upgrade the files have no ids until a commit assigns them;
        # ids for some rows only would look like nulls in others.
        if self.metadata.format_version < _LINEAGE_VERSION or self.live_files.data["first_row_id"].null_count:
            return None
        return ROW_LINEAGE

    # --- Statistics ---

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        return TableColumns(schema=self.schema, time_zone=time_zone)

    @cached_property
    def _knowledge(self) -> FileKnowledge:
        return FileKnowledge(self.live_files.data, self.iceberg_schema, self.metadata.specs)

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        return IcebergPruning(self.columns(time_zone), self._knowledge)

    def partition_texts(self) -> pa.Table:
        return pa.table({"": pa.nulls(self.num_files)}).select([])

    def shown_partitions(self) -> pa.Table:
        return shown_partitions(self.live_files.data, self.metadata)

    def counted_files(self, columns: Collection[str]) -> CountedFiles:
        """Returns counts from the metadata; row counts are unknown with equality deletes. Nested columns have no bounds
        here.
        """
        data = self.live_files.data
        statistics = measured_columns(data, self.iceberg_schema, columns)
        counts = data["record_count"]
        tight = pa.nulls(data.num_rows, pa.bool_())
        # Equality deletes remove an unknown number of rows, so that neither the counts nor
        # the bounds are exact.
        if self._equality.num_rows:
            counts = pa.nulls(data.num_rows, pa.int64())
            tight = pa.repeat(False, data.num_rows)
        known = pa.table({"num_records": counts, "tight_bounds": tight, **statistics})
        return CountedFiles(files=self.files, statistics=known)

    @property
    def distinct_counts(self) -> DistinctCounts:
        return distinct_counts(self.metadata, self.info, self.iceberg_schema)

    def history(self, limit: int | None = None) -> pa.Table:
        return snapshot_history(self.metadata, self.info, limit)

    def shared_files(self, label: str, wanted: str) -> SharedFiles:
        """Returns the files for another format. Raises like `shared_files`."""
        return shared_files(self, label, wanted)

    def metadata_table(self, name: str) -> MetadataTable | None:
        """Returns a metadata table. Raises `IcebergMetadataTableNotFound` for an unknown name."""
        source = TableMetadataSource(
            self.metadata,
            self.info,
            f"{self.metadata.location}/{self.metadata_name}",
            self.manifests_of,
            self._entries,
            self.removed_of,
            partial(deleted_positions, reader=DeleteReader(self.storage, self.places, self.decoded)),
        )
        found = metadata_table(source, name)
        if found is None:
            raise IcebergMetadataTableNotFound(self.label, name, NAMES)
        return found

    def _entries(self, manifests: Sequence[Manifest]) -> Iterator[pa.Table]:
        """Yields the manifests' live entries."""
        found = self.files_of(manifests)
        yield from (found.data, found.deletes)

    def files_of(self, manifests: Sequence[Manifest]) -> LiveFiles:
        """Returns the manifests' live files. Raises like `live_files`."""
        return live_files(
            manifests, self._read_all, self.decoded, self.storage.root, self.metadata.format_version, is_whole=False
        )

    def deleted_rows(self, files: LiveFiles) -> pa.ChunkedArray:
        """Returns the data files' deletion vectors, as in `files`. Raises like `vectors`."""
        reader = DeleteReader(self.storage, self.places, self.decoded)
        return pa.chunked_array([vectors(files.data, files.deletes, reader, self.label)], DELETION_VECTOR)

    @property
    def no_entries(self) -> pa.Table:
        """Returns an empty table of manifest entries."""
        return LIVE.empty_table()

    def find_commit(self, transaction_id: str, since_ms: int, *, changes_rows: bool) -> CommitSearch:
        """Implements `TableSnapshot.find_commit`. A change of the definition alone has no id: it is certainly not
        committed if the metadata was not changed since.
        """
        record = find_record(self.metadata, transaction_id)
        return CommitSearch(record=record, is_complete=changes_rows or self.metadata.last_updated_ms < since_ms)

    def last_write_of(self, app_id: str) -> int | None:
        return None

    def is_gone(self) -> bool:
        if self.address is not None:  # the catalog reports it on the next request
            return False
        try:
            return not self.storage.exists(self.metadata_name)
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class EqualityDeleted:
    """See :class:`engine.tables.snapshot.UnresolvedDeletes`."""

    snapshot: IcebergSnapshot
    places: ComposedScan

    def with_deletes(self, rows: Mapping[int, Rows]) -> IcebergSnapshot:
        return replace(self.snapshot, resolved_deletes=rows)


_DECODED_BYTES_MAX = 64 << 20


def load_snapshot(path: str) -> IcebergSnapshot:
    """Loads the current snapshot for the table in the folder `path`.

    Raises `IcebergTableNotFound`, `MalformedIcebergFile`. Specification: "Table Metadata", "Snapshots".
    """
    storage = open_storage(path)

    def read(name: str, status: FileStatus | None) -> IcebergSnapshot:
        metadata = parse_metadata(storage.read_bytes(name), name, storage.root)
        current = metadata.current_snapshot_id
        return IcebergSnapshot(
            storage=storage,
            metadata_name=name,
            metadata=metadata,
            info=None if current is None else metadata.snapshots[current],
            iceberg_schema=metadata.schemas[metadata.current_schema_id],
            decoded=Decoded(_DECODED_BYTES_MAX),
        )

    return load_newest(storage, read)


def snapshot_history(metadata: TableMetadata, newest: SnapshotInfo | None, limit: int | None) -> pa.Table:
    """Implements `TableSnapshot.history`. Ids and parents that do not fit BIGINT are null."""
    rows: list[dict[str, Any]] = [
        {
            "version": info.snapshot_id if info.snapshot_id < 1 << 63 else None,
            "timestamp": info.timestamp_ms,
            "operation": (info.operation or "").upper() or None,
            "readVersion": info.parent_id if (info.parent_id or 0) < 1 << 63 else None,
            "operationMetrics": [(key, value) for key, value in info.summary.items() if key != "operation"],
        }
        for info in islice(ancestry(metadata, newest), limit)
    ]
    return pa.Table.from_pylist(rows, HISTORY_SCHEMA)
