"""Selects the data files that rewrite_data_files rewrites, in bins.

Only files in the same partition share a bin. A file is a candidate if it is smaller or larger than the size limits, or
has many deleted rows. A bin, which becomes one file, is rewritten if it has the configured minimum of files, or a file
with deletes. A single file without deletes is not rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.formats.iceberg.procedures.rewrite_options import RewriteOptions
from engine.iceberg.manifests.manifest import EQUALITY_DELETES, SPEC_ID
from engine.iceberg.snapshot.live_files import PARTITION
from engine.iceberg.snapshot.snapshot import IcebergSnapshot

# Positions in `IcebergSnapshot.files`.
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def selected_bins(snapshot: IcebergSnapshot, within: Mask, options: RewriteOptions) -> list[Positions]:
    """Returns each bin's files, limited to files in the mask `within`."""
    data = snapshot.live_files.data
    sizes, partitions = data["file_size_in_bytes"].to_numpy(), data[PARTITION].to_numpy()
    deleted = _has_deletes(snapshot, options)
    odd = (sizes < options.min_bytes) | (sizes > options.max_bytes)
    candidates = within & (np.ones(len(sizes), bool) if options.rewrites_all else odd | deleted)
    bins = []
    for partition in np.unique(partitions[candidates]).tolist():
        members = np.flatnonzero(candidates & (partitions == partition))
        for each in _pack(members[np.argsort(sizes[members], kind="stable")], sizes, options.target_bytes):
            is_full = len(each) > 1 and int(sizes[each].sum()) >= options.target_bytes
            if options.rewrites_all or deleted[each].any() or len(each) >= max(options.min_input_files, 2) or is_full:
                bins.append(np.sort(each))
    return bins


def _pack(positions: Positions, sizes: npt.NDArray[np.int64], target_bytes: int) -> Iterator[Positions]:
    filled: list[int] = []
    num_bytes = 0
    for position in positions.tolist():
        size = int(sizes[position])
        if filled and num_bytes + size > target_bytes:
            yield np.array(filled)
            filled, num_bytes = [], 0
        filled.append(position)
        num_bytes += size
    if filled:
        yield np.array(filled)


def _has_deletes(snapshot: IcebergSnapshot, options: RewriteOptions) -> Mask:
    """Returns a mask for files with many position-deleted rows, or with the configured number of delete files."""
    files = snapshot.files
    cardinality = pc.fill_null(pc.struct_field(files["deletion_vector"], "cardinality"), 0)
    rows = files["record_count"].to_numpy()
    ratio = cardinality.to_numpy() / np.maximum(rows, 1)
    return np.asarray((ratio >= options.delete_ratio) | (_delete_files(snapshot) >= options.delete_files))


def dangling_deletes(snapshot: IcebergSnapshot, removed: Positions) -> pa.Table:
    """Returns deletes that apply to no other file; the removed files' rows will be in files newer than the deletes."""
    live = snapshot.live_files
    remaining = np.ones(live.data.num_rows, bool)
    remaining[removed] = False
    deletes = live.deletes
    data = live.data.filter(pa.array(remaining))
    sequences, partitions = data["sequence_number"].to_numpy(), data[PARTITION].to_numpy()
    paths = set(data["file_path"].to_pylist())
    names = ("content", "sequence_number", PARTITION, SPEC_ID, "referenced_data_file")
    needed = []
    for content, number, partition, spec, path in zip(*(deletes[name].to_pylist() for name in names), strict=True):
        if path is not None:
            needed.append(path in paths)
            continue
        is_equality = content == EQUALITY_DELETES
        older = sequences < number if is_equality else sequences <= number
        is_global = is_equality and snapshot.metadata.specs[spec].is_unpartitioned
        needed.append(bool((older & (is_global | (partitions == partition))).any()))
    return deletes.filter(pa.array([not each for each in needed], pa.bool_()))


def _delete_files(snapshot: IcebergSnapshot) -> npt.NDArray[np.int64]:
    """Returns how many delete files may apply to each data file."""
    live = snapshot.live_files
    data, deletes = live.data, live.deletes
    counts = np.asarray(snapshot.files["deletion_vector"].is_valid()).astype(np.int64)
    equality = deletes.filter(pc.equal(deletes["content"], EQUALITY_DELETES))
    sequences, partitions = data["sequence_number"].to_numpy(), data[PARTITION].to_numpy()
    columns = [equality[name].to_pylist() for name in ("sequence_number", PARTITION, SPEC_ID)]
    for number, partition, spec in zip(*columns, strict=True):
        is_global = snapshot.metadata.specs[spec].is_unpartitioned
        counts += (sequences < number) & (is_global | (partitions == partition))
    return counts


def files_at(snapshot: IcebergSnapshot, positions: Positions) -> pa.Table:
    """Returns the snapshot's data files at these row positions of its `files`, in the order of `positions`."""
    return snapshot.files.take(pa.array(positions))
