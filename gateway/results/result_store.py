"""Storage for results until they are fetched: a small part in memory, the rest in files.

Most rows from Spark arrive in files, and stay there (`engine/spark/record_batches.py`). Batches that arrive in memory
are held there up to a limit for each result and one for all together, and are spooled beyond it. In addition, batches
that clients are reading are cached: the most recently read ones, within a limit for all results together.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator

import pyarrow as pa

from engine.spool.spool import Spool, SpoolWriter
from engine.spool.spool_file import AnyBatch, StoredBatch, batch_bytes, load_batch

# Number of results at their limit that may be in memory at the same time.
_RESULTS_IN_MEMORY = 16
# Limit for the cached batches that clients are reading.
_READ_BYTES_MAX = 64 << 20


class ResultStore:
    """The server's results. Thread-safe. Without a spool all are held in memory."""

    def __init__(self, spool: Spool | None = None, memory_bytes_max: int = 16 << 20) -> None:
        """Creates a store; `memory_bytes_max` is the limit for one result."""
        self.spool = spool
        self._memory_max = memory_bytes_max
        self._lock = threading.Lock()
        self._memory = self._rows = self._bytes = 0
        # The number of the last batch read from a file, since the next page may begin in it; and its bytes.
        self._last: OrderedDict[HeldRows, tuple[int, pa.RecordBatch, int]] = OrderedDict()
        self._last_bytes = 0

    @property
    def read_bytes(self) -> int:
        """Returns the size of the cached batches that clients are reading."""
        return self._last_bytes

    @property
    def counters(self) -> tuple[int, int]:
        """Returns rows and bytes for all results since the start."""
        with self._lock:
            return self._rows, self._bytes

    def count(self, rows: int, size: int) -> None:
        """Counts rows that a result now holds."""
        with self._lock:
            self._rows, self._bytes = self._rows + rows, self._bytes + size

    @property
    def memory_bytes(self) -> int:
        """Returns the memory that all results use."""
        return self._memory

    def held_bytes(self) -> int:
        """Returns the bytes on disk."""
        return self.spool.held_bytes() if self.spool is not None else 0

    @property
    def disk_bytes_max(self) -> int:
        """Returns the maximum of bytes on disk; 0 without a spool."""
        budget = self.spool.budget if self.spool is not None else None
        return budget.bytes_max if budget is not None else 0

    def may_keep(self, held: int, count: int) -> bool:
        """Returns True, and reserves the memory, if a result with `held` bytes in memory may have `count` more."""
        with self._lock:
            total_max = self._memory_max * _RESULTS_IN_MEMORY
            is_over = held + count > self._memory_max or self._memory + count > total_max
            if is_over and self.spool is not None:
                return False
            self._memory += count
            return True

    def give_back(self, count: int) -> None:
        """Gives back bytes of memory that a result no longer holds."""
        with self._lock:
            self._memory -= count

    def last_read(self, rows: HeldRows, number: int) -> pa.RecordBatch | None:
        """Returns the batch with this number, if it is the last one noted for `rows` and still cached."""
        with self._lock:
            found = self._last.get(rows)
            return found[1] if found is not None and found[0] == number else None

    def note_read(self, rows: HeldRows, number: int, batch: pa.RecordBatch | None, size: int = 0) -> None:
        """Caches the batch that a client is reading (None for none), evicting the oldest ones.

        `size` is its memory, which exceeds its own bytes if it is a slice of a larger read.
        """
        with self._lock:
            before = self._last.pop(rows, None)
            self._last_bytes -= before[2] if before is not None else 0
            if batch is None:
                return
            self._last[rows] = number, batch, size
            self._last_bytes += size
            while self._last_bytes > _READ_BYTES_MAX and len(self._last) > 1:
                _, (_, _, oldest) = self._last.popitem(last=False)
                self._last_bytes -= oldest


