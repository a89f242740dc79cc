"""Files for row-level changes: reading their rows by position, and deletion vectors.

A deletion vector contains all deleted rows in its file, so the new vector includes the old one. One commit removes the
file with the old vector and adds it with the new one. The statistics keep their row count, which includes deleted rows;
their bounds may include deleted rows. All of a commit's vectors are in one file.

When a deletion vector is read, it is verified against its log entry: size, checksum, cardinality. Several vectors may
share a file; only the requested vector's range is read, limited to the largest possible vector.

Protocol: "Deletion Vectors", "Writer Requirement for Deletion Vectors", "Per-file Statistics".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import LogFileNotFound, MalformedLogEntry
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.snapshot.file_stats import batch_pruning
from engine.delta.snapshot.table_scan import table_scan, with_decoded_vectors
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path, read_inline
from engine.delta.spec.stats import parse_file_stats
from engine.pruning.predicates import Predicate
from engine.pruning.table_columns import TableColumns
from engine.storage.deletion_vectors import FRAME_BYTES, INLINE, RELATIVE, VECTOR_BYTES_MAX, Rows, parse_rows, unframe
from engine.storage.storage import Storage
from engine.storage.vector_files import write_vectors
from engine.tables.config import TableConfig
from engine.tables.row_files import FilePredicate, FilesWithDeletedRows
from engine.tables.scan import Scan
from engine.types.arrow_types import Array, RecordBatch

_NUM_RECORDS = r'^\s*\{\s*"numRecords"\s*:\s*(?P<n>[0-9]+)'


def num_records(stats: Array) -> Array:
    """Returns the physical row count from each statistics text, null if it has none."""
    found = pc.extract_regex(stats, _NUM_RECORDS)
    counts = pc.cast(pc.struct_field(found, "n"), pa.int64())
    # Writers differ in the order of keys; a text that does not begin with the count is parsed completely.
    unclear = np.flatnonzero(pc.and_(stats.is_valid(), counts.is_null()).to_numpy(zero_copy_only=False))
    if not len(unclear):
        return counts
    values = counts.to_pylist()
    for row in unclear.tolist():
        values[row] = _num_records(stats[row].as_py())
    return pa.array(values, pa.int64())


def _num_records(text: str) -> int | None:
    try:
        count = json.loads(text).get("numRecords")
    except (ValueError, AttributeError):
        return None
    return count if isinstance(count, int) else None


def table_columns(config: DeltaConfig, time_zone: tzinfo | None) -> TableColumns:
    """Returns the columns as `TableSnapshot.columns` does."""
    return TableColumns(
        schema=config.schema,
        partition_columns=config.metadata.partition_columns,
        physical_schema=physical_schema(config.schema, config.column_mapping_mode),
        time_zone=time_zone,
    )


@dataclass(frozen=True, slots=True)
class DeltaRowFiles:
    """See :class:`engine.tables.row_files.RowFiles`; files have `FILES_SCHEMA`."""

    storage: Storage
    config: DeltaConfig

    def scan(self, table_config: TableConfig, files: pa.Table, relation: str, label: str) -> Scan:
        # The configuration may be newer than the files' own version, for example if this
        # statement also evolves the schema.
        assert isinstance(table_config, DeltaConfig)
        return table_scan(table_config, self.storage, files, relation, label)

    def readable(self, files: pa.Table) -> pa.Table:
        return with_decoded_vectors(files)

    def predicate(self, predicate: Predicate, time_zone: tzinfo | None) -> FilePredicate:
        return file_predicate(predicate, table_columns(self.config, time_zone))

    def partitions(self, files: Any) -> None:
        """See `RowFiles.partitions`."""

    def keep_partitions(self, files: pa.Table) -> bool:
        """See `RowFiles.keep_partitions`. A Delta table's partitioning never changes."""
        return True

    def live_rows(self, files: pa.Table) -> Array:
        physical = num_records(_combine_chunks(files["stats"]))
        vectors = _combine_chunks(files["deletion_vector"])
        deleted = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
        return pc.subtract(physical, pc.cast(deleted, pa.int64()))

    def deleted_rows(self, files: pa.Table) -> list[Rows]:
        """Raises like `load_deleted_rows`."""
        return [
            np.empty(0, np.int64)
            if vector is None
            else load_deleted_rows(self.storage, DeletionVectorDescriptor(**vector))
            for vector in files["deletion_vector"].to_pylist()
        ]

    def mark(self, files: pa.Table, rows: Sequence[Rows]) -> FilesWithDeletedRows:
        # "Deletion Vectors": a file has at most one, which replaces its predecessor. A
        # vector with only the new rows would bring the old ones back.
        old = self.deleted_rows(files)
        vectors, name = write_vectors(self.storage, [np.union1d(*each) for each in zip(old, rows, strict=True)])
        # "Per-file Statistics": with a deletion vector the bounds may belong to deleted
        # rows, which `tightBounds` must say; `numRecords` still counts the physical rows.
        stats = [replace(parse_file_stats(text), tight_bounds=False).to_json() for text in files["stats"].to_pylist()]
        return FilesWithDeletedRows(
            files=_with_column(_with_column(files, "deletion_vector", vectors), "stats", stats),
            num_updated=len(files) - files["deletion_vector"].null_count,
            rows=dict(zip(files["path"].to_pylist(), rows, strict=True)),
            written=(name,),
        )


