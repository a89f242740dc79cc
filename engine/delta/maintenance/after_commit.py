"""Post-commit hooks: checksum, checkpoint, log cleanup.

The commit is valid without them, so they run after the answer, in a separate thread. Failures are logged and ignored:
the next commit, or another writer, does the work. `HOOKS` run in order:

- The version checksum, computed incrementally from the previous one. On an object store it is omitted for an empty
  table's first version, whose commit is as short and contains the same. Checksums are optional: while commits to a
  table follow each other within `_QUIET_S`, only the newest version gets one, after `_UNWRITTEN_S` at most.
- A checkpoint every `delta.checkpointInterval` versions (default 10), unless the version has one. While commits to a
  table follow each other within `_QUIET_S`, it gets one in `_UNWRITTEN_S`, of the newest version that is due.
- After a checkpoint, removal of expired log files, unless `delta.enableExpiredLogCleanup` is off; once a day per table,
  since the retention is counted from midnight.
- Symlink manifests, if `delta.compatibility.symlinkFormatManifest.enabled` is on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from catalog.conditions import MalformedLogEntry
from engine.delta.commit.transaction import Committed, clock_ms
from engine.delta.maintenance.checkpoint_writer import write_checkpoint
from engine.delta.maintenance.checksum_writer import checksum_after, checksum_of, write_checksum
from engine.delta.maintenance.log_cleanup import LogListing, clean_log
from engine.delta.maintenance.symlink_manifest import write_manifests
from engine.delta.snapshot.checksum import VersionChecksum, load_checksum
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import CHECKPOINT_INTERVAL, DAY_MS, EXPIRED_LOG_CLEANUP, SYMLINK_MANIFEST
from engine.storage.storage import Storage

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Unwritten:
    """A checksum that is written when commits pause."""

    storage: Storage
    version: int
    checksum: VersionChecksum
    # Creation time (monotonic clock) of the oldest checksum that this one replaced.
    since_s: float


class KnownChecksums:
    """The newest checksums that this server has made, by table: the next one then needs no request for its predecessor.

    Used by the thread that runs the hooks, and by threads that suspend it.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, VersionChecksum]] = {}
        self._unwritten: dict[str, _Unwritten] = {}
        # By table: the midnight before its last cleanup, and the table's id and properties at that time.
        self._cleaned: dict[str, tuple[int, str, Mapping[str, str | None]]] = {}

    def before(self, committed: Committed) -> VersionChecksum | None:
        """Returns the checksum for the version before a commit, if cached.

        Another table in the same place has another id.
        """
        version, checksum = self._known.get(committed.storage.root, (-1, None))
        if checksum is None or version != committed.version - 1:
            return None
        return checksum if checksum.metadata.id == committed.config.metadata.id else None

    def keep(self, committed: Committed, checksum: VersionChecksum) -> None:
        """Replaces the table's checksum by the one after this commit; may drop the least recently committed table."""
        self.forget(committed.storage.root)
        if len(self._known) >= _KNOWN_MAX:
            # Dictionaries keep insertion order, and `forget` above renews the table's
            # place: the first is the least recently committed.
            self._known.pop(next(iter(self._known)), None)
        self._known[committed.storage.root] = committed.version, checksum

    def forget(self, root: str) -> None:
        """Drops the checksum of the table at `root`, if there is one."""
        self._known.pop(root, None)

    def defer(self, committed: Committed, checksum: VersionChecksum) -> None:
        """Leaves writing the file to `write_deferred`, unless a later version replaces it."""
        root, now_s = committed.storage.root, time.monotonic()
        before = self._unwritten.get(root)
        # The age counts from the first checksum that was replaced; a table that is written
        # without pause still gets one in each interval.
        since_s = before.since_s if before is not None else now_s
        self._unwritten[root] = _Unwritten(committed.storage, committed.version, checksum, since_s)

    @property
    def has_deferred(self) -> bool:
        """Returns True if a checksum waits to be written."""
        return bool(self._unwritten)

    def drop_deferred(self, root: str) -> None:
        """Drops the deferred checksum of the table at `root`: a newer one was written."""
        self._unwritten.pop(root, None)

    def write_deferred(self, older_than_s: float = 0.0) -> None:
        """Writes the checksums that have waited for at least `older_than_s`. Never raises."""
        now_s = time.monotonic()
        for root, each in list(self._unwritten.items()):
            if now_s - each.since_s < older_than_s:
                continue
            self._unwritten.pop(root, None)
            try:
                write_checksum(each.storage, each.version, each.checksum)
            except Exception:  # noqa: BLE001 - as of every hook
                _log.warning("no checksum of version %d of %s", each.version, root, exc_info=True)

    def is_cleaned(self, committed: Committed, midnight_ms: int) -> bool:
        """Returns whether a cleanup since midnight has removed everything that can expire until the next midnight."""
        metadata = committed.config.metadata
        return self._cleaned.get(committed.storage.root) == (midnight_ms, metadata.id, metadata.configuration)

    def note_cleaned(self, committed: Committed, midnight_ms: int) -> None:
        """Records a log cleanup since `midnight_ms` (UTC, milliseconds since the epoch) for `is_cleaned`."""
        metadata, root = committed.config.metadata, committed.storage.root
        self._cleaned.pop(root, None)
        if len(self._cleaned) >= _KNOWN_MAX:
            self._cleaned.pop(next(iter(self._cleaned)), None)
        self._cleaned[root] = midnight_ms, metadata.id, metadata.configuration


