"""Which files OPTIMIZE writes again, and which of them together.

Small files are worth merging, and so are files of which many rows are deleted; a bin is what becomes one file. As in
delta-spark, a file is small below the size that new files should have, bins hold files of one partition, are filled in
the order of sizes, and one file alone stays as it is, unless deleted rows are what it is chosen for.

Files belong to one partition if the log has the same texts for its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.log.file_table import file_keys
from engine.delta.snapshot.row_files import num_records
from engine.delta.snapshot.snapshot import Snapshot
from engine.tables.rearrangement import Bin
from engine.types.arrow_types import Array

DELETED_ROWS_RATIO_MAX = 0.05
"""The part of a file's rows that may be deleted before it is written again."""

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def worth_merging(files: pa.Table, target_bytes: int) -> Mask:
    """Of a table of `FILES_SCHEMA`."""
    sizes = files["size"].to_numpy()
    return np.asarray((sizes < target_bytes) | worth_purging(files, DELETED_ROWS_RATIO_MAX), np.bool_)


def worth_purging(files: pa.Table, ratio_max: float) -> Mask:
    """Files of which more rows than this are deleted, or nobody knows how many."""
    vectors = files["deletion_vector"].combine_chunks()
    if vectors.null_count == len(vectors):
        return np.zeros(len(vectors), np.bool_)
    deleted = pc.struct_field(vectors, "cardinality")
    ratio = pc.divide(pc.cast(deleted, pa.float64()), num_records(files["stats"].combine_chunks()))
    return np.asarray(pc.and_(vectors.is_valid(), pc.fill_null(pc.greater(ratio, ratio_max), True)), np.bool_)


def crowded(files: pa.Table, small: Mask, count_min: int) -> Mask:
    """The `small` ones in partitions that have so many of them."""
    numbers = np.asarray(partition_numbers(files), np.int64)
    counts = np.bincount(numbers[small], minlength=len(numbers) + 1)
    return np.asarray(small & (counts[numbers] >= count_min), np.bool_)


def packed(files: pa.Table, bin_bytes: int | None, alone: Mask | None) -> tuple[Bin, ...]:
    """Bins of at most so many bytes (None: one for each partition), of two files or more, or of files that may be
    `alone` (None: none may). A file that is larger has a bin of its own.
    """
    if not files.num_rows:
        return ()
    partitions = partition_numbers(files)
    sizes = files["size"].to_numpy()
    keys = live_keys(files).to_pylist()
    bins: list[Bin] = []
    filled: list[int] = []
    num_bytes = 0

    def close() -> None:
        if len(filled) > 1 or (filled and alone is not None and alone[filled[0]]):
            bins.append(Bin(keys=tuple(keys[i] for i in filled), num_bytes=num_bytes, partition=partitions[filled[0]]))

    for position in np.lexsort((sizes, partitions)).tolist():
        size = int(sizes[position])
        is_other = bool(filled) and partitions[filled[-1]] != partitions[position]
        if is_other or (bin_bytes is not None and filled and num_bytes + size > bin_bytes):
            close()
            filled, num_bytes = [], 0
        filled.append(position)
        num_bytes += size
    close()
    return tuple(bins)


def partition_numbers(files: pa.Table) -> list[int]:
    """A number for each file, which files of one partition share."""
    numbers: dict[frozenset[tuple[str, str | None]], int] = {}
    found = []
    for pairs in files["partition_values"].to_pylist():
        key = frozenset((name, value or None) for name, value in pairs or ())
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def live_keys(files: pa.Table) -> Any:
    """The identity of each file."""
    keys = [file_keys(batch) for batch in files.to_batches()]
    return pa.chunked_array(keys, pa.string())


def still_live(snapshot: Snapshot, bins: Sequence[Bin]) -> list[pa.Table]:
    """The files of each bin, without those that are gone, or have another deletion vector by now."""
    files = snapshot.files
    wanted = pa.array([key for each in bins for key in each.keys], pa.string())
    found: Array = pc.index_in(wanted, value_set=live_keys(files).combine_chunks())
    positions, tables = found.to_pylist(), []
    for each in bins:
        mine, positions = positions[: len(each.keys)], positions[len(each.keys) :]
        tables.append(files.take(pa.array([position for position in mine if position is not None], pa.int64())))
    return tables
