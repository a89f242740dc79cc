"""Whether file actions are reconciled: no identity twice, in what others say is a checkpoint or a log compaction.

A million identities are compared by 64-bit hashes, and only those with equal hashes by themselves, so that a hash may
be cheap: it takes the length of a text, its first eight bytes and its last forty, where writers put what is unique.
That takes some 40 ms for a million files, where a hash table of the texts would take a quarter of a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.log.file_table import Array, RecordBatch, file_keys, vector_ids

_LAST_WORDS = 5
_WORD_BYTES = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_SHORT_SEED = 0x5A

Hashes = npt.NDArray[np.uint64]


class UniqueKeys:
    """Takes batches that have `path` and `deletion_vector`, and tells which identity came twice."""

    def __init__(self) -> None:
        self._batches: list[RecordBatch] = []
        self._hashes: list[Hashes] = []

    def add(self, batch: RecordBatch) -> None:
        if not len(batch):
            return
        hashes = hash_texts(batch.column("path"))
        vectors = batch.column("deletion_vector")
        if vectors.null_count < len(vectors):
            rows = np.flatnonzero(vectors.is_valid().to_numpy(zero_copy_only=False))
            hashes[rows] ^= hash_texts(vector_ids(vectors.take(pa.array(rows)))) * _FACTOR
        self._batches.append(batch.select(["path", "deletion_vector"]))
        self._hashes.append(hashes)

    def repeated(self) -> str | None:
        """The path of some file whose identity was added twice."""
        if not self._hashes:
            return None
        hashes = np.sort(np.concatenate(self._hashes))
        equal = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        if not len(equal):
            return None
        found: list[Any] = []
        for batch, own in zip(self._batches, self._hashes, strict=True):
            rows = np.flatnonzero(np.isin(own, equal))
            if len(rows):
                found.append(file_keys(batch.take(pa.array(rows))))
        counts = pc.value_counts(pa.chunked_array(found, pa.string()))
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        return str(twice[0].as_py()).partition("\0")[0] if len(twice) else None


def hash_texts(texts: Array) -> Hashes:
    """Equal for equal texts; for others hardly ever."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    starts, ends = bounds[:-1], bounds[1:]
    hashes = (ends - starts).astype(np.uint64) * _FACTOR
    short = np.flatnonzero(ends - starts < _WORD_BYTES)
    if len(short) < len(texts):
        size = len(data) - _WORD_BYTES + 1
        words = np.ndarray((size,), "<u8", buffer=data, strides=(1,))  # the eight bytes from each byte on
        last = size - 1
        for back in range(_LAST_WORDS, 0, -1):
            hashes ^= words[np.minimum(np.maximum(ends - back * _WORD_BYTES, starts), last)]
            hashes *= _FACTOR
            hashes ^= hashes >> _SHIFT
        hashes ^= words[np.minimum(starts, last)]
        hashes *= _FACTOR
    for row in short.tolist():
        hashes[row] = np.uint64(hash((_SHORT_SEED, texts[row].as_py())) & 0xFFFFFFFFFFFFFFFF)
    return hashes
