"""Writes version N of a log exactly once, and finds out who did.

A put has three outcomes: ours, somebody else's, or unknown because the storage failed in between. Every commit carries
a transaction id that nobody else has, so the last two are settled by reading version N back:

- it is there and has our id: we won, although the storage said otherwise. The clients of object stores repeat requests
  whose answer was lost, and the repetition finds the file of the first; so even "it exists" is not taken at its word.
- it is there and has another id: we lost.
- it is not there: the put did not happen, or has not yet. It is tried again, since a put that arrives late can only
  make the repetition find our own id.
- it cannot be read either, however often: the outcome stays unknown and is reported as that, never as a failure.

Only what a storage refuses before it writes (no permission, no space) is a plain failure.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from engine.delta.commit.conflicts import WinningCommit
from engine.delta.log.commit_reader import parse_commits
from engine.delta.spec.errors import LogWriteFailed
from engine.delta.spec.paths import LOG_DIR, LogFileKind, commit_name, parse_log_path, version_prefix
from engine.errors.conflict_errors import CommitOutcomeUnknown, ConcurrentDrop
from engine.errors.table_errors import DeltaError
from engine.storage.storage import FileStatus, Storage

_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG}


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRetries:
    """How long a storage may fail before the outcome is called unknown."""

    tries_max: int = 5
    pause_s: float = 0.1
    """Before the second try; doubled for each further one."""
    sleep: Callable[[float], None] = time.sleep

    def pause(self, tries: int) -> None:
        """After the given number of failed tries."""
        self.sleep(self.pause_s * 2 ** (tries - 1))


def put_commit(storage: Storage, version: int, data: bytes, txn_id: str, retries: StorageRetries) -> bool:
    """True: version `version` of the log is ours. False: it is another writer's.

    Raises `StorageNotWritable`, `LogWriteFailed`, `ConcurrentDrop`, `CommitOutcomeUnknown`.
    """
    name = f"{LOG_DIR}/{commit_name(version)}"
    failure: OSError | None = None
    for tries in range(1, retries.tries_max + 1):
        try:
            if failure is None or not storage.exists(name):
                if _put(storage, version, name, data):
                    return True
            return _txn_id_of(storage, name) == txn_id
        except OSError as error:
            if failure is None and error.errno in _REFUSALS:
                raise LogWriteFailed(storage.root, version, str(error)) from error
            failure = error
            if tries < retries.tries_max:
                retries.pause(tries)
    raise CommitOutcomeUnknown(storage.root, version, txn_id, str(failure)) from failure


def take_back(storage: Storage, version: int) -> None:
    """Removes a version of ours from a log that is no longer our table's, unless somebody built upon it."""
    with suppress(OSError):
        if not storage.exists(f"{LOG_DIR}/{commit_name(version + 1)}"):
            storage.delete(f"{LOG_DIR}/{commit_name(version)}")


def _put(storage: Storage, version: int, name: str, data: bytes) -> bool:
    """Only the first version makes a log: where it is gone, so is the table."""
    try:
        return storage.put_if_absent(name, data, in_place=version > 0)
    except FileNotFoundError as error:
        raise ConcurrentDrop(storage.root) from error


def read_winners(storage: Storage, first: int) -> list[WinningCommit]:
    """The commits from version `first` to the newest, oldest first. One listing, and one read each.

    Raises `MalformedLogEntry`, `OSError`.
    """
    statuses = _commits_from(storage, first)
    names = [f"{LOG_DIR}/{status.name}" for status in statuses]
    return [
        WinningCommit(
            version=first + offset, actions=parse_commits([(name, data)]), modified_ms=statuses[offset].modified_ms
        )
        for offset, (name, data) in enumerate(zip(names, storage.read_many(names), strict=True))
    ]


def _commits_from(storage: Storage, first: int) -> list[FileStatus]:
    """The unbroken run of commits that begins with `first`.

    A listing may miss a file that is being written; what follows a gap is left for the next attempt.
    """
    run: list[FileStatus] = []
    for status in storage.list_files(LOG_DIR, version_prefix(first)):
        path = parse_log_path(status.name)
        if path is not None and path.kind is LogFileKind.COMMIT and path.version == first + len(run):
            run.append(status)
    return run


def _txn_id_of(storage: Storage, name: str) -> str | None:
    """The transaction id of a commit; None where it has none, which is not ours then."""
    try:
        info = parse_commits([(name, storage.read_bytes(name))]).commit_info
    except DeltaError:
        return None  # another writer's garbage; the next reader of the log will name it
    return info.txn_id if info else None
