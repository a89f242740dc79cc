"""The record batches of a result, in files and bytes that Java wrote.

A result is a row of segments, each in a file or in memory, of Arrow messages without a schema. While its query runs,
Java says how far the next segment has grown; the whole list comes with the end of the query. Batches in files are
found (`engine/spool/messages.py`) and stay there until somebody reads them. At the end of the query the files move from
the statement's folder, which goes then, to the spool, where they go with the last of their batches.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from catalog.conditions import ResultRowsDiffer, ResultTypeNotSupported, SpooledRowsLost, StatementCancelled
from catalog.errors import SqlError
from engine.spool.spool import Spool
from engine.spool.spool_file import AnyBatch, SpoolFile, stored_batches

_TOO_DEEP = "Max recursion depth reached"
"""Arrow's reader takes some 60 levels, and half as many of maps."""


@dataclass(frozen=True, slots=True)
class Segment:
    """`length` bytes from `offset` on, of the file at `path` or (None) of the bytes that came with the answer."""

    path: str | None
    offset: int
    length: int


class RecordBatches:
    """Iterates a result's batches in their order, once: what was read is let go. Thread-safe.

    A batch that has not been announced is waited for. After :meth:`fail` the iteration raises that error, though there
    may be rows left, and after :meth:`release` it raises `StatementCancelled`: only a result that was read to its end
    has an end. There the rows are counted: where they are not as many as Spark's tasks made, it raises
    `ResultRowsDiffer`.
    """

    def __init__(self, schema: pa.Schema, spool: Spool, owner: str = "") -> None:
        """Files go to `spool`, where they count as those of `owner`."""
        self._schema = schema
        self._spool = spool
        self._owner = owner
        self._changed = threading.Condition()
        """Guards all below."""
        self._announced: dict[tuple[str | None, int], int] = {}
        self._files: dict[str, SpoolFile] = {}
        self._body = pa.py_buffer(b"")
        """The bytes that came with the answer."""
        self._unread: deque[Segment] = deque()
        self._found: deque[AnyBatch] = deque()
        self._is_first = True
        self._rows_read = 0
        self._rows: int | None = None
        """Of the whole result; None where that is unknown."""
        self._is_complete = False
        self._error: BaseException | None = None

    def announce(self, segment: Segment) -> None:
        """A segment that is the last one announced and has grown, or the one behind it."""
        with self._changed:
            if not self._is_complete:
                self._unread.extend(self._news(segment))
                self._changed.notify_all()

    def complete(self, segments: Sequence[Segment], body: pa.Buffer, rows: int) -> None:
        """All segments there are, in their order, while their files are there, and how many rows they have.

        Raises `SpoolFull` or `SpoolFullOfOwner` where they do not fit in the spool.
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
                for file in self._files.values():  # which the trace of the error would hold
                    file.close()
                raise
            self._is_complete = True
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """The query ended without the rest of its rows."""
        with self._changed:
            self._error = error
            self._forget()

    def release(self) -> None:
        """Let the memory go; what was already pulled stays valid. Who waits for more, or asks for it, gets an error."""
        with self._changed:
            if self._error is None:
                self._error = StatementCancelled()
            self._forget()

    def wait_ready(self, seconds: float) -> bool:
        """Wait for the next batch or the end; whether it can be had without waiting now."""
        with self._changed:
            return self._changed.wait_for(self._has_next, seconds)

    def _has_next(self) -> bool:
        return self._is_complete or bool(self._found or self._unread)

    def __iter__(self) -> Iterator[AnyBatch]:
        while (batch := self._next()) is not None:
            self._rows_read += batch.num_rows
            yield batch
        if self._rows is not None and self._rows_read != self._rows:
            raise ResultRowsDiffer(self._rows_read, self._rows)

    def _news(self, segment: Segment) -> Iterator[Segment]:
        """What of `segment` was not announced before, whatever order the announcements come in."""
        known = self._announced.get((segment.path, segment.offset), 0)
        self._announced[segment.path, segment.offset] = max(known, segment.length)
        if segment.length > known:
            yield Segment(segment.path, segment.offset + known, segment.length - known)

    def _next(self) -> AnyBatch | None:
        with self._changed:
            while not self._found:
                if self._error is not None:
                    raise self._error
                if self._unread:
                    self._find(self._unread.popleft())
                elif self._is_complete:
                    return None
                else:
                    self._changed.wait()
            return self._found.popleft()

    def _find(self, piece: Segment) -> None:
        """The batches of a segment."""
        if piece.path is None:
            messages = pa.ipc.MessageReader.open_stream(self._body.slice(piece.offset, piece.length))
            self._found.extend(self._readable(partial(pa.ipc.read_record_batch, one, self._schema)) for one in messages)
            return
        try:
            batches = stored_batches(self._file(piece.path), self._schema, piece.offset, piece.length)
        except SpooledRowsLost:
            if self._is_complete:
                raise
            self._unread.appendleft(piece)  # the query has failed, which will be told
            self._changed.wait_for(lambda: self._is_complete)
            return
        if self._is_first and batches:
            self._is_first = False
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
        self._body = pa.py_buffer(b"")
        self._rows = None
        self._is_complete = True
        self._changed.notify_all()
