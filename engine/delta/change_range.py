"""What each of a range of versions changed: the actions of its commit, one commit at a time.

This is the input of a change data feed, and of whoever wants to know what happened between two versions. Only commits
say it; checkpoints and compactions do not, so a commit that has been cleaned up cannot be stood in for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.delta.commit_reader import LogActions
from engine.delta.commit_times import load_commit_times
from engine.delta.errors import VersionNotFound
from engine.delta.replay import read_commits
from engine.delta.snapshot import Snapshot
from engine.delta.spec.paths import commit_path


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChanges:
    version: int
    timestamp_ms: int
    """When the version was committed; see `engine.delta.commit_times`."""
    actions: LogActions
    """`adds` of `FILES_SCHEMA`, `removes` of `TOMBSTONES_SCHEMA`, `cdc` of `CDC_SCHEMA`, and the commit's own rest."""


def load_changes(snapshot: Snapshot, first: int, last: int | None = None) -> Iterator[VersionChanges]:
    """The changes of the versions from `first` to `last` (the snapshot's by default), both included, in order.

    Raises `VersionNotFound` at once where the range is not all there, `LogFileNotFound` and `MalformedLogEntry` on the
    way.
    """
    last = snapshot.version if last is None else last
    times = load_commit_times(snapshot)
    for bound in (first, last):
        if not times.first_version <= bound <= times.latest_version:
            raise VersionNotFound(snapshot.table_root, bound, times.first_version, times.latest_version)

    def changes() -> Iterator[VersionChanges]:
        for version in range(first, last + 1):
            actions = read_commits(snapshot.storage, (commit_path(version),))
            info = actions.commit_info
            stamp = info.in_commit_timestamp if info and times.is_in_commit(version) else None
            timestamp_ms = times.timestamp_ms(version) if stamp is None else stamp
            yield VersionChanges(version=version, timestamp_ms=timestamp_ms, actions=actions)

    return changes()
