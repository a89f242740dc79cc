"""Deletion vectors: rows that are deleted from their file permanently, or excluded for one statement.

If the table supports deletion vectors (`Capability.VECTORS_ON_DELETE` and related ones), its format writes them
(`engine.tables.row_files`). In any format, a copy reads a file without the deleted rows, new values are computed from
changed rows, and a rewritten file has both. No version contains the vectors for these reads; small ones are sent with
the file list.

A `RowSet` contains one data file's row indices, as Spark returns them: bitmaps for 32768 rows each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from engine.binding.bound import BoundTable
from engine.execution.writes.staged_files import discard, discarded_on_failure
from engine.spark.execution_context import ExecutionContext
from engine.storage.deletion_vectors import DELETION_VECTOR, Rows
from engine.storage.vector_files import VectorRow, inline_vector, write_vectors
from engine.tables.row_files import FilesWithDeletedRows
from engine.tables.snapshot import TableSnapshot

# Up to this many rows, vectors are text in the file list, at most about 3 bytes per row; larger ones get a file.
_INLINE_ROWS_MAX = 20_000


@contextmanager
def with_deleted_rows(
    table: BoundTable, files: pa.Table, deleted: Sequence[RowSet], context: ExecutionContext
) -> Iterator[FilesWithDeletedRows]:
    """Adds these rows to the deletion vectors of live files with known row counts; if the block that commits them
    fails, the written vectors are removed.
    """
    storage = table.snapshot.storage
    storage.ensure_writable()
    files_with_deleted_rows = table.snapshot.row_files.mark(files, [rows.indices() for rows in deleted])
    with discarded_on_failure(storage, files_with_deleted_rows.written, context):
        context.request.cancel.ensure_live()
        yield files_with_deleted_rows


@contextmanager
def only(table: BoundTable, rows: RowsOfFiles) -> Iterator[pa.Table]:
    """Returns the files with these rows, to read no others: a scan's `files`."""
    files = table.snapshot.row_files.readable(_files_of_rows(table, rows))
    with _for_reading(table, [rows[position].indices() for position in sorted(rows)]) as vectors:
        # The file's own deletion vector is left out: the selected rows are live, so it
        # would exclude none of them.
        yield _with_column(files, "deletion_vector", pa.nulls(len(files), DELETION_VECTOR)).append_column(
            "selected_rows", pa.array(vectors, DELETION_VECTOR)
        )


@contextmanager
def flagged_rows(table: BoundTable, rows: RowsOfFiles) -> Iterator[pa.Table]:
    """Returns the files with these rows, to read all live rows and distinguish these from others."""
    with _for_reading(table, [rows[position].indices() for position in sorted(rows)]) as vectors:
        files = table.snapshot.row_files.readable(_files_of_rows(table, rows))
        yield files.append_column("told_rows", pa.array(vectors, DELETION_VECTOR))


@contextmanager
def without(table: BoundTable, rows: RowsOfFiles) -> Iterator[pa.Table]:
    """Returns the files with some of these rows, to read their other rows that are not deleted."""
    files = _files_of_rows(table, rows)
    gone = _deleted_rows(table.snapshot, files, [rows[position] for position in sorted(rows)])
    with _for_reading(table, gone) as vectors:
        yield _with_column(files, "deletion_vector", pa.array(vectors, DELETION_VECTOR))


def files_without_rows(source: TableSnapshot | None, files: pa.Table, rows: RowsOfFiles) -> pa.Table:
    """Returns a scan's files, to read all rows except these; no files are written next to them, as they may be foreign.

    `source` is the table that has them all; None for files without deleted rows.
    """
    if "deletion_vector" not in files.column_names:
        files = files.append_column("deletion_vector", pa.nulls(len(files), DELETION_VECTOR))
    vectors = files["deletion_vector"].to_pylist()
    positions = sorted(rows)
    remaining_files = files if source is None else source.files  # as in the log: paths in a scan are decoded
    gone = _deleted_rows(source, remaining_files.take(pa.array(positions, pa.int64())), [rows[at] for at in positions])
    for position, each in zip(positions, gone, strict=True):
        # Inline, so that nothing is written next to a source that may belong to others.
        vectors[position] = inline_vector(each)
    return _with_column(files, "deletion_vector", pa.array(vectors, DELETION_VECTOR))


def _deleted_rows(snapshot: TableSnapshot | None, files: pa.Table, deleted: Sequence[RowSet]) -> list[Rows]:
    """Returns each file's previously deleted rows, and the newly deleted ones."""
    rows = [each.indices() for each in deleted]
    if snapshot is None:
        return rows
    return [np.union1d(*each) for each in zip(snapshot.row_files.deleted_rows(files), rows, strict=True)]


def _files_of_rows(table: BoundTable, rows: RowsOfFiles) -> pa.Table:
    return table.snapshot.files.take(pa.array(sorted(rows), pa.int64()))


@contextmanager
def _for_reading(table: BoundTable, sets: Sequence[Rows]) -> Iterator[list[VectorRow]]:
    if sum(map(len, sets)) <= _INLINE_ROWS_MAX:
        yield [inline_vector(rows) for rows in sets]
        return
    storage = table.snapshot.storage
    vectors, name = write_vectors(storage, sets)
    try:
        yield vectors
    finally:
        discard(storage, (name,))


def _with_column(files: pa.Table, name: str, values: object) -> pa.Table:
    at = files.schema.get_field_index(name)
    return files.set_column(at, files.schema.field(at), pa.array(values, files.schema.field(at).type))


ROWS_PER_BITMAP = 1 << 15


@dataclass(frozen=True, slots=True)
class RowSet:
    # Bucket number, from 0, and its row bitmap.
    bitmaps: dict[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(int.from_bytes(bits, "little").bit_count() for bits in self.bitmaps.values())

    def __or__(self, other: RowSet) -> RowSet:
        together = RowSet(dict(self.bitmaps))
        for bucket, bits in other.bitmaps.items():
            together._add(bucket, bits)
        return together

    def add(self, number: int, bits: bytes) -> None:
        """Adds Spark's result for one bucket; it counts them from 1."""
        self._add(number - 1, bits)

    def _add(self, bucket: int, bits: bytes) -> None:
        known = int.from_bytes(self.bitmaps.get(bucket, b""), "little")
        # A bucket may arrive in several parts, since Spark groups by clause as well.
        self.bitmaps[bucket] = (known | int.from_bytes(bits, "little")).to_bytes(len(bits), "little") if known else bits

    def indices(self) -> Rows:
        """Returns the row positions in ascending order, as 64-bit integers."""
        parts = [
            np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")) + bucket * ROWS_PER_BITMAP
            for bucket, bits in sorted(self.bitmaps.items())
        ]
        return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


# File position in the snapshot -> its rows, for each file with some.
RowsOfFiles = Mapping[int, RowSet]


def count_rows(rows: RowsOfFiles) -> int:
    """Returns the number of rows in all files."""
    return sum(map(len, rows.values()))
