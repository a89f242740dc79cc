"""A checkpoint's contents as Arrow batches in the checkpoint schema.

A checkpoint has one column per action kind and one row per action, so each row has a value in one column and null in
the others. Null columns are shared constants; file columns are the snapshot's own columns, renamed.

Protocol: "Checkpoint Schema", "Action Reconciliation" (what a checkpoint omits).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.commit.staged_commit import with_data_change
from engine.delta.definition.clustering import measured_columns
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.file_table import STRING_MAP, nulls
from engine.delta.log.wire_columns import wire_columns, wire_type
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec import properties
from engine.delta.spec.actions import Action, Json, SetTransaction, camel_case
from engine.pruning.partition_columns import Codes, partition_column
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.types.arrow_types import Array, RecordBatch

# Rows per batch, and therefore per row group.
BATCH_ROWS = 1 << 16

_STRINGS = pa.list_(pa.string())
_REMOVE = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", STRING_MAP),
        ("size", pa.int64()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("deletionVector", wire_type(DELETION_VECTOR)),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
)
_ADD_FIELDS = (
    ("path", pa.string()),
    ("partitionValues", STRING_MAP),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("stats", pa.string()),
    ("tags", STRING_MAP),
    ("deletionVector", wire_type(DELETION_VECTOR)),
    ("baseRowId", pa.int64()),
    ("defaultRowCommitVersion", pa.int64()),
    ("clusteringProvider", pa.string()),
)
SMALL_COLUMNS: Mapping[str, Any] = {
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", STRING_MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", _STRINGS),
            ("configuration", STRING_MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", _STRINGS),
            ("writerFeatures", _STRINGS),
        ]
    ),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
}
V2_COLUMNS: Mapping[str, Any] = {
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", STRING_MAP)]),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", STRING_MAP)]
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The layout of the column `add`, from the table's properties."""

    add: Any
    # The `stats_schema` for typed statistics; None: no typed statistics.
    stats: Any | None
    # Typed partition values, distinct values and codes by file, in field order; empty: none.
    partitions: tuple[tuple[Array, Codes], ...]
    keeps_json: bool


