"""A result's record batches, in files and bytes that Java wrote.

A result is a sequence of segments, each in a file or in memory, with Arrow messages without a schema. While its query
runs, Java announces the next segment's growth; the complete list is in the query's response. Batches in files are
located (`engine/spool/messages.py`) and stay there until they are read. At the query's end the files move from the
statement's directory, which is then removed, to the spool, which removes each with its last batch.

If Spark's process is killed, the query can run again in the next one (`RecordBatches.begin_again`). A reader continues
after the rows that it has, if the other run returns the same rows first: their order may depend on the execution.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from catalog.conditions import (
    ResultRowsDiffer,
    ResultTypeNotSupported,
    SpooledRowsLost,
    StatementCancelled,
    StatementInterrupted,
)
from catalog.errors import SqlError
from engine.runtime.results import canonical_bytes
from engine.spool.spool import Spool
from engine.spool.spool_file import AnyBatch, SpoolFile, StoredBatch, load_batch, stored_batches

# Arrow's reader supports about 60 nesting levels, and half as many for maps.
_TOO_DEEP = "Max recursion depth reached"


@dataclass(frozen=True, slots=True)
class Segment:
    """A range with `length` bytes from `offset`, in the file at `path` or (None) in the response's bytes."""

    path: str | None
    offset: int
    length: int


