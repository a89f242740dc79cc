"""What follows a commit: checksum, checkpoint, clean-up of the log.

None of it is needed for the commit to be valid, so it runs after the answer, in a thread of its own, and whatever goes
wrong in it is logged and forgotten: the next commit, or another writer, does it again. `HOOKS` are run in order:

1. the version checksum, made from the one before at the cost of the commit itself; not on an object store for the first
   version of an empty table, whose commit says the same and is as short. Checksums are optional: while commits to a
   table follow each other within `_QUIET_S`, only the newest version gets one, `_UNWRITTEN_S` later at most;
2. every `delta.checkpointInterval` versions (10 by default) a checkpoint, unless the version has one;
3. with a checkpoint, the removal of expired files from the log, unless `delta.enableExpiredLogCleanup` is off; once
   a day for each table, since the retention is counted from midnight;
4. symlink manifests, where `delta.compatibility.symlinkFormatManifest.enabled` is on.
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
    """A checksum whose file waits for commits to pause."""

    storage: Storage
    version: int
    checksum: VersionChecksum
    since_s: float
    """When the oldest of the checksums that this one replaced was made, on the monotonic clock."""


class KnownChecksums:
    """The newest checksums that this server has made, by table: the next one needs no request for the one before.

    For the thread that runs the hooks, and for those who hold it up.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, VersionChecksum]] = {}
        self._unwritten: dict[str, _Unwritten] = {}
        self._cleaned: dict[str, tuple[int, str, Mapping[str, str | None]]] = {}
        """By table: the midnight before its last clean-up, and id and properties of the table then."""

    def before(self, committed: Committed) -> VersionChecksum | None:
        """That of the version before a commit; None if it is not known. Another table in the place has another id."""
        version, checksum = self._known.get(committed.storage.root, (-1, None))
        if checksum is None or version != committed.version - 1:
            return None
        return checksum if checksum.metadata.id == committed.config.metadata.id else None

    def keep(self, committed: Committed, checksum: VersionChecksum) -> None:
        self.forget(committed.storage.root)
        if len(self._known) >= _KNOWN_MAX:
            self._known.pop(next(iter(self._known)), None)
        self._known[committed.storage.root] = committed.version, checksum

    def forget(self, root: str) -> None:
        self._known.pop(root, None)

    def defer(self, committed: Committed, checksum: VersionChecksum) -> None:
        """Leaves the file to `write_deferred`, unless a later version comes first."""
        root, now_s = committed.storage.root, time.monotonic()
        before = self._unwritten.get(root)
        since_s = before.since_s if before is not None else now_s
        self._unwritten[root] = _Unwritten(committed.storage, committed.version, checksum, since_s)

    @property
    def has_deferred(self) -> bool:
        return bool(self._unwritten)

    def drop_deferred(self, root: str) -> None:
        self._unwritten.pop(root, None)

    def write_deferred(self, older_than_s: float = 0.0) -> None:
        """Writes the checksums that have waited for so long. Never raises."""
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
        """Returns whether a clean-up since midnight found all that may go until the next."""
        metadata = committed.config.metadata
        return self._cleaned.get(committed.storage.root) == (midnight_ms, metadata.id, metadata.configuration)

    def note_cleaned(self, committed: Committed, midnight_ms: int) -> None:
        metadata, root = committed.config.metadata, committed.storage.root
        self._cleaned.pop(root, None)
        if len(self._cleaned) >= _KNOWN_MAX:
            self._cleaned.pop(next(iter(self._cleaned)), None)
        self._cleaned[root] = midnight_ms, metadata.id, metadata.configuration


class PostCommit:
    """A commit and, if some hook asks for it, the snapshot of its version."""

    def __init__(
        self,
        committed: Committed,
        clock: Callable[[], int] = clock_ms,
        known: KnownChecksums | None = None,
        read: Callable[[Storage, int], Snapshot] = Snapshot.load,
    ) -> None:
        self.committed = committed
        self.clock = clock
        self.known = known
        self._read = read

    @cached_property
    def snapshot(self) -> Snapshot:
        return self._read(self.committed.storage, self.committed.version)


Hook: TypeAlias = Callable[[PostCommit], None]


def run_hooks(after: PostCommit) -> None:
    """Runs every hook, whatever happens to the others. Never raises."""
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
    committed, known = after.committed, after.known
    in_memory = known.before(committed) if known is not None else None
    previous = in_memory or _previous_checksum(committed)
    checksum = checksum_after(previous, committed) or checksum_of(after.snapshot)
    if known is not None:
        known.keep(committed, checksum)
        if committed.version == 0 and not committed.adds.num_rows and not committed.storage.LISTS_WHOLE_FOLDERS:
            return
        if in_memory is not None:
            known.defer(committed, checksum)
            return
        known.drop_deferred(committed.storage.root)
    write_checksum(committed.storage, committed.version, checksum)