def file_predicate(predicate: Predicate, columns: TableColumns) -> FilePredicate:
    """Converts a row condition to a file condition.

    The result is a mask over a `FILES_SCHEMA` batch, true if a row in the file may satisfy the condition.
    """

    def may_hold(batch: RecordBatch) -> Array:
        return pa.array(batch_pruning(batch, columns).prune(predicate))

    return may_hold


def _combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _with_column(files: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    at = files.schema.get_field_index(name)
    return files.set_column(at, files.schema.field(at), pa.array(values, files.schema.field(at).type))


# The first vector's offset in a file, after the format version.
FIRST_OFFSET = 1


def read_deletion_vector(storage: Storage, descriptor: DeletionVectorDescriptor) -> bytes:
    """Reads the serialized bitmap and verifies its size and checksum.

    Raises `LogFileNotFound`, `MalformedLogEntry`, `DeletionVectorSizeMismatch`, `DeletionVectorChecksumMismatch`.
    """
    if descriptor.storage_type == INLINE:
        return read_inline(descriptor)
    path = deletion_vector_path(descriptor)
    if descriptor.storage_type == RELATIVE:
        # The optional prefix before the UUID is text from the log; with ".." in it, a
        # writer of this table could read files of others.
        storage.confinement.ensure_below_root(path)
    # "Deletion Vector Descriptor Schema": the offset is optional. Without it the vector is
    # the file's only one and follows the version byte.
    offset = FIRST_OFFSET if descriptor.offset is None else descriptor.offset
    # The size comes from the log too: without a limit, one entry could make the server
    # allocate any amount.
    if min(offset, descriptor.cardinality) < 0 or not 0 <= descriptor.size_in_bytes <= VECTOR_BYTES_MAX:
        raise MalformedLogEntry("deletionVector", "its offset, size or cardinality is out of range")
    try:
        frame = storage.read_range(path, offset, descriptor.size_in_bytes + FRAME_BYTES)
    except FileNotFoundError as error:
        raise LogFileNotFound(storage.path_of(path)) from error
    return unframe(frame, descriptor.size_in_bytes, path)


def load_deleted_rows(storage: Storage, descriptor: DeletionVectorDescriptor) -> Rows:
    """Loads the deleted rows' indices, ascending.

    Raises the errors of `read_deletion_vector`, and `DeletionVectorCardinalityMismatch`.
    """
    data = read_deletion_vector(storage, descriptor)
    return parse_rows(data, descriptor.unique_id, descriptor.cardinality)