class HeldRows:
    """One result's batches, which are added in order and read by position; by one thread at a time."""

    def __init__(self, schema: pa.Schema, store: ResultStore, owner: str) -> None:
        """Creates an empty result; its files are counted for `owner`."""
        self._schema = schema
        self._store = store
        self._owner = owner
        self._batches: list[AnyBatch] = []
        self._starts: list[int] = []
        self._writer: SpoolWriter | None = None
        self._memory = self.rows = self.bytes = 0

    @property
    def batches(self) -> list[AnyBatch]:
        """Returns the batches so far."""
        return list(self._batches)

    def add(self, batch: AnyBatch, size: int) -> None:
        """Adds a batch with rows, of `size` bytes. Raises `DiskFull`, and errors from the spool's budget."""
        if not isinstance(batch, StoredBatch):
            batch = self._retained_batch(batch, size)
        self._starts.append(self.rows)
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += size
        self._store.count(batch.num_rows, size)

    def read(self, offset: int, rows_max: int, bytes_max: int | None = None) -> pa.Table:
        """Returns rows from `offset` on; fewer if they would exceed `bytes_max`, but at least one.

        A batch's rows are assumed to have equal sizes.
        """
        batches: list[pa.RecordBatch] = []
        left = bytes_max if bytes_max is not None and bytes_max < self.bytes else None
        for number, first, count in self._pieces(offset, offset + rows_max):
            size = 0 if left is None else batch_bytes(self._batches[number].slice(first, count))
            if left is not None and size > left:
                # At least one row in the first batch: a row larger than the limit would
                # otherwise never be delivered, and the client would fetch forever.
                count = left * count // size or (not batches)
            if count:
                batches.append(self._load(number).slice(first, count))
                if first + count == self._batches[number].num_rows:
                    self._store.note_read(self, number, None)  # the next page begins after it
            if left is not None and size > left:
                break
            left = left if left is None else left - size
        return pa.Table.from_batches(batches, self._schema)

    def parts(self, offset: int, rows_max: int, bytes_max: int) -> list[AnyBatch]:
        """Returns rows from `offset` on as batches, without loading them; fewer if they would exceed `bytes_max`, but
        those of at least one batch.
        """
        found: list[AnyBatch] = []
        left = bytes_max
        for number, first, count in self._pieces(offset, offset + rows_max):
            part = self._batches[number].slice(first, count)
            left -= batch_bytes(part)
            if found and left < 0:
                break
            found.append(part)
        return found

    def spans(self, bytes_max: int) -> Iterator[tuple[int, int, int]]:
        """Yields all rows as spans with about `bytes_max` or less: the first row, number of rows, and bytes."""
        start = rows = size = 0
        for batch in self._batches:
            total, count = batch_bytes(batch), batch.num_rows
            step = max(1, count * bytes_max // max(1, total))
            for first in range(0, count, step):
                last = min(first + step, count)
                share = total * last // count - total * first // count
                if rows and size + share > bytes_max:
                    yield start, rows, size
                    start, rows, size = start + rows, 0, 0
                rows, size = rows + last - first, size + share
        if rows:
            yield start, rows, size

    def close(self) -> None:
        """Releases everything; closing twice is allowed."""
        files = {batch.file for batch in self._batches if isinstance(batch, StoredBatch)}
        for file in (*files, *([] if self._writer is None else [self._writer.file])):
            file.close()  # even if other objects still reference the batches, such as an error's traceback
        self._batches = []
        self._starts = []
        self._writer = None
        self._store.note_read(self, 0, None)
        self._store.give_back(self._memory)
        self._memory = 0

    def _retained_batch(self, batch: pa.RecordBatch, size: int) -> AnyBatch:
        if self._store.may_keep(self._memory, size):
            self._memory += size
            return batch
        assert self._store.spool is not None
        if self._writer is None:
            self._writer = self._store.spool.writer(self._schema, self._owner)
        return self._writer.add(batch)

    def _pieces(self, offset: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yields the parts of the rows `offset` to `end` in each batch: batch number, first row, number of rows."""
        for number in range(max(0, bisect_right(self._starts, offset) - 1), bisect_left(self._starts, end)):
            start = self._starts[number]
            first = max(0, offset - start)
            count = min(end - start, self._batches[number].num_rows) - first
            if count > 0:
                yield number, first, count

    def _load(self, number: int) -> pa.RecordBatch:
        batch = self._batches[number]
        if not isinstance(batch, StoredBatch):
            return batch
        found = self._store.last_read(self, number)
        if found is None:
            found = load_batch(batch)
            self._store.note_read(self, number, found, batch.stored_bytes)
        return found
