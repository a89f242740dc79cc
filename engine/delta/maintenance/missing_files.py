"""Finds live files that are missing in storage, or whose deletion vector is; FSCK removes them from the log.

Nothing else is verified: whether an existing file is readable is determined by its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.storage.deletion_vectors import INLINE

_THREADS = 16
_FILES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A live file, `row` in `Snapshot.files`, that is missing or lacks its deletion vector."""

    row: int
    path: str
    is_missing: bool
    vector_path: str | None = None
    is_vector_missing: bool = False


def find_missing(snapshot: Snapshot, check: Callable[[], None]) -> tuple[MissingFile, ...]:
    """Finds missing files. `check` raises if the statement was canceled. Raises `LogPathNotAllowed`, `OSError`."""
    snapshot.ensure_files_allowed()
    with ThreadPoolExecutor(_THREADS, "fsck") as threads:
        return tuple(_find_missing(snapshot, threads, check))


def missing_rows(snapshot: Snapshot, missing: tuple[MissingFile, ...]) -> pa.Table:
    """Returns the missing files in `FILES_SCHEMA`."""
    return snapshot.files.take(pa.array([file.row for file in missing], pa.int64()))


def _find_missing(snapshot: Snapshot, threads: ThreadPoolExecutor, check: Callable[[], None]) -> Iterator[MissingFile]:
    exists = snapshot.storage.exists
    for start in range(0, snapshot.num_files, _FILES_AT_ONCE):
        check()
        files = snapshot.files.slice(start, _FILES_AT_ONCE)
        paths = files.column("path").to_pylist()
        vectors = [_vector_path(vector) for vector in files.column("deletion_vector").to_pylist()]
        stored = [path for path in vectors if path is not None]
        absent = {path for path, found in zip(stored, threads.map(exists, stored), strict=True) if not found}
        there = threads.map(exists, paths)
        for row, (path, vector, found) in enumerate(zip(paths, vectors, there, strict=True), start):
            if not found or vector in absent:
                yield MissingFile(
                    row=row,
                    path=path,
                    is_missing=not found,
                    vector_path=vector,
                    is_vector_missing=vector in absent,
                )


def _vector_path(value: dict[str, object] | None) -> str | None:
    if value is None or value["storage_type"] == INLINE:
        return None
    return deletion_vector_path(DeletionVectorDescriptor(**value))  # type: ignore[arg-type]
