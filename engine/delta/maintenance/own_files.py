"""Tables whose live files are all their own, as far as their logs have been looked at.

A table that names files of another one (a shallow clone) may have been made by any engine, and only its log tells. To
find those that name files of one table, each log has to be looked at; what was seen is remembered by the newest commit
of then. A later look lists the log from that commit on, and reads the commits that are newer. Where that commit is not
the same file any more, by size and time, nothing is known: the table was made again, or its log was cleaned up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.concurrency.remembered import Remembered
from engine.delta.maintenance.needed_files import may_be_others
from engine.delta.snapshot.replay import read_commits
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR, LogFileKind, LogPath, parse_log_path, version_prefix
from engine.storage.storage import FileStatus, Storage

_Commits = Sequence[tuple[LogPath, FileStatus]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A version whose files were its own, and its commit."""

    version: int
    commit: FileStatus


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """What one server has seen."""

    seen: Remembered

    def are_all(self, storage: Storage) -> bool:
        """Whether the newest version of the table is known to name no file of another one.

        Raises `MalformedLogEntry`, `LogFileNotFound`, and what the storage raises.
        """
        seen = self.seen.get(storage.root)
        if not isinstance(seen, _Seen):
            return False
        commits = _commits_from(storage, seen.version)
        is_known = bool(commits) and seen.commit.may_be(commits[0][1]) and not _names_others(storage, commits[1:])
        self._remember(storage, commits[-1] if is_known else None)
        return is_known

    def look(self, snapshot: Snapshot) -> None:
        """Remembers the table, if its files are its own."""
        commits = _commits_from(snapshot.storage, snapshot.version)
        is_own = bool(commits) and snapshot.is_in_place() and not may_be_others(snapshot.files.to_batches())
        self._remember(snapshot.storage, commits[0] if is_own else None)

    def _remember(self, storage: Storage, commit: tuple[LogPath, FileStatus] | None) -> None:
        self.seen.put(storage.root, None if commit is None else _Seen(commit[0].version, commit[1]))


def _commits_from(storage: Storage, version: int) -> _Commits:
    """The commit of this version and those that follow it, oldest first; none if it is not there."""
    found = (
        (path, status)
        for status in storage.list_files(LOG_DIR, version_prefix(version))
        if (path := parse_log_path(status.name)) is not None and path.kind is LogFileKind.COMMIT
    )
    return [
        each
        for at, each in enumerate(sorted(found, key=lambda each: each[0].version), version)
        if each[0].version == at
    ]


def _names_others(storage: Storage, commits: _Commits) -> bool:
    return bool(commits) and may_be_others(read_commits(storage, [path for path, _ in commits]).adds.batches)
