"""Sessions' journals: files to which records are appended before a client learns about what they record.

An append is one `write` without `fsync`: what it wrote survives the end of the process, and after a power failure the
last second may be missing. If the disk is full, statements run without records (`StateStore.failures` counts them): a
VACUUM must be able to make room.

    store = StateStore(folder, budget, results_budget)      # takes its own folder
    for journal, records, positions in store.take_over(used): ...   # of processes that have ended
    journal = store.open_journal(session_id, owner="ann")
    journal.append(SessionOpened(...), StatementRecorded(...))
    journal.remove()
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from catalog.errors import SqlError
from engine.spool.budget import SpoolBudget
from engine.spool.spool import Spool
from engine.spool.spool_file import SpoolFile
from gateway.results.sent_rows import SentRows
from gateway.state.addresses import Address
from gateway.state.folder import Lease, SessionPlace, StateFolder
from gateway.state.positions import Positions, read_positions
from gateway.state.records import (
    Record,
    SessionChanged,
    SessionOpened,
    StatementClosed,
    StatementEnded,
    StatementRecorded,
    VersionsRead,
    decode,
    encode,
)
from gateway.state.remote_folder import RemoteFolder
from gateway.state.remote_lease import RemoteLease
from gateway.state.remote_positions import RemotePositions
from gateway.state.replica import Appended, Entry, Removed, Replaced, Replica
from gateway.state.results import file_names
from gateway.state.running_counts import Counts

logger = logging.getLogger(__name__)

# The part of a session's id that its statements' ids begin with, and its journal's name.
KEY_BYTES = 6
AnyFolder: TypeAlias = StateFolder | RemoteFolder
# Each result's next rows by statement, as `read_positions` returns them.
Places: TypeAlias = dict[uuid.UUID, SentRows]
# Bytes of closed statements from which a journal is written anew.
_REWRITTEN_FROM = 256 << 10


def key_of(object_id: uuid.UUID) -> str:
    """Returns the key of a session, or of one of its statements."""
    return object_id.bytes[:KEY_BYTES].hex()


def id_in_session(session_id: uuid.UUID) -> uuid.UUID:
    """Returns a new statement's id, which shows its session."""
    return uuid.UUID(bytes=session_id.bytes[:KEY_BYTES] + uuid.uuid4().bytes[KEY_BYTES:])


