"""Rows of one data file by their indices, as Spark answers them: bitmaps of 32768 rows each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.storage.deletion_vectors import Rows

ROWS_PER_BITMAP = 1 << 15


@dataclass(frozen=True, slots=True)
class RowSet:
    bitmaps: dict[int, bytes] = field(default_factory=dict)
    """Number of a bucket, from 0, and which of its rows."""

    def __len__(self) -> int:
        return sum(int.from_bytes(bits, "little").bit_count() for bits in self.bitmaps.values())

    def __or__(self, other: RowSet) -> RowSet:
        together = RowSet(dict(self.bitmaps))
        for bucket, bits in other.bitmaps.items():
            together._add(bucket, bits)
        return together

    def add(self, number: int, bits: bytes) -> None:
        """What Spark answers for one bucket; it counts them from 1."""
        self._add(number - 1, bits)

    def _add(self, bucket: int, bits: bytes) -> None:
        known = int.from_bytes(self.bitmaps.get(bucket, b""), "little")
        self.bitmaps[bucket] = (known | int.from_bytes(bits, "little")).to_bytes(len(bits), "little") if known else bits

    def indices(self) -> Rows:
        parts = [
            np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")) + bucket * ROWS_PER_BITMAP
            for bucket, bits in sorted(self.bitmaps.items())
        ]
        return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


RowsOfFiles = Mapping[int, RowSet]
"""Position of a file in the snapshot -> rows of it, for each file with some."""


def count_rows(rows: RowsOfFiles) -> int:
    return sum(map(len, rows.values()))
