"""Pruning and answers of a snapshot: its files, partition values and statistics brought together.

Whoever plans a read asks `pruning_of(snapshot, zone)`; a transaction that depends on a condition gives its
`file_predicate` to the read set, so that files which others add concurrently are judged by the same rules.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import pyarrow as pa

from engine.delta.commit.read_set import FilePredicate
from engine.delta.log.file_table import Array, RecordBatch
from engine.delta.log.partition_texts import encode_partition_values, partition_schema
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.delta.snapshot.snapshot import Snapshot
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning, Rows
from engine.pruning.table_columns import TableColumns


def table_columns(snapshot: Snapshot, time_zone: tzinfo | None = None) -> TableColumns:
    """The columns of a snapshot; `time_zone` is that of partition values that are timestamps without an offset."""
    return TableColumns(
        schema=snapshot.schema,
        partition_columns=tuple(snapshot.partition_columns),
        physical_schema=physical_schema(snapshot.schema, snapshot.config.column_mapping_mode),
        time_zone=time_zone,
    )


def pruning_of(snapshot: Snapshot, time_zone: tzinfo | None = None) -> FilePruning:
    """The live files of a snapshot, in the order of `snapshot.files`, ready to be asked about."""
    return FilePruning(
        table_columns(snapshot, time_zone),
        snapshot.num_files,
        lambda name: snapshot.partition_texts().column(name),
        snapshot.stats,
    )


def counted_files(snapshot: Snapshot) -> CountedFiles:
    """The live files of a snapshot with their statistics, to answer from."""
    return CountedFiles(files=snapshot.files, statistics=snapshot.stats())


def file_predicate(predicate: Predicate, columns: TableColumns) -> FilePredicate:
    """A condition on rows as one on files: a mask over a batch of `FILES_SCHEMA`, true where a row may satisfy it."""

    def may_hold(batch: RecordBatch) -> Array:
        return pa.array(batch_pruning(batch, columns).prune(predicate))

    return may_hold


def batch_pruning(batch: RecordBatch, columns: TableColumns) -> FilePruning:
    """Files that belong to no snapshot, such as those of a commit: a batch of `FILES_SCHEMA`."""
    stats = stats_schema(columns.physical_schema or columns.schema, columns.physical_partition_columns)

    def partition_texts(name: str) -> Any:
        encoded = encode_partition_values(batch.column("partition_values"), partition_schema([name]))
        return pa.chunked_array([encoded.column(0)])

    def statistics(rows: Rows | None) -> Any:
        texts = batch.column("stats")
        return pa.Table.from_batches([parse_stats(texts if rows is None else texts.take(pa.array(rows)), stats)])

    return FilePruning(columns, len(batch), partition_texts, statistics)
