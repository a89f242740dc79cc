"""Metadata tables: snapshots and references, manifests, files, partitions.

Names and columns equal those in Iceberg's Spark runtime. File tables cover the snapshot that is read. With the prefix
`all_` they cover every snapshot in the metadata: each file once per manifest, and each manifest once per snapshot.
Entries tables include the entries that a manifest has for removed files.

Source: Iceberg documentation, "Inspecting tables"; table specification, "Manifests", "Snapshots".
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergOperationNotSupported
from engine.iceberg.definition.column_types import table_schema
from engine.iceberg.manifests.manifest import DATA, EQUALITY_DELETES, POSITION_DELETES, SPEC_ID
from engine.iceberg.manifests.manifest_list import Manifest
from engine.iceberg.manifests.metrics import METRICS, pairs
from engine.iceberg.partitions.partition_struct import PartitionStruct, Row, result_type
from engine.iceberg.partitions.readable_metrics import READABLE_METRICS, ReadableMetrics
from engine.iceberg.partitions.shown_partitions import shown_partition
from engine.iceberg.snapshot.deletes import Positions
from engine.iceberg.spec.metadata import MAIN, SnapshotInfo, TableMetadata
from engine.iceberg.spec.partitions import PartitionField
from engine.iceberg.spec.single_values import from_bytes
from engine.iceberg.spec.types import IcebergSchema
from engine.tables.snapshot import MetadataTable
from engine.types.schema import ArrayType, DataType, MapType, PrimitiveType, StructField, StructType

_LONG, _INT, _TEXT, _FLAG = PrimitiveType.LONG, PrimitiveType.INTEGER, PrimitiveType.STRING, PrimitiveType.BOOLEAN
_TIME, _BYTES = PrimitiveType.TIMESTAMP, PrimitiveType.BINARY
# Columns with paths of files, and the column with the struct that contains others.
_PATHS = frozenset(["manifest_list", "file", "path", "file_path", "referenced_data_file", "delete_file_path"])
_DATA_FILE = "data_file"
_COUNTS, _BOUNDS = MapType(_INT, _LONG), MapType(_INT, _BYTES)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _columns(**types: DataType) -> StructType:
    return StructType(tuple(StructField(name, kind) for name, kind in types.items()))


HISTORY = _columns(made_current_at=_TIME, snapshot_id=_LONG, parent_id=_LONG, is_current_ancestor=_FLAG)
SNAPSHOTS = _columns(
    committed_at=_TIME,
    snapshot_id=_LONG,
    parent_id=_LONG,
    operation=_TEXT,
    manifest_list=_TEXT,
    summary=MapType(_TEXT, _TEXT),
)
REFS = _columns(
    name=_TEXT,
    type=_TEXT,
    snapshot_id=_LONG,
    max_reference_age_in_ms=_LONG,
    min_snapshots_to_keep=_INT,
    max_snapshot_age_in_ms=_LONG,
)
METADATA_LOG = _columns(
    timestamp=_TIME, file=_TEXT, latest_snapshot_id=_LONG, latest_schema_id=_INT, latest_sequence_number=_LONG
)
_SUMMARY = _columns(contains_null=_FLAG, contains_nan=_FLAG, lower_bound=_TEXT, upper_bound=_TEXT)
MANIFESTS = _columns(
    content=_INT,
    path=_TEXT,
    length=_LONG,
    partition_spec_id=_INT,
    added_snapshot_id=_LONG,
    added_data_files_count=_INT,
    existing_data_files_count=_INT,
    deleted_data_files_count=_INT,
    added_delete_files_count=_INT,
    existing_delete_files_count=_INT,
    deleted_delete_files_count=_INT,
    partition_summaries=ArrayType(_SUMMARY),
)
ALL_MANIFESTS = StructType((*MANIFESTS.fields, *_columns(reference_snapshot_id=_LONG, key_metadata=_BYTES).fields))


@dataclass(frozen=True, slots=True)
class TableMetadataSource:
    """The input for metadata tables. `entries` returns the manifests' live entries, data files and deletes;
    `removed_of` returns each manifest's entries for removed files; `positions` reads a position delete file.
    """

    metadata: TableMetadata
    info: SnapshotInfo | None
    metadata_file: str
    manifests_of: Callable[[SnapshotInfo], Sequence[Manifest]]
    entries: Callable[[Sequence[Manifest]], Iterator[pa.Table]]
    removed_of: Callable[[Sequence[Manifest]], Sequence[pa.Table]]
    positions: Callable[[Row], Positions]

    def references(self, *, of_all: bool) -> Iterator[tuple[SnapshotInfo, Manifest]]:
        """Yields each manifest in each snapshot."""
        infos = list(self.metadata.snapshots.values()) if of_all else [self.info] if self.info else []
        return ((info, manifest) for info in infos for manifest in self.manifests_of(info))

    def manifests(self, *, of_all: bool) -> list[Manifest]:
        """Returns the manifests, each once, of the current snapshot or of all snapshots."""
        found: dict[str, Manifest] = {}
        for _, manifest in self.references(of_all=of_all):
            found.setdefault(manifest.path, manifest)
        return list(found.values())

    def removed_entries(self, manifests: Sequence[Manifest]) -> Iterator[pa.Table]:
        """Yields removed entries with the partition spec, as live entries have it, and sequence number 0 in version
        1.
        """
        for manifest, table in zip(manifests, self.removed_of(manifests), strict=True):
            for name in ("sequence_number", "file_sequence_number") if manifest.sequence_number == 0 else ():
                at = table.schema.get_field_index(name)
                table = table.set_column(at, table.schema.field(at), pc.fill_null(table[name], 0))
            yield table.append_column(SPEC_ID, pa.repeat(pa.scalar(manifest.spec_id, pa.int32()), table.num_rows))


def metadata_table(source: TableMetadataSource, name: str) -> MetadataTable | None:
    """Returns the table with this name, ignoring case; None if unknown."""
    found = _metadata_table(source, name.lower())
    return None if found is None else replace(found, paths=tuple(_paths_in(found.schema)))


def _paths_in(schema: StructType) -> Iterator[tuple[str, ...]]:
    for field in schema.fields:
        if field.name in _PATHS:
            yield (field.name,)
        elif field.name == _DATA_FILE and isinstance(field.data_type, StructType):
            yield from ((field.name, *path) for path in _paths_in(field.data_type))


def _metadata_table(source: TableMetadataSource, name: str) -> MetadataTable | None:
    of_all = name.startswith("all_")
    kind = name.removeprefix("all_")
    if not of_all and kind in _OF_METADATA:
        schema, rows = _OF_METADATA[kind]
        return MetadataTable(schema=schema, rows=tuple(rows(source)))
    if kind == "manifests" and of_all:
        references = source.references(of_all=True)
        rows_of_all = (
            {**_manifest_row(source.metadata, each), "reference_snapshot_id": info.snapshot_id, "key_metadata": None}
            for info, each in references
        )
        return MetadataTable(schema=ALL_MANIFESTS, rows=tuple(rows_of_all))
    if kind == "manifests":
        manifests = source.manifests(of_all=False)
        return MetadataTable(schema=MANIFESTS, rows=tuple(_manifest_row(source.metadata, each) for each in manifests))
    if kind in _CONTENTS:
        return _files(source, kind, of_all=of_all)
    if kind == "entries":
        return _entries(source, of_all=of_all)
    if kind == "partitions" and not of_all:
        return _partitions(source)
    if kind == "position_deletes" and not of_all:
        return _position_deletes(source)
    return None


# All metadata tables' names, for messages.
NAMES = (
    "all_data_files, all_delete_files, all_entries, all_files, all_manifests, data_files, delete_files, entries, files,"
    " history, manifests, metadata_log_entries, partitions, position_deletes, refs, snapshots"
)


# --- From the metadata alone ------------------------------------------------------------------------------------------


def time_text(ms: int) -> str:
    """Returns a UTC time in ISO 8601, for milliseconds since the epoch."""
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat()


def _history(source: TableMetadataSource) -> Iterator[Row]:
    current = source.metadata.snapshots.get(source.metadata.current_snapshot_id or -1)
    ancestors = {info.snapshot_id for info in ancestry(source.metadata, current)}
    for at_ms, snapshot_id in source.metadata.snapshot_log:
        info = source.metadata.snapshots.get(snapshot_id)
        yield {
            "made_current_at": time_text(at_ms),
            "snapshot_id": snapshot_id,
            "parent_id": None if info is None else info.parent_id,
            "is_current_ancestor": snapshot_id in ancestors,
        }


def ancestry(metadata: TableMetadata, info: SnapshotInfo | None) -> Iterator[SnapshotInfo]:
    """Yields a snapshot and its ancestors, as far as the metadata lists them."""
    seen: set[int] = set()
    while info is not None and info.snapshot_id not in seen:
        seen.add(info.snapshot_id)
        yield info
        info = None if info.parent_id is None else metadata.snapshots.get(info.parent_id)


def _snapshots(source: TableMetadataSource) -> Iterator[Row]:
    for info in source.metadata.snapshots.values():
        yield {
            "committed_at": time_text(info.timestamp_ms),
            "snapshot_id": info.snapshot_id,
            "parent_id": info.parent_id,
            "operation": info.operation,
            "manifest_list": info.manifest_list,
            "summary": [{"key": key, "value": text} for key, text in info.summary.items() if key != "operation"],
        }


def _refs(source: TableMetadataSource) -> Iterator[Row]:
    for ref in sorted(source.metadata.refs.values(), key=lambda ref: (ref.name != MAIN, ref.name)):
        yield {
            "name": ref.name,
            "type": "BRANCH" if ref.is_branch else "TAG",
            "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.max_ref_age_ms,
            "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
        }


def _metadata_log(source: TableMetadataSource) -> Iterator[Row]:
    metadata = source.metadata
    files = [(each.timestamp_ms, each.file) for each in metadata.metadata_log]
    for at_ms, file in (*files, (metadata.last_updated_ms, source.metadata_file)):
        past = [id for time, id in metadata.snapshot_log if time <= at_ms]
        info = metadata.snapshots.get(past[-1]) if past else None
        yield {
            "timestamp": time_text(at_ms),
            "file": file,
            "latest_snapshot_id": past[-1] if past else None,
            "latest_schema_id": None if info is None else info.schema_id,
            "latest_sequence_number": None if info is None else info.sequence_number,
        }


_OF_METADATA: Mapping[str, tuple[StructType, Callable[[TableMetadataSource], Iterable[Row]]]] = {
    "history": (HISTORY, _history),
    "snapshots": (SNAPSHOTS, _snapshots),
    "refs": (REFS, _refs),
    "metadata_log_entries": (METADATA_LOG, _metadata_log),
}


# --- From manifests ---------------------------------------------------------------------------------------------------


def _manifest_row(metadata: TableMetadata, manifest: Manifest) -> Row:
    counts = [manifest.added[0], manifest.existing[0], manifest.deleted[0]]
    data, deletes = ([0, 0, 0], counts) if manifest.has_deletes else (counts, [0, 0, 0])
    spec = metadata.specs.get(manifest.spec_id)
    fields = () if spec is None else spec.fields
    return {
        "content": 1 if manifest.has_deletes else 0,
        "path": manifest.path,
        "length": manifest.length,
        "partition_spec_id": manifest.spec_id,
        "added_snapshot_id": manifest.added_snapshot_id,
        **dict(zip(_COUNT_COLUMNS, (*data, *deletes), strict=True)),
        "partition_summaries": [
            {
                "contains_null": each.contains_null,
                "contains_nan": each.contains_nan,
                "lower_bound": _bound_text(metadata.schema, field, each.lower),
                "upper_bound": _bound_text(metadata.schema, field, each.upper),
            }
            for field, each in zip(fields, manifest.partitions, strict=False)
        ],
    }


_COUNT_COLUMNS = [field.name for field in MANIFESTS.fields if field.name.endswith("_count")]


def _bound_text(schema: IcebergSchema, field: PartitionField, data: bytes | None) -> str | None:
    """Returns a serialized partition value in human-readable form."""
    kind = result_type(schema, field)
    if data is None or kind is None:
        return None
    try:
        return shown_partition(from_bytes(kind, data), field, kind)
    except ValueError:
        return None


_FILE_TYPES: Mapping[str, DataType] = {
    "content": _INT,
    "file_path": _TEXT,
    "file_format": _TEXT,
    SPEC_ID: _INT,
    "record_count": _LONG,
    "file_size_in_bytes": _LONG,
    "column_sizes": _COUNTS,
    "value_counts": _COUNTS,
    "null_value_counts": _COUNTS,
    "nan_value_counts": _COUNTS,
    "lower_bounds": _BOUNDS,
    "upper_bounds": _BOUNDS,
    "key_metadata": _BYTES,
    "split_offsets": ArrayType(_LONG),
    "equality_ids": ArrayType(_INT),
    "sort_order_id": _INT,
    "first_row_id": _LONG,
    "referenced_data_file": _TEXT,
    "content_offset": _LONG,
    "content_size_in_bytes": _LONG,
}
_CONTENTS: Mapping[str, frozenset[int]] = {
    "files": frozenset([DATA, POSITION_DELETES, EQUALITY_DELETES]),
    "data_files": frozenset([DATA]),
    "delete_files": frozenset([POSITION_DELETES, EQUALITY_DELETES]),
}


def _shown_columns(partitions: PartitionStruct) -> StructType:
    fields = [StructField(name, kind) for name, kind in _FILE_TYPES.items()]
    if partitions.schema is not None:
        fields.insert(4, StructField("partition", partitions.schema))
    return StructType(tuple(fields))


def _shown_row(row: Row, partitions: PartitionStruct) -> Row:
    shown = {name: row[name] for name in _FILE_TYPES}
    for name in ("lower_bounds", "upper_bounds"):
        shown[name] = [{"key": pair["key"], "value": _base64(pair["value"])} for pair in row[name] or ()]
    own = {"key_metadata": _base64(row["key_metadata"]), "equality_ids": row["equality_ids"] or None}
    return {**shown, **own, "partition": partitions.of(row)}


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _rows(
    source: TableMetadataSource, *, of_all: bool, metrics: Sequence[str] = METRICS, with_removed: bool = False
) -> Iterator[Row]:
    manifests = source.manifests(of_all=of_all)
    for table in (*source.entries(manifests), *(source.removed_entries(manifests) if with_removed else ())):
        for name in metrics:
            table = table.set_column(table.schema.get_field_index(name), name, pairs(table, name))
        yield from table.to_pylist()


def _files(source: TableMetadataSource, kind: str, *, of_all: bool) -> MetadataTable:
    partitions = PartitionStruct(source.metadata)
    metrics = ReadableMetrics(source.metadata.schema)
    rows = (
        {**_shown_row(row, partitions), READABLE_METRICS: metrics.of(row)}
        for row in _rows(source, of_all=of_all)
        if row["content"] in _CONTENTS[kind]
    )
    return MetadataTable(schema=_with_metrics(_shown_columns(partitions), metrics), rows=tuple(rows))


def _entries(source: TableMetadataSource, *, of_all: bool) -> MetadataTable:
    partitions = PartitionStruct(source.metadata)
    schema = StructType(
        (
            *_columns(status=_INT, snapshot_id=_LONG, sequence_number=_LONG, file_sequence_number=_LONG).fields,
            StructField(_DATA_FILE, _shown_columns(partitions)),
        )
    )
    own = [field.name for field in schema.fields[:-1]]
    metrics = ReadableMetrics(source.metadata.schema)
    rows = (
        {
            **{name: row[name] for name in own},
            _DATA_FILE: _shown_row(row, partitions),
            READABLE_METRICS: metrics.of(row),
        }
        for row in _rows(source, of_all=of_all, with_removed=True)
    )
    return MetadataTable(schema=_with_metrics(schema, metrics), rows=tuple(rows))


def _with_metrics(schema: StructType, metrics: ReadableMetrics) -> StructType:
    more = () if metrics.schema is None else (StructField(READABLE_METRICS, metrics.schema),)
    return StructType((*schema.fields, *more))


_PARTITION_COUNTS: Mapping[str, DataType] = {
    "record_count": _LONG,
    "file_count": _INT,
    "total_data_file_size_in_bytes": _LONG,
    "position_delete_record_count": _LONG,
    "position_delete_file_count": _INT,
    "equality_delete_record_count": _LONG,
    "equality_delete_file_count": _INT,
}
# From the newest snapshot that added a live file, if the metadata lists it.
_LAST_UPDATED: Mapping[str, DataType] = {"last_updated_at": _TIME, "last_updated_snapshot_id": _LONG}


def _partitions(source: TableMetadataSource) -> MetadataTable:
    partitions = PartitionStruct(source.metadata)
    found: dict[Any, dict[str, Any]] = {}
    newest_of: dict[Any, SnapshotInfo] = {}
    for row in _rows(source, of_all=False, metrics=()):
        value = partitions.of(row)
        key = (row[SPEC_ID], *map(_by_bits, value.values()))
        total = found.setdefault(
            key, {"partition": value, "spec_id": row[SPEC_ID], **dict.fromkeys(_PARTITION_COUNTS, 0)}
        )
        prefix = {POSITION_DELETES: "position_delete_", EQUALITY_DELETES: "equality_delete_"}.get(row["content"], "")
        total[f"{prefix}record_count"] += row["record_count"]
        total[f"{prefix}file_count"] += 1
        if row["content"] == DATA:
            total["total_data_file_size_in_bytes"] += row["file_size_in_bytes"]
        info = source.metadata.snapshots.get(row["snapshot_id"])
        newest = newest_of.get(key)
        if info is not None and (newest is None or info.timestamp_ms > newest.timestamp_ms):
            newest_of[key] = info
    for key, total in found.items():
        newest = newest_of.get(key)
        total["last_updated_at"] = None if newest is None else time_text(newest.timestamp_ms)
        total["last_updated_snapshot_id"] = None if newest is None else newest.snapshot_id
    fields = [StructField(name, kind) for name, kind in {"spec_id": _INT, **_PARTITION_COUNTS, **_LAST_UPDATED}.items()]
    if partitions.schema is not None:
        fields.insert(0, StructField("partition", partitions.schema))
    return MetadataTable(schema=StructType(tuple(fields)), rows=tuple(found.values()))


# The first format version in which deletes are vectors in Puffin files.
_LINEAGE_VERSION = 3
_DELETED_ROWS_MAX = 1_000_000


def _position_deletes(source: TableMetadataSource) -> MetadataTable:
    """Returns the table `position_deletes`. The column `row` is NULL: few writers store deleted rows.

    Raises `IcebergOperationNotSupported` if there are too many rows.
    """
    metadata = source.metadata
    partitions = PartitionStruct(metadata)
    has_vectors = metadata.format_version >= _LINEAGE_VERSION
    entries = [row for row in _rows(source, of_all=False, metrics=()) if row["content"] == POSITION_DELETES]
    count = sum(row["record_count"] for row in entries)
    if count > _DELETED_ROWS_MAX:
        what = f"Showing {count} position deletes (more than {_DELETED_ROWS_MAX}) of"
        raise IcebergOperationNotSupported(metadata.location, what)
    rows = []
    for row in entries:
        own = {"row": None, "spec_id": row[SPEC_ID], "delete_file_path": row["file_path"], "partition": None}
        if partitions.schema is not None:
            own["partition"] = partitions.of(row)
        if has_vectors:
            own |= {name: row[name] for name in ("content_offset", "content_size_in_bytes")}
        for path, positions in source.positions(row).items():
            rows += [{"file_path": path, "pos": position, **own} for position in positions.tolist()]
    fields = [StructField("file_path", _TEXT), StructField("pos", _LONG)]
    fields.append(StructField("row", table_schema(metadata.schema.struct)))
    if partitions.schema is not None:
        fields.append(StructField("partition", partitions.schema))
    fields += _columns(spec_id=_INT, delete_file_path=_TEXT).fields
    if has_vectors:
        fields += _columns(content_offset=_LONG, content_size_in_bytes=_LONG).fields
    return MetadataTable(schema=StructType(tuple(fields)), rows=tuple(rows))


def _by_bits(value: Any) -> Any:
    """Returns a partition value's key: NaN equals NaN, and -0.0 differs from 0.0."""
    return repr(value) if isinstance(value, float) else value
