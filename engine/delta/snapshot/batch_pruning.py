"""Pruning of files that belong to no snapshot, such as those of other writers' commits.

They are judged by the same rules as those of a snapshot.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from engine.delta.log.partition_texts import encode_partition_values, partition_schema
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.pruning.pruning import FilePruning, Rows
from engine.pruning.table_columns import TableColumns
from engine.types.arrow_types import RecordBatch


def batch_pruning(batch: RecordBatch, columns: TableColumns) -> FilePruning:
    """Files that belong to no snapshot, such as those of a commit: a batch of `FILES_SCHEMA`."""
    stats = stats_schema(columns.physical_schema or columns.schema, columns.physical_partition_columns)

    def partition_texts(name: str) -> Any:
        encoded = encode_partition_values(batch.column("partition_values"), partition_schema([name]))
        return pa.chunked_array([encoded.column(0)])

    def statistics(rows: Rows | None, columns: Collection[str]) -> Any:
        texts = batch.column("stats")
        return pa.Table.from_batches([parse_stats(texts if rows is None else texts.take(pa.array(rows)), stats)])

    return FilePruning(columns, len(batch), partition_texts, statistics)
