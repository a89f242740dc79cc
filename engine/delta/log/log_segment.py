"""Selects the log segment: the files in `_delta_log` that define one version.

A log segment is a checkpoint (or none, starting from version 0) and the commits after it up to the version; log
compactions may replace ranges of commits. `select_segment` selects it from a listing and guarantees:

* Commits and compactions together cover every version after the checkpoint exactly once, up to `version`.
* A multi-part checkpoint has all its parts.
* The newest usable checkpoint is selected, unless it is in `avoid` (it was found to be corrupt).
* Errors name the problem: a gap, a log truncated at its beginning, a missing version, no table.

`find_segment` lists the log. It starts at the checkpoint in the last-checkpoint hint to keep the listing short, and
lists from the beginning if that does not yield a segment: the hint may be stale.

`RecentCommits` caches small commits, which never change: on an object store each read is a request.

Protocol: "Log Compaction Files", "Checkpoints", "Last Checkpoint File".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import assert_never

from catalog.conditions import (
    DeltaError,
    DeltaTableNotFound,
    LogTruncated,
    MissingPartFiles,
    VersionNotFound,
    VersionsNotContiguous,
)
from engine.delta.spec.last_checkpoint import parse_last_checkpoint
from engine.delta.spec.paths import (
    LAST_CHECKPOINT,
    LOG_DIR,
    LogFileKind,
    LogPath,
    commit_name,
    parse_log_path,
    version_prefix,
)
from engine.storage.storage import FileStatus, Storage

# Several checkpoints of one version are equivalent (Protocol: "Checkpoints"). A UUID-named
# one is preferred: it was put under a unique name, so that no second writer can have
# overwritten it, as may happen to a classic name. Multi-part checkpoints come last: the
# protocol deprecates them, and two writers with different part counts may interleave.
_PREFERENCE = {LogFileKind.CHECKPOINT_V2: 2, LogFileKind.CHECKPOINT_CLASSIC: 1, LogFileKind.CHECKPOINT_PART: 0}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: a single file, or all its parts."""

    version: int
    files: tuple[LogPath, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the paths of the checkpoint's files, relative to the table's root."""
        return tuple(f"{LOG_DIR}/{file.name}" for file in self.files)


@dataclass(frozen=True, slots=True)
class LogSegment:
    version: int
    checkpoint: Checkpoint | None
    # Commits and compactions after the checkpoint, oldest first.
    deltas: tuple[LogPath, ...]
    # The newest version at or below `version` that has a version checksum file.
    checksum_version: int | None = None
    # The commit file for `version`; None also if the storage lists names only.
    commit: FileStatus | None = field(default=None, compare=False)

    @property
    def last_commit(self) -> str:
        """Returns the path, relative to the table's root, of the commit that made this version.

        The file may be gone.
        """
        return f"{LOG_DIR}/{commit_name(self.version)}"


def find_segment(
    storage: Storage, version: int | None = None, avoid: Collection[str] = (), *, use_hint: bool = True
) -> LogSegment:
    """Finds the segment for `version`, or for the newest version. Takes one listing, or two if the hint was stale.

    A local directory is always listed as a whole, so it is listed first: most logs have no hint.

    `avoid` contains names of checkpoint and compaction files that must not be used. Raises `DeltaTableNotFound`,
    `VersionNotFound`, `VersionsNotContiguous`, `LogTruncated`, `MissingPartFiles`.
    """
    if not storage.LISTS_WHOLE_FOLDERS:
        return _find_in_listing(storage, version, avoid, use_hint=use_hint)
    names = storage.list_names(LOG_DIR)
    # After a failure the hint is ignored: it may name the very checkpoint that turned out
    # to be unusable.
    if use_hint and not avoid and LAST_CHECKPOINT in names:
        hinted = _read_hint(storage)
        if hinted is not None and (version is None or hinted <= version):
            try:
                start = version_prefix(hinted)
                # The names have fixed width, so comparing them as text compares versions.
                files = _log_paths(name for name in names if name >= start)
                segment = select_segment(files, version, storage.root)
                if segment.checkpoint is not None:
                    return segment
            except DeltaError:
                pass  # a stale hint or a broken log: the full listing decides
            return select_segment(list_log(storage), version, storage.root, avoid)  # `names` may be older than the hint
    return select_segment(_log_paths(names), version, storage.root, avoid)


def _find_in_listing(storage: Storage, version: int | None, avoid: Collection[str], *, use_hint: bool) -> LogSegment:
    """Finds the segment as `find_segment` does, on storage where a listing is a request and has a start position."""
    # "Last Checkpoint File": the hint only shortens the listing. Readers must not depend on
    # it, since it is written after the checkpoint and without a lock.
    hinted = _read_hint(storage) if use_hint and not avoid else None
    if hinted is not None and (version is None or hinted <= version):
        try:
            segment = _listed_segment(storage, hinted, version, avoid)
            if segment.checkpoint is not None:
                return segment
        except DeltaError:
            pass  # a stale hint or a broken log: the full listing decides
    return _listed_segment(storage, 0, version, avoid)


def _listed_segment(storage: Storage, start: int, version: int | None, avoid: Collection[str]) -> LogSegment:
    # Object stores list in the order of the names from a start position, so the cost
    # depends on the commits since the hint, not on the log's length.
    statuses = {status.name: status for status in storage.list_files(LOG_DIR, version_prefix(start))}
    segment = select_segment(_log_paths(statuses), version, storage.root, avoid)
    return replace(segment, commit=statuses.get(commit_name(segment.version)))


def list_log(storage: Storage, start: int = 0) -> list[LogPath]:
    """Returns the log's files from version `start` on, sorted, without foreign files."""
    return _log_paths(storage.list_names(LOG_DIR, version_prefix(start)))


def _log_paths(names: Iterable[str]) -> list[LogPath]:
    return [path for path in map(parse_log_path, names) if path is not None]


def select_segment(
    files: Iterable[LogPath], version: int | None, table: str, avoid: Collection[str] = ()
) -> LogSegment:
    """Selects a segment from a listing, without I/O. See the module for guarantees and `find_segment` for errors."""
    listing = _Listing(files, avoid)
    if not listing.commits and not listing.checkpoints:
        if listing.has_incomplete_checkpoint:
            raise MissingPartFiles(table, listing.incomplete_version)
        raise DeltaTableNotFound(table)
    # A log may consist of a checkpoint alone, after metadata cleanup removed the commit of
    # its version.
    newest = max([*listing.commits, *listing.checkpoints])
    target = newest if version is None else version
    if target > newest or target < 0:
        raise VersionNotFound(table, target, listing.earliest(), newest)
    # Every complete checkpoint at or before the target is valid; the newest leaves the fewest commits to replay.
    checkpoint = listing.checkpoint_at_or_before(target)
    first = checkpoint.version + 1 if checkpoint else 0
    deltas = listing.cover(first, target)
    if deltas is None:
        raise _explain(listing, table, first, target)
    checksums = [at for at in listing.checksums if at <= target]
    return LogSegment(target, checkpoint, deltas, max(checksums, default=None))


def extend_segment(segment: LogSegment, files: Iterable[LogPath]) -> tuple[LogSegment, tuple[LogPath, ...]] | None:
    """Advances the segment over the commits in a listing that begins at its version. Also returns the new commits.

    The new segment starts at the newest complete checkpoint in the listing, so that later replays stay short. Returns
    None if the listing has a gap after the segment; the caller then loads the version afresh.
    """
    listing = _Listing(files, ())
    newest = max([*listing.commits, *listing.checkpoints], default=segment.version)
    if newest <= segment.version:
        return segment, ()
    names = [listing.commits.get(at) for at in range(segment.version + 1, newest + 1)]
    fresh = tuple(name for name in names if name is not None)
    # Commits are contiguous in a healthy log. A gap means that metadata cleanup or a new
    # table in the same place happened since the listing that made the segment.
    if len(fresh) != len(names):
        return None
    checkpoint = listing.checkpoint_at_or_before(newest)
    if checkpoint is not None:
        # The new checkpoint covers the earlier deltas, so they are no longer needed by a
        # later replay.
        deltas = tuple(name for name in fresh if name.version > checkpoint.version)
    else:
        checkpoint = segment.checkpoint
        deltas = segment.deltas + fresh
    checksum = max(listing.checksums, default=segment.checksum_version)
    return LogSegment(newest, checkpoint, deltas, checksum), fresh


def earliest_version(files: Iterable[LogPath], oldest_commit: int) -> int | None:
    """Returns the first version that can be reconstructed. `oldest_commit` is the start of the contiguous commits.

    Returns None if `oldest_commit` is not 0 and no complete checkpoint exists at version `oldest_commit` - 1 or later.
    """
    if oldest_commit == 0:
        return 0
    checkpoints = _Listing(files, ()).checkpoints
    # The commit of a checkpoint's own version is not needed to reconstruct it: replay
    # begins with the commit after it.
    return min((at for at in checkpoints if at >= oldest_commit - 1), default=None)


class _Listing:
    """A log's files, grouped by kind."""

    def __init__(self, files: Iterable[LogPath], avoid: Collection[str]) -> None:
        self.commits: dict[int, LogPath] = {}
        self.compactions: dict[int, list[LogPath]] = {}
        self.checksums: list[int] = []
        self.checkpoints: dict[int, list[Checkpoint]] = {}
        parts: dict[tuple[int, int], dict[int, LogPath]] = {}
        for file in files:
            if file.name in avoid:
                continue
            match file.kind:
                case LogFileKind.COMMIT:
                    self.commits[file.version] = file
                case LogFileKind.CHECKSUM:
                    self.checksums.append(file.version)
                case LogFileKind.COMPACTION:
                    self.compactions.setdefault(file.version, []).append(file)
                case LogFileKind.CHECKPOINT_CLASSIC | LogFileKind.CHECKPOINT_V2:
                    self.checkpoints.setdefault(file.version, []).append(Checkpoint(file.version, (file,)))
                case LogFileKind.CHECKPOINT_PART:
                    # Keyed by the number of parts too: two writers may have written one
                    # version with different part counts, and parts of different sets must
                    # never be combined ("Multi-part checkpoint").
                    parts.setdefault((file.version, file.parts), {})[file.part] = file
                case _:
                    assert_never(file.kind)
        incomplete = []
        for (version, count), found in parts.items():
            if len(found) == count:
                whole = Checkpoint(version, tuple(found[part] for part in sorted(found)))
                self.checkpoints.setdefault(version, []).append(whole)
            else:
                incomplete.append(version)
        self.has_incomplete_checkpoint = bool(incomplete)
        self.incomplete_version = max(incomplete, default=-1)

    def checkpoint_at_or_before(self, version: int) -> Checkpoint | None:
        usable = [at for at in self.checkpoints if at <= version]
        if not usable:
            return None
        # The name decides among equal kinds, so that all readers in this process choose the
        # same file and share what they cached from it.
        return max(self.checkpoints[max(usable)], key=lambda found: (_PREFERENCE[found.files[0].kind], found.names))

    def cover(self, first: int, last: int) -> tuple[LogPath, ...] | None:
        """Returns commits and compactions that cover [first, last] exactly once, or None if there is a gap."""
        result = []
        at = first
        while at <= last:
            # The longest compaction that does not pass `last` replaces the most commits (Protocol: "Log Compaction
            # Files").
            fitting = [file for file in self.compactions.get(at, ()) if file.version_to <= last]
            file = max(fitting, key=lambda file: file.version_to) if fitting else self.commits.get(at)
            if file is None:
                return None
            result.append(file)
            # Compactions may overlap; each step continues after the chosen file, so that no
            # version is replayed twice.
            at = file.version_to + 1
        return tuple(result)

    def earliest(self) -> int:
        """Returns the first version that can be reconstructed."""
        if 0 in self.commits:
            return 0
        return min(self.checkpoints, default=min(self.commits, default=0))


def _explain(listing: _Listing, table: str, first: int, target: int) -> DeltaError:
    """Returns the error that explains why the versions from `first` to `target` cannot be covered."""
    present = sorted(at for at in listing.commits if first <= at <= target)
    # Without version 0 and without a checkpoint the oldest state is unknown: the remaining
    # commits only contain differences.
    if first == 0 and (not present or present[0] != 0):
        if listing.has_incomplete_checkpoint and listing.incomplete_version <= target:
            return MissingPartFiles(table, listing.incomplete_version)
        earliest = listing.earliest()
        return LogTruncated(table, target, earliest)
    expected = first
    for at in present:
        if at != expected:
            break
        expected += 1
    after = next((at for at in present if at > expected), None)
    if after is None:
        return VersionNotFound(table, target, listing.earliest(), expected - 1)
    return VersionsNotContiguous(table, expected - 1, after)


def _read_hint(storage: Storage) -> int | None:
    try:
        hint = parse_last_checkpoint(storage.read_bytes(f"{LOG_DIR}/{LAST_CHECKPOINT}"))
    except OSError:
        return None
    return None if hint is None or hint.version < 0 else hint.version


_COMMIT_BYTES_MAX = 1 << 16
_BYTES_MAX = 1 << 18


class RecentCommits:
    """A cache of one table's commits that were recently read or written, by file name. Thread-safe."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._lock = Lock()
        self.num_bytes = 0

    def find(self, name: str) -> bytes | None:
        """Returns the content of the commit with this file name; None if it is not cached."""
        return self._contents.get(name)

    def keep(self, name: str, data: bytes) -> None:
        """Caches a commit and evicts the oldest ones. Ignores large commits."""
        # Large commits are read rarely, and would evict the small ones that each `advance`
        # reads.
        if len(data) > _COMMIT_BYTES_MAX:
            return
        with self._lock:
            self.num_bytes += len(data) - len(self._contents.pop(name, b""))
            self._contents[name] = data
            while self.num_bytes > _BYTES_MAX:
                self.num_bytes -= len(self._contents.pop(next(iter(self._contents))))
