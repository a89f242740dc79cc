"""Commit times, and the version that was current at a given time (time travel by timestamp).

A commit's time is its in-commit timestamp if that feature is enabled in its version, otherwise its file's modification
time. File times can run backwards (clocks, copies), so they are made strictly increasing: a time at or before its
predecessor's becomes the predecessor's plus one millisecond.

In-commit timestamps are inside the commits; a binary search for a version reads a logarithmic number of commits.

Protocol: "In-Commit Timestamps". The adjustment of file times follows the reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from catalog.conditions import (
    LogFileNotFound,
    MissingCommitInfo,
    MissingCommitTimestamp,
    NoCommitsFound,
    TimestampAfterLog,
    TimestampBeforeLog,
)
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.commit_reader import parse_commit_info
from engine.delta.log.log_segment import earliest_version
from engine.delta.spec.actions import CommitInfo
from engine.delta.spec.paths import LOG_DIR, LogFileKind, commit_name, parse_log_path, version_prefix
from engine.delta.spec.properties import ICT_ENABLEMENT_VERSION
from engine.storage.storage import Storage


class LogVersion(Protocol):
    """The interface that commit times need from a snapshot: one log version and its configuration."""

    storage: Storage

    @property
    def version(self) -> int:
        """Returns the version in the log, from 0."""
        ...

    @property
    def config(self) -> DeltaConfig:
        """Returns the table's configuration at this version."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTimes:
    """The commits that a log still has up to the snapshot's version; contiguous."""

    storage: Storage
    first_version: int
    # File times from `first_version` on, made strictly increasing.
    modified_ms: Sequence[int]
    # The first version with an in-commit timestamp; None if no version has one.
    in_commit_from: int | None
    # The first version in this range that can be reconstructed.
    earliest_version: int

    @property
    def latest_version(self) -> int:
        """Returns the last version in the range, which is the snapshot's."""
        return self.first_version + len(self.modified_ms) - 1

    def timestamp_ms(self, version: int) -> int:
        """Returns the version's commit time in milliseconds since the epoch.

        Raises `LogFileNotFound` if the commit has been cleaned up, `MissingCommitInfo`, `MissingCommitTimestamp`.
        """
        if not self.first_version <= version <= self.latest_version:
            raise LogFileNotFound(self.storage.path_of(f"{LOG_DIR}/{commit_name(version)}"))
        if self.is_in_commit(version):
            return _in_commit_timestamp(self.storage, version)
        return self.modified_ms[version - self.first_version]

    def is_in_commit(self, version: int) -> bool:
        """Returns whether the version's time is in its `commitInfo`."""
        return self.in_commit_from is not None and version >= self.in_commit_from

    def version_at(self, timestamp_ms: int, *, allow_after: bool = False) -> int:
        """Returns the version that was current at a time: the newest one committed at or before it.

        `allow_after` returns the latest version for times after it. Raises `TimestampBeforeLog`, `TimestampAfterLog`.
        """
        latest = self.timestamp_ms(self.latest_version)
        if timestamp_ms >= latest:
            # As in delta-spark, TIMESTAMP AS OF with a time after the last commit is an
            # error: the answer would change with the next commit. A change feed's end may
            # be later.
            if timestamp_ms > latest and not allow_after:
                raise TimestampAfterLog(self.storage.root, _format(timestamp_ms), _format(latest))
            return self.latest_version
        first = max(self.first_version, self.earliest_version)
        if timestamp_ms < (earliest := self.timestamp_ms(first)):
            raise TimestampBeforeLog(self.storage.root, _format(timestamp_ms), _format(earliest))
        start = self._search_start(timestamp_ms, first)
        end = self.latest_version
        if self.in_commit_from is not None and start < self.in_commit_from:
            # The two kinds of times must not be mixed in one bisection: file times before
            # the switch may be later than the in-commit timestamps after it.
            # "Recommendations for Readers of Tables with In-Commit Timestamps" searches the
            # two ranges separately.
            end = min(end, self.in_commit_from - 1)
        return _last_at_or_before(timestamp_ms, start, end, self.timestamp_ms)

    def version_after(self, timestamp_ms: int) -> int | None:
        """Returns the first version committed at or after a time, or None if it does not exist yet."""
        first = max(self.first_version, self.earliest_version)
        if timestamp_ms <= self.timestamp_ms(first):
            return first
        version = self.version_at(timestamp_ms, allow_after=True)
        if self.timestamp_ms(version) == timestamp_ms:
            return version
        return version + 1 if version < self.latest_version else None

    def _search_start(self, timestamp_ms: int, first: int) -> int:
        """Returns the first version to search.

        File times and in-commit timestamps each ascend, but maybe not across the two.
        """
        switch = self.in_commit_from
        if switch is not None and first < switch <= self.latest_version and self.timestamp_ms(switch) <= timestamp_ms:
            return switch
        return first


