"""The record batches of a result, read without copying from files and bytes that Java wrote.

A result is a row of segments, each in a file or in memory, of Arrow messages without a schema. While its query runs,
Java says how far the next segment has grown; the whole list comes with the end of the query. Files are mapped when
their batches are read, or at the end of the query, since they are removed after it: they take no heap, and go when the
last batch does, whatever happens to the process.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from engine.errors.statement_errors import StatementCancelled
from engine.exec.errors import ResultRowsDiffer, ResultTypeNotSupported

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

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._changed = threading.Condition()
        """Guards all below."""
        self._announced: dict[tuple[str | None, int], int] = {}
        self._unread: deque[Segment] = deque()
        self._mapped: deque[pa.Buffer] = deque()
        """What was unread at the end of the query."""
        self._messages: deque[pa.Message] = deque()
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
        """All segments there are, in their order, while their files are there, and how many rows they have."""
        with self._changed:
            self._rows = rows
            self._unread.extend(piece for segment in segments for piece in self._news(segment))
            files: dict[str | None, pa.Buffer] = {None: body}
            for one in self._unread:
                if one.path not in files:
                    files[one.path] = _map_file(one.path)
            self._mapped.extend(files[one.path].slice(one.offset, one.length) for one in self._unread)
            self._unread.clear()
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
        return self._is_complete or bool(self._messages or self._unread)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (message := self._next()) is not None:
            batch = self._batch(message)
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

    def _next(self) -> pa.Message | None:
        with self._changed:
            while not self._messages:
                if self._error is not None:
                    raise self._error
                if self._mapped:
                    self._messages.extend(pa.ipc.MessageReader.open_stream(self._mapped.popleft()))
                elif self._unread:
                    self._read_file(self._unread.popleft())
                elif self._is_complete:
                    return None
                else:
                    self._changed.wait()
            return self._messages.popleft()

    def _read_file(self, piece: Segment) -> None:
        try:
            buffer = _map_file(piece.path).slice(piece.offset, piece.length)
        except FileNotFoundError:  # the query has failed, which will be told
            self._changed.wait_for(lambda: self._is_complete)
        else:
            self._messages.extend(pa.ipc.MessageReader.open_stream(buffer))

    def _batch(self, message: pa.Message) -> pa.RecordBatch:
        try:
            return pa.ipc.read_record_batch(message, self._schema)
        except pa.ArrowInvalid as error:
            if _TOO_DEEP not in str(error):
                raise
            raise ResultTypeNotSupported("array, map or struct nested this deeply") from error

    def _forget(self) -> None:
        for rows in (self._unread, self._mapped, self._messages):
            rows.clear()
        self._rows = None
        self._is_complete = True
        self._changed.notify_all()


def _map_file(path: str | None) -> pa.Buffer:
    with pa.memory_map(path) as mapped:
        return mapped.read_buffer()