class RecordBatches:
    """Iterates a result's batches in order, once: batches are released after reading. Thread-safe.

    The iterator waits for a batch that is not yet announced. After :meth:`fail` the iteration raises that error, even
    if rows are left, and after :meth:`release` it raises `StatementCancelled`: only a completely read result ends
    normally. At the end the rows are counted: if the count differs from the rows that Spark's tasks produced, it raises
    `ResultRowsDiffer`.
    """

    def __init__(self, schema: pa.Schema, spool: Spool, owner: str = "") -> None:
        """Files are moved to `spool`, accounted to `owner`."""
        self._schema = schema
        self._spool = spool
        self._owner = owner
        # Guards the fields below.
        self._changed = threading.Condition()
        self._streaming: dict[tuple[str | None, int], int] = {}
        self._files: dict[str, SpoolFile] = {}
        # The response's bytes.
        self._body = pa.py_buffer(b"")
        self._unread: deque[Segment] = deque()
        self._found: deque[AnyBatch] = deque()
        # The batches that the reader has, until the query ends; and the ones that its present run has to return first.
        self._returned: list[AnyBatch] = []
        self._expected: deque[AnyBatch] = deque()
        self._is_first = True
        self._rows_read = 0
        # The whole result's row count; None if unknown.
        self._rows: int | None = None
        self._is_complete = False
        self._error: BaseException | None = None

    def announce(self, segment: Segment) -> None:
        """Announces a segment: the last announced one has grown, or the next one."""
        with self._changed:
            if not self._is_complete:
                self._unread.extend(self._news(segment))
                self._changed.notify_all()

    def complete(self, segments: Sequence[Segment], body: pa.Buffer, rows: int) -> None:
        """Sets all segments, in order, while their files exist, and the total row count.

        Raises `SpoolFull` or `SpoolFullOfOwner` if they do not fit in the spool.
        """
        with self._changed:
            if self._error is not None:
                return
            self._rows = rows
            self._body = body
            self._unread.extend(piece for segment in segments for piece in self._news(segment))
            try:
                for path in {segment.path for segment in segments if segment.path is not None}:
                    self._spool.keep(self._file(path))
            except SqlError:
                for file in self._files.values():  # the error's traceback would hold references
                    file.close()
                raise
            self._is_complete = True
            self._returned = []
            self._changed.notify_all()

    def begin_again(self) -> None:
        """Prepares for another run of the query; the reader waits meanwhile. Called while the files exist.

        Raises `SpoolFull` or `SpoolFullOfOwner` if the rows that the reader has do not fit in the spool.
        """
        with self._changed:
            if self._is_complete:  # closed by its reader
                return
            returned = {id(batch.file) for batch in self._returned if isinstance(batch, StoredBatch)}
            for file in self._files.values():
                if id(file) in returned:
                    self._spool.keep(file)
            self._expected = deque(self._returned)
            self._unread.clear()
            self._found.clear()
            self._files.clear()
            self._streaming.clear()
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Ends the result with an error, without its remaining rows."""
        with self._changed:
            self._error = error
            self._forget()

    def release(self) -> None:
        """Releases the memory; batches that were already returned stay valid. Waiting and later readers get an
        error.
        """
        with self._changed:
            if self._error is None:
                self._error = StatementCancelled()
            self._forget()

    def wait_ready(self, seconds: float) -> bool:
        """Waits for the next batch or the end; returns whether it is now available without waiting."""
        with self._changed:
            return self._changed.wait_for(self._has_next, seconds)

    def _has_next(self) -> bool:
        self._skip_expected()
        return self._is_complete or bool(self._found or self._unread)

    def __iter__(self) -> Iterator[AnyBatch]:
        while (batch := self._next()) is not None:
            self._rows_read += batch.num_rows
            yield batch
        # A file that was cut, or a batch that was read twice, would otherwise give a wrong
        # answer without an error.
        if self._rows is not None and self._rows_read != self._rows:
            raise ResultRowsDiffer(self._rows_read, self._rows)

    def _news(self, segment: Segment) -> Iterator[Segment]:
        """Yields the parts of `segment` that were not announced before, for announcements in any order."""
        known = self._streaming.get((segment.path, segment.offset), 0)
        self._streaming[segment.path, segment.offset] = max(known, segment.length)
        if segment.length > known:
            # The complete list at the query's end repeats what was announced before; only
            # the difference is new.
            yield Segment(segment.path, segment.offset + known, segment.length - known)

    def _next(self) -> AnyBatch | None:
        with self._changed:
            while True:
                self._skip_expected()
                if self._found:
                    batch = self._found.popleft()
                    if not self._is_complete:
                        self._returned.append(batch)
                    return batch
                if self._error is not None:
                    raise self._error
                if self._unread:
                    self._find(self._unread.popleft())
                elif self._is_complete:
                    return None
                else:
                    self._changed.wait()

    def _skip_expected(self) -> None:
        """Skips found rows that the reader has from an earlier run; other rows, or fewer, are an error."""
        while self._expected and (self._found or self._unread):
            if not self._found:
                self._find(self._unread.popleft())
                continue
            expected, batch = self._expected.popleft(), self._found.popleft()
            count = min(expected.num_rows, batch.num_rows)
            before, now = load_batch(expected.slice(0, count)), load_batch(batch.slice(0, count))
            if not before.equals(now) and canonical_bytes(before) != canonical_bytes(now):
                self._interrupt()
                return
            if count < expected.num_rows:
                self._expected.appendleft(expected.slice(count, expected.num_rows - count))
            if count < batch.num_rows:
                self._found.appendleft(batch.slice(count, batch.num_rows - count))
        if self._expected and self._is_complete and self._error is None:
            self._interrupt()

    def _interrupt(self) -> None:
        self._error = StatementInterrupted()
        self._forget()

    def _find(self, piece: Segment) -> None:
        """Locates a segment's batches."""
        if piece.path is None:
            messages = pa.ipc.MessageReader.open_stream(self._body.slice(piece.offset, piece.length))
            self._found.extend(self._readable(partial(pa.ipc.read_record_batch, one, self._schema)) for one in messages)
            return
        try:
            batches = stored_batches(self._file(piece.path), self._schema, piece.offset, piece.length)
        except SpooledRowsLost:
            if self._is_complete:
                raise
            self._unread.appendleft(piece)  # the query has failed: its error will be raised, or it runs again
            self._changed.wait_for(lambda: self._is_complete or piece not in self._unread)
            return
        if self._is_first and batches:
            self._is_first = False
            # Fails here for a type that Arrow cannot read, before the client sees the first
            # row of an incomplete result.
            self._readable(batches[0].read)
        self._found.extend(batches)

    def _file(self, path: str) -> SpoolFile:
        if path not in self._files:
            self._files[path] = self._spool.follow(Path(path), self._owner)
        return self._files[path]

    def _readable(self, read: Callable[[], pa.RecordBatch]) -> pa.RecordBatch:
        try:
            return read()
        except pa.ArrowInvalid as error:
            if _TOO_DEEP not in str(error):
                raise
            raise ResultTypeNotSupported("array, map or struct nested this deeply") from error

    def _forget(self) -> None:
        self._unread.clear()
        self._found.clear()
        self._files.clear()
        self._returned = []
        self._expected.clear()
        self._body = pa.py_buffer(b"")
        self._rows = None
        self._is_complete = True
        self._changed.notify_all()