class Journal:
    """One session's journal. Thread-safe."""

    def __init__(self, store: StateStore, path: Path, owner: str) -> None:
        self._store = store
        self._path = path
        self._owner = owner
        # Guards the file and the fields below.
        self._lock = threading.Lock()
        self._size = self._closed_bytes = 0
        self._sizes: dict[str, int] = {}
        self._is_removed = False

    def append(self, *records: Record) -> bool:
        """Appends records; returns False if they could not be written."""
        content = encode(*records)
        with self._lock:
            if self._is_removed:
                return False
            for record in records:
                self._measure(record, len(content) // len(records))
            if self._closed_bytes > _REWRITTEN_FROM and self._closed_bytes > self._size // 2:
                self._rewrite()
            is_written = self._write(content)
            if not is_written or not self._store.is_replicated:
                return is_written
            results = [name for record in records for name in _files_of(record)]
            return self._store.replicate(Appended(self._path.name, content.decode()), results)

    def remove(self) -> None:
        """Removes the journal: its session has ended, with all its statements."""
        with self._lock:
            if self._is_removed:
                return
            self._is_removed = True
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            self._store.budget.give_back(self._owner, self._size)
        if self._store.is_replicated:
            self._store.replicate(Removed(self._path.name))
        self._store.forget(self._path.name)

    def adopt(self, records: list[Record], size: int) -> None:
        """Counts what the file has already."""
        with self._lock:
            for record in records:
                self._measure(record, size // len(records))
            self._store.budget.take(self._owner, size)
            self._size = size
            if self._store.is_replicated:
                self._store.replicate(Replaced(self._path.name, self._path.read_text()))

    def _measure(self, record: Record, size: int) -> None:
        match record:
            case StatementRecorded() | VersionsRead() | StatementEnded():
                self._sizes[record.id] = self._sizes.get(record.id, 0) + size
            case StatementClosed():
                self._closed_bytes += size + self._sizes.pop(record.id, 0)
            case SessionChanged():
                self._closed_bytes += self._sizes.get("", 0)
                self._sizes[""] = size
            case SessionOpened():
                pass

    def _write(self, content: bytes) -> bool:
        try:
            self._store.budget.take(self._owner, len(content))
        except SqlError as error:
            self._store.note_failure(error)
            return False
        try:
            _append(self._path, content, self._size)
        except OSError as error:
            self._store.budget.give_back(self._owner, len(content))
            self._store.note_failure(error)
            return False
        self._size += len(content)
        return True

    def _rewrite(self) -> None:
        """Writes the records anew without those of closed statements, and the newest state alone."""
        made = self._path.with_name(f".{self._path.name}")
        try:
            live = live_records(list(decode(self._path.read_bytes())))
            made.touch(0o600)
            made.write_bytes(encode(*live))
            made.rename(self._path)
        except (OSError, msgspec.MsgspecError) as error:
            self._store.note_failure(error)
            return
        size = self._path.stat().st_size
        self._store.budget.give_back(self._owner, self._size - size)
        self._size, self._closed_bytes = size, 0


def live_records(records: list[Record]) -> list[Record]:
    """Returns the records that still matter: without closed statements and former states."""
    closed = {record.id for record in records if isinstance(record, StatementClosed)}
    states = [record for record in records if isinstance(record, SessionChanged)]
    live: list[Record] = []
    for record in records:
        match record:
            case SessionOpened():
                live.append(record)
            case SessionChanged():
                live += [record] if record is states[-1] else []
            case StatementRecorded() | VersionsRead() | StatementEnded():
                live += [record] if record.id not in closed else []
            case StatementClosed():
                pass
    return live


class StateStore:
    """This process's part of the state folder: journals, results and positions. Thread-safe."""

    def __init__(
        self, folder: AnyFolder, budget: SpoolBudget, results: SpoolBudget, on_lost: Callable[[], None]
    ) -> None:
        """Takes its own folder; `budget` limits the journals, and `results` the results' files. `on_lost` is called
        when another process has taken the folder over.
        """
        self.budget = budget
        self._folder = folder
        self.lease: Lease | RemoteLease = folder.take_own(on_lost)
        own = self.lease.folder
        self._sessions = own / "sessions"
        self.spool = Spool(own / "results", results, prefix=f"{own.name}-", outlives_process=True)
        # None: the folder is on a disk.
        self._replica: Replica | None = folder.replica if isinstance(folder, RemoteFolder) else None
        self.positions = self._open_positions(own)
        # Records that were not written, and sessions that were taken over.
        self.failures = self.restored = 0
        self._journals: dict[str, Journal] = {}
        self._address: Address | None = None
        # Keys of sessions that are being restored.
        self._restoring: set[str] = set()
        self._lock = threading.Lock()

    def _open_positions(self, own: Path) -> Positions | RemotePositions:
        if self._replica is None:
            return Positions(own / "positions")
        positions = RemotePositions(self._replica)
        self._replica.on_tick = positions.store_quiet
        self._replica.start()
        return positions

    @property
    def beat_s(self) -> float:
        """Returns the interval in seconds in which gateways look at each other."""
        return self._folder.beat_s

    @property
    def wait_s(self) -> float:
        """Returns the time in seconds after which another gateway has a session whose owner has ended."""
        return self._folder.wait_s

    def new_session_id(self) -> uuid.UUID:
        """Returns a new session's id."""
        drawn = uuid.uuid4().bytes
        if isinstance(self._folder, RemoteFolder):
            prefix = self._folder.session_prefix()
            while key_of(uuid.UUID(bytes=prefix + drawn[len(prefix) :])) in self._journals:
                drawn = uuid.uuid4().bytes
            drawn = prefix + drawn[len(prefix) :]
        return uuid.UUID(bytes=drawn)

    @property
    def is_replicated(self) -> bool:
        """Returns True if journals are in an object store, too."""
        return self._replica is not None

    def replicate(self, entry: Entry, results: Sequence[str] = ()) -> bool:
        """Copies a written file to an object store; returns False if it cannot be stored."""
        if self._replica is None or self._replica.add(entry, results):
            return True
        self.note_failure(TimeoutError("the state folder does not respond"))
        return False

    def flush(self) -> None:
        """Waits until the records so far are stored; does nothing for a folder on a disk."""
        if self._replica is not None and not self._replica.flush():
            self.note_failure(TimeoutError("the state folder does not respond"))

    @property
    def num_sessions(self) -> int:
        """Returns the number of journals."""
        return len(self._journals)

    def open_journal(self, session_id: uuid.UUID, owner: str) -> Journal | None:
        """Returns a new session's journal; None if another session's statements have ids that begin alike."""
        key = key_of(session_id)
        with self._lock:
            if key in self._journals:
                return None
            journal = self._journals[key] = Journal(self, self._sessions / key, owner)
            return journal

    def announce(self, address: Address) -> None:
        """Shows other gateways where they can forward requests; does nothing if the address is the same."""
        if address != self._address:
            self._folder.announce(self.lease.folder, address)
            self._address = address

    def other_addresses(self) -> list[Address]:
        """Returns the addresses of the other gateways that run."""
        return self._folder.other_addresses(self.lease.folder)

    def exchange_counts(self, counts: Counts) -> list[Counts]:
        """Shows other gateways how many statements run here by group, and the size of the records, which counts
        towards their limit; returns their counts.
        """
        held_bytes = self.budget.held_bytes()
        others, self.budget.elsewhere = self._folder.exchange_counts(self.lease.folder, counts, held_bytes)
        return others

    def has_journal(self, key: str) -> bool:
        """Returns True if the session is recorded in this process's folder, or could be nowhere else."""
        return key in self._journals or self._folder.owns(key)

    def is_restoring(self, key: str) -> bool:
        """Returns True while the session is being taken over by this process."""
        return key in self._restoring

    def locate(self, key: str) -> SessionPlace | None:
        """Returns the folder with a session's journal; None if no folder has it."""
        return self._folder.locate(key, self.lease.folder)

    def take_over(self, used: set[str]) -> Iterator[tuple[Journal, list[Record], Places]]:
        """Yields the sessions of processes that have ended, each with its records and its results' positions.

        A session that cannot be read is left out, with a line in the log. The caller adds the names of results' files
        that it needs to `used`; the others are removed at the end. Only one thread may do this at a time.
        """
        own = self.lease.folder
        folders = self._folder.take_over(own)
        is_done = False
        try:
            # Results of all folders first: an interrupted take-over may have left a session and its result in two.
            moved = {path.name for folder in folders for path in (folder.path / "results").glob("*")}
            for folder in folders:
                for path in (folder.path / "results").glob("*"):
                    path.rename(own / "results" / path.name)
            for folder in folders:
                yield from self._take_sessions(folder.path)
            for name in moved - used:
                (own / "results" / name).unlink(missing_ok=True)
            is_done = True
        finally:
            for folder in folders:
                folder.finish(removes=is_done)

    def _take_sessions(self, former: Path) -> Iterator[tuple[Journal, list[Record], Places]]:
        positions = read_positions(former / "positions")
        for path in sorted((former / "sessions").glob("[!.]*")):
            self._restoring.add(path.name)
            try:
                if taken := self._take(path):
                    yield *taken, positions
            finally:
                self._restoring.discard(path.name)

    def _take(self, path: Path) -> tuple[Journal, list[Record]] | None:
        try:
            content = path.read_bytes()
            content = content[: content.rfind(b"\n") + 1]  # without a line that was not completed
            records = live_records(list(decode(content)))
            if not records or not isinstance(records[0], SessionOpened):
                return None
            target = self._sessions / path.name
            os.truncate(path, len(content))
            path.rename(target)
        except (OSError, msgspec.MsgspecError) as error:
            logger.warning("a session of a former process cannot be restored: %s", error)
            return None
        with self._lock:
            if path.name in self._journals:
                return None
            journal = self._journals[path.name] = Journal(self, target, records[0].identity.principal)
        journal.adopt(records, len(content))
        self.restored += 1
        return journal, records

    def adopt_file(self, name: str, owner: str) -> SpoolFile:
        """Returns the handle of a result's file from a former process; raises the budget's errors."""
        return self.spool.adopt(name, owner)

    def forget(self, key: str) -> None:
        """Forgets the journal with this key, whose file was removed."""
        with self._lock:
            self._journals.pop(key, None)

    def note_failure(self, error: Exception) -> None:
        """Counts, and reports, a record that was not written."""
        self.failures += 1
        if self.failures.bit_count() == 1:  # not for each statement on a full disk
            logger.warning("%d records of sessions and statements were not written: %s", self.failures, error)

    def release(self) -> None:
        """Releases the folder, so that another gateway can take its sessions over; it is removed if there are none."""
        if self.lease.is_released:
            return
        removes = not any(self._sessions.iterdir())
        if self._replica is not None:
            self._replica.close()
        if removes and isinstance(self._folder, RemoteFolder):
            self._folder.remove_own()
        self.lease.release(removes=removes)

    def close(self) -> None:
        """Releases the folder and closes its files."""
        self.release()
        self.positions.close()
        self._folder.close()


def _files_of(record: Record) -> set[str]:
    """Returns the names of the results' files that the record needs."""
    return file_names(record.result) if isinstance(record, StatementEnded) and record.result is not None else set()


def _append(path: Path, content: bytes, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, content) != len(content):
            os.ftruncate(descriptor, size)  # an incomplete line would join the next one
            raise OSError("the disk is full")
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise
    finally:
        os.close(descriptor)
