"""Selects the files that OPTIMIZE rewrites, and packs them into bins.

Small files are worth merging, as are files with many deleted rows; a bin becomes one file. As in delta-spark, a file is
small if it is below the target file size, a bin has files from one partition, bins are filled in order of size, and a
single file is not rewritten, unless it was selected for its deleted rows.

Files belong to the same partition if the log has the same texts for its values.
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
from engine.tables.compaction import Bin
from engine.types.arrow_types import Array

# Maximum fraction of deleted rows in a file before it is rewritten.
DELETED_ROWS_RATIO_MAX = 0.05

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def worth_merging(files: pa.Table, target_bytes: int) -> Mask:
    """Returns a mask of small files and files with many deleted rows, for a `FILES_SCHEMA` table."""
    sizes = files["size"].to_numpy()
    return np.asarray((sizes < target_bytes) | worth_purging(files, DELETED_ROWS_RATIO_MAX), np.bool_)


def worth_purging(files: pa.Table, ratio_max: float) -> Mask:
    """Returns a mask of files with more deleted rows than this ratio, or an unknown number."""
    vectors = files["deletion_vector"].combine_chunks()
    if vectors.null_count == len(vectors):
        return np.zeros(len(vectors), np.bool_)
    deleted = pc.struct_field(vectors, "cardinality")
    ratio = pc.divide(pc.cast(deleted, pa.float64()), num_records(files["stats"].combine_chunks()))
    return np.asarray(pc.and_(vectors.is_valid(), pc.fill_null(pc.greater(ratio, ratio_max), True)), np.bool_)


def files_in_crowded_partitions(files: pa.Table, small: Mask, count_min: int) -> Mask:
    """Returns a mask of the `small` files in partitions with at least `count_min` of them."""
    numbers = np.asarray(partition_numbers(files), np.int64)
    counts = np.bincount(numbers[small], minlength=len(numbers) + 1)
    return np.asarray(small & (counts[numbers] >= count_min), np.bool_)


def pack_files(files: pa.Table, bin_bytes: int | None, alone: Mask | None) -> tuple[Bin, ...]:
    """Packs files into bins with at most `bin_bytes` (None: one bin per partition).

    A bin has at least two files, or one that may be `alone` (None: no file may). A larger file has its own bin.
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

    # By partition, then by ascending size, as in delta-spark: a bin then merges the
    # smallest files first.
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
    """Returns a number for each file, equal for files in the same partition."""
    numbers: dict[frozenset[tuple[str, str | None]], int] = {}
    found = []
    for pairs in files["partition_values"].to_pylist():
        # "Partition Value Serialization": an empty string and null are the same partition.
        key = frozenset((name, value or None) for name, value in pairs or ())
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def live_keys(files: pa.Table) -> Any:
    """Returns each file's identity."""
    keys = [file_keys(batch) for batch in files.to_batches()]
    return pa.chunked_array(keys, pa.string())


def still_live(snapshot: Snapshot, bins: Sequence[Bin]) -> list[pa.Table]:
    """Returns each bin's files, without files that were removed or have another deletion vector now."""
    files = snapshot.files
    wanted = pa.array([key for each in bins for key in each.keys], pa.string())
    found: Array = pc.index_in(wanted, value_set=live_keys(files).combine_chunks())
    positions, tables = found.to_pylist(), []
    for each in bins:
        mine, positions = positions[: len(each.keys)], positions[len(each.keys) :]
        tables.append(files.take(pa.array([position for position in mine if position is not None], pa.int64())))
    return tables
