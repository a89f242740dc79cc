"""A statement's result, as far as it was pulled from its stream, and pages by position."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from catalog.conditions import OperationClosed, ResultTooLarge
from engine.concurrency.cancel import CancelToken
from engine.runtime.results import ResultStream
from engine.spool.spool_file import AnyBatch, batch_bytes
from gateway.results.result_store import HeldRows, ResultStore


@dataclass(frozen=True, slots=True)
class Page:
    """Result rows: the first row's `row_offset`, the rows, and True if more rows follow, or may follow."""

    row_offset: int
    rows: pa.Table
    has_more: bool


# Result rows: the first row, the number of rows, and their bytes.
Span = tuple[int, int, int]


class ResultBuffer:
    """The batches pulled from a stream so far; bounded by `bytes_max`. `log` receives the number of rows at the end.

    An exception during a pull is raised again by every later call: nothing is held then.
    """

    def __init__(
        self,
        stream: ResultStream,
        bytes_max: int,
        log: Callable[[str], None],
        store: ResultStore | None = None,
        owner: str = "",
    ) -> None:
        """Opens a buffer. Pulling from `stream` waits if its query still runs. `store` holds the batches, for
        `owner`.
        """
        self.schema = stream.schema
        self._stream = stream
        self._batches = stream.pieces()
        self._log = log
        self._held = HeldRows(stream.schema, store or ResultStore(), owner)
        self._bytes_max = bytes_max
        self.is_exhausted = self._is_closed = False
        # The error that ended reading: the stream raises it only once, and the remaining rows are incomplete.
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def page(
        self,
        offset: int,
        rows_max: int,
        wait_s: float | None = None,
        *,
        bytes_max: int | None = None,
        is_filled: bool = False,
    ) -> Page:
        """Returns rows `offset` to `offset + rows_max`; fewer at the result's end, if more have yet to be computed, or
        if they exceed `bytes_max`.

        Waits for at least one row, or the end, but at most `wait_s` seconds. With `is_filled` it waits for all rows.
        """
        with self._reading():
            # The wait is limited, not the pull: a batch that has begun to arrive is read
            # completely.
            if wait_s is None or self.rows_held > offset or self._stream.wait_ready(wait_s):
                self._pull_to(offset + 1)
            self._pull_to(offset + rows_max + 1, only_ready=not is_filled)  # one more row shows if any follow
            return self._page(offset, rows_max, bytes_max)

    def parts(self, offset: int, rows_max: int, bytes_max: int) -> list[AnyBatch]:
        """Returns rows as :meth:`page` does, in batches that are not loaded, so that several readers can load theirs at
        the same time; none after the end. Waits for at least one row.
        """
        with self._reading():
            self._pull_to(offset + 1)
            self._pull_to(offset + rows_max, only_ready=True)
            self._ensure_whole()
            return self._held.parts(offset, rows_max, bytes_max)

    def ready_page(self, offset: int, rows_max: int, bytes_max: int | None = None) -> Page | None:
        """Returns a page as :meth:`page` does, without waiting; None if no row is available, or the buffer is busy."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            self._pull_to(offset + rows_max + 1, only_ready=True)
            return self._page(offset, rows_max, bytes_max) if self.rows_held > offset else None
        finally:
            self._lock.release()
            self._let_go()

    def _page(self, offset: int, rows_max: int, bytes_max: int | None) -> Page:
        """Returns a page from the pulled rows."""
        self._ensure_whole()
        rows = self._held.read(offset, rows_max, bytes_max)
        return Page(offset, rows, self.rows_held > offset + rows.num_rows or not self.is_exhausted)

    @property
    def rows_held(self) -> int:
        """Returns the number of rows pulled from the stream so far."""
        return self._held.rows

    @property
    def bytes_held(self) -> int:
        """Returns the held bytes, in memory or files."""
        return self._held.bytes

    def exceeds(self, bytes_max: int) -> bool:
        """Returns True if the result is larger; pulls up to that many bytes."""
        with self._reading():
            # Stops at the limit, because the caller only decides how the result is
            # delivered.
            while not self.is_exhausted and self.bytes_held <= bytes_max and self._stream.wait_ready(0):
                self._pull_to(self.rows_held + 1)
            return self.bytes_held > bytes_max

    def count(self, cancel: CancelToken | None = None) -> int:
        """Returns the number of all rows, by pulling the rest; ends early if `cancel` is set."""
        with self._reading():
            self._pull_to(None, cancel)
            return self.rows_held

    def all_batches(self, cancel: CancelToken) -> list[AnyBatch]:
        """Returns the whole result's batches, those in files without their rows; by pulling the rest."""
        with self._reading():
            self._pull_to(None, cancel)
            self._ensure_whole()
            return self._held.batches

    def spans(self, bytes_max: int) -> list[Span]:
        """Returns the whole result as spans with about `bytes_max` or less, by pulling the rest."""
        with self._reading():
            self._pull_to(None)
            self._ensure_whole()
            return list(self._held.spans(bytes_max))

    def _pull_to(self, rows: int | None, cancel: CancelToken | None = None, *, only_ready: bool = False) -> None:
        while not self.is_exhausted and (rows is None or self.rows_held < rows):
            if cancel:
                cancel.ensure_live()
            if only_ready and not self._stream.wait_ready(0):
                return
            self._ensure_whole()
            try:
                self._pull()
            except Exception as error:
                # Kept, since a client that fetches again after an error must not get the
                # rows before it as a complete result.
                self._error = error
                self._held.close()
                raise

    def _pull(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self.is_exhausted = True
            self._stream.close()
            if self._stream.has_rows:
                self._log(f"rows: {self.rows_held}")
        elif batch.num_rows:
            size = batch_bytes(batch)
            if self.bytes_held + size > self._bytes_max:
                raise ResultTooLarge(self._bytes_max)
            self._held.add(batch, size)

    def _ensure_whole(self) -> None:
        if self._error is not None:
            raise self._error
        if self._is_closed:
            raise OperationClosed()

    def close(self) -> None:
        """Closes the result without waiting for readers: the rows are released when they finish."""
        self._stream.close()
        self._is_closed = True
        self._let_go()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Releases the rows after the close, once no reader is active."""
        if self._is_closed and self._lock.acquire(blocking=False):
            try:
                self._held.close()
            finally:
                self._lock.release()
