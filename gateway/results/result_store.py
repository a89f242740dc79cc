"""Where the rows of results are held until they are fetched: a little in memory, the rest in files.

Most rows that Spark answers come in files, and stay in them (`engine/spark/record_batches.py`). Batches that come in
memory are held there up to a limit for each result and one for all together, and written to the spool beyond. Besides
there are the batches that clients are in the middle of: those read last, of all results together within a limit.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator

import pyarrow as pa

from engine.spool.spool import Spool, SpoolWriter
from engine.spool.spool_file import AnyBatch, StoredBatch, batch_bytes, loaded

_RESULTS_IN_MEMORY = 16
"""So many results at their limit may be in memory at once."""
_READ_BYTES_MAX = 64 << 20
"""Of the batches that clients are in the middle of."""


class ResultStore:
    """Thread-safe. Without a spool all is held in memory."""

    def __init__(self, spool: Spool | None = None, memory_bytes_max: int = 16 << 20) -> None:
        """`memory_bytes_max` is for one result."""
        self.spool = spool
        self._memory_max = memory_bytes_max
        self._lock = threading.Lock()
        self._memory = self._rows = self._bytes = 0
        self._last: OrderedDict[HeldRows, tuple[int, pa.RecordBatch, int]] = OrderedDict()
        """The number of the batch read from a file last, since the next page may begin in it; and its bytes."""
        self._last_bytes = 0

    @property
    def read_bytes(self) -> int:
        """Of the batches that clients are in the middle of."""
        return self._last_bytes

    @property
    def totals(self) -> tuple[int, int]:
        """Rows and bytes of all results since the start."""
        with self._lock:
            return self._rows, self._bytes

    def count(self, rows: int, size: int) -> None:
        """Rows that a result holds from now on."""
        with self._lock:
            self._rows, self._bytes = self._rows + rows, self._bytes + size

    @property
    def memory_bytes(self) -> int:
        """Of all results."""
        return self._memory

    def held_bytes(self) -> int:
        """On the disk."""
        return self.spool.held_bytes() if self.spool is not None else 0

    def may_keep(self, held: int, count: int) -> bool:
        """Whether a result that has `held` bytes in memory may have `count` more there, which are taken then."""
        with self._lock:
            total_max = self._memory_max * _RESULTS_IN_MEMORY
            is_over = held + count > self._memory_max or self._memory + count > total_max
            if is_over and self.spool is not None:
                return False
            self._memory += count
            return True

    def give_back(self, count: int) -> None:
        with self._lock:
            self._memory -= count

    def last_read(self, rows: HeldRows, number: int) -> pa.RecordBatch | None:
        """The batch of this number, if it is the one that was noted for `rows` last and is still there."""
        with self._lock:
            found = self._last.get(rows)
            return found[1] if found is not None and found[0] == number else None

    def note_read(self, rows: HeldRows, number: int, batch: pa.RecordBatch | None, size: int = 0) -> None:
        """The batch that a client is in the middle of, None for none; the oldest of others go for it.

        `size` is what it holds in memory, which is more than its own bytes where it is a part of what was read.
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
    """The batches of one result, which are added in order and read by position; one thread at a time."""

    def __init__(self, schema: pa.Schema, store: ResultStore, owner: str) -> None:
        """Files count as those of `owner`."""
        self._schema = schema
        self._store = store
        self._owner = owner
        self._batches: list[AnyBatch] = []
        self._starts: list[int] = []
        self._writer: SpoolWriter | None = None
        self._memory = self.rows = self.bytes = 0

    def add(self, batch: AnyBatch) -> None:
        """Hold a batch that has rows. Raises `DiskFull`, or what the spool's budget does."""
        size = batch_bytes(batch)
        if not isinstance(batch, StoredBatch):
            batch = self._kept(batch, size)
        self._starts.append(self.rows)
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += size
        self._store.count(batch.num_rows, size)

    def read(self, offset: int, rows_max: int, bytes_max: int | None = None) -> pa.Table:
        """Rows from `offset` on; fewer where more would have over `bytes_max`, but one at least.

        Rows of one batch are taken to be of one size.
        """
        batches: list[pa.RecordBatch] = []
        left = bytes_max
        for number, first, count in self._pieces(offset, offset + rows_max):
            size = batch_bytes(self._batches[number].slice(first, count))
            if left is not None and size > left:
                count = left * count // size or (not batches)
            if count:
                batches.append(self._load(number).slice(first, count))
                if first + count == self._batches[number].num_rows:
                    self._store.note_read(self, number, None)  # the next page begins behind it
            if left is not None and size > left:
                break
            left = left if left is None else left - size
        return pa.Table.from_batches(batches, self._schema)

    def spans(self, bytes_max: int) -> Iterator[tuple[int, int, int]]:
        """All rows as spans of about `bytes_max` or less, each its first row, number of rows, and bytes."""
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
        """Let go of all; closing twice does nothing."""
        files = {batch.file for batch in self._batches if isinstance(batch, StoredBatch)}
        for file in (*files, *([] if self._writer is None else [self._writer.file])):
            file.close()  # also where something still has the batches, such as the trace of an error
        self._batches = []
        self._starts = []
        self._writer = None
        self._store.note_read(self, 0, None)
        self._store.give_back(self._memory)
        self._memory = 0

    def _kept(self, batch: pa.RecordBatch, size: int) -> AnyBatch:
        if self._store.may_keep(self._memory, size):
            self._memory += size
            return batch
        assert self._store.spool is not None
        if self._writer is None:
            self._writer = self._store.spool.writer(self._schema, self._owner)
        return self._writer.add(batch)

    def _pieces(self, offset: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Which rows of which batches the rows `offset` to `end` are: number, first row, number of rows."""
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
            found = loaded(batch)
            self._store.note_read(self, number, found, batch.stored_bytes)
        return found