class CheckpointContent:
    """The rows of one snapshot's checkpoint."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        """Prepares the contents. `now_ms` determines the expired tombstones and transactions."""
        self.actions: tuple[Action, ...] = _small_actions(snapshot, now_ms)
        self.adds = snapshot.files
        # "Action Reconciliation": tombstones stay until they expire, so that VACUUM in
        # another process still knows when a file was removed.
        self.removes = _retained_tombstones(snapshot, now_ms)
        self._layout = _layout(snapshot)
        self.file_schema = pa.schema([("add", self._layout.add), ("remove", _REMOVE)])

    @property
    def num_file_actions(self) -> int:
        """Returns the number of add and remove actions."""
        return int(self.adds.num_rows + self.removes.num_rows)

    def file_batches(self, rows: int = BATCH_ROWS) -> Iterator[RecordBatch]:
        """Yields all file actions as `file_schema` batches with at most `rows` rows."""
        for start in range(0, self.adds.num_rows, rows):
            yield self.add_batch(
                _one(self.adds.slice(start, rows)), np.arange(start, min(start + rows, len(self.adds)))
            )
        for start in range(0, self.removes.num_rows, rows):
            yield self.remove_batch(_one(self.removes.slice(start, rows)))

    def add_batch(self, files: RecordBatch, positions: npt.NDArray[np.int64]) -> RecordBatch:
        """Converts rows from `adds` to checkpoint rows; `positions` are their positions in `adds`."""
        layout, length = self._layout, files.num_rows
        # "Checkpoints": the actions are not changes any more; a stream that starts from the
        # checkpoint must not take them for new data.
        wire = wire_columns(with_data_change(files, False), () if layout.keeps_json else ("stats",))
        columns = list(wire.columns)
        if layout.partitions:
            values = [distinct.take(pa.array(codes[positions])) for distinct, codes in layout.partitions]
            columns.append(
                pa.StructArray.from_arrays(values, fields=list(layout.add.field("partitionValues_parsed").type))
            )
        if layout.stats is not None:
            columns.append(_typed_stats(files.column("stats"), layout.stats, layout.add.field("stats_parsed").type))
        adds = pa.StructArray.from_arrays(columns, fields=list(layout.add))
        return pa.RecordBatch.from_arrays([adds, nulls(_REMOVE, length)], schema=self.file_schema)

    def remove_batch(self, tombstones: RecordBatch) -> RecordBatch:
        """Returns tombstones as rows of the checkpoint file, whose adds are null.

        See Delta PROTOCOL, "Checkpoint Schema".
        """
        # As in delta-spark, a remove in a checkpoint has neither tags nor statistics.
        wire = wire_columns(tombstones, ("tags",))
        at = wire.schema.get_field_index("dataChange")
        wire = wire.set_column(at, "dataChange", pa.repeat(False, len(wire)))
        removes = pa.StructArray.from_arrays([wire.column(field.name) for field in _REMOVE], fields=list(_REMOVE))
        return pa.RecordBatch.from_arrays([nulls(self._layout.add, len(wire)), removes], schema=self.file_schema)


def small_rows(actions: Sequence[Action], schema: Any) -> RecordBatch:
    """Returns one row per action, in a schema that has a column for each action's kind."""
    columns = []
    for field in schema:
        values = [
            _arrow_value(action.to_json(), field.type) if action.WIRE_NAME == field.name else None for action in actions
        ]
        columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def extend_batch(batch: RecordBatch, schema: Any) -> RecordBatch:
    """Extends a batch to `schema` with null columns."""
    present = set(batch.schema.names)
    columns = [
        batch.column(field.name) if field.name in present else nulls(field.type, batch.num_rows) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _small_actions(snapshot: Snapshot, now_ms: int) -> tuple[Action, ...]:
    retention = snapshot.config.get(properties.SET_TRANSACTION_RETENTION)

    def is_retained(txn: SetTransaction) -> bool:
        # "Transaction Identifiers": without `lastUpdated` the age is unknown, and dropping
        # the transaction would let an application write its batch twice.
        return retention is None or txn.last_updated is None or txn.last_updated >= now_ms - retention

    transactions = (txn for txn in snapshot.set_transactions.values() if is_retained(txn))
    # "Domain Metadata": a checkpoint must not contain tombstones of domains.
    domains = (domain for domain in snapshot.domain_metadata.values() if not domain.removed)
    return (snapshot.protocol, snapshot.metadata, *transactions, *domains)


def _retained_tombstones(snapshot: Snapshot, now_ms: int) -> Any:
    tombstones = snapshot.tombstones
    oldest = now_ms - snapshot.config.get(properties.DELETED_FILE_RETENTION)
    # As in delta-spark, a tombstone without deletionTimestamp counts as removed at time 0,
    # hence expired.
    removed_at = pc.fill_null(tombstones.column("deletion_timestamp"), 0)
    return tombstones.filter(pc.greater(removed_at, oldest))


def _layout(snapshot: Snapshot) -> _Layout:
    config = snapshot.config
    keeps_json = config.get(properties.STATS_AS_JSON)
    fields = [pa.field(*field) for field in _ADD_FIELDS if keeps_json or field[0] != "stats"]
    stats: Any | None = None
    partitions: tuple[tuple[Array, Codes], ...] = ()
    if config.get(properties.STATS_AS_STRUCT):
        partition_fields, partitions = _typed_partitions(snapshot)
        if partition_fields:
            fields.append(pa.field("partitionValues_parsed", pa.struct(partition_fields)))
        stats, stats_fields = _stats_fields(config)
        fields.append(pa.field("stats_parsed", pa.struct(stats_fields)))
    return _Layout(add=pa.struct(fields), stats=stats, partitions=partitions, keeps_json=keeps_json)


def _typed_partitions(snapshot: Snapshot) -> tuple[list[Any], tuple[tuple[Array, Codes], ...]]:
    """Returns fields and values by physical name; empty if any value is ambiguous."""
    texts = snapshot.partition_texts()
    schema = physical_schema(snapshot.schema, snapshot.config.column_mapping_mode)
    fields, columns = [], []
    for name in texts.schema.names:
        field = schema.field(name)
        if field is None:
            return [], ()
        # No time zone is given here: a timestamp without offset would be read in the
        # session's zone, which differs between readers.
        column = partition_column(texts.column(name), field.data_type, None)
        if column.values is None or column.unreadable is not None:
            return [], ()
        fields.append(pa.field(name, column.values.type))
        columns.append((column.values, column.codes))
    return fields, tuple(columns)


def _stats_fields(config: DeltaConfig) -> tuple[Any, list[Any]]:
    """Returns the schema for parsing statistics, and the fields in `stats_parsed`."""
    parsed = stats_schema(physical_schema(measured_columns(config), config.column_mapping_mode))
    leaves = {name: field for name in parsed.names if not _is_empty((field := parsed.field(name)).type)}
    # Without deletion vectors all bounds are tight, and delta-spark's schema lacks the
    # column.
    if not config.is_supported("deletionVectors"):
        leaves.pop("tight_bounds")
    order = ("num_records", "min_values", "max_values", "null_count", "tight_bounds")
    return parsed, [pa.field(camel_case(name), leaves[name].type) for name in order if name in leaves]


def _is_empty(data_type: Any) -> bool:
    return bool(pa.types.is_struct(data_type)) and data_type.num_fields == 0


def _typed_stats(texts: Array, schema: Any, wire: Any) -> Array:
    parsed = parse_stats(texts, schema)
    by_name = {camel_case(name): parsed.column(name) for name in schema.names}
    return pa.StructArray.from_arrays([by_name[field.name] for field in wire], fields=list(wire), mask=texts.is_null())


def _arrow_value(value: Json, data_type: Any) -> Any:
    """Converts a JSON value for `pa.array`: maps become pairs, and fields that the type lacks are dropped."""
    if value is None:
        return None
    if pa.types.is_struct(data_type):
        return {field.name: _arrow_value(value.get(field.name), field.type) for field in data_type}
    if pa.types.is_map(data_type):
        return list(value.items())
    return value


def _one(table: Any) -> RecordBatch:
    """Combines a table into one batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
