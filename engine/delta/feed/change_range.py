"""The changes in each version in a range: the commit's actions, one commit at a time.

Change data feeds, and other callers that compare two versions, use this as input. Only commits contain changes;
checkpoints and compactions do not, so a commit that has been cleaned up cannot be replaced.

A range is given by versions or by times, inclusive at both ends. A start time selects the first version committed at or
after it, an end time the last version at or before it. An end after the latest version means the latest, as in Delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from catalog.conditions import LogFileNotFound, RangeBackwards, StartAfterLatest, VersionNotFound
from engine.delta.log.commit_reader import LogActions, parse_commits
from engine.delta.snapshot.commit_times import CommitTimes, load_commit_times
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.tables.changes import AtTime, AtVersion, Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChanges:
    version: int
    # The commit time in milliseconds since the epoch; see `engine.delta.snapshot.commit_times`.
    timestamp_ms: int
    # `adds` in `FILES_SCHEMA`, `removes` in `TOMBSTONES_SCHEMA`, `cdc` in `CDC_SCHEMA`, and the commit's other actions.
    actions: LogActions


def resolve_range(times: CommitTimes, start: Bound, end: Bound | None, *, allow_outside: bool = False) -> range:
    """Returns the versions from `start` to `end` (default: the latest).

    The range is empty if both times are between the same two commits. With `allow_outside`, a start after the latest
    version yields an empty range, and an end after it the latest version. Raises `StartAfterLatest`, `RangeBackwards`,
    `TimestampBeforeLog`, `TimestampAfterLog`.
    """
    table, latest = times.storage.root, times.latest_version
    first = _first(times, start, allow_outside)
    last = latest if end is None else _last(times, end, allow_outside)
    if first > latest:
        if allow_outside:
            return range(first, first)
        raise StartAfterLatest(table, first, latest)
    if isinstance(start, AtTime) and isinstance(end, AtTime) and start.timestamp_ms <= end.timestamp_ms:
        # Both times fall between two commits: nothing changed, which is no error. Versions
        # in the wrong order are one.
        if last == first - 1:
            return range(first, first)
    if last < first:
        raise RangeBackwards(table, first, last)
    return range(first, min(last, latest) + 1)


def _first(times: CommitTimes, start: Bound, allow_outside: bool) -> int:
    match start:
        case AtVersion(version):
            return version
        case AtTime(timestamp_ms):
            after = times.version_after(timestamp_ms)
            return times.version_at(timestamp_ms, allow_after=allow_outside) + 1 if after is None else after
        case _:
            assert_never(start)


def _last(times: CommitTimes, end: Bound, allow_outside: bool) -> int:
    match end:
        case AtVersion(version):
            return version
        case AtTime(timestamp_ms):
            return times.version_at(timestamp_ms, allow_after=allow_outside)
        case _:
            assert_never(end)


def load_changes(
    snapshot: Snapshot, first: int, last: int | None = None, times: CommitTimes | None = None
) -> Iterator[VersionChanges]:
    """Yields the changes from version `first` to `last` (default: the snapshot's version), inclusive, in order.

    `times` are the snapshot's commit times, if already loaded. Raises `VersionNotFound` immediately if the range is
    incomplete, `LogFileNotFound` and `MalformedLogEntry` during iteration.
    """
    last = snapshot.version if last is None else last
    known = times or load_commit_times(snapshot)
    for bound in (first, last):
        if not known.first_version <= bound <= known.latest_version:
            raise VersionNotFound(snapshot.table_root, bound, known.first_version, known.latest_version)

    def changes() -> Iterator[VersionChanges]:
        storage, versions = snapshot.storage, range(first, last + 1)
        names = [f"{LOG_DIR}/{commit_name(version)}" for version in versions]
        contents = storage.read_many(names)
        for version, name in zip(versions, names, strict=True):
            try:
                actions = parse_commits([(name, next(contents))])
            except FileNotFoundError as error:
                raise LogFileNotFound(storage.path_of(name)) from error
            info = actions.commit_info
            # The commit is in memory here; asking `known` would read it a second time.
            stamp = info.in_commit_timestamp if info and known.is_in_commit(version) else None
            timestamp_ms = known.timestamp_ms(version) if stamp is None else stamp
            yield VersionChanges(version=version, timestamp_ms=timestamp_ms, actions=actions)

    return changes()
