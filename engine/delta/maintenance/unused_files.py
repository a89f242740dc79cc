"""VACUUM: finds and removes files below a table's root that no retained version needs.

There are two ways to find them. A *full* search lists every directory, and so also finds files from aborted writes. A
*lite* search reads the log only: the files that commits before the retention removed. It begins after the last commit
that an earlier VACUUM has processed, which is recorded in the log's directory.

A full search returns files that are older than the retention and not needed (`needed_files`), except

- files that no version has had and that are barely older: the storage's clock may be behind this machine's (a local
  file system's by a few milliseconds), so they may have been written since;
- hidden files and directories, whose names begin with `_` or `.`: the log, and other products' metadata. Directories
  for change data and indexes, and partition directories, are not hidden, even if their columns have names like that;
- directories that have their own log: a nested table;
- symbolic links, and everything that they point to.

Hadoop writes a checksum `.name.crc` next to a local file `name`; it is removed with its file. An empty directory is
removed when it is as old as a file would have to be; one that becomes empty is removed the next time, so that no writer
loses a directory it has just made. Files are removed in any order: no readable version refers to them, so an
interrupted removal leaves a smaller set of the same kind.

The protocol leaves cleanup to writers. The rules for hidden names and the record in the log's directory follow
delta-spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import VacuumLiteImpossible
from engine.delta.maintenance.needed_files import NeededFiles, Retained, file_paths, load_commits
from engine.delta.schema.column_mapping import physical_names
from engine.delta.snapshot.replay import read_commits
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR
from engine.storage.storage import FileStatus, FolderListing, Storage
from engine.types.arrow_types import RecordBatch

CHANGE_DATA_DIR = "_change_data"
INDEX_DIR = "_delta_index"
ICEBERG_DIR = "metadata"
LAST_VACUUM = f"{LOG_DIR}/_last_vacuum_info"

# Concurrent storage requests.
_THREADS = 16
# Number of files removed between two cancellation checks.
_FILES_AT_ONCE = 1000

# Maximum difference between a storage's clock and this machine's, for files that running statements write.
CLOCK_MARGIN_MS = 60_000

# Raises if the statement was canceled.
Check = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedFiles:
    """Names relative to the table's root."""

    files: tuple[str, ...]
    # Bytes, per file.
    sizes: tuple[int, ...]
    empty_folders: tuple[str, ...] = ()
    # Hadoop checksums for some of `files`; not counted.
    checksums: tuple[str, ...] = ()
    # Number of directories searched, including the table's root.
    num_folders: int = 1

    @property
    def num_bytes(self) -> int:
        """Returns the total size of the files."""
        return sum(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The numbers of removed files and directories, and the files that could not be removed, with the first one's
    reason.
    """

    count: int
    failed: tuple[str, ...] = ()
    reason: str = ""


def find_unused(
    snapshot: Snapshot, needed: NeededFiles, before_ms: int, check: Check, root: FolderListing | None = None
) -> UnusedFiles:
    """Finds unneeded files, by listing, that were last modified before `before_ms`.

    `root`: the root directory's listing, if known.
    """
    hides, storage = _Hidden(snapshot), snapshot.storage
    names: list[str] = []
    sizes: list[int] = []
    is_young: list[bool] = []
    folders: list[str] = []
    checksums: set[str] = set()
    num_folders = 0
    for folder, listing in _walk(storage, hides, check, root):
        num_folders += 1
        is_empty = not listing.files and not listing.folders
        if is_empty and folder.name and folder.modified_ms < before_ms:
            folders.append(folder.name)
        for status in listing.files:
            name = f"{folder.prefix}{status.name}"
            if status.name.startswith(".") and status.name.endswith(".crc"):
                checksums.add(name)
            # Files that are younger than the retention may belong to a commit in progress;
            # the log names them only after they are written.
            elif status.modified_ms < before_ms and not hides(status.name):
                names.append(name)
                sizes.append(status.size)
                is_young.append(status.modified_ms >= before_ms - CLOCK_MARGIN_MS)
    paths = pa.array(names, pa.string())
    free = pc.invert(needed.are_needed(paths))
    young = pc.and_(free, pa.array(is_young, pa.bool_()))
    if pc.any(young).as_py():
        known = NeededFiles(storage)
        known.add_own(snapshot, Retained(since_ms=before_ms - CLOCK_MARGIN_MS))
        # A barely old file goes only if the log knows it, hence it was removed on purpose.
        # Without an entry it may be a running statement's output, whose age the clocks do
        # not tell.
        free = pc.and_(free, pc.or_(pc.invert(young), known.are_needed(paths)))
    files = paths.filter(free).to_pylist()
    return UnusedFiles(
        files=tuple(files),
        sizes=tuple(pa.array(sizes, pa.int64()).filter(free).to_pylist()),
        empty_folders=tuple(folders),
        checksums=tuple(name for name in map(_checksum_of, files) if name in checksums),
        num_folders=num_folders,
    )


def find_removed(snapshot: Snapshot, needed: NeededFiles, before_ms: int, check: Check) -> UnusedFiles:
    """Finds unneeded files that commits before `before_ms` removed, by reading the log.

    Raises `VacuumLiteImpossible` if commits are missing that no earlier VACUUM has processed.
    """
    storage, commits = snapshot.storage, load_commits(snapshot)
    done = read_last_vacuum(storage)
    expired = [path for path, status in commits if status.modified_ms < before_ms]
    # The record's name and key are delta-spark's, so that its VACUUM LITE and this one
    # continue each other's work.
    first = -1 if done is None else done
    wanted = [path for path in expired if path.version > first]
    # The commits in the gap were cleaned up from the log: the files that they removed can
    # only be found by listing.
    if wanted and wanted[0].version != first + 1:
        raise VacuumLiteImpossible(snapshot.table_root)
    names: dict[str, int] = {}
    for start in range(0, len(wanted), _FILES_AT_ONCE):
        check()
        actions = read_commits(storage, wanted[start : start + _FILES_AT_ONCE], snapshot.recent)
        for batch in (*actions.removes.batches, *actions.cdc.batches):
            names.update(_names_with_sizes(snapshot, batch))
    paths = pa.array(names, pa.string())
    free = paths.filter(pc.invert(needed.are_needed(paths))).to_pylist()
    with ThreadPoolExecutor(_THREADS, "vacuum") as threads:
        # A full VACUUM, or another engine, may have deleted them; the statement's result
        # counts only files that it removes.
        there = [name for name, exists in zip(free, threads.map(storage.exists, free), strict=True) if exists]
    return UnusedFiles(files=tuple(there), sizes=tuple(names[name] for name in there))


def remove_files(storage: Storage, unused: UnusedFiles, check: Check) -> Removed:
    """Removes files. Raises the errors of `check`; a file that cannot be removed does not stop the others."""
    failures: dict[str, OSError] = {}
    for start in range(0, len(unused.files), _FILES_AT_ONCE):
        check()
        failures |= storage.delete_many(unused.files[start : start + _FILES_AT_ONCE])
    storage.delete_many(unused.checksums)
    count = len(unused.files) - len(failures)
    for folder in unused.empty_folders:
        check()
        count += storage.delete_empty_folder(folder)
    reason = next(map(str, failures.values()), "")
    return Removed(count=count, failed=tuple(failures), reason=reason)


def last_expired(snapshot: Snapshot, retained: Retained) -> int | None:
    """Returns the last version before all retained ones: files that commits up to it removed can be deleted."""
    last = None
    for path, status in load_commits(snapshot):
        # File times may run backwards, so the first young commit ends the prefix even if
        # older times follow.
        if status.modified_ms >= retained.since_ms or path.version > min(retained.versions, default=path.version):
            break
        last = path.version
    return last


def read_last_vacuum(storage: Storage) -> int | None:
    """Returns the last version that a VACUUM has processed, or None if none is recorded."""
    try:
        noted = json.loads(storage.read_bytes(LAST_VACUUM)).get(_NOTED)
    except (FileNotFoundError, ValueError, AttributeError):
        return None
    return noted if isinstance(noted, int) and noted >= 0 else None


def note_vacuum(storage: Storage, version: int, listing: Iterable[FileStatus] | None = None) -> None:
    """Records for later lite searches that all files removed by commits up to `version` are deleted. Never moves back.

    `listing`: the log's files, which show that there is no earlier record to compare.
    """
    may_be_noted = listing is None or any(LAST_VACUUM == f"{LOG_DIR}/{status.name}" for status in listing)
    noted = read_last_vacuum(storage) if may_be_noted else None
    if noted is None or version > noted:
        storage.write(LAST_VACUUM, json.dumps({_NOTED: version}, separators=(",", ":")).encode())


_NOTED = "latestCommitVersionOutsideOfRetentionWindow"


class _Hidden:
    """Tests if a name in the table's directory does not belong to the table's data."""

    def __init__(self, snapshot: Snapshot) -> None:
        config = snapshot.config
        physical = physical_names(snapshot.schema, config.column_mapping_mode)
        columns = (each for name in snapshot.partition_columns for each in (name, physical.get(name, name)))
        self._shown = (CHANGE_DATA_DIR, INDEX_DIR, *(f"{name}=" for name in columns))
        # UniForm's metadata directory belongs to no Delta version; without this rule VACUUM
        # would remove the Iceberg table.
        self._has_iceberg = any(name.startswith("icebergCompat") for name in config.features)

    def __call__(self, name: str) -> bool:
        if name == LOG_DIR or (self._has_iceberg and name == ICEBERG_DIR):
            return True
        return name.startswith((".", "_")) and not name.startswith(self._shown)


@dataclass(frozen=True, slots=True)
class _Folder:
    # Relative to the root, which is empty.
    name: str
    modified_ms: int

    @property
    def prefix(self) -> str:
        return f"{self.name}/" if self.name else ""


def _walk(
    storage: Storage, hides: _Hidden, check: Check, root: FolderListing | None
) -> Iterator[tuple[_Folder, FolderListing]]:
    """Yields every directory in the table that is not hidden, level by level."""
    level = [_Folder("", 0)]
    with ThreadPoolExecutor(_THREADS, "list") as threads:
        while level:
            deeper: list[_Folder] = []
            for start in range(0, len(level), _FILES_AT_ONCE):
                check()
                some = level[start : start + _FILES_AT_ONCE]
                if root is not None and not some[0].name:
                    listings: Iterator[FolderListing] = iter([root])
                else:
                    listings = threads.map(lambda folder: storage.list_folder(folder.name), some)
                for folder, listing in zip(some, listings, strict=True):
                    # A nested table's files are not in this log and would all look unused.
                    if folder.name and any(inner.name == LOG_DIR for inner in listing.folders):
                        continue  # a nested table
                    yield folder, listing
                    deeper += (
                        _Folder(f"{folder.prefix}{inner.name}", inner.modified_ms)
                        for inner in listing.folders
                        if not hides(inner.name)
                    )
            level = deeper


def _names_with_sizes(snapshot: Snapshot, batch: RecordBatch) -> Iterator[tuple[str, int]]:
    """Yields the names relative to the root in a file action batch, with data file sizes."""
    confinement = snapshot.storage.confinement
    sizes = dict(zip(batch.column("path").to_pylist(), batch.column("size").to_pylist(), strict=True))
    for path, size in sizes.items():
        if (name := confinement.name_below(path)) is not None:
            yield name, size or 0
    for paths in file_paths([batch]):
        for path in paths.to_pylist():
            if (name := confinement.name_below(path)) is not None and path not in sizes:
                yield name, 0


def _checksum_of(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}.{last}.crc"
