"""A gateway's journals in an object store, as batches of the records that it appends to its local files.

    records/<gateway>-<number>.jsonl    a batch: JSON lines, each an `Entry`
    results/<file>.<part>               a result's file, in parts

A batch is one object, and is stored at most `BATCH_S` seconds after its first record, or at once if a thread waits for
it (`flush`). Threads that wait at the same time wait for the same batch. A batch is stored after the results' files
that it names. When there are more than `BATCHES_MAX`, the sessions in the oldest half of them are written anew, and
these batches are removed.

If the store does not respond, records wait in memory, up to `WAITING_BYTES_MAX`; then they are not recorded.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from catalog.store.files import Files
from gateway.results.sent_rows import SentRows

logger = logging.getLogger(__name__)

BATCH_S = 1.0
BATCHES_MAX = 128
WAITING_BYTES_MAX = 64 << 20
# Minimum time in seconds between two batches, which limits the requests for clients that wait.
_PAUSE_S = 0.05
# Time in seconds after which a client gets its response although its record is not stored.
_FLUSH_S = 10.0
_PART_BYTES = 16 << 20
# Interval in seconds in which results without a local file are removed from the store.
_SWEPT_EVERY_S = 10.0
_READS_AT_ONCE = 16

RECORDS, RESULTS = "records", "results"


class Appended(msgspec.Struct, frozen=True, tag="append"):
    """Lines that were appended to a session's journal."""

    key: str
    lines: str


class Replaced(msgspec.Struct, frozen=True, tag="replace"):
    """All lines of a session's journal; lines before this entry do not count."""

    key: str
    lines: str


class Removed(msgspec.Struct, frozen=True, tag="remove"):
    """The end of a session's journal."""

    key: str


class Positioned(msgspec.Struct, frozen=True, tag="position"):
    """A result's position; None while a response may be on its way to the client."""

    id: str
    sent: tuple[int, int, int, bytes] | None


