"""Copies a table's files byte for byte into another table's folder, and deletes them if the commit fails."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from catalog.conditions import CloneFileMissing
from engine.delta.commit.cloned_files import changed_vectors, cloned_files, copies_among, file_vectors
from engine.delta.snapshot.snapshot import Snapshot
from engine.execution.writes.staged_files import discarded_on_failure
from engine.runtime.request import StatementRequest
from engine.spark.execution_context import ExecutionContext
from engine.storage.deletion_vectors import RELATIVE, relative_deletion_vector, vector_file_name
from engine.storage.paths import encode_path, is_absolute_path
from engine.storage.storage import Storage

COPIERS_MAX = 8
_PIECE_BYTES = 4 << 20
# For the retained part of a name; file systems allow 255 bytes.
_BASE_BYTES_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """`adds` are the files that the clone gets, `removed` (a mask over its previous files) the ones that it loses.

    `sizes` are the written data files' bytes.
    """

    adds: pa.RecordBatch
    removed: pa.Array
    sizes: tuple[int, ...]


@contextmanager
def copied_files(
    snapshot: Snapshot, label: str, storage: Storage, before: pa.Table, context: ExecutionContext
) -> Iterator[Copies]:
    """Copies all files in table `label`, except those that `before` already has as copies.

    Raises `CloneFileMissing`.
    """
    table_id = snapshot.metadata.id
    known = copies_among(before, table_id)
    copying = _Copying(snapshot.storage, label, snapshot.version, storage, context.request)
    removed = np.ones(before.num_rows, bool)
    needed = []
    log_paths = []
    names = {}
    had = before["log_path"].to_pylist()
    for row, (path, vector) in enumerate(file_vectors(snapshot.files)):
        copy = known.get(path)
        if copy is not None and copy.is_of(vector):
            removed[copy.position] = False
            continue
        needed.append(row)
        if copy is None:
            names[path] = copy_name(path)
        # A file whose bytes were copied before, but whose vector changed, keeps its copy;
        # only the vector is new.
        log_paths.append(encode_path(names[path]) if copy is None else had[copy.position])
    files = snapshot.files.take(pa.array(needed, pa.int64()))
    with discarded_on_failure(storage, copying.written, context):
        sizes = copying.copy(list(names.items()))
        vectors = changed_vectors(files, _Vectors(copying), RELATIVE)
        copying.copy(list(copying.vectors.items()))
        context.request.cancel.ensure_live()
        yield Copies(
            adds=cloned_files(files, pa.array(log_paths, pa.string()), vectors, table_id),
            removed=pa.array(removed),
            sizes=sizes,
        )


@dataclass(slots=True)
class _Copying:
    """A running copy; several threads append to `written`."""

    source: Storage
    label: str
    version: int
    target: Storage
    request: StatementRequest
    written: list[str] = field(default_factory=list)
    # Deletion vector files -> their copies.
    vectors: dict[str, str] = field(default_factory=dict)

    def copy(self, names: list[tuple[str, str]]) -> tuple[int, ...]:
        """Copies source files (decoded path -> name in the target); returns each one's size in bytes."""
        sizes: list[int] = []
        tenth = -(-len(names) // 10)
        with ThreadPoolExecutor(COPIERS_MAX, "copies") as threads:
            for size in threads.map(self._copy, names):
                sizes.append(size)
                if len(sizes) % tenth == 0 or len(sizes) == len(names):
                    note = f"{self.target.root}: {len(sizes)} of {len(names)} files copied, {sum(sizes)} bytes"
                    self.request.profile.add_note(note)
        return tuple(sizes)

    def _copy(self, names: tuple[str, str]) -> int:
        path, name = names
        self.request.cancel.ensure_live()
        size = 0
        # Pieces bound the memory: eight copiers may each have a file with gigabytes.
        with self._open(path) as reader, self.target.open_output(name) as writer:
            while piece := reader.read(_PIECE_BYTES):
                self.request.cancel.ensure_live()
                writer.write(piece)
                size += len(piece)
            self.written.append(name)
        return size

    def _open(self, path: str) -> BinaryIO:
        try:
            return self.source.open_input(path)
        except FileNotFoundError as error:
            raise CloneFileMissing(self.label, self.version, path) from error


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Copies the deletion vector file at a path once, and returns the copy's path text."""

    copying: _Copying
    texts: dict[str, str] = field(default_factory=dict)

    def __call__(self, path: str) -> str:
        if path not in self.texts:
            token = uuid.uuid4()
            self.texts[path] = relative_deletion_vector(token)
            self.copying.vectors[path] = vector_file_name(token)
        return self.texts[path]


def missing_file(snapshot: Snapshot, context: ExecutionContext) -> str | None:
    """Returns the path of a missing data file in the version; None if all exist."""
    paths = snapshot.files["path"].to_pylist()

    def is_there(path: str) -> bool:
        context.request.cancel.ensure_live()
        return snapshot.storage.exists(path)

    with ThreadPoolExecutor(COPIERS_MAX, "looks") as threads:
        return next((path for path, found in zip(paths, threads.map(is_there, paths), strict=True) if not found), None)


def copy_name(path: str, token: Callable[[], str] = lambda: uuid.uuid4().hex) -> str:
    """Returns a unique name for the copy of a file at a decoded path; it stays in its partition's folder."""
    *folders, base = path.split("/")
    # The partition's folder is a convention for people and for other tools; the log alone
    # has the values.
    remaining = [] if is_absolute_path(path) else [folder for folder in folders if "=" in folder]
    tail = base.encode()[-_BASE_BYTES_MAX:].decode(errors="ignore")
    return "/".join((*remaining, f"{token()}-{tail}"))
