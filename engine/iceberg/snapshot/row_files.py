"""Iceberg files for row-level changes: files to read, rows by position, and deletion vectors for deleted rows.

A vector, or a position delete file, contains all rows in its data file that are deleted by position: a new one includes
older ones (`engine.iceberg.writing.position_deletes`).

Source: Iceberg table specification, "Row-level Deletes", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergFeatureNotSupported, IcebergOperationNotSupported
from engine.iceberg.definition.column_types import has_sql_default, scanned_field
from engine.iceberg.definition.value_sql import shown_columns
from engine.iceberg.manifests.manifest import SPEC_ID
from engine.iceberg.snapshot.deletes import rows_of, single_file_deletes
from engine.iceberg.snapshot.live_files import FilesOfTable
from engine.iceberg.snapshot.pruning import FileKnowledge, IcebergPruning
from engine.iceberg.snapshot.scans import ScanSource, with_partition_values
from engine.iceberg.writing.new_files import partitions_of, without_partition_values
from engine.iceberg.writing.position_deletes import IcebergPositionDeletes, MarkWriter
from engine.pruning.predicates import Predicate
from engine.pruning.table_columns import TableColumns
from engine.storage.deletion_vectors import Rows
from engine.storage.storage import Storage
from engine.tables.config import TableConfig
from engine.tables.row_files import FilePredicate
from engine.tables.scan import ComposedScan, Scan
from engine.types.arrow_types import Array, RecordBatch
from engine.types.schema import StructType


class RowSource(FilesOfTable, Protocol):
    """A snapshot's files and rows."""

    @property
    def storage(self) -> Storage:
        """Returns the storage of the table's directory."""
        ...

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        """Returns the columns for predicates. `time_zone` is the session's, for partition values without an offset."""
        ...

    def scan(self, relation: str, label: str) -> Scan | ComposedScan:
        """Returns the scan of all rows. `relation` is its name in SQL, `label` the table's in messages."""
        ...

    def scan_source(self, files: pa.Table, data: pa.Table) -> ScanSource:
        """Returns the source for a scan of these files; `data` are their manifest entries, row by row."""
        ...


@dataclass(frozen=True, slots=True)
class IcebergRowFiles:
    """See :class:`engine.tables.row_files.RowFiles`. Files are rows in `IcebergSnapshot.files`, or results of
    `as_scan_files` for entries that another writer's commit added.
    """

    snapshot: RowSource

    def scan(self, table_config: TableConfig, files: pa.Table, relation: str, label: str) -> Scan:
        found = self.snapshot.scan(relation, label)
        if not isinstance(found, Scan):
            raise IcebergOperationNotSupported(label, "Changing or removing rows of")
        columns = self.snapshot.iceberg_schema.fields
        names = zip(columns, found.schema.names, strict=True)
        read = StructType(tuple(scanned_field(*each) for each in names))
        keys = frozenset(found.partition_columns)
        schema, read_as = shown_columns(columns, read, keys, frozenset())  # new files contain all columns
        return replace(found, files=files, schema=schema, read_as=read_as)

    def readable(self, files: pa.Table) -> pa.Table:
        """Adds the partition values that are column values.

        Raises `IcebergFeatureNotSupported` for files from another writer's commit if the table has defaults that SQL
        fills in: a file may lack fields that the snapshot's files have.
        """
        if "file_path" in files.column_names and any(map(has_sql_default, self.snapshot.iceberg_schema.fields)):
            what = "files added by concurrent commits to a table with defaults that SQL fills in"
            raise IcebergFeatureNotSupported(self.snapshot.storage.root, what)
        plain = without_partition_values(files)
        return with_partition_values(self.snapshot.scan_source(plain, self._entries(files)))

    def _entries(self, files: pa.Table) -> pa.Table:
        """Returns the files' manifest entries; files from another writer's commit include them."""
        if "file_path" in files.column_names:
            return files
        places = pc.index_in(files["path"], value_set=self.snapshot.files["path"].combine_chunks())
        return self.snapshot.live_files.data.take(places)

    def partitions(self, files: Any) -> list[str]:
        return partitions_of(files)

    def keep_partitions(self, files: pa.Table) -> bool:
        """Implements `RowFiles.keep_partitions`: False for files with an older spec."""
        specs = self._entries(files)[SPEC_ID]
        return bool(pc.all(pc.equal(specs, self.snapshot.metadata.default_spec_id), skip_nulls=False).as_py())

    def predicate(self, predicate: Predicate, time_zone: tzinfo | None) -> FilePredicate:
        """Returns a predicate on files with all manifest columns."""
        columns = self.snapshot.columns(time_zone)

        def may_hold(batch: RecordBatch) -> Array:
            knowledge = FileKnowledge(
                pa.Table.from_batches([batch]), self.snapshot.iceberg_schema, self.snapshot.metadata.specs
            )
            return pa.array(IcebergPruning(columns, knowledge).prune(predicate))

        return may_hold

    def live_rows(self, files: pa.Table) -> Array:
        """Returns live row counts; null for files to which equality deletes may apply."""
        deleted = pc.fill_null(pc.struct_field(files["deletion_vector"], "cardinality"), 0)
        counts = pc.subtract(files["record_count"], deleted)
        return pa.nulls(files.num_rows, pa.int64()) if self.snapshot.has_equality_deletes else counts

    def deleted_rows(self, files: pa.Table) -> list[Rows]:
        """Returns the deleted rows. Raises like `rows_of`."""
        return [rows_of(self.snapshot.storage, vector) for vector in files["deletion_vector"].to_pylist()]

    def mark(self, files: pa.Table, rows: Sequence[Rows]) -> IcebergPositionDeletes:
        snapshot, live = self.snapshot, self.snapshot.live_files
        data = self._entries(files)
        replaced = single_file_deletes(data, live.deletes)
        together = [np.union1d(*each) for each in zip(self.deleted_rows(files), rows, strict=True)]
        writer = MarkWriter(snapshot.storage, snapshot.metadata.location, snapshot.metadata.format_version)
        added, written = writer.write(data, together)
        return IcebergPositionDeletes(
            files=files,
            num_updated=files.num_rows - files["deletion_vector"].null_count,
            rows=dict(zip(files["path"].to_pylist(), rows, strict=True)),
            written=written,
            added=added,
            removed=replaced,
        )
