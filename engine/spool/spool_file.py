"""A temporary file with record batches that are read on demand.

The file is owned by its handle and removed with it: when the handle is closed, when nothing references it or one of its
batches any more, or when the process exits normally. It is opened for each read, because a server may have thousands of
these files, but fewer file descriptors.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import struct
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from catalog.conditions import DiskFull, SpooledRowsLost
from engine.spool.budget import SpoolBudget
from engine.spool.messages import find_messages
from engine.types.value_bytes import value_bytes

_MODE = 0o600
# Bytes of messages below which they are read together. A read of several large ones leaves the processor's cache before
# they are sent: reading 8 MB at once had 0.75 to 0.8 of the throughput (bench_flight).
_RUN_BYTES = 1 << 20
_TOO_SHORT = "the file is shorter than what was written"
_CHANGED = "the file has other bytes than were written"


@dataclass(slots=True)
class _Claim:
    """The resources that a handle releases: the file, and its bytes in a budget."""

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
        """Releases the resources. Takes no lock, since any thread may run it at any point."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        if self.budget is not None:
            self.budget.give_back(self.owner, self.size)


class SpoolFile:
    """A spooled file. Thread-safe. `owner` is charged for its bytes in `budget`."""

    def __init__(self, path: Path, budget: SpoolBudget | None = None, owner: str = "") -> None:
        self._claim = _Claim(path, budget, owner)
        # Guards the claim.
        self._lock = threading.Lock()
        # The callback holds the claim and not the handle, which it would otherwise keep
        # alive forever.
        self._finish = weakref.finalize(self, self._claim.give_up)

    @property
    def path(self) -> Path:
        """Returns the file's absolute path; the file may be deleted when this object is closed."""
        return self._claim.path

    @property
    def size(self) -> int:
        """Returns the bytes written to this file, or counted by `keep`."""
        return self._claim.size

    def keep(self, path: Path) -> None:
        """Moves the file, written by another program, to `path`, and counts its bytes. On another file system it is
        copied.

        Raises the budget's errors or `SpooledRowsLost`; the file then stays at its old location.
        """
        with self._lock:
            try:
                self._claim.take(self._claim.path.stat().st_size)
                _move(self._claim.path, path)
            except OSError as error:
                raise SpooledRowsLost(os.strerror(error.errno or 0)) from error
            self._claim.path = path

    def append(self, content: bytes | pa.Buffer) -> int:
        """Appends content and returns the byte offset at which it starts.

        A failed append leaves the file and the budget as before. Raises `DiskFull` if the file system or a quota is
        full, `SpoolFull` or `SpoolFullOfOwner` for the budget, and `SpooledRowsLost` for other errors.
        """
        with self._lock:
            offset, view = self._claim.size, memoryview(content)
            self._claim.take(len(view))
            try:
                _write(self._claim.path, offset, view)
            except OSError as error:
                self._claim.give_back(len(view))
                with contextlib.suppress(OSError):
                    # A partial message would shift the offsets of all later batches.
                    os.truncate(self._claim.path, offset)
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise DiskFull() from error
                raise SpooledRowsLost(os.strerror(error.errno or 0)) from error
            return offset

    def read(self, offset: int, length: int) -> bytes:
        """Reads `length` bytes, fewer at the end of the file. Raises `SpooledRowsLost`."""
        with self._opened() as descriptor:
            return _read(descriptor, offset, length)

    def read_buffer(self, offset: int, length: int, header: bytes = b"") -> pa.Buffer:
        """Reads as `read`, after `header`, into memory of Arrow's pool, which is used again: new pages cost more than
        the copy.
        """
        buffer = pa.allocate_buffer(len(header) + length)
        view = memoryview(buffer).cast("B")
        view[: len(header)] = header
        with self._opened() as descriptor:
            count = _read_into(descriptor, offset, view[len(header) :])
        return buffer if count == length else buffer.slice(0, len(header) + count)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        if not self._finish.alive:
            raise SpooledRowsLost("the result was closed")
        try:
            with self._lock:  # it may be moved concurrently
                descriptor = os.open(self._claim.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SpooledRowsLost(os.strerror(error.errno or 0)) from error

    def outlive_process(self) -> None:
        """Leaves the file at the process's normal exit, for another process that knows it."""
        self._finish.atexit = False

    def close(self) -> None:
        """Removes the file; a second call does nothing."""
        self._finish()


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A record batch's rows in a file: their message has `length` bytes at `offset`.

    `first` and `num_rows` select rows from the message's `stored_rows`; `value_bytes` is their share in `stored_bytes`.
    `checksum` is the message's CRC-32, if one is stored.
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
        """Returns the rows' share in the message's body, in bytes."""
        return self.stored_bytes * self.num_rows // max(1, self.stored_rows)

    @property
    def is_whole(self) -> bool:
        """Returns True if these are all rows of a message that has no checksum to compare."""
        return self.num_rows == self.stored_rows and self.checksum is None

    def slice(self, offset: int, length: int) -> StoredBatch:
        """Returns `length` rows from row `offset` on, or as many as exist."""
        first = min(offset, self.num_rows)
        num_rows = min(length, self.num_rows - first)
        if num_rows == self.num_rows:
            return self
        return replace(self, first=self.first + first, num_rows=num_rows)

    def read(self) -> pa.RecordBatch:
        """Reads the rows into memory. Raises `SpooledRowsLost`."""
        return self.rows_in(self.file.read_buffer(self.offset, self.length), self.schema)

    def rows_in(self, content: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
        """Returns the rows of `content`, the bytes at this place. Raises `SpooledRowsLost`."""
        # The file is in a temporary directory, where clean-up tools or an administrator may
        # truncate it.
        if content.size < self.length:
            raise SpooledRowsLost(_TOO_SHORT)
        if self.checksum is not None and zlib.crc32(content) != self.checksum:
            raise SpooledRowsLost(_CHANGED)
        batch = pa.ipc.read_record_batch(pa.ipc.read_message(content), schema)
        return batch.slice(self.first, self.num_rows) if batch.num_rows != self.num_rows else batch


AnyBatch: TypeAlias = pa.RecordBatch | StoredBatch


def load_batch(batch: AnyBatch) -> pa.RecordBatch:
    """Returns the batch's rows in memory, loading them if necessary."""
    return batch.read() if isinstance(batch, StoredBatch) else batch


def read_batches(batches: Iterable[AnyBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch | pa.RecordBatchReader]:
    """Yields the batches' rows as `schema`, which may have other metadata. Small batches that follow each other
    in a file are read at once, and as one reader if they are whole messages: its consumer needs no Python for each
    batch. Raises `SpooledRowsLost`.
    """
    header = _header(schema)
    for run in _runs(batches):
        first = run[0]
        if not isinstance(first, StoredBatch):
            yield pa.RecordBatch.from_arrays(first.columns, schema=schema)
            continue
        length = sum(batch.length for batch in run)
        content = first.file.read_buffer(first.offset, length, header)
        if content.size < len(header) + length:
            raise SpooledRowsLost(_TOO_SHORT)
        if all(batch.is_whole for batch in run):
            # A length of 0 ends a stream without an error, and its later rows would be missing.
            starts = (len(header) + batch.offset - first.offset for batch in run)
            if any(not _is_message(content, start) for start in starts):
                raise SpooledRowsLost(_CHANGED)
            yield pa.ipc.open_stream(content)
            continue
        for batch in run:
            yield batch.rows_in(content.slice(len(header) + batch.offset - first.offset, batch.length), schema)


def _is_message(content: pa.Buffer, start: int) -> bool:
    """Returns True if a message with metadata begins there (Arrow's encapsulated message format)."""
    marker, length = struct.unpack_from("<Ii", content, start)
    return bool(marker == 0xFFFF_FFFF and length > 0)


def _header(schema: pa.Schema) -> bytes:
    """Returns the message of the schema, with which a stream of batches begins; its length is a multiple of 8."""
    content: bytes = schema.serialize().to_pybytes()
    return content


def _runs(batches: Iterable[AnyBatch]) -> Iterator[list[Any]]:
    run: list[Any] = []
    size = 0
    for batch in batches:
        if run and not (_follows(run[-1], batch) and size < _RUN_BYTES):
            yield run
            run, size = [], 0
        run.append(batch)
        size += batch.length if isinstance(batch, StoredBatch) else 0
    if run:
        yield run


def _follows(before: AnyBatch, batch: AnyBatch) -> bool:
    return (
        isinstance(before, StoredBatch)
        and isinstance(batch, StoredBatch)
        and before.file is batch.file
        and before.offset + before.length == batch.offset
    )


def batch_bytes(batch: AnyBatch) -> int:
    """Returns the bytes of the batch's rows, in memory or in a file."""
    return batch.value_bytes if isinstance(batch, StoredBatch) else value_bytes(batch)


def stored_batches(file: SpoolFile, schema: pa.Schema, offset: int, length: int) -> list[StoredBatch]:
    """Returns the batches whose messages fill `length` bytes in `file` from `offset` on."""
    try:
        return [
            StoredBatch(file, schema, at.offset, at.length, at.num_rows, at.body_length, 0, at.num_rows)
            for at in find_messages(file.read, offset, length)
        ]
    except ValueError as error:
        raise SpooledRowsLost(str(error)) from error


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with open(target, "xb", opener=_private) as copy, open(source, "rb") as content:
            shutil.copyfileobj(content, copy, 1 << 20)
        source.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, _MODE)


def _read(descriptor: int, offset: int, length: int) -> bytes:
    content = os.pread(descriptor, length, offset)
    while len(content) < length and (more := os.pread(descriptor, length - len(content), offset + len(content))):
        content += more  # one read returns at most 2 GiB
    return content


def _read_into(descriptor: int, offset: int, view: memoryview) -> int:
    """Fills `view`; returns the number of bytes, which is lower at the end of the file."""
    count = 0
    while count < len(view) and (more := os.preadv(descriptor, [view[count:]], offset + count)):
        count += more
    return count


def _write(path: Path, offset: int, view: memoryview) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
    finally:
        os.close(descriptor)
