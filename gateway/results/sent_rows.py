"""The rows of a streaming result that its client has received, as a digest.

A query that is run again may return its rows in another order. Whether its first rows are the same as before shows the
digest, so that a client may continue after them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from engine.runtime.results import canonical_bytes

DIGEST_BYTES = 16
_BLOCK_ROWS = 4096


class SentRows(NamedTuple):
    """The first row of the last page that was sent, the row after it, and the digest of the first `rows` rows."""

    page_row: int = 0
    next_row: int = 0
    rows: int = 0
    digest: bytes = bytes(DIGEST_BYTES)


class PrefixDigest:
    """The digest of a result's first rows, independent of the pages in which they are added."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)
        # The rows after the last whole block.
        self._rest: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        """Adds the next rows; whole blocks are hashed, and the rest waits for the next call."""
        self.rows += rows.num_rows
        self._rest.append(rows)
        table = pa.concat_tables(self._rest)
        whole = table.num_rows // _BLOCK_ROWS * _BLOCK_ROWS
        for start in range(0, whole, _BLOCK_ROWS):
            self._hash.update(_block(table.slice(start, _BLOCK_ROWS)))
        self._rest = [table.slice(whole)]

    def digest(self) -> bytes:
        """Returns the digest of the rows so far."""
        found = self._hash.copy()
        for rest in self._rest:
            found.update(_block(rest))
        return found.digest()


def has_digest(sent: SentRows, read: Callable[[int, int], pa.Table]) -> bool:
    """Returns True if the first rows have the digest; `read` returns rows by offset and number, at least one."""
    if sent.next_row > sent.rows:
        return False  # of rows that were sent after the query's end there is no digest
    found = PrefixDigest()
    while found.rows < sent.rows:
        rows = read(found.rows, min(_BLOCK_ROWS, sent.rows - found.rows))
        if not rows.num_rows:
            return False
        found.add(rows)
    return found.digest() == sent.digest


def _block(rows: pa.Table) -> pa.Buffer:
    """Returns the rows' bytes: the same for the same values."""
    (batch,) = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
    return canonical_bytes(batch)
