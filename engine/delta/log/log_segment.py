"""Which files of `_delta_log` define one version of a table.

A log segment is a checkpoint (or none, from version 0) and what comes after it up to the version: commits, or log
compactions in place of runs of commits. `select_segment` chooses it from a listing and guarantees:

1. commits and compactions together cover every version after the checkpoint exactly once, up to `version`;
2. a checkpoint of several parts has all of its parts;
3. of the usable checkpoints the newest is taken, unless it is in `avoid` (it was found to be corrupt);
4. what is missing is named: a gap, a log cut off at its beginning, a version that is not there, no table at all.

`find_segment` lists. It begins at the checkpoint that `_last_checkpoint` points to, so that the listing is short, and
from the beginning wherever that does not lead to a segment: the hint is only a hint.

`RecentCommits` caches the contents of small commits, which never change: on an object store each read is a request.

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

_PREFERENCE = {LogFileKind.CHECKPOINT_V2: 2, LogFileKind.CHECKPOINT_CLASSIC: 1, LogFileKind.CHECKPOINT_PART: 0}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all parts of one."""

    version: int
    files: tuple[LogPath, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{LOG_DIR}/{file.name}" for file in self.files)


@dataclass(frozen=True, slots=True)
class LogSegment:
    version: int
    checkpoint: Checkpoint | None
    deltas: tuple[LogPath, ...]
    """Commits and compactions after the checkpoint, oldest first."""
    checksum_version: int | None = None
    """The newest version at or below `version` that has a version checksum file."""
    commit: FileStatus | None = field(default=None, compare=False)
    """The file of `version`'s commit; None also where the storage lists names only."""

    @property
    def last_commit(self) -> str:
        return f"{LOG_DIR}/{commit_name(self.version)}"


def find_segment(
    storage: Storage, version: int | None = None, avoid: Collection[str] = (), *, use_hint: bool = True
) -> LogSegment:
    """The segment of `version`, or of the newest version. One listing, or two where the hint misled.

    A folder of this machine is listed as a whole whatever is asked for, so it is listed first: most logs have no hint.

    `avoid` holds the names of checkpoint and compaction files that must not be used.
    Raises `DeltaTableNotFound`, `VersionNotFound`, `VersionsNotContiguous`, `LogTruncated`, `MissingPartFiles`.
    """
    if not storage.LISTS_WHOLE_FOLDERS:
        return _find_in_listing(storage, version, avoid, use_hint=use_hint)
    names = storage.list_names(LOG_DIR)
    if use_hint and not avoid and LAST_CHECKPOINT in names:
        hinted = _read_hint(storage)
        if hinted is not None and (version is None or hinted <= version):
            try:
                start = version_prefix(hinted)
                files = _log_paths(name for name in names if name >= start)
                segment = select_segment(files, version, storage.root)
                if segment.checkpoint is not None:
                    return segment
            except DeltaError:
                pass  # a stale hint, or a broken log: the whole listing tells which
            return select_segment(list_log(storage), version, storage.root, avoid)  # `names` may be older than the hint
    return select_segment(_log_paths(names), version, storage.root, avoid)


def _find_in_listing(storage: Storage, version: int | None, avoid: Collection[str], *, use_hint: bool) -> LogSegment:
    """Finds the segment as `find_segment` does, if a listing is a request and begins where it is told to."""
    hinted = _read_hint(storage) if use_hint and not avoid else None
    if hinted is not None and (version is None or hinted <= version):
        try:
            segment = _listed_segment(storage, hinted, version, avoid)
            if segment.checkpoint is not None:
                return segment
        except DeltaError:
            pass  # a stale hint, or a broken log: the whole listing tells which
    return _listed_segment(storage, 0, version, avoid)


def _listed_segment(storage: Storage, start: int, version: int | None, avoid: Collection[str]) -> LogSegment:
    statuses = {status.name: status for status in storage.list_files(LOG_DIR, version_prefix(start))}
    segment = select_segment(_log_paths(statuses), version, storage.root, avoid)
    return replace(segment, commit=statuses.get(commit_name(segment.version)))


def list_log(storage: Storage, start: int = 0) -> list[LogPath]:
    """The log's files from a version on, sorted; foreign files are left out."""
    return _log_paths(storage.list_names(LOG_DIR, version_prefix(start)))


def _log_paths(names: Iterable[str]) -> list[LogPath]:
    return [path for path in map(parse_log_path, names) if path is not None]


def select_segment(
    files: Iterable[LogPath], version: int | None, table: str, avoid: Collection[str] = ()
) -> LogSegment:
    """Chooses from a listing; pure. Guarantees and errors as above."""
    listing = _Listing(files, avoid)
    if not listing.commits and not listing.checkpoints:
        if listing.has_incomplete_checkpoint:
            raise MissingPartFiles(table, listing.incomplete_version)
        raise DeltaTableNotFound(table)
    newest = max([*listing.commits, *listing.checkpoints])
    target = newest if version is None else version
    if target > newest or target < 0:
        raise VersionNotFound(table, target, listing.earliest(), newest)
    checkpoint = listing.checkpoint_at_or_before(target)
    first = checkpoint.version + 1 if checkpoint else 0
    deltas = listing.cover(first, target)
    if deltas is None:
        raise _explain(listing, table, first, target)
    checksums = [at for at in listing.checksums if at <= target]
    return LogSegment(target, checkpoint, deltas, max(checksums, default=None))


def extend_segment(segment: LogSegment, files: Iterable[LogPath]) -> tuple[LogSegment, tuple[LogPath, ...]] | None:
    """The segment advanced over the commits of a listing that begins at its version, and the new commits.

    The new segment rests on the newest complete checkpoint in sight, so that what has to be replayed stays short. None
    where the listing does not continue the segment without a gap; the caller then loads afresh.
    """
    listing = _Listing(files, ())
    newest = max([*listing.commits, *listing.checkpoints], default=segment.version)
    if newest <= segment.version:
        return segment, ()
    names = [listing.commits.get(at) for at in range(segment.version + 1, newest + 1)]
    fresh = tuple(name for name in names if name is not None)
    if len(fresh) != len(names):
        return None
    checkpoint = listing.checkpoint_at_or_before(newest)
    if checkpoint is not None:
        deltas = tuple(name for name in fresh if name.version > checkpoint.version)
    else:
        checkpoint = segment.checkpoint
        deltas = segment.deltas + fresh
    checksum = max(listing.checksums, default=segment.checksum_version)
    return LogSegment(newest, checkpoint, deltas, checksum), fresh


def earliest_version(files: Iterable[LogPath], oldest_commit: int) -> int | None:
    """The first version that can be reconstructed, given where the unbroken run of commits to the newest begins.

    None where the run begins after version 0 and there is no complete checkpoint at its beginning or in it.
    """
    if oldest_commit == 0:
        return 0
    checkpoints = _Listing(files, ()).checkpoints
    return min((at for at in checkpoints if at >= oldest_commit - 1), default=None)


class _Listing:
    """The files of a log by what they are."""

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
        return max(self.checkpoints[max(usable)], key=lambda found: (_PREFERENCE[found.files[0].kind], found.names))

    def cover(self, first: int, last: int) -> tuple[LogPath, ...] | None:
        """Commits and compactions that cover [first, last] exactly once; None where there is a gap."""
        result = []
        at = first
        while at <= last:
            fitting = [file for file in self.compactions.get(at, ()) if file.version_to <= last]
            file = max(fitting, key=lambda file: file.version_to) if fitting else self.commits.get(at)
            if file is None:
                return None
            result.append(file)
            at = file.version_to + 1
        return tuple(result)

    def earliest(self) -> int:
        """The first version that can be reconstructed."""
        if 0 in self.commits:
            return 0
        return min(self.checkpoints, default=min(self.commits, default=0))


def _explain(listing: _Listing, table: str, first: int, target: int) -> DeltaError:
    """Why the versions from `first` to `target` cannot be covered."""
    present = sorted(at for at in listing.commits if first <= at <= target)
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
    """Commits of one table that were read or written last, by file name. Thread-safe."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._lock = Lock()
        self.num_bytes = 0

    def find(self, name: str) -> bytes | None:
        return self._contents.get(name)

    def keep(self, name: str, data: bytes) -> None:
        """Keeps a commit, in place of the oldest ones; none that is large."""
        if len(data) > _COMMIT_BYTES_MAX:
            return
        with self._lock:
            self.num_bytes += len(data) - len(self._contents.pop(name, b""))
            self._contents[name] = data
            while self.num_bytes > _BYTES_MAX:
                self.num_bytes -= len(self._contents.pop(next(iter(self._contents))))
