"""Verifies that file actions in a checkpoint or log compaction are reconciled: no file identity occurs twice.

A million identities are compared by 64-bit hashes. The first pass hashes a path's length and the sixteen bytes that, in
the file names that Delta writers use, belong to a random UUID. This takes about 20 ms for a million files; a hash table
with the complete texts would take a quarter of a second. Only rows with equal hashes get a complete hash, and rows that
are still equal are compared by their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.log.file_table import file_keys, vector_ids
from engine.types.arrow_types import Array, RecordBatch

_WORD_BYTES = 8
# Word positions, counted from the text's end: in `<uuid>-c000.snappy.parquet` the UUID extends from 56 to 20. The
# second word ends where the UUID ends, because names that only contain a counter differ there.
FIRST_LOOK = (40, 28)
_FACTOR = 0x9E3779B97F4A7C15
_BITS = (1 << 64) - 1

Hashes = npt.NDArray[np.uint64]


class UniqueKeys:
    """Collects batches with `path` and `deletion_vector` and finds an identity that occurs twice."""

    def __init__(self) -> None:
        self._batches: list[RecordBatch] = []
        self._hashes: list[Hashes] = []

    def add(self, batch: RecordBatch) -> None:
        """Adds a batch of file actions; the check itself comes with `find_duplicate` over all batches."""
        if len(batch):
            self._batches.append(batch.select(["path", "deletion_vector"]))
            self._hashes.append(_hash_keys(batch, FIRST_LOOK))

    def find_duplicate(self) -> str | None:
        """Returns the path for a file identity that was added twice, or None."""
        alike = list(_alike(self._batches, self._hashes))
        alike = list(_alike(alike, [_hash_keys(batch, None) for batch in alike]))
        if not alike:
            return None
        counts = pc.value_counts(pa.chunked_array([file_keys(batch) for batch in alike], pa.string()))
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        return str(twice[0].as_py()).partition("\0")[0] if len(twice) else None


def _alike(batches: list[RecordBatch], hashes: list[Hashes]) -> Iterator[RecordBatch]:
    """Yields the rows whose hash equals another row's hash."""
    if not hashes:
        return
    ordered = np.sort(np.concatenate(hashes))
    equal = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    for batch, own in zip(batches, hashes, strict=True) if len(equal) else ():
        rows = np.flatnonzero(np.isin(own, equal))
        if len(rows):
            yield batch.take(pa.array(rows))


def _hash_keys(batch: RecordBatch, look: Sequence[int] | None) -> Hashes:
    hashes = hash_texts(batch.column("path"), look)
    vectors = batch.column("deletion_vector")
    if vectors.null_count < len(vectors):
        # "Action Reconciliation": a logical file is a path and its deletion vector's unique
        # id. One path twice, with different vectors, is valid for a remove and an add.
        rows = np.flatnonzero(vectors.is_valid().to_numpy(zero_copy_only=False))
        ids = hash_texts(vector_ids(vectors.take(pa.array(rows))), None)
        hashes[rows] ^= ids * np.uint64(_FACTOR)
    return hashes


def hash_texts(texts: Array, look: Sequence[int] | None = None) -> Hashes:
    """Returns hashes that are equal for equal texts. `look` has the positions of the words to hash; None: all words."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    starts, ends = bounds[:-1], bounds[1:]
    lengths = ends - starts
    hashes = lengths.astype(np.uint64)
    short = np.flatnonzero(lengths < _WORD_BYTES)
    if len(short) < len(texts):
        # The eight bytes starting at each byte. A text too short for a position contributes its first bytes.
        words = np.ndarray((len(data) - _WORD_BYTES + 1,), "<u8", buffer=data, strides=(1,))
        last = len(words) - 1
        for back in look or range(_WORD_BYTES, int(lengths.max()) + _WORD_BYTES, _WORD_BYTES):
            at = np.maximum(ends - back, starts)
            found = words[np.minimum(at, last, out=at)] * np.uint64(_FACTOR**back & _BITS)
            # A text's hash must not depend on the other texts in the array.
            hashes += found if look else found * (lengths > back - _WORD_BYTES)
    for row in short.tolist():
        hashes[row] = hash(texts[row].as_py()) & _BITS
    return hashes
