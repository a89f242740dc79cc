"""A statement's result as far as it was pulled from its stream, and pages of it by position."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from engine.concurrency.cancel import CancelToken
from engine.errors.statement_errors import ResultTooLarge
from engine.runtime.results import ResultStream


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a result: `row_offset` of the first one, the rows, and whether any follow them, or may follow."""

    row_offset: int
    rows: pa.Table
    has_more: bool


class ResultBuffer:
    """The batches pulled from a stream so far; bounded by `bytes_max`. `log` is told the number of rows at the end."""

    def __init__(self, stream: ResultStream, bytes_max: int, log: Callable[[str], None]) -> None:
        """The batches of `stream` are waited for where its query still runs."""
        self.schema = stream.schema
        self._stream, self._batches, self._log = stream, stream.batches(), log
        self._pulled: list[pa.RecordBatch] = []
        self._starts: list[int] = []
        self._rows = 0
        self.bytes_held, self._bytes_max = 0, bytes_max
        self.is_exhausted = False
        self._error: Exception | None = None
        """What ended the reading: the stream can raise it only once, and what is left behind it is not all there is."""
        self._lock = threading.Lock()

    def page(self, offset: int, rows_max: int, wait_s: float | None = None) -> Page:
        """Rows `offset` to `offset + rows_max`; fewer at the end of the result, or if more have yet to be computed.

        At least one row is waited for, or the end; with `wait_s` no longer than so many seconds.
        """
        with self._lock:
            if wait_s is None or self._rows > offset or self._stream.wait_ready(wait_s):
                self._pull_to(offset + 1)
            self._pull_to(offset + rows_max + 1, only_ready=True)  # one more row tells whether any follow
            return self._page(offset, rows_max)

    def ready_page(self, offset: int, rows_max: int) -> Page | None:
        """As :meth:`page`, without waiting; None where there is no row, or the buffer is busy."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            self._pull_to(offset + rows_max + 1, only_ready=True)
            return self._page(offset, rows_max) if self._rows > offset else None
        finally:
            self._lock.release()

    def _page(self, offset: int, rows_max: int) -> Page:
        """Of the rows that were pulled."""
        end = offset + rows_max
        first, last = max(0, bisect_right(self._starts, offset) - 1), bisect_left(self._starts, end)
        near = zip(self._starts[first:last], self._pulled[first:last], strict=True)
        kept = [
            batch.slice(max(0, offset - start), end - max(offset, start))
            for start, batch in near
            if start + batch.num_rows > offset
        ]
        rows = pa.Table.from_batches(kept, self.schema)
        return Page(offset, rows, self._rows > offset + rows.num_rows or not self.is_exhausted)

    @property
    def rows_held(self) -> int:
        return self._rows

    def exceeds(self, bytes_max: int) -> bool:
        """Whether what there is of the result is larger, which pulls so many bytes of it."""
        with self._lock:
            while not self.is_exhausted and self.bytes_held <= bytes_max and self._stream.wait_ready(0):
                self._pull_to(self._rows + 1)
            return self.bytes_held > bytes_max

    def count(self, cancel: CancelToken | None = None) -> int:
        """All rows, which pulls the rest of the stream; ends early where `cancel` says so."""
        with self._lock:
            self._pull_to(None, cancel)
            return self._rows

    def _pull_to(self, rows: int | None, cancel: CancelToken | None = None, *, only_ready: bool = False) -> None:
        while not self.is_exhausted and (rows is None or self._rows < rows):
            if cancel:
                cancel.ensure_live()
            if only_ready and not self._stream.wait_ready(0):
                return
            if self._error is not None:
                raise self._error
            try:
                batch = self._next_batch()
            except Exception as error:
                self._error = error
                raise
            if batch is None:
                self.is_exhausted = True
                self._stream.close()
                if self._stream.has_rows:
                    self._log(f"rows: {self._rows}")
            elif batch.num_rows:
                self._starts.append(self._rows)
                self._pulled.append(batch)
                self._rows += batch.num_rows

    def _next_batch(self) -> pa.RecordBatch | None:
        batch = next(self._batches, None)
        if batch is not None:
            self.bytes_held += batch.nbytes
            if self.bytes_held > self._bytes_max:
                raise ResultTooLarge(self._bytes_max)
        return batch

    def close(self) -> None:
        self._stream.close()


def within(page: Page, bytes_max: int | None) -> Page:
    """The first rows of `page` that `bytes_max` leaves, at least one."""
    if bytes_max is None or page.rows.nbytes <= bytes_max:
        return page
    fitting = max(1, page.rows.num_rows * bytes_max // page.rows.nbytes)
    return Page(page.row_offset, page.rows.slice(0, fitting), True) if fitting < page.rows.num_rows else page
