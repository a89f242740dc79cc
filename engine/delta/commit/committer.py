"""Writes version N of a log exactly once, and detects if another writer wrote it.

A put with an unknown outcome is resolved by the commit's bytes (`engine.storage.confirmed_put`), which contain its
transaction id and the names of its files. The id alone is not sufficient: two processes that run the same statement
write different commits with one id.
"""

from __future__ import annotations

from contextlib import suppress

from catalog.conditions import CommitOutcomeUnknown, ConcurrentDrop, DeltaError, LogWriteFailed
from engine.delta.commit.conflicts import WinningCommit
from engine.delta.log.commit_reader import parse_commits
from engine.delta.spec.paths import LOG_DIR, LogFileKind, commit_name, parse_log_path, version_prefix
from engine.storage.confirmed_put import FolderGone, PutOutcomeUnknown, PutRefused, StorageRetries, put_confirmed
from engine.storage.storage import FileStatus, Storage


def put_commit(storage: Storage, version: int, data: bytes, txn_id: str, retries: StorageRetries) -> bool:
    """Writes the commit by put-if-absent. Returns True if `version` is ours, False if another writer has it.

    `txn_id` identifies it in errors.

    Raises `StorageNotWritable`, `LogWriteFailed`, `ConcurrentDrop`, `CommitOutcomeUnknown`.
    """
    name = f"{LOG_DIR}/{commit_name(version)}"
    try:
        return put_confirmed(
            storage,
            name,
            data,
            lambda found: found == data,
            retries,
            in_place=version > 0,  # only the first version creates a log: if the log is gone, so is the table
        )
    except FolderGone as error:
        raise ConcurrentDrop(storage.root) from error
    except PutRefused as error:
        raise LogWriteFailed(storage.root, version, str(error)) from error
    except PutOutcomeUnknown as error:
        raise CommitOutcomeUnknown(storage.root, version, txn_id, str(error)) from error


def take_back(storage: Storage, version: int, txn_id: str) -> None:
    """Removes our version from a log that no longer belongs to our table, unless another commit follows it.

    The log may belong to another table now, with its own version of that number: a foreign commit is not removed.
    """
    name = f"{LOG_DIR}/{commit_name(version)}"
    with suppress(OSError):
        # A reader may have built on our version already. Removing it would leave a gap that
        # makes the whole log unreadable.
        is_last = not storage.exists(f"{LOG_DIR}/{commit_name(version + 1)}")
        if is_last and _txn_id_of(name, storage.read_bytes(name)) == txn_id:
            storage.delete(name)


def read_winners(storage: Storage, first: int) -> list[WinningCommit]:
    """Reads the commits from version `first` to the newest, oldest first, with one listing and one read per commit.

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
    """Returns the contiguous commits that begin with `first`.

    A listing may miss a file that is being written; commits after a gap are left for the next attempt.
    """
    run: list[FileStatus] = []
    # Checkpoints and checksums of the same versions are in the listing too, and are skipped
    # by their kind.
    for status in storage.list_files(LOG_DIR, version_prefix(first)):
        path = parse_log_path(status.name)
        if path is not None and path.kind is LogFileKind.COMMIT and path.version == first + len(run):
            run.append(status)
    return run


def _txn_id_of(name: str, data: bytes) -> str | None:
    """Returns a commit's transaction id, or None if it has none and therefore is not ours."""
    try:
        info = parse_commits([(name, data)]).commit_info
    except DeltaError:
        return None  # malformed commit from another writer; the next reader of the log reports it
    return info.txn_id if info else None
