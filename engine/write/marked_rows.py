"""Rows that stay in their files, and are told as deleted beside them: by deletion vectors, where the table has these.

A vector holds all deleted rows of its file, so what a file's old one has is in its new one, and the file is removed
with the old and added with the new one in one commit. Statistics keep their count, which is of all rows in the file;
their bounds may be of rows that are gone. All vectors of a commit are in one file.

Which rows those are comes from Spark as bitmaps of 32768 rows each, so that the answer is never larger than a bit for
each row of the files; `bitmap_bit_position` and `bitmap_bucket_number` count from 1.

Protocol: "Deletion Vectors", "Writer Requirements for Deletion Vectors", "Per-file Statistics".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from catalog.errors import CatalogOutcomeUnknown
from catalog.names import fold
from engine.bind.bound import BoundTable
from engine.delta.commit.conflict_errors import CommitOutcomeUnknown
from engine.delta.delta_format import delta_snapshot
from engine.delta.log.file_table import DELETION_VECTOR
from engine.delta.log.storage import Storage
from engine.delta.snapshot.deletion_vectors import load_deleted_rows
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import (
    RELATIVE,
    Rows,
    deletion_vector_path,
    format_file,
    format_rows,
    relative_deletion_vector,
)
from engine.delta.spec.stats import parse_file_stats
from engine.exec.run import Run
from engine.plan.reads.scans import FILE_METADATA
from engine.write.staged_files import discard

ROWS_PER_BITMAP = 1 << 15


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows of one file, by their indices."""

    bitmaps: list[tuple[int, bytes]] = field(default_factory=list)
    """Number of a bucket, and which of its rows."""

    def __len__(self) -> int:
        return sum(int.from_bytes(bits, "little").bit_count() for _, bits in self.bitmaps)

    def add(self, bucket: int, bits: bytes) -> None:
        """What Spark answers for one bucket."""
        self.bitmaps.append((bucket - 1, bits))

    def indices(self) -> Rows:
        parts = [
            np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")) + bucket * ROWS_PER_BITMAP
            for bucket, bits in sorted(self.bitmaps)
        ]
        return np.concatenate(parts).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFiles:
    """`files` are those that stay, of `FILES_SCHEMA`, with their new vectors; `num_updated` of them had one before."""

    files: pa.Table
    num_updated: int


def can_mark(table: BoundTable) -> bool:
    """Whether deleted rows go into vectors. A column may hide what tells a row's place in its file."""
    config = delta_snapshot(table.snapshot).config
    return config.is_enabled("deletionVectors") and FILE_METADATA not in map(fold, config.schema.names)


@contextmanager
def marked_rows(table: BoundTable, files: pa.Table, going: Sequence[RowSet], run: Run) -> Iterator[MarkedFiles]:
    """Live files whose number of rows is known, with vectors that have these rows too; if the block that commits them
    fails, the file of the vectors goes.
    """
    storage = delta_snapshot(table.snapshot).storage
    storage.ensure_writable()
    old = [_descriptor(value) for value in files["deletion_vector"].to_pylist()]
    deleted = [_together(storage, vector, rows) for vector, rows in zip(old, going, strict=True)]
    new, name = _write_vectors(storage, deleted)
    try:
        run.context.cancel.ensure_live()
        stats = [replace(parse_file_stats(text), tight_bounds=False).to_json() for text in files["stats"].to_pylist()]
        marked = _with_column(_with_column(files, "deletion_vector", pa.array(new, DELETION_VECTOR)), "stats", stats)
        yield MarkedFiles(files=marked, num_updated=sum(vector is not None for vector in old))
    except (CommitOutcomeUnknown, CatalogOutcomeUnknown):
        raise
    except BaseException:
        discard(storage, (name,))
        raise


def _descriptor(value: dict[str, object] | None) -> DeletionVectorDescriptor | None:
    return None if value is None else DeletionVectorDescriptor(**value)  # type: ignore[arg-type]


def _together(storage: Storage, old: DeletionVectorDescriptor | None, going: RowSet) -> Rows:
    rows = going.indices()
    return rows if old is None else np.union1d(load_deleted_rows(storage, old), rows)


def _write_vectors(storage: Storage, deleted: Sequence[Rows]) -> tuple[list[dict[str, object]], str]:
    """Descriptors, and the name of the file that they are of."""
    vectors = [format_rows(rows) for rows in deleted]
    content, offsets = format_file(vectors)
    place = relative_deletion_vector(uuid.uuid4())
    descriptors = [
        {
            "storage_type": RELATIVE,
            "path_or_inline_dv": place,
            "offset": offset,
            "size_in_bytes": len(data),
            "cardinality": len(rows),
        }
        for rows, data, offset in zip(deleted, vectors, offsets, strict=True)
    ]
    name = deletion_vector_path(DeletionVectorDescriptor(**descriptors[0]))  # type: ignore[arg-type]
    storage.write(name, content)
    return descriptors, name


def _with_column(files: pa.Table, name: str, values: object) -> pa.Table:
    at = files.schema.get_field_index(name)
    return files.set_column(at, files.schema.field(at), pa.array(values, files.schema.field(at).type))
