"""Partition values out of the log's maps into columns: one dictionary-encoded array of texts a column, in bulk.

A map a file is how the log has them, and the slowest of all forms to ask. A table has few distinct partition values, so
four bytes a file and column hold them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.types.arrow_types import Array, RecordBatch

DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def partition_schema(physical_names: Iterable[str]) -> Any:
    """The `pyarrow.Schema` of the partition values of a table."""
    return pa.schema([(name, DICTIONARY) for name in physical_names])


def encode_partition_values(maps: Array, schema: Any) -> RecordBatch:
    """A batch of `schema` (a `partition_schema`) with a row for each map; a missing key is null."""
    count = len(maps)
    offsets = maps.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    keys = maps.keys.slice(first, last - first).dictionary_encode()
    items = maps.items.slice(first, last - first)
    codes, names = keys.indices.to_numpy(), keys.dictionary.to_pylist()
    columns = []
    for name in schema.names:
        if name in names:
            positions = np.flatnonzero(codes == names.index(name))
            columns.append(_aligned(items, positions, offsets - first, count).dictionary_encode())
        else:
            columns.append(pa.nulls(count, DICTIONARY))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _aligned(items: Array, positions: npt.NDArray[np.int64], offsets: npt.NDArray[Any], count: int) -> Array:
    """The items at `positions`, one for each map; null for a map that has none."""
    width = len(items) // max(count, 1)
    if width and np.array_equal(offsets, np.arange(count + 1) * width):
        rows = positions // width  # as one writer does it: the same keys in every map
    else:
        rows = np.searchsorted(offsets, positions, "right") - 1
    if len(rows) == count and np.array_equal(rows, np.arange(count)):
        return items.take(pa.array(positions))
    index = np.full(count, -1, np.int64)
    index[rows] = positions
    return items.take(pa.array(index, mask=index < 0))
