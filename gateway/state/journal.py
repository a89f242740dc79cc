"""Sessions' journals: files to which records are appended before a client learns about what they record.

A session that is opened for one statement has a part of a file (`shared_journal.py`).

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

import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from catalog.conditions import StateLost
from catalog.errors import SqlError
from engine.spool.budget import SpoolBudget
from engine.spool.spool import Spool
from engine.spool.spool_file import SpoolFile
from gateway.results.sent_rows import SentRows
from gateway.state.addresses import Address
from gateway.state.appended_file import AppendedFile, OpenFiles, Span
from gateway.state.folder import Lease, SessionPlace, StateFolder
from gateway.state.positions import Positions, read_positions
from gateway.state.records import (
    Record,
    SessionChanged,
    SessionOpened,
    SharedRecords,
    StatementClosed,
    StatementEnded,
    StatementRecorded,
    VersionsRead,
    decode,
    decode_shared,
    encode,
    is_shared,
)
from gateway.state.remote_folder import RemoteFolder
from gateway.state.remote_lease import RemoteLease
from gateway.state.remote_positions import RemotePositions
from gateway.state.replica import Appended, Entry, Removed, Replaced, Replica
from gateway.state.results import file_names
from gateway.state.running_counts import Counts
from gateway.state.shared_journal import FULL_BYTES, SharedJournal, SharedSession

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


# The version and the variant of a random UUID, after a session's key.
_RANDOM_BITS = (1 << 128) - 1 - (0xF << 76) - (0x3 << 62)
_UUID4_BITS = (0x4 << 76) | (0x2 << 62)


def id_with_key(key: bytes) -> uuid.UUID:
    """Returns a new id that begins with the key of a session."""
    # `uuid.UUID(bytes=…, version=4)` takes three times as long.
    return uuid.UUID(int=int.from_bytes(key + os.urandom(16 - KEY_BYTES)) & _RANDOM_BITS | _UUID4_BITS)


def id_in_session(session_id: uuid.UUID) -> uuid.UUID:
    """Returns a new statement's id, which shows its session."""
    return id_with_key(session_id.bytes[:KEY_BYTES])


class Journal:
    """One session's journal. Thread-safe."""

    def __init__(self, store: StateStore, path: Path, owner: str) -> None:
        self._store = store
        self._owner = owner
        self._file = store.appended_file(path)
        # Guards the file and the fields below.
        self._lock = self._file.lock
        self._closed_bytes = 0
        # The lines about the session and its newest state, and those of each open statement.
        self._opened: list[Span] = []
        self._state: list[Span] = []
        self._statements: dict[str, list[Span]] = {}
        self._is_removed = False

    def append(self, *records: Record) -> bool:
        """Appends records; returns False if they could not be written."""
        lines = [encode(record) for record in records]
        content = b"".join(lines)
        with self._lock:
            if self._is_removed:
                return False
            if self._closed_bytes > _REWRITTEN_FROM and self._closed_bytes > self._file.size // 2:
                self._rewrite()
            offset = self._file.size
            if not self._write(content):
                return False
            for record, line in zip(records, lines, strict=True):
                self._note_line(record, offset, len(line))
                offset += len(line)
            if not self._store.is_replicated:
                return True
            results = [name for record in records for name in _files_of(record)]
            return self._store.replicate(Appended(self._file.path.name, content.decode()), results)

    def remove(self) -> None:
        """Removes the journal: its session has ended, with all its statements."""
        name = self._file.path.name
        with self._lock:
            if self._is_removed:
                return
            self._is_removed = True
            self._file.remove()
            self._store.budget.give_back(self._owner, self._file.size)
        if self._store.is_replicated:
            self._store.replicate(Removed(name))
        self._store.forget(name)

    def adopt(self, lines: Iterable[tuple[Record, int]], size: int) -> None:
        """Counts what the file has already: these records, with the sizes of their lines."""
        with self._lock:
            offset = 0
            for record, length in lines:
                self._note_line(record, offset, length)
                offset += length
            # The limit may be lower than it was for the process that wrote them.
            self._store.budget.count(self._owner, size)
            self._file.size = size
            if self._store.is_replicated:
                self._store.replicate(Replaced(self._file.path.name, self._file.path.read_text()))

    def _note_line(self, record: Record, offset: int, size: int) -> None:
        """Remembers where the record's line was written."""
        span = offset, size
        match record:
            case StatementRecorded():
                self._statements[record.id] = [span]
            case StatementEnded() | VersionsRead():
                # A statement that is not there could not be recorded, on a disk that was full.
                self._statements.setdefault(record.id, []).append(span)
            case StatementClosed():
                self._closed_bytes += size + _size_of(self._statements.pop(record.id, ()))
            case SessionChanged():
                self._closed_bytes += _size_of(self._state)
                self._state = [span]
            case SessionOpened():
                self._opened = self._opened or [span]

    def _write(self, content: bytes) -> bool:
        try:
            self._store.budget.take(self._owner, len(content))
        except SqlError as error:
            self._store.note_failure(error)
            return False
        try:
            self._file.append(content)
        except (OSError, StateLost) as error:
            self._store.budget.give_back(self._owner, len(content))
            self._store.note_failure(error)
            return False
        return True

    def _rewrite(self) -> None:
        """Writes the records anew without those of closed statements, and the newest state alone."""
        spans = [*self._opened, *self._state, *(span for spans in self._statements.values() for span in spans)]
        spans.sort()
        try:
            removed = self._file.replace(spans)
        except (OSError, StateLost) as error:
            self._store.note_failure(error)
            return
        moved, offset = dict[Span, Span](), 0
        for span in spans:
            moved[span] = offset, span[1]
            offset += span[1]
        self._opened, self._state = ([moved[span] for span in spans] for spans in (self._opened, self._state))
        self._statements = {key: [moved[span] for span in spans] for key, spans in self._statements.items()}
        self._store.budget.give_back(self._owner, removed)
        self._closed_bytes = 0