def _previous_checksum(committed: Committed) -> VersionChecksum | None:
    """None where there is none that can be read."""
    try:
        return load_checksum(committed.storage, committed.version - 1) if committed.version else None
    except MalformedLogEntry:
        return None


def write_due_checkpoint(after: PostCommit) -> None:
    committed = after.committed
    if not is_checkpoint_due(committed):
        return
    present = {checkpoint.version for checkpoint in LogListing.load(committed.storage, committed.version).checkpoints()}
    if committed.version not in present:
        write_checkpoint(after.snapshot, after.clock())


def remove_expired_log(after: PostCommit) -> None:
    committed, config, known = after.committed, after.committed.config, after.known
    now_ms = after.clock()
    midnight_ms = now_ms - now_ms % DAY_MS
    if is_checkpoint_due(committed) and config.get(EXPIRED_LOG_CLEANUP):
        if known is not None and known.is_cleaned(committed, midnight_ms):
            return
        removed = clean_log(committed.storage, config, now_ms)
        if known is not None:
            known.note_cleaned(committed, midnight_ms)
        if removed:
            _log.info("removed %d expired files from the log of %s", len(removed), committed.storage.root)


def write_symlink_manifests(after: PostCommit) -> None:
    if after.committed.config.get(SYMLINK_MANIFEST):
        write_manifests(after.snapshot)


def is_checkpoint_due(committed: Committed) -> bool:
    return committed.version > 0 and committed.version % committed.config.get(CHECKPOINT_INTERVAL) == 0


_CLOSE_S = 10.0

_QUIET_S, _UNWRITTEN_S = 0.1, 1.0
"""How long a checksum waits for a later one in its place."""

_KNOWN_MAX = 200
"""Tables whose newest checksum is kept."""

HOOKS: tuple[Hook, ...] = (
    write_version_checksum,
    write_due_checkpoint,
    remove_expired_log,
    write_symlink_manifests,
)


class PostCommitQueue:
    """Runs the hooks of commits one after the other, off the path of the statements."""

    def __init__(self, read: Callable[[Storage, int], Snapshot] = Snapshot.load, *, waiting_max: int = 1000) -> None:
        """`waiting_max` commits may wait; the work of any beyond is left to the commits after them. `read` returns the
        snapshot of a version that was just committed.
        """
        self._read = read
        self._waiting_max = waiting_max
        self._known = KnownChecksums()
        self._waiting: deque[PostCommit] = deque()
        self._running: PostCommit | None = None
        self._is_idle = True
        """No commit waits or runs, and no checksum is unwritten."""
        self._is_writing = False
        """Deferred checksums are being written."""
        self._drains = 0
        """Threads that wait in `drain`."""
        self._is_closed = False
        self._changed = threading.Condition()
        """Guards all of these."""
        self._worker = threading.Thread(target=self._run, name="post-commit", daemon=True)
        self._worker.start()

    def submit(self, committed: Committed) -> None:
        if committed.untold is not None:
            self.submit(committed.untold)
        with self._changed:
            if len(self._waiting) < self._waiting_max:
                self._waiting.append(PostCommit(committed, known=self._known, read=self._read))
                self._is_idle = False
                self._changed.notify_all()
                return
        _log.warning(
            "no post-commit work for version %d of %s: too much waits", committed.version, committed.storage.root
        )

    def forget(self, root: str) -> None:
        """Returns when nothing writes to the log of this table any more, and nothing will for past commits.

        For those who remove the table: a checksum that came late would leave a log without versions.
        """
        with self._changed:
            self._waiting = deque(after for after in self._waiting if after.committed.storage.root != root)
            self._changed.wait_for(
                lambda: not self._is_writing and (self._running is None or self._running.committed.storage.root != root)
            )
            self._known.forget(root)
            self._known.drop_deferred(root)

    def drain(self) -> None:
        """Returns when everything submitted so far is done."""
        with self._changed:
            self._drains += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_idle)
            self._drains -= 1

    def close(self) -> None:
        """Does what waits, for a while at most, and ends: the next commits do the rest."""
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

    def _write_deferred(self, older_than_s: float = 0.0) -> None:
        """Writes without the lock, which statements take, but never to a table that `forget` has returned for."""
        if not self._known.has_deferred:
            return
        with self._changed:
            self._is_writing = True
        self._known.write_deferred(older_than_s)
        with self._changed:
            self._is_writing = False
            self._changed.notify_all()

    def _next(self) -> PostCommit | None:
        """The one to run now, the last one being done; None when there will be no more."""
        with self._changed:
            self._running = None
            self._changed.notify_all()
            if self._known.has_deferred:
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
