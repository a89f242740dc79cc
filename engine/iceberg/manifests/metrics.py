"""Metrics maps, kept as encoded bytes and decoded for single columns on demand.

A metrics map in a table with entries is a list with pairs in Avro's encoding; null if absent. All entries' maps are
walked together, pair by pair, until each has returned the requested field.

Source: Iceberg table specification, "Manifests"; Apache Avro specification, "Arrays".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.manifests.avro_values import PADDING, Bytes, Places, as_number, lengths_at, numbers_at, slices
from engine.iceberg.manifests.avro_walk import items_at

COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")
METRICS = (*COUNTS, *BOUNDS)
_CHUNK_ROWS = 2000


def metric(entries: pa.Table, name: str, field_id: int) -> pa.Array:
    """Returns one column's metric for each entry; null if absent. Raises `MalformedIcebergFile`."""
    kind = pa.binary() if name in BOUNDS else pa.int64()
    found = [_metric(raw, name in BOUNDS, field_id) for raw in _pieces(entries[name])]
    return pa.concat_arrays(found) if found else pa.array([], kind)


def _metric(raw: pa.Array, has_bytes: bool, field_id: int) -> pa.Array:
    data = _data_of(raw)
    found = _pairs(data, raw, has_bytes, field_id)
    starts, ends = np.full(len(raw), -1), np.full(len(raw), -1)
    starts[found.rows], ends[found.rows] = found.starts, found.ends
    if has_bytes:
        return slices(data, starts, ends)
    values = np.zeros(len(raw), np.int64)
    values[found.rows], _ = numbers_at(data, found.starts)
    return pa.array(values, mask=starts < 0)


def pairs(entries: pa.Table, name: str) -> pa.Array:
    """Returns each entry's complete map, as lists with `key` and `value`; empty if absent."""
    raw = pa.concat_arrays(_pieces(entries[name]) or [pa.array([], pa.binary())])
    data = _data_of(raw)
    found = _pairs(data, raw, name in BOUNDS, None)
    values = slices(data, found.starts, found.ends) if name in BOUNDS else pa.array(numbers_at(data, found.starts)[0])
    items = pa.StructArray.from_arrays([pa.array(found.keys, pa.int32()), values], ["key", "value"])
    offsets = np.concatenate(([0], np.cumsum(np.bincount(found.rows, minlength=len(raw)))))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def numbers(raw: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decodes lists with numbers; empty if absent."""
    data = _data_of(raw)
    found = _Pairs.of(_numbers(data, *_lanes(raw)))
    values = pa.array(found.keys, pa.int64()).cast(kind.value_type)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(found.rows, minlength=len(raw)))))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def encode_map(pairs: Sequence[Mapping[str, Any]] | None) -> bytes | None:
    """Encodes a map."""
    if not pairs:
        return None
    found = [as_number(len(pairs))]
    for pair in pairs:
        value = pair["value"]
        found.append(as_number(int(pair["key"])))
        found.append(as_number(value) if isinstance(value, int) else as_number(len(value)) + value)
    return b"".join((*found, b"\0"))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs in map order: the map's row, the key, and the value position. Lists have `keys` only."""

    rows: Places
    keys: Places
    starts: Places
    ends: Places

    @classmethod
    def of(cls, steps: Iterable[tuple[Places, ...]]) -> _Pairs:
        listed = list(steps)
        if not listed:
            return cls(*(np.empty(0, np.int64),) * 4)
        rows, keys, starts, ends = (np.concatenate(part) for part in zip(*listed, strict=True))
        order = np.argsort(rows, kind="stable")
        return cls(rows[order], keys[order], starts[order], ends[order])


def _pairs(data: Bytes, raw: pa.Array, has_bytes: bool, only: int | None) -> _Pairs:
    """Returns all maps' pairs, or the first pair with the key `only` in each."""
    try:
        return _Pairs.of(_steps(data, *_lanes(raw), has_bytes, only))
    except (ValueError, IndexError) as error:
        raise MalformedIcebergFile("A manifest", f"its metrics are not readable ({error})") from error


def _steps(data: Bytes, rows: Places, at: Places, has_bytes: bool, only: int | None) -> Iterable[tuple[Places, ...]]:
    left = np.zeros(len(rows), np.int64)
    while True:
        rows, at, left = _with_items(data, rows, at, left)
        if not len(rows):
            return
        keys, starts = numbers_at(data, at)
        if has_bytes:
            lengths, starts = lengths_at(data, starts)
            at = starts + lengths
        else:
            at = numbers_at(data, starts)[1]
        left = left - 1
        if only is None:
            yield rows, keys, starts, at
            continue
        hit = keys == only
        if hit.any():
            yield rows[hit], keys[hit], starts[hit], at[hit]
            rows, at, left = rows[~hit], at[~hit], left[~hit]


def _numbers(data: Bytes, rows: Places, at: Places) -> Iterable[tuple[Places, ...]]:
    left = np.zeros(len(rows), np.int64)
    while True:
        rows, at, left = _with_items(data, rows, at, left)
        if not len(rows):
            return
        values, after = numbers_at(data, at)
        yield rows, values, at, after
        at, left = after, left - 1


def _with_items(data: Bytes, rows: Places, at: Places, left: Places) -> tuple[Places, Places, Places]:
    """Keeps the maps with an item at `at`: after a block's last item the next block begins; an empty block ends the
    map.
    """
    if left.all():
        return rows, at, left
    done = np.flatnonzero(left == 0)
    left, at = left.copy(), at.copy()
    left[done], at[done] = items_at(data, at[done])
    is_open = left > 0
    return rows[is_open], at[is_open], left[is_open]


def _lanes(raw: pa.Array) -> tuple[Places, Places]:
    """Returns the rows that have a map, and the start positions."""
    offsets = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1].astype(np.int64)
    there = np.diff(offsets) > 0
    if raw.null_count:
        there &= raw.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(there)
    return rows, offsets[rows]


def _data_of(raw: pa.Array) -> Bytes:
    buffer = raw.buffers()[2]
    return np.frombuffer(PADDING if buffer is None or not buffer.size else buffer, np.uint8)


def _pieces(column: pa.ChunkedArray) -> list[pa.Array]:
    """Returns large chunks unchanged and small ones merged: copying them is faster than walking each separately."""
    if column.num_chunks > 1 and len(column) < _CHUNK_ROWS * column.num_chunks:
        return [pa.concat_arrays(column.chunks)]
    return list(column.chunks)