class DueCheckpoints:
    """Due checkpoints that wait because their table has just got one.

    A checkpoint contains all files of its table: written at each interval, it would take most of the time of a burst of
    small commits. Used by the thread that runs the hooks, and by threads that suspend it.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, PostCommit] = {}
        # By table, when its last checkpoint was written (monotonic clock).
        self._written_s: dict[str, float] = {}

    def defers(self, after: PostCommit) -> bool:
        """Leaves the checkpoint to `write_waiting` if the table has just got one; a later version may replace it."""
        root = after.committed.storage.root
        if not self._is_recent(root, _UNWRITTEN_S):
            self._waiting.pop(root, None)
            return False
        _ = after.snapshot  # while the version is the newest one, which is cached
        self._waiting[root] = after
        return True

    def note_written(self, root: str) -> None:
        """Defers the next checkpoints of the table at `root` from now on."""
        self._written_s.pop(root, None)
        if len(self._written_s) >= _KNOWN_MAX:
            self._written_s.pop(next(iter(self._written_s)), None)
        self._written_s[root] = time.monotonic()

    def _is_recent(self, root: str, within_s: float) -> bool:
        written_s = self._written_s.get(root)
        return written_s is not None and time.monotonic() - written_s < within_s

    @property
    def are_waiting(self) -> bool:
        """Returns True if a checkpoint waits to be written."""
        return bool(self._waiting)

    def drop(self, root: str) -> None:
        """Drops the waiting checkpoint of the table at `root`."""
        self._waiting.pop(root, None)

    def write_waiting(self, older_than_s: float = 0.0) -> None:
        """Writes the checkpoints of tables whose last one is at least `older_than_s` old. Never raises."""
        for root, after in list(self._waiting.items()):
            if self._is_recent(root, older_than_s):
                continue
            self._waiting.pop(root, None)
            try:
                # Another server may have replaced the table since: its log must not get a
                # checkpoint of this one.
                if after.snapshot.is_in_place():
                    _write_checkpoint(after)
                    self.note_written(root)
            except Exception:  # noqa: BLE001 - as of every hook
                _log.warning("no checkpoint of version %d of %s", after.committed.version, root, exc_info=True)


class PostCommit:
    """A commit and, if a hook needs it, its version's snapshot."""

    def __init__(
        self,
        committed: Committed,
        clock: Callable[[], int] = clock_ms,
        known: KnownChecksums | None = None,
        read: Callable[[Storage, int], Snapshot] = Snapshot.load,
        due: DueCheckpoints | None = None,
    ) -> None:
        self.committed = committed
        self.clock = clock
        self.known = known
        self.due = due
        self._read = read

    @cached_property
    def snapshot(self) -> Snapshot:
        """Returns the snapshot of the committed version; the first use reads it. Raises like `Snapshot.load`."""
        return self._read(self.committed.storage, self.committed.version)