def _size_of(spans: Iterable[Span]) -> int:
    return sum(size for _, size in spans)


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


def sessions_in(lines: Iterable[SharedRecords]) -> tuple[dict[str, list[Record]], dict[str, str]]:
    """Returns the records of the sessions in a shared journal that have not ended, and their principals."""
    found: dict[str, list[Record]] = {}
    for line in lines:
        if line.has_ended:
            found.pop(line.session, None)
        else:
            found.setdefault(line.session, []).extend(line.records)
    live = {session: live_records(records) for session, records in found.items()}
    owners = {
        session: records[0].identity.principal
        for session, records in live.items()
        if records and isinstance(records[0], SessionOpened)
    }
    return {session: live[session] for session in owners}, owners


# A session of a process that has ended, with its records and its results' positions.
Taken: TypeAlias = tuple[Journal | SharedSession, list[Record], Places]


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
        self._journals: dict[str, Journal | SharedJournal] = {}
        # The journal for further sessions of one statement; None before the first one.
        self._shared: SharedJournal | None = None
        self._open_files = OpenFiles()
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

    def new_session_id(self, *, is_single: bool = False) -> uuid.UUID:
        """Returns a new session's id; with `is_single` one that begins with the key of a shared journal, if the folder
        has such journals.
        """
        if is_single and self._replica is None:
            return id_with_key(self._shared_prefix())
        drawn = uuid.uuid4().bytes
        if isinstance(self._folder, RemoteFolder):
            prefix = self._folder.session_prefix()
            while key_of(uuid.UUID(bytes=prefix + drawn[len(prefix) :])) in self._journals:
                drawn = uuid.uuid4().bytes
            drawn = prefix + drawn[len(prefix) :]
        return uuid.UUID(bytes=drawn)

    def _shared_prefix(self) -> bytes:
        """Returns the key for another session of one statement."""
        shared = self._shared
        if shared is None or shared.size >= FULL_BYTES:
            with self._lock:
                if shared is self._shared:
                    key = os.urandom(KEY_BYTES).hex()
                    self._shared = self._journals[key] = self._shared_journal(key, is_current=True)
                else:
                    shared = None
            if shared is not None:
                shared.fill()
            shared = self._shared
            assert shared is not None
        return shared.key

    def _shared_journal(self, key: str, *, is_current: bool) -> SharedJournal:
        def forget(empty: SharedJournal) -> None:
            with self._lock:
                if self._journals.get(key) is empty:
                    del self._journals[key]

        file = self.appended_file(self._sessions / key)
        return SharedJournal(file, lambda: self.budget, self.note_failure, forget, is_current=is_current)

    def appended_file(self, path: Path) -> AppendedFile:
        """Returns a journal's file."""
        # The local part of a folder in an object store is this process's alone, and has what the store lacks while it
        # does not respond, and the lease cannot be renewed.
        ensure_held = _ignore if self.is_replicated else self.lease.ensure_held
        return AppendedFile(path, self._open_files, ensure_held)

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
        """Returns the number of recorded sessions."""
        with self._lock:
            journals = list(self._journals.values())
        return sum(journal.num_sessions if isinstance(journal, SharedJournal) else 1 for journal in journals)

    def open_journal(self, session_id: str, owner: str, *, is_single: bool = False) -> Journal | SharedSession | None:
        """Returns a new session's journal; None if another session's statements have ids that begin alike."""
        key = session_id.replace("-", "")[: 2 * KEY_BYTES]
        with self._lock:
            found = self._journals.get(key)
            if is_single and self._replica is None:
                if isinstance(found, SharedJournal) and (part := found.session(session_id, owner)) is not None:
                    return part
                # It was removed with its last session since the id was drawn.
                found = self._journals[key] = self._shared_journal(key, is_current=False)
                return found.session(session_id, owner)
            if found is not None:
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

    def take_over(self, used: set[str]) -> Iterator[Taken]:
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

    def _take_sessions(self, former: Path) -> Iterator[Taken]:
        positions = read_positions(former / "positions")
        for path in sorted((former / "sessions").glob("[!.]*")):
            self._restoring.add(path.name)
            try:
                for journal, records in self._take(path):
                    self.restored += 1
                    yield journal, records, positions
            finally:
                self._restoring.discard(path.name)

    def _take(self, path: Path) -> list[tuple[Journal | SharedSession, list[Record]]]:
        try:
            content = path.read_bytes()
            content = content[: content.rfind(b"\n") + 1]  # without a line that was not completed
            if is_shared(content):
                return self._take_shared(path, content)
            lines = list(decode(content))
            records = live_records([record for record, _ in lines])
            if not records or not isinstance(records[0], SessionOpened):
                return []
            target = self._move(path, len(content))
        except (OSError, msgspec.MsgspecError) as error:
            logger.warning("a session of a former process cannot be restored: %s", error)
            return []
        with self._lock:
            if path.name in self._journals:
                return []
            journal = self._journals[path.name] = Journal(self, target, records[0].identity.principal)
        journal.adopt(lines, len(content))
        return [(journal, records)]

    def _take_shared(self, path: Path, content: bytes) -> list[tuple[Journal | SharedSession, list[Record]]]:
        lines = list(decode_shared(content))
        if any(line is None for line, _ in lines):
            logger.warning("records of a former process cannot be read, and their sessions may not be restored")
        sessions, owners = sessions_in(line for line, _ in lines if line is not None)
        if not sessions:
            return []
        self._move(path, len(content))
        with self._lock:
            if path.name in self._journals:
                return []
            journal = self._journals[path.name] = self._shared_journal(path.name, is_current=False)
        journal.adopt(lines, owners)
        found = ((journal.session(name, owners[name]), records) for name, records in sessions.items())
        return [(part, records) for part, records in found if part is not None]

    def _move(self, path: Path, size: int) -> Path:
        """Moves a journal with its complete lines to this process's folder."""
        target = self._sessions / path.name
        os.truncate(path, size)
        path.rename(target)
        return target

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
        with self._lock:
            shared = [journal for journal in self._journals.values() if isinstance(journal, SharedJournal)]
        for journal in shared:
            journal.fill()  # removes those without an open session
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


def _ignore() -> None:
    pass


def _files_of(record: Record) -> set[str]:
    """Returns the names of the results' files that the record needs."""
    return file_names(record.result) if isinstance(record, StatementEnded) and record.result is not None else set()
