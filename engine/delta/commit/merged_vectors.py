"""Row-level concurrency: writes deletion vectors, and merges them with those in winning commits.

Two commits that delete different rows in one file do not conflict if each depends only on the rows that it deletes. The
commit that loses the race merges the winning commit's deletion vector: its own becomes the union. It remains a conflict
if both delete the same row, if the winning commit restored rows, or if it removed the file.

Protocol: "Deletion Vectors". delta-spark detects conflicts by file here; the resulting versions are valid for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.commit.conflicts import WinningCommit
from engine.delta.commit.staged_commit import StagedCommit, combine_batches, remove_rows
from engine.delta.log.commit_reader import FileRows
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.snapshot.row_files import load_deleted_rows
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.storage.deletion_vectors import DELETION_VECTOR, RELATIVE, Rows
from engine.storage.storage import Storage
from engine.storage.vector_files import VectorRow, write_vectors
from engine.types.arrow_types import RecordBatch


def read_vector(storage: Storage, value: VectorRow | None) -> Rows:
    """Reads a deletion vector; without one, returns no rows."""
    return np.empty(0, np.int64) if value is None else load_deleted_rows(storage, DeletionVectorDescriptor(**value))


@dataclass(slots=True)
class MergedVectors:
    """Rows that a transaction deletes, by decoded file path, and the deletion vector files that it wrote; `staged` has
    those that it was given.
    """

    storage: Storage
    rows: Mapping[str, Rows]
    written: list[str] = field(default_factory=list)
    staged: set[str] = field(default_factory=set)

    def rebase(self, staged: StagedCommit, winner: WinningCommit, now_ms: int) -> tuple[StagedCommit, WinningCommit]:
        """Merges the winning commit's deletion vectors into ours.

        Returns ours, and the winner's actions still to check.
        """
        added, removed = _by_path(winner.actions.adds), _by_path(winner.actions.removes)
        merged: dict[str, Rows] = {}
        grown = []
        # A new deletion vector is logged as a remove with the old vector and an add with
        # the new one ("Add File and Remove File"); a path in one of them only is a new or a
        # removed file, which the other rules judge.
        for path in added.keys() & removed.keys():
            theirs = self._vector(added[path])
            known = self._vector(removed[path])
            # A vector that lacks deleted rows brings them back (RESTORE). These rows count
            # as added, so the file stays for the rule on appended files.
            if not np.isin(known, theirs, assume_unique=True).all():  # rows were restored
                continue
            grown.append(path)
            came = np.setdiff1d(theirs, known, assume_unique=True)
            ours = self.rows.get(path)
            # A row deleted by both remains a conflict: our UPDATE or MERGE would otherwise
            # write a new version of a row that no longer exists.
            if ours is not None and not np.intersect1d(came, ours, assume_unique=True).size:
                merged[path] = np.union1d(theirs, ours)
        left = _without(winner, frozenset(grown), frozenset(merged))
        if not merged:
            return staged, left
        # Written anew in each attempt. A deletion vector file is immutable, and the one of
        # a lost attempt may still be referenced by a commit whose outcome is unknown.
        vectors, name = write_vectors(self.storage, list(merged.values()))
        self.staged |= _vector_files(staged.adds) - set(self.written)
        self.written.append(name)
        files = pa.Table.from_batches([added[path] for path in merged], FILES_SCHEMA).combine_chunks()
        with_vectors = _with_column(files, "deletion_vector", pa.array(vectors, DELETION_VECTOR))
        return _replace_actions(staged, frozenset(merged), files, with_vectors, now_ms), left

    def unused_files(self, committed: RecordBatch) -> set[str]:
        """Returns the deletion vector files that no added data file uses, because their vectors were merged."""
        return {*self.written, *self.staged} - _vector_files(committed)

    def _vector(self, file: RecordBatch) -> Rows:
        return read_vector(self.storage, file.column("deletion_vector")[0].as_py())


def _vector_files(adds: RecordBatch) -> set[str]:
    """Returns names relative to the table root."""
    vectors = [DeletionVectorDescriptor(**value) for value in _column(adds, "deletion_vector") if value is not None]
    return {deletion_vector_path(vector) for vector in vectors if vector.storage_type == RELATIVE}


def _replace_actions(
    staged: StagedCommit, paths: frozenset[str], files: pa.Table, with_vectors: pa.Table, now_ms: int
) -> StagedCommit:
    """Removes the files as the winning commit left them, and adds them with the merged vectors."""
    adds = [*_others(staged.adds, paths), *_ours(with_vectors, staged)]
    removes = [*_others(staged.removes, paths), *(remove_rows(batch, now_ms) for batch in files.to_batches())]
    return replace(
        staged, adds=combine_batches(adds, FILES_SCHEMA), removes=combine_batches(removes, TOMBSTONES_SCHEMA)
    )


def _ours(with_vectors: pa.Table, staged: StagedCommit) -> list[RecordBatch]:
    """Uses our statistics for files with a merged vector, because they declare wide bounds."""
    known = dict(zip(_column(staged.adds, "path"), _column(staged.adds, "stats"), strict=True))
    # `tightBounds` must be false once rows are deleted without new bounds ("Per-file
    # Statistics").
    stats = pa.array([known[path] for path in with_vectors["path"].to_pylist()], pa.string())
    changed = pa.array([True] * len(with_vectors), pa.bool_())
    return list(_with_column(_with_column(with_vectors, "stats", stats), "data_change", changed).to_batches())


def _without(winner: WinningCommit, grown: frozenset[str], merged: frozenset[str]) -> WinningCommit:
    """Drops the adds whose vectors only grew, since they have no new rows, and the removes for merged files."""
    actions = winner.actions
    adds, removes = _files_without(actions.adds, grown), _files_without(actions.removes, merged)
    return replace(winner, actions=replace(actions, adds=adds, removes=removes))


def _files_without(files: FileRows, paths: frozenset[str]) -> FileRows:
    batches = tuple(batch for each in files.batches for batch in _others(each, paths))
    return replace(files, batches=batches)


def _others(batch: RecordBatch, paths: frozenset[str]) -> list[RecordBatch]:
    names = pa.array(sorted(paths), pa.string())
    left = batch.filter(pc.invert(pc.is_in(batch.column("path"), value_set=names)))
    return [left] if left.num_rows else []


def _by_path(files: FileRows) -> dict[str, RecordBatch]:
    return {
        path: batch.slice(at, 1) for batch in files.batches for at, path in enumerate(batch.column("path").to_pylist())
    }


def _column(batch: RecordBatch, name: str) -> list[Any]:
    values: list[Any] = batch.column(name).to_pylist()
    return values


def _with_column(files: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = files.schema.get_field_index(name)
    return files.set_column(at, files.schema.field(at), values)
