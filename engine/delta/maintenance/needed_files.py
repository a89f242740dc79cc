"""Files that must be kept: those that any retained version needs.

A version is retained if it was current at a given time or later. Its files are live now, or were removed by a commit
after that time. So retained versions need the newest version's files, the files that later commits removed, and later
commits' change data files. The commit time is used in addition to the deletion timestamp in `remove`, because a writer
determines the latter before its commit begins, with its own clock.

A statement may read an older version while the table is vacuumed: everything that this version and later commits name
is kept as well (a change feed reads the commits). Deletion vectors count as separate files. A path is interpreted as
for reading, percent-decoded once; the undecoded text is also kept, for writers that do not encode paths.

Protocol: "VACUUM Protocol Check", "Add File and Remove File" (tombstones), "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import DeltaError
from engine.delta.snapshot.replay import read_commits
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.delta.spec.paths import LogFileKind, LogPath, parse_log_path
from engine.storage.deletion_vectors import INLINE
from engine.storage.paths import is_absolute_path
from engine.storage.storage import FileStatus, Storage
from engine.types.arrow_types import Array, RecordBatch

# Number of commits whose actions are in memory at the same time.
_COMMITS_AT_ONCE = 1000

# Paths that need interpretation to identify their file.
_ODD = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|//|(^|/)\."


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """Versions that were current at `since_ms` (milliseconds since the epoch) or later, and all from each of `versions`
    on.

    A version in `versions` that the log no longer has is ignored.
    """

    since_ms: int
    versions: frozenset[int] = frozenset()


class NeededFiles:
    """Names relative to one table's root, collected from its own log and from tables that refer to its files."""

    def __init__(self, storage: Storage) -> None:
        self._confinement = storage.confinement
        self._names: list[Array] = []

    @property
    def count(self) -> int:
        """Returns the number of names, including duplicates."""
        return sum(map(len, self._names))

    def are_needed(self, names: Array) -> Array:
        """Returns, for each name relative to the root, whether the file must be kept."""
        needed = pa.chunked_array(self._names, pa.string())
        return pc.is_in(names, value_set=needed.combine_chunks())

    def add_own(self, snapshot: Snapshot, retained: Retained) -> None:
        """Adds the files that the table retains. Raises `LogPathNotAllowed`, `MalformedLogEntry`, `LogFileNotFound`."""
        for paths in retained_paths(snapshot, retained):
            self._names.append(paths)
            self.add_paths(paths.filter(pc.match_substring_regex(paths, _ODD)), self._confinement.root)

    def add_other(self, snapshot: Snapshot, retained: Retained) -> None:
        """Adds this table's files that another table retains, such as a shallow clone. Raises like `add_own`."""
        root = snapshot.table_root
        # A clone's relative paths are below its own root. They can only reach this table if
        # it lies inside the clone's directory.
        may_be_relative = self._confinement.root.startswith(f"{root}/")
        for paths in retained_paths(snapshot, retained):
            if not may_be_relative:
                paths = paths.filter(pc.match_substring_regex(paths, _ODD))
            self.add_paths(paths, root)

    def add_paths(self, paths: Array, root: str) -> None:
        """Adds paths from the log of the table at `root`."""
        self._names.append(self._below(paths, root))

    def _below(self, paths: Array, root: str) -> Array:
        """Returns names below this table's root for paths in the table at `root`."""
        own = root == self._confinement.root
        names = (
            self._confinement.name_below(path if own or is_absolute_path(path) else f"{root}/{path}")
            for path in paths.to_pylist()
        )
        return pa.array([name for name in names if name is not None], pa.string())


def refers_to(snapshot: Snapshot, storage: Storage) -> bool:
    """Returns whether a live file, or its deletion vector, is below another table's root, whose storage is given."""
    needed = NeededFiles(storage)
    for paths in file_paths(snapshot.files.to_batches()):
        needed.add_paths(paths.filter(pc.match_substring_regex(paths, _ODD)), snapshot.table_root)
    return needed.count > 0