Entry: TypeAlias = Appended | Replaced | Removed | Positioned

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Entries that are stored together, with the results that they name, the count of entries up to them, and the
    numbers of older batches that are removed then.
    """

    number: int
    entries: Sequence[Entry]
    results: Collection[str]
    end: int
    replaced: Sequence[int] = ()


class Replica:
    """Stores a gateway's entries. Thread-safe; call `close` at the end."""

    def __init__(self, files: Files, name: str, folder: Path) -> None:
        """Prepares the replica of the journals and results in `folder`, for the gateway `name`; call `start`."""
        self._files, self._name, self._folder = files, name, folder
        # Called every second.
        self.on_tick: Callable[[], None] = lambda: None
        # Guards the fields below it, and wakes the thread and the waiting callers.
        self._changed = threading.Condition()
        self._entries: list[Entry] = []
        self._results: set[str] = set()
        self._waiting_bytes = self._added = self._stored = self._waiters = 0
        self._is_ending = False
        # The store does not respond.
        self._is_silent = False
        self._positions: dict[str, Positioned] = {}
        # Used by the thread alone.
        self._unsent: _Batch | None = None
        self._keys: dict[int, set[str]] = {}
        self._next = 0
        self._swept = time.monotonic()
        # Parts of each result in the store.
        self._parts: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run, name="state-replica", daemon=True)

    def start(self) -> None:
        """Starts the thread that writes to the store."""
        self._thread.start()

    def add(self, entry: Entry, results: Collection[str] = ()) -> bool:
        """Stores the entry, and before it the files of `results`, within a second; returns False if too many wait."""
        size = len(entry.lines) if isinstance(entry, Appended | Replaced) else 0
        with self._changed:
            if self._is_ending or self._waiting_bytes + size > WAITING_BYTES_MAX:
                return False
            self._entries.append(entry)
            self._results.update(results)
            self._waiting_bytes += size
            self._added += 1
            if isinstance(entry, Positioned):
                self._positions[entry.id] = entry
        return True

    def flush(self) -> bool:
        """Waits until the entries so far are stored; returns False if that takes longer than `_FLUSH_S`, and then at
        once until the store responds again.
        """
        with self._changed:
            end = self._added
            self._waiters += 1
            self._changed.notify_all()
            try:
                is_stored = self._changed.wait_for(lambda: self._stored >= end, 0 if self._is_silent else _FLUSH_S)
            finally:
                self._waiters -= 1
            self._is_silent |= not is_stored
            return is_stored

    def adopt_results(self, parts: dict[str, int]) -> None:
        """Takes over results of another gateway, which the store has already."""
        self._parts.update(parts)

    def forget_position(self, statement_id: uuid.UUID) -> None:
        """Drops the statement's position from the next batch."""
        with self._changed:
            self._positions.pop(str(statement_id), None)

    def close(self) -> bool:
        """Stores the waiting records, and ends; returns False if the store does not respond."""
        is_stored = self.flush()
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        self._thread.join(_FLUSH_S)
        return is_stored

    def remove_results(self) -> None:
        """Removes the results from the store; called after `close`."""
        for name, count in self._parts.items():
            delete_result(self._files, name, count)

    def _run(self) -> None:
        failures = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_ending or self._waiters, BATCH_S)
                if self._is_ending:
                    return
            try:
                self.on_tick()
                self._store()
                self._sweep()
                failures = 0
            except Exception:  # the next round repeats it
                failures += 1
                if failures.bit_count() == 1:
                    logger.warning("records are not in the state folder yet", exc_info=True)
            time.sleep(_PAUSE_S)

    def _store(self) -> None:
        if self._unsent is None:
            self._unsent = self._rewritten_batch() if len(self._keys) > BATCHES_MAX else self._next_batch()
        batch = self._unsent
        if batch.entries:
            self._put(batch)
        self._unsent = None
        with self._changed:
            self._stored = max(self._stored, batch.end)
            self._is_silent = False
            self._changed.notify_all()
        for number in batch.replaced:  # oldest first: no entry may remain without its later ones
            self._files.delete(batch_path(self._name, number))
            del self._keys[number]

    def _next_batch(self) -> _Batch:
        with self._changed:
            batch = _Batch(self._next, self._entries, self._results, self._added)
            self._entries, self._results, self._waiting_bytes = [], set(), 0
        return batch

    def _rewritten_batch(self) -> _Batch:
        """Returns the newest content of the sessions in the oldest batches, which it replaces."""
        old = sorted(self._keys)[: len(self._keys) // 2]
        entries: list[Entry] = []
        for key in sorted(set[str]().union(*(self._keys[number] for number in old))):
            try:
                content = (self._folder / "sessions" / key).read_bytes()
            except FileNotFoundError:  # its end may be in one of these batches
                entries.append(Removed(key))
                continue
            # Lines that were appended meanwhile are in the next batch again; to repeat them has no effect.
            entries.append(Replaced(key, content[: content.rfind(b"\n") + 1].decode()))
        with self._changed:
            entries += self._positions.values()
        return _Batch(self._next, entries, (), 0, old)

    def _put(self, batch: _Batch) -> None:
        """Stores a batch; called again with the same batch after an error."""
        for name in batch.results:
            if name not in self._parts:
                self._upload(name)
        path = batch_path(self._name, batch.number)
        content = b"".join(_ENCODER.encode(entry) + b"\n" for entry in batch.entries)
        # A repeated request finds the object of the first one, whose response was lost.
        if not self._files.create(path, content) and self._files.read(path) != content:
            raise FileExistsError(f"{path} has been written by another gateway")
        self._next = batch.number + 1
        self._keys[batch.number] = {entry.key for entry in batch.entries if not isinstance(entry, Positioned)}

    def _upload(self, name: str) -> None:
        try:
            with open(self._folder / RESULTS / name, "rb") as file:
                count = 0
                while part := file.read(_PART_BYTES):
                    self._files.create(_part_path(name, count), part)
                    count += 1
        except FileNotFoundError:  # its statement is closed
            return
        self._parts[name] = count

    def _sweep(self) -> None:
        """Removes results whose local file was removed."""
        if time.monotonic() - self._swept < _SWEPT_EVERY_S:
            return
        self._swept = time.monotonic()
        for name, count in list(self._parts.items()):
            if not (self._folder / RESULTS / name).exists():
                delete_result(self._files, name, count)
                del self._parts[name]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a gateway's batches: the lines of each journal, and each result's position."""

    journals: dict[str, bytes]
    positions: dict[uuid.UUID, SentRows]


# A position that is not known, because a response may have been on its way.
UNKNOWN_POSITION = SentRows(page_row=-1)


def batch_path(name: str, number: int) -> str:
    """Returns the path of a gateway's batch object; numbers have 12 digits, so that listings are in their order."""
    return f"{RECORDS}/{name}-{number:012}.jsonl"


def read_content(files: Files, paths: Sequence[str]) -> Content:
    """Returns the content of batches, which are in their order."""
    journals, positions = dict[str, list[str]](), dict[uuid.UUID, SentRows]()
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        for content in pool.map(files.read, paths):
            for line in content.splitlines():
                match _DECODER.decode(line):
                    case Appended(key=key, lines=lines):
                        journals.setdefault(key, []).append(lines)
                    case Replaced(key=key, lines=lines):
                        journals[key] = [lines]
                    case Removed(key=key):
                        journals.pop(key, None)
                    case Positioned(id=statement_id, sent=sent):
                        position = UNKNOWN_POSITION if sent is None else SentRows(*sent)
                        positions[uuid.UUID(statement_id)] = position
    return Content({key: "".join(lines).encode() for key, lines in journals.items()}, positions)


def parts_of(names: Collection[str]) -> dict[str, int]:
    """Returns the number of parts of each result, from the names of their objects."""
    counts: dict[str, int] = {}
    for name in names:
        result = name.rpartition(".")[0]
        counts[result] = counts.get(result, 0) + 1
    return counts


def download(files: Files, name: str, parts: int, target: Path) -> None:
    """Writes a result's file; raises FileNotFoundError if the store does not have it."""
    with open(target, "wb", opener=_private) as file:
        for part in range(parts):
            file.write(files.read(_part_path(name, part)))


def delete_result(files: Files, name: str, parts: int) -> None:
    """Deletes a result's parts from the store; a missing part is not an error."""
    for part in range(parts):
        files.delete(_part_path(name, part))


def _part_path(name: str, part: int) -> str:
    return f"{RESULTS}/{name}.{part:06}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