Hook: TypeAlias = Callable[[PostCommit], None]


def run_hooks(after: PostCommit) -> None:
    """Runs every hook, even if others fail. Never raises."""
    committed = after.committed
    for hook in HOOKS:
        try:
            hook(after)
        except Exception:  # noqa: BLE001 - the commit is made, and the next one brings the next chance
            _log.warning(
                "%s failed after version %d of %s",
                hook.__name__,
                committed.version,
                committed.storage.root,
                exc_info=True,
            )


def write_version_checksum(after: PostCommit) -> None:
    """Writes the version's checksum file, or defers it.

    Only a checksum that follows from a cached one is deferred (Delta PROTOCOL, "Version Checksum File").
    """
    committed, known = after.committed, after.known
    in_memory = known.before(committed) if known is not None else None
    previous = in_memory or _previous_checksum(committed)
    checksum = checksum_after(previous, committed) or checksum_of(after.snapshot)
    if known is not None:
        known.keep(committed, checksum)
        if committed.version == 0 and not committed.adds.num_rows and not committed.storage.LISTS_WHOLE_FOLDERS:
            return
        # Only a checksum that was computed in memory can wait: its successor follows from
        # memory too, without the file.
        if in_memory is not None:
            known.defer(committed, checksum)
            return
        # An older version's checksum would be written after this one, to no use.
        known.drop_deferred(committed.storage.root)
    write_checksum(committed.storage, committed.version, checksum)


def _previous_checksum(committed: Committed) -> VersionChecksum | None:
    """Loads the previous checksum, or returns None if it is missing or unreadable."""
    try:
        return load_checksum(committed.storage, committed.version - 1) if committed.version else None
    except MalformedLogEntry:
        return None


def write_due_checkpoint(after: PostCommit) -> None:
    """Writes a checkpoint if `delta.checkpointInterval` is reached and the version has none, or defers it."""
    if not is_checkpoint_due(after.committed) or (after.due is not None and after.due.defers(after)):
        return
    _write_checkpoint(after)
    if after.due is not None:
        after.due.note_written(after.committed.storage.root)


def _write_checkpoint(after: PostCommit) -> None:
    committed = after.committed
    # Another writer's commit at the same version is impossible, but its checkpoint is not:
    # a reader process may checkpoint versions that others commit.
    present = {checkpoint.version for checkpoint in LogListing.load(committed.storage, committed.version).checkpoints()}
    if committed.version not in present:
        write_checkpoint(after.snapshot, after.clock())


def remove_expired_log(after: PostCommit) -> None:
    """Removes expired log files, after a checkpoint if `delta.enableExpiredLogCleanup` is set."""
    committed, config, known = after.committed, after.committed.config, after.known
    now_ms = after.clock()
    midnight_ms = now_ms - now_ms % DAY_MS
    # Only after a checkpoint can the cut have moved.
    if is_checkpoint_due(committed) and config.get(EXPIRED_LOG_CLEANUP):
        if known is not None and known.is_cleaned(committed, midnight_ms):
            return
        removed = clean_log(committed.storage, config, now_ms)
        if known is not None:
            known.note_cleaned(committed, midnight_ms)
        if removed:
            _log.info("removed %d expired files from the log of %s", len(removed), committed.storage.root)


def write_symlink_manifests(after: PostCommit) -> None:
    """Writes the symlink manifests if `delta.compatibility.symlinkFormatManifest.enabled` is set."""
    if after.committed.config.get(SYMLINK_MANIFEST):
        write_manifests(after.snapshot)


def is_checkpoint_due(committed: Committed) -> bool:
    """Returns True for each multiple of `delta.checkpointInterval`, except version 0."""
    return committed.version > 0 and committed.version % committed.config.get(CHECKPOINT_INTERVAL) == 0


_CLOSE_S = 10.0

