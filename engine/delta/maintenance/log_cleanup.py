"""Removes files from `_delta_log` that no retained version needs.

The cut is the newest complete checkpoint at or below the newest commit that is older than the retention (counted from
midnight UTC). That checkpoint, its own commit (the only source for its commitInfo) and everything after it are kept, so
every retained version can still be reconstructed. Without such a checkpoint nothing is removed. The checkpoint is read
first: if it is corrupt, or its sidecars are missing, the commits before it are kept.

Commits are removed first, oldest first, then checkpoints and other files, so that an interrupted cleanup leaves a log
that begins later, never an inconsistent one. Sidecars are removed last, if no remaining checkpoint names them and they
are more than a day old, since a checkpoint being written has sidecars before its top level.

A table with checkpoint protection is skipped until the cut is after the protected versions.

Protocol: "Metadata Cleanup"; RFC "Checkpoint Protection".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from catalog.conditions import DeltaError
from engine.delta.checkpoint.checkpoint_reader import CheckpointReader, sidecar_path
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.commit_reader import LogActions
from engine.delta.log.log_segment import Checkpoint
from engine.delta.spec import properties
from engine.delta.spec.paths import (
    LOG_DIR,
    SIDECAR_DIR,
    STAGED_COMMIT_DIR,
    LogFileKind,
    LogPath,
    parse_log_path,
    version_prefix,
)
from engine.storage.put_if_absent import TEMPORARY_SUFFIX
from engine.storage.storage import FileStatus, Storage
from engine.tables.operations import TableOperation

_STAGED_COMMIT = re.compile(r"([0-9]{20})\..*\.json")


@dataclass(frozen=True, slots=True)
class LogListing:
    """All files in `_delta_log`, by kind."""

    files: tuple[tuple[LogPath, FileStatus], ...]
    # Temporary files from a crash.
    strays: tuple[FileStatus, ...]

    @classmethod
    def load(cls, storage: Storage, start: int | None = None) -> LogListing:
        """Lists all files, or those for versions from `start` on."""
        files, strays = [], []
        for status in storage.list_files(LOG_DIR, "" if start is None else version_prefix(start)):
            path = parse_log_path(status.name)
            if path is not None:
                files.append((path, status))
            elif status.name.startswith(".") and status.name.endswith(TEMPORARY_SUFFIX):
                strays.append(status)
        return cls(tuple(files), tuple(strays))

    def checkpoints(self) -> list[Checkpoint]:
        """Returns the complete checkpoints, oldest first."""
        groups: dict[tuple[int, str], list[LogPath]] = {}
        for path, _ in self.files:
            if path.is_checkpoint:
                key = f"parts {path.parts}" if path.kind is LogFileKind.CHECKPOINT_PART else path.name
                groups.setdefault((path.version, key), []).append(path)
        complete = [Checkpoint(version, tuple(paths)) for (version, _), paths in groups.items() if _is_complete(paths)]
        return sorted(complete, key=lambda checkpoint: checkpoint.version)


def clean_log(storage: Storage, config: DeltaConfig, now_ms: int) -> tuple[str, ...]:
    """Removes expired files. Returns their names relative to the table root, in order of removal.

    Raises the errors of `DeltaConfig.ensure_supported`, `OSError`.
    """
    midnight_ms = now_ms - now_ms % properties.DAY_MS
    return truncate_log(storage, config, now_ms, midnight_ms - config.get(properties.LOG_RETENTION))


def truncate_log(storage: Storage, config: DeltaConfig, now_ms: int, cutoff_ms: int) -> tuple[str, ...]:
    """Cleans the log like `clean_log`, with `cutoff_ms` (milliseconds since the epoch) instead of the retention."""
    # "VACUUM Protocol Check" is about the deletion of table files by writers that do not
    # know the table; the log gets the same care.
    config.ensure_supported(TableOperation.VACUUM)
    midnight_ms = now_ms - now_ms % properties.DAY_MS
    if storage.LISTS_WHOLE_FOLDERS and not _may_have_expired(storage, max(cutoff_ms, midnight_ms - properties.DAY_MS)):
        return ()
    listing = LogListing.load(storage)
    removed = [f"{LOG_DIR}/{stray.name}" for stray in listing.strays if _is_day_old(stray, midnight_ms)]
    cut = find_cut(storage, listing, config, cutoff_ms)
    if cut is not None:
        removed += [f"{LOG_DIR}/{path.name}" for path in _expired_files(listing, cut)]
        removed += _expired_staged_commits(storage, cut)
    for name in removed:
        storage.delete(name)
    if cut is not None:
        removed += _remove_sidecars(storage, midnight_ms)
    return tuple(removed)


def _may_have_expired(storage: Storage, time_ms: int) -> bool:
    """Returns whether the oldest commit, or a temporary file, is older than a time; otherwise nothing has expired.

    Most cleanups find nothing, and reading each file's status takes long in a long log.
    """
    names = storage.list_names(LOG_DIR)
    paths = (path for name in names if (path := parse_log_path(name)) is not None)
    oldest = next((path.name for path in paths if path.kind is LogFileKind.COMMIT), None)
    looked_at = [name for name in names if name == oldest or name.endswith(TEMPORARY_SUFFIX)]
    try:
        return any(storage.stat(f"{LOG_DIR}/{name}").modified_ms <= time_ms for name in looked_at)
    # The complete listing decides then, at its usual cost.
    except FileNotFoundError:  # another process cleans up
        return True


def find_cut(storage: Storage, listing: LogListing, config: DeltaConfig, cutoff_ms: int) -> int | None:
    """Returns the version of the checkpoint before which everything can be removed, or None.

    A commit is as old as its file, but not older than the commits before it.
    """
    newest_expired, time_ms = -1, -1
    for path, status in listing.files:
        if path.kind is LogFileKind.COMMIT:
            # The same adjustment as for time travel: a commit whose file time runs
            # backwards must not expire before its predecessor.
            time_ms = max(time_ms + 1, status.modified_ms)
            if time_ms > cutoff_ms:
                break
            newest_expired = path.version
    for checkpoint in reversed(listing.checkpoints()):
        if checkpoint.version <= newest_expired and _is_usable(storage, checkpoint):
            # RFC "Checkpoint Protection": older versions have features that this writer may
            # be unable to read; their checkpoints may only go together with all commits
            # before.
            protected = config.get(properties.CHECKPOINT_PROTECTION_VERSION)
            return checkpoint.version if checkpoint.version >= protected else None
    return None


def _expired_files(listing: LogListing, cut: int) -> list[LogPath]:
    """Returns the expired files, commits first. A compaction is useless as soon as one commit that it covers is."""
    expired = [
        path
        for path, _ in listing.files
        if path.version < cut or (path.kind is LogFileKind.COMPACTION and path.version <= cut)
    ]
    # The order matters for a crash: with its checkpoint gone but the commits after it in
    # place, an old version would look readable and miss its beginning.
    return sorted(expired, key=lambda path: (path.kind is not LogFileKind.COMMIT, path.version, path.name))


def _expired_staged_commits(storage: Storage, cut: int) -> list[str]:
    directory = f"{LOG_DIR}/{STAGED_COMMIT_DIR}"
    matches = ((name, _STAGED_COMMIT.fullmatch(name)) for name in storage.list_names(directory))
    # "Catalog-managed tables": a staged commit at or below the cut is published, and its
    # content is in the checkpoint.
    return [f"{directory}/{name}" for name, match in matches if match and int(match[1]) <= cut]


def _remove_sidecars(storage: Storage, midnight_ms: int) -> list[str]:
    """Removes sidecars that no checkpoint in the log names. If one checkpoint is unreadable, all sidecars stay."""
    directory = f"{LOG_DIR}/{SIDECAR_DIR}"
    old = [status for status in storage.list_files(directory) if _is_day_old(status, midnight_ms)]
    if not old:
        return []
    named: set[str] = set()
    # A fresh listing after the removals: it has the checkpoints of other writers that
    # appeared meanwhile.
    for checkpoint in LogListing.load(storage).checkpoints():
        actions = _read(storage, checkpoint)
        if actions is None:
            return []
        named.update(sidecar_path(sidecar) for sidecar in actions.sidecars)
    removed = [f"{directory}/{status.name}" for status in old if f"{directory}/{status.name}" not in named]
    for name in removed:
        storage.delete(name)
    return removed


def _is_usable(storage: Storage, checkpoint: Checkpoint) -> bool:
    actions = _read(storage, checkpoint)
    if actions is None or actions.protocol is None or actions.metadata is None:
        return False
    return all(storage.exists(sidecar_path(sidecar)) for sidecar in actions.sidecars)


def _read(storage: Storage, checkpoint: Checkpoint) -> LogActions | None:
    try:
        return CheckpointReader(storage, checkpoint).read_small_actions()
    except DeltaError:
        return None


def _is_complete(paths: list[LogPath]) -> bool:
    return len(paths) == paths[0].parts


def _is_day_old(status: FileStatus, midnight_ms: int) -> bool:
    return status.modified_ms < midnight_ms - properties.DAY_MS
