"""Rows that stay in their files, and are told as deleted beside them: by deletion vectors, where the table has these.

A vector holds all deleted rows of its file, so what a file's old one has is in its new one, and the file is removed
with the old and added with the new one in one commit. Statistics keep their count, which is of all rows in the file;
their bounds may be of rows that are gone. All vectors of a commit are in one file.

Rows are told apart by vectors for one statement alone, too: a copy reads a file without the rows that go, new values
are made from those that change, and a file that is written again has both. No version has these vectors; small ones
travel with the list of files.

Protocol: "Deletion Vectors", "Writer Requirements for Deletion Vectors", "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa

from catalog.errors import CatalogOutcomeUnknown
from engine.bind.bound import BoundTable
from engine.delta.commit.marks import write_vectors
from engine.delta.delta_format import delta_snapshot
from engine.delta.snapshot.deletion_vectors import load_deleted_rows
from engine.delta.snapshot.table_scan import with_decoded_vectors
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.delta.spec.stats import parse_file_stats
from engine.errors.conflict_errors import CommitOutcomeUnknown
from engine.exec.run import Run
from engine.storage.deletion_vectors import DELETION_VECTOR, Rows
from engine.storage.storage import Storage
from engine.write.row_sets import RowSet, RowsOfFiles
from engine.write.staged_files import discard

_INLINE_ROWS_MAX = 20_000
"""Up to so many rows vectors are text in the list of files, some 3 bytes a row at most; others take a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFiles:
    """`files` are those that stay, of `FILES_SCHEMA`, with their new vectors; `num_updated` of them had one before.

    `rows` are those that they get more, by path.
    """

    files: pa.Table
    num_updated: int
    rows: Mapping[str, Rows]


def can_mark(table: BoundTable) -> bool:
    """Whether deleted rows go into vectors."""
    return delta_snapshot(table.snapshot).config.is_enabled("deletionVectors")


@contextmanager
def marked_rows(table: BoundTable, files: pa.Table, going: Sequence[RowSet], run: Run) -> Iterator[MarkedFiles]:
    """Live files whose number of rows is known, with vectors that have these rows too; if the block that commits them
    fails, the file of the vectors goes.
    """
    storage = delta_snapshot(table.snapshot).storage
    storage.ensure_writable()
    new, name = write_vectors(storage, _deleted(storage, files, going))
    try:
        run.context.cancel.ensure_live()
        stats = [replace(parse_file_stats(text), tight_bounds=False).to_json() for text in files["stats"].to_pylist()]
        marked = _with_column(_with_column(files, "deletion_vector", pa.array(new, DELETION_VECTOR)), "stats", stats)
        more = dict(zip(files["path"].to_pylist(), (rows.indices() for rows in going), strict=True))
        yield MarkedFiles(files=marked, num_updated=len(files) - files["deletion_vector"].null_count, rows=more)
    except (CommitOutcomeUnknown, CatalogOutcomeUnknown):
        raise
    except BaseException:
        discard(storage, (name,))
        raise


@contextmanager
def only(table: BoundTable, rows: RowsOfFiles) -> Iterator[pa.Table]:
    """The files of the snapshot with these rows, to read no others: a scan's `files`."""
    files = _taken(table, rows)
    with _for_reading(table, [rows[position].indices() for position in sorted(rows)]) as vectors:
        yield _with_column(files, "deletion_vector", pa.nulls(len(files), DELETION_VECTOR)).append_column(
            "selected_rows", pa.array(vectors, DELETION_VECTOR)
        )


@contextmanager
def told(table: BoundTable, rows: RowsOfFiles) -> Iterator[pa.Table]:
    """The files of the snapshot with these rows, to read all live rows and tell these from others."""
    with _for_reading(table, [rows[position].indices() for position in sorted(rows)]) as vectors:
        yield with_decoded_vectors(_taken(table, rows)).append_column("told_rows", pa.array(vectors, DELETION_VECTOR))


@contextmanager
def without(table: BoundTable, rows: RowsOfFiles) -> Iterator[pa.Table]:
    """The files of the snapshot that have some of these rows, to read their others that are not deleted."""
    files = _taken(table, rows)
    gone = _deleted(delta_snapshot(table.snapshot).storage, files, [rows[position] for position in sorted(rows)])
    with _for_reading(table, gone) as vectors:
        yield _with_column(files, "deletion_vector", pa.array(vectors, DELETION_VECTOR))


def all_but(storage: Storage, files: pa.Table, rows: RowsOfFiles) -> pa.Table:
    """The files of a scan, to read all rows but these; nothing is written beside the files, which may be others'."""
    if "deletion_vector" not in files.column_names:
        files = files.append_column("deletion_vector", pa.nulls(len(files), DELETION_VECTOR))
    vectors = files["deletion_vector"].to_pylist()
    positions = sorted(rows)
    gone = _deleted(storage, files.take(pa.array(positions, pa.int64())), [rows[at] for at in positions])
    for position, each in zip(positions, gone, strict=True):
        vectors[position] = _inline(each)
    return _with_column(files, "deletion_vector", pa.array(vectors, DELETION_VECTOR))


def _deleted(storage: Storage, files: pa.Table, going: Sequence[RowSet]) -> list[Rows]:
    """Of each file the rows that were deleted before, and those that go."""
    old = [_descriptor(value) for value in files["deletion_vector"].to_pylist()]
    return [_together(storage, vector, rows) for vector, rows in zip(old, going, strict=True)]


def _inline(rows: Rows) -> dict[str, object]:
    return asdict(inline_deletion_vector(rows))


def _taken(table: BoundTable, rows: RowsOfFiles) -> pa.Table:
    return table.snapshot.files.take(pa.array(sorted(rows), pa.int64()))


@contextmanager
def _for_reading(table: BoundTable, sets: Sequence[Rows]) -> Iterator[list[dict[str, object]]]:
    if sum(map(len, sets)) <= _INLINE_ROWS_MAX:
        yield [_inline(rows) for rows in sets]
        return
    storage = delta_snapshot(table.snapshot).storage
    vectors, name = write_vectors(storage, sets)
    try:
        yield vectors
    finally:
        discard(storage, (name,))


def _descriptor(value: dict[str, object] | None) -> DeletionVectorDescriptor | None:
    return None if value is None else DeletionVectorDescriptor(**value)  # type: ignore[arg-type]


def _together(storage: Storage, old: DeletionVectorDescriptor | None, going: RowSet) -> Rows:
    rows = going.indices()
    return rows if old is None else np.union1d(load_deleted_rows(storage, old), rows)


def _with_column(files: pa.Table, name: str, values: object) -> pa.Table:
    at = files.schema.get_field_index(name)
    return files.set_column(at, files.schema.field(at), pa.array(values, files.schema.field(at).type))