def may_be_others(batches: Iterable[RecordBatch]) -> bool:
    """Returns whether a file, or its deletion vector, may be outside the table's directory."""
    return any(pc.any(pc.match_substring_regex(paths, _ODD)).as_py() for paths in file_paths(batches))


def retained_paths(snapshot: Snapshot, retained: Retained) -> Iterator[Array]:
    """Yields the decoded paths that retained versions need, as string arrays; a path may occur several times."""
    for batch in snapshot.files.to_batches():
        yield from _paths(batch)
    for batch in snapshot.tombstones.to_batches():
        removed_ms = pc.fill_null(batch.column("deletion_timestamp"), 0)
        # A tombstone's time comes from its writer's clock; the commits below are added by
        # their file's time as well.
        yield from _paths(batch.filter(pc.greater_equal(removed_ms, retained.since_ms)))
    versions = sorted(version for version in retained.versions if version < snapshot.version)
    for version in versions:
        # A statement that reads this version is still running: its files may have been
        # removed long before the retention.
        older = _older(snapshot.storage, version)
        for batch in older.files.to_batches() if older is not None else ():
            yield from _paths(batch)
    commits = load_commits(snapshot)
    first = next(
        (
            at
            for at, (path, status) in enumerate(commits)
            if status.modified_ms >= retained.since_ms or (versions and path.version >= versions[0])
        ),
        len(commits),
    )  # file times may run backwards, which does not make a later version older
    yield from _named_in(snapshot, [path for path, _ in commits[first:]])


def load_commits(snapshot: Snapshot) -> list[tuple[LogPath, FileStatus]]:
    """Lists the commits up to the snapshot's version, oldest first, from one listing (`Snapshot.list_log`)."""
    found = ((path, status) for status in snapshot.list_log() if (path := parse_log_path(status.name)) is not None)
    return [
        (path, status) for path, status in found if path.kind is LogFileKind.COMMIT and path.version <= snapshot.version
    ]


def file_paths(batches: Iterable[RecordBatch]) -> Iterator[Array]:
    """Yields the decoded paths of files and of their deletion vectors."""
    for batch in batches:
        yield batch.column("path")
        if "deletion_vector" in batch.schema.names:
            vectors = batch.column("deletion_vector")
            if vectors.null_count < len(vectors):
                yield _vector_paths(vectors)


def _named_in(snapshot: Snapshot, commits: Sequence[LogPath]) -> Iterator[Array]:
    """Yields every path that the commits name."""
    for start in range(0, len(commits), _COMMITS_AT_ONCE):
        actions = read_commits(snapshot.storage, commits[start : start + _COMMITS_AT_ONCE], snapshot.recent)
        for rows in (actions.adds, actions.removes, actions.cdc):
            for batch in rows.batches:
                yield from _paths(batch)


def _older(storage: Storage, version: int) -> Snapshot | None:
    try:
        return Snapshot.load(storage, version)
    except DeltaError:  # the statement that pinned the version cannot read it either
        return None


def _paths(batch: RecordBatch) -> Iterator[Array]:
    """Yields paths like `file_paths`, and the log's texts if they differ."""
    yield from file_paths([batch])
    # A writer that does not encode its paths ("Add File and Remove File" requires it) means
    # the text itself; both readings are kept.
    if batch.column("log_path") != batch.column("path"):
        yield batch.column("log_path")


def _vector_paths(vectors: Array) -> Array:
    """Returns the paths of deletion vectors stored in files; several may share one."""
    stored = pc.and_(vectors.is_valid(), pc.not_equal(vectors.field("storage_type"), INLINE))
    descriptors = (DeletionVectorDescriptor(**value) for value in vectors.filter(stored).to_pylist())
    return pa.array(sorted(set(map(deletion_vector_path, descriptors))), pa.string())
