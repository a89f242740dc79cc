"""A temporary file of record batches, and batches in it that are read when they are wanted.

The file belongs to its handle and goes with it: when that is closed, when nothing holds it or one of its batches any
more, or when the process ends in order. It is opened for each reading: a server may hold thousands of such files, and
has fewer descriptors.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import weakref
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from catalog.conditions import DiskFull, SpooledRowsLost
from engine.spool.budget import SpoolBudget
from engine.spool.messages import find_messages
from engine.types.value_bytes import value_bytes

_MODE = 0o600


@dataclass(slots=True)
class _Claim:
    """What a handle has to give up: the file, and bytes of a budget."""

    path: Path
    budget: SpoolBudget | None
    owner: str
    size: int = 0

    def take(self, count: int) -> None:
        if self.budget is not None:
            self.budget.take(self.owner, count)
        self.size += count

    def give_back(self, count: int) -> None:
        self.size -= count
        if self.budget is not None:
            self.budget.give_back(self.owner, count)

    def give_up(self) -> None:
        """Takes no lock, since any thread may run it at any point."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        if self.budget is not None:
            self.budget.give_back(self.owner, self.size)


class SpoolFile:
    """Thread-safe. `owner` is whose bytes of `budget` it takes."""

    def __init__(self, path: Path, budget: SpoolBudget | None = None, owner: str = "") -> None:
        self._claim = _Claim(path, budget, owner)
        self._lock = threading.Lock()
        """Guards the claim."""
        self._finish = weakref.finalize(self, self._claim.give_up)

    @property
    def path(self) -> Path:
        return self._claim.path

    @property
    def size(self) -> int:
        """Bytes that were written here, or kept."""
        return self._claim.size

    def keep(self, path: Path) -> None:
        """Move the file, which another program has written, to `path` on the same file system, and count its bytes.

        Raises what the budget does, or `SpooledRowsLost`; the file is where it was then.
        """
        with self._lock:
            try:
                self._claim.take(self._claim.path.stat().st_size)
                self._claim.path.rename(path)
            except OSError as error:
                raise SpooledRowsLost(os.strerror(error.errno or 0)) from error
            self._claim.path = path

    def append(self, content: bytes | pa.Buffer) -> int:
        """Write behind what is there; where that begins. Raises `DiskFull`, or what the budget does."""
        with self._lock:
            offset, view = self._claim.size, memoryview(content)
            self._claim.take(len(view))
            try:
                _write(self._claim.path, offset, view)
            except OSError as error:
                self._claim.give_back(len(view))
                with contextlib.suppress(OSError):
                    os.truncate(self._claim.path, offset)
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise DiskFull() from error
                raise SpooledRowsLost(os.strerror(error.errno or 0)) from error
            return offset

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes, fewer at the end of the file. Raises `SpooledRowsLost`."""
        if not self._finish.alive:
            raise SpooledRowsLost("the result was closed")
        try:
            with self._lock:  # it may be moved
                descriptor = os.open(self._claim.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return _read(descriptor, offset, length)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SpooledRowsLost(os.strerror(error.errno or 0)) from error

    def close(self) -> None:
        """Remove the file; closing twice does nothing."""
        self._finish()


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Rows of a record batch in a file: `length` bytes at `offset` are the message that has them.

    `first` and `num_rows` choose rows of the message's `stored_rows`; `value_bytes` is their share of `stored_bytes`.
    `checksum` is the CRC-32 of the message, where one is kept.
    """

    file: SpoolFile
    schema: pa.Schema
    offset: int
    length: int
    stored_rows: int
    stored_bytes: int
    first: int
    num_rows: int
    checksum: int | None = None

    @property
    def value_bytes(self) -> int:
        """The share of its rows in the message's body."""
        return self.stored_bytes * self.num_rows // max(1, self.stored_rows)

    def slice(self, offset: int, length: int) -> StoredBatch:
        """`length` rows from the row `offset` on, or as many as there are."""
        first = min(offset, self.num_rows)
        kept = min(length, self.num_rows - first)
        return replace(self, first=self.first + first, num_rows=kept)

    def read(self) -> pa.RecordBatch:
        """The rows, in memory. Raises `SpooledRowsLost`."""
        content = self.file.read(self.offset, self.length)
        if len(content) < self.length:
            raise SpooledRowsLost("the file is shorter than what was written")
        if self.checksum is not None and zlib.crc32(content) != self.checksum:
            raise SpooledRowsLost("the file has other bytes than were written")
        batch = pa.ipc.read_record_batch(pa.ipc.read_message(pa.py_buffer(content)), self.schema)
        return batch.slice(self.first, self.num_rows) if batch.num_rows != self.num_rows else batch


AnyBatch: TypeAlias = pa.RecordBatch | StoredBatch


def loaded(batch: AnyBatch) -> pa.RecordBatch:
    """The rows of `batch` in memory, wherever they are."""
    return batch.read() if isinstance(batch, StoredBatch) else batch


def batch_bytes(batch: AnyBatch) -> int:
    """Returns the bytes of the rows of `batch`, wherever they are."""
    return batch.value_bytes if isinstance(batch, StoredBatch) else value_bytes(batch)


def stored_batches(file: SpoolFile, schema: pa.Schema, offset: int, length: int) -> list[StoredBatch]:
    """The batches whose messages fill `length` bytes of `file` from `offset` on."""
    try:
        return [
            StoredBatch(file, schema, at.offset, at.length, at.num_rows, at.body_length, 0, at.num_rows)
            for at in find_messages(file.read, offset, length)
        ]
    except ValueError as error:
        raise SpooledRowsLost(str(error)) from error


def _read(descriptor: int, offset: int, length: int) -> bytes:
    content = os.pread(descriptor, length, offset)
    while len(content) < length and (more := os.pread(descriptor, length - len(content), offset + len(content))):
        content += more  # one read has 2 GiB at most
    return content


def _write(path: Path, offset: int, view: memoryview) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
    finally:
        os.close(descriptor)
