"""Tables that use only their own files, according to their logs.

Any engine may have made a table that refers to another table's files (a shallow clone), and only its log shows it. To
find all tables that refer to one table's files, each log must be read. The result is cached with the newest commit at
that time. A later check lists the log from that commit on and reads the newer commits. If that commit is no longer the
same file, by size and time, the cached result is discarded: the table was recreated, or its log was cleaned up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.concurrency.table_cache import TableCache
from engine.delta.maintenance.needed_files import may_be_others
from engine.delta.snapshot.replay import read_commits
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR, LogFileKind, LogPath, parse_log_path, version_prefix
from engine.storage.storage import FileStatus, Storage

_Commits = Sequence[tuple[LogPath, FileStatus]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A version that used only its own files, and its commit."""

    version: int
    commit: FileStatus


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The cached results on one server."""

    seen: TableCache

    def are_all(self, storage: Storage) -> bool:
        """Returns whether the newest version is known to refer to no other table's files.

        Raises `MalformedLogEntry`, `LogFileNotFound`, and the storage's errors.
        """
        seen = self.seen.get(storage.root)
        if not isinstance(seen, _Seen):
            return False
        commits = _commits_from(storage, seen.version)
        # Only adds matter: a remove cannot make the table refer to another table's files.
        is_known = bool(commits) and seen.commit.may_be(commits[0][1]) and not _names_others(storage, commits[1:])
        self._remember(storage, commits[-1] if is_known else None)
        return is_known

    def look(self, snapshot: Snapshot) -> None:
        """Caches the table if it uses only its own files."""
        commits = _commits_from(snapshot.storage, snapshot.version)
        is_own = bool(commits) and snapshot.is_in_place() and not may_be_others(snapshot.files.to_batches())
        self._remember(snapshot.storage, commits[0] if is_own else None)

    def _remember(self, storage: Storage, commit: tuple[LogPath, FileStatus] | None) -> None:
        self.seen.put(storage.root, None if commit is None else _Seen(commit[0].version, commit[1]))


def _commits_from(storage: Storage, version: int) -> _Commits:
    """Returns this version's commit and the following ones, oldest first; empty if it does not exist."""
    found = (
        (path, status)
        for status in storage.list_files(LOG_DIR, version_prefix(version))
        if (path := parse_log_path(status.name)) is not None and path.kind is LogFileKind.COMMIT
    )
    return [
        each
        for at, each in enumerate(sorted(found, key=lambda each: each[0].version), version)
        # Up to a gap: commits after one may have been listed before an earlier one
        # appeared.
        if each[0].version == at
    ]


def _names_others(storage: Storage, commits: _Commits) -> bool:
    return bool(commits) and may_be_others(read_commits(storage, [path for path, _ in commits]).adds.batches)
