"""Builds manifest columns from the positions that the walk noted (`engine.iceberg.manifests.avro_walk`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa

from engine.iceberg.manifests.avro_values import PADDING, Bytes, numbers_at, slices
from engine.iceberg.manifests.avro_walk import Column, Found, Kind, Op


class Values:
    """Value positions. `data` contains all blocks in sequence, and padding."""

    def __init__(self, data: Bytes, columns: Sequence[Column], found: Sequence[Found]) -> None:
        self._data = data
        self._found = {column.name: (column, noted) for column, noted in zip(columns, found, strict=True)}

    @property
    def names(self) -> list[str]:
        return list(self._found)

    def column(self, name: str, start: int, end: int) -> pa.Array | None:
        """Returns a column for a record range: numbers as int64; bytes, maps and lists as binary; None if absent.

        Raises `ValueError`.
        """
        if name not in self._found:
            return None
        column, noted = self._found[name]
        found = Found(noted.starts[start:end], noted.ends[start:end])
        if column.op is Op.NUMBER:
            missing = found.starts < 0
            places = np.where(missing, len(self._data) - len(PADDING), found.starts)
            return pa.array(numbers_at(self._data, places)[0], mask=missing)
        if column.op is Op.FIXED:
            return self._fixed_size(column, found)
        return slices(self._data, found.starts, found.ends)

    def _fixed_size(self, column: Column, found: Found) -> pa.Array:
        missing = found.starts < 0
        if column.kind is Kind.BYTES:
            return slices(self._data, found.starts, np.where(missing, found.starts, found.starts + column.size))
        rows = self._data[np.where(missing, 0, found.starts)[:, None] + np.arange(column.size)]
        match column.kind:
            case Kind.FLAG:
                return pa.array(rows[:, 0] != 0, mask=missing)
            case Kind.FLOAT:
                return pa.array(rows.copy().view("<f4")[:, 0].astype(np.float64), mask=missing)
            case Kind.DOUBLE:
                return pa.array(rows.copy().view("<f8")[:, 0], mask=missing)
            case _:
                assert_never(column.kind)
