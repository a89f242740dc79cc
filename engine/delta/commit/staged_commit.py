"""A transaction's staged commit, as one value without a version yet.

File actions are columns from here on, for three staged `Add`s as for a batch with a million: checks, conflict rules and
JSON formatting have one form. The other actions are few and stay values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.commit.read_set import ReadSet
from engine.delta.log.commit_reader import make_adds, make_removes
from engine.delta.log.file_table import TOMBSTONES_SCHEMA, make_batch
from engine.delta.spec.actions import Add, AddCdcFile, DomainMetadata, Metadata, Protocol, Remove, SetTransaction
from engine.tables.operations import CommitDescription
from engine.types.arrow_types import RecordBatch

ROW_TRACKING_DOMAIN = "delta.rowTracking"


class IsolationLevel(Enum):
    """Isolation levels, with the spelling in the log and in `delta.isolationLevel` as values."""

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"
    SNAPSHOT_ISOLATION = "SnapshotIsolation"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedCommit:
    """A closed transaction. Made and checked by `engine.delta.commit.transaction`."""

    description: CommitDescription
    read_set: ReadSet
    # Unique; identifies our commit if the outcome is unknown.
    txn_id: str
    # -1 for a table that does not exist yet.
    read_version: int
    # In `FILES_SCHEMA`.
    adds: RecordBatch
    # In `TOMBSTONES_SCHEMA`.
    removes: RecordBatch
    cdc_files: tuple[AddCdcFile, ...] = ()
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    set_transactions: tuple[SetTransaction, ...] = ()
    domain_metadata: tuple[DomainMetadata, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Returns True if the commit only records an operation: it changes nothing and depends on no file.

        A commit that read files, such as a REPLACE of an empty table, promises what the table is after it.
        """
        files = (self.adds.num_rows, self.removes.num_rows, self.cdc_files, self.read_set.depends_on_files)
        return not any((*files, self.protocol, self.metadata, self.set_transactions, self.domain_metadata))

    @property
    def is_blind_append(self) -> bool:
        """Returns True if the commit adds files at most, and depends on no file."""
        return self.removes.num_rows == 0 and not self.cdc_files and not self.read_set.depends_on_files

    @property
    def is_compaction(self) -> bool:
        """Returns True if the commit has only file actions without data change, invisible to readers."""
        domains = {domain.domain for domain in self.domain_metadata} - {ROW_TRACKING_DOMAIN}
        if self.protocol or self.metadata or self.set_transactions or domains or self.cdc_files:
            return False
        return not any(pc.any(batch.column("data_change")).as_py() for batch in (self.adds, self.removes))

    def isolation_level(self, of_table: IsolationLevel) -> IsolationLevel:
        """Returns the level for conflict detection: rearrangements do not conflict with concurrently added rows.

        Without the operation's own word a commit with no file would count as one: a REPLACE TABLE of an empty table
        would leave rows that were added meanwhile.
        """
        moves_rows_only = self.is_compaction and not self.description.changes_data
        return IsolationLevel.SNAPSHOT_ISOLATION if moves_rows_only else of_table


def adds_of(actions: Iterable[Add]) -> RecordBatch:
    """Builds a `FILES_SCHEMA` batch from values."""
    return make_adds(list(actions))


def with_data_change(files: RecordBatch, data_change: bool) -> RecordBatch:
    """Returns a `FILES_SCHEMA` batch with `data_change` set for all files."""
    at = files.schema.get_field_index("data_change")
    return files.set_column(at, files.schema.field(at), pa.repeat(data_change, files.num_rows))


def removes_of(actions: Iterable[Remove]) -> RecordBatch:
    """Builds a `TOMBSTONES_SCHEMA` batch from values."""
    return make_removes(list(actions))


def remove_rows(files: RecordBatch, deletion_timestamp_ms: int, *, data_change: bool = True) -> RecordBatch:
    """Returns removes for live files, given as a `FILES_SCHEMA` batch.

    A remove includes the add's fields that a later reader may need: partition values, size, deletion vector, row ids.
    """
    length = files.num_rows
    columns = {
        name: files.column(name)
        for name in (
            "log_path",
            "partition_values",
            "size",
            "deletion_vector",
            "tags",
            "base_row_id",
            "default_row_commit_version",
        )
    }
    columns["deletion_timestamp"] = pa.repeat(pa.scalar(deletion_timestamp_ms, pa.int64()), length)
    columns["data_change"] = pa.repeat(data_change, length)
    columns["extended_file_metadata"] = pa.repeat(True, length)
    return make_batch(TOMBSTONES_SCHEMA, columns, length)


def combine_batches(batches: Iterable[RecordBatch], schema: Any) -> RecordBatch:
    """Combines all rows into one batch, whose columns share memory as in `make_batch`."""
    rows = list(batches)
    if len(rows) == 1:
        return rows[0]
    columns = {
        field.name: pa.concat_arrays([batch.column(field.name) for batch in rows])
        for field in schema
        if field.name != "path" and any(batch.column(field.name).null_count < batch.num_rows for batch in rows)
    }
    length = sum(batch.num_rows for batch in rows)
    return make_batch(schema, columns, length) if length else _empty(schema)


@lru_cache(maxsize=8)  # most commits have no removes
def _empty(schema: Any) -> RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