# How long a checksum, or a checkpoint after another one, waits for a later one to replace it.
_QUIET_S, _UNWRITTEN_S = 0.1, 1.0

# Maximum number of tables with a cached checksum.
_KNOWN_MAX = 200

HOOKS: tuple[Hook, ...] = (
    write_version_checksum,
    write_due_checkpoint,
    remove_expired_log,
    write_symlink_manifests,
)


class PostCommitQueue:
    """Runs post-commit hooks sequentially, outside the statements' threads."""

    def __init__(self, read: Callable[[Storage, int], Snapshot] = Snapshot.load, *, waiting_max: int = 1000) -> None:
        """Creates a queue for `waiting_max` commits; hooks for further ones are left to later commits.

        `read` returns the snapshot for a version that was just committed.
        """
        self._read = read
        self._waiting_max = waiting_max
        self._known = KnownChecksums()
        self._due = DueCheckpoints()
        self._waiting: deque[PostCommit] = deque()
        self._running: PostCommit | None = None
        # True if no commit waits or runs, and no checksum or checkpoint is unwritten.
        self._is_idle = True
        # True while deferred checksums and checkpoints are being written.
        self._is_writing = False
        # Number of threads waiting in `drain`.
        self._drains = 0
        self._is_closed = False
        # Guards all fields above.
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._run, name="post-commit", daemon=True)
        self._worker.start()

    def submit(self, committed: Committed) -> None:
        """Queues the hooks for a commit, after the hooks for the preceding one if that is not queued yet.

        If the queue is full, they are left out with a warning.
        """
        if committed.untold is not None:
            self.submit(committed.untold)
        with self._changed:
            if len(self._waiting) < self._waiting_max:
                self._waiting.append(PostCommit(committed, known=self._known, read=self._read, due=self._due))
                self._is_idle = False
                self._changed.notify_all()
                return
        _log.warning(
            "no post-commit work for version %d of %s: too much waits", committed.version, committed.storage.root
        )

    def forget(self, root: str) -> None:
        """Waits until nothing writes to this table's log any more, and drops its pending work.

        Called before the table is removed: a late checksum would leave a log without versions.
        """
        with self._changed:
            self._waiting = deque(after for after in self._waiting if after.committed.storage.root != root)
            self._changed.wait_for(
                lambda: not self._is_writing and (self._running is None or self._running.committed.storage.root != root)
            )
            self._known.forget(root)
            self._known.drop_deferred(root)
            self._due.drop(root)

    def drain(self) -> None:
        """Waits until all submitted work is done."""
        with self._changed:
            self._drains += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_idle)
            self._drains -= 1

    def close(self) -> None:
        """Runs pending work for a limited time, and stops: later commits do the rest."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._worker.join(_CLOSE_S)
        if self._worker.is_alive():
            _log.warning("post-commit work does not end, and is left")

    def _run(self) -> None:
        while (after := self._next()) is not None:
            run_hooks(after)
            self._write_deferred(_UNWRITTEN_S)

    @property
    def _has_deferred(self) -> bool:
        return self._known.has_deferred or self._due.are_waiting

    def _write_deferred(self, older_than_s: float = 0.0) -> None:
        """Writes without the lock, which statements need, but never to a table for which `forget` has returned."""
        if not self._has_deferred:
            return
        with self._changed:
            self._is_writing = True
        self._known.write_deferred(older_than_s)
        self._due.write_waiting(older_than_s)
        with self._changed:
            self._is_writing = False
            self._changed.notify_all()

    def _next(self) -> PostCommit | None:
        """Marks the current item as done and returns the next, or None if the queue is closed."""
        with self._changed:
            self._running = None
            self._changed.notify_all()
            if self._has_deferred:
                # A short pause tells a burst from a single commit: within a burst only the
                # last version's checksum is written, and its last due checkpoint.
                self._changed.wait_for(lambda: self._waiting or self._is_closed or self._drains, _QUIET_S)
            is_quiet = not self._waiting
        if is_quiet:
            self._write_deferred()
        with self._changed:
            self._is_idle = not self._waiting
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            self._running = self._waiting.popleft() if self._waiting else None
            return self._running