def load_commit_times(snapshot: LogVersion) -> CommitTimes:
    """Loads commit times with one log listing.

    Raises `LogFileNotFound` if the snapshot's own commit is gone, and `NoCommitsFound` if all commits are, as in a log
    that consists of a checkpoint.
    """
    storage, version = snapshot.storage, snapshot.version
    listing = storage.list_files(LOG_DIR, version_prefix(0))
    entries = [(path, status) for status in listing if (path := parse_log_path(status.name)) is not None]
    modified = {path.version: status.modified_ms for path, status in entries if path.kind is LogFileKind.COMMIT}
    if not modified:
        raise NoCommitsFound(storage.root)
    if version not in modified:
        raise LogFileNotFound(storage.path_of(f"{LOG_DIR}/{commit_name(version)}"))
    first = version
    # Cleanup by another writer may have left single older commits; versions before a gap
    # cannot be read.
    while first - 1 in modified:
        first -= 1
    earliest = earliest_version((path for path, _ in entries), first)
    return CommitTimes(
        storage=storage,
        first_version=first,
        modified_ms=make_increasing([modified[at] for at in range(first, version + 1)]),
        in_commit_from=_in_commit_from(snapshot),
        earliest_version=version if earliest is None else max(first, earliest),
    )


def load_commit_info(storage: Storage, version: int) -> CommitInfo | None:
    """Loads a commit's `commitInfo`, or None if it has none. Raises `LogFileNotFound`, `MalformedLogEntry`."""
    name = f"{LOG_DIR}/{commit_name(version)}"
    try:
        return parse_commit_info(storage.read_bytes(name), name)
    except FileNotFoundError as error:
        raise LogFileNotFound(storage.path_of(name)) from error


def make_increasing(times: Sequence[int]) -> list[int]:
    """Returns the times, each at least one more than its predecessor."""
    result: list[int] = []
    for time in times:
        result.append(max(time, result[-1] + 1) if result else time)
    return result


def _in_commit_from(snapshot: LogVersion) -> int | None:
    if not snapshot.config.is_enabled("inCommitTimestamp"):
        return None
    # "Writer Requirements for In-Commit Timestamps": the enablement version is recorded
    # only if the feature was enabled after version 0; without it, all commits have one.
    return snapshot.config.get(ICT_ENABLEMENT_VERSION) or 0


def _in_commit_timestamp(storage: Storage, version: int) -> int:
    info = load_commit_info(storage, version)
    if info is None:
        raise MissingCommitInfo(storage.root, version)
    if info.in_commit_timestamp is None:
        raise MissingCommitTimestamp(storage.root, version)
    return info.in_commit_timestamp


def _last_at_or_before(timestamp_ms: int, first: int, last: int, time_of: Callable[[int], int]) -> int:
    """Finds the last version at or before the time by bisection; `first` must be at or before it."""
    while first < last:
        middle = (first + last + 1) // 2
        if time_of(middle) <= timestamp_ms:
            first = middle
        else:
            last = middle - 1
    return first


def _format(timestamp_ms: int) -> str:
    """Formats in UTC, including years that `datetime` does not support."""
    return f"{str(np.datetime64(timestamp_ms, 'ms')).replace('T', ' ')}+00:00"
