"""Decodes manifest entries into columns, without an object per entry.

Avro has no index: a field's start is known only after the preceding field was walked. But a file has many blocks that
can be walked independently. So all blocks from a set with manifests are walked in lockstep: one step handles one field
in one record for every block, as a few operations on arrays with a position per block. The walk reads only lengths and
union branches, and notes the value positions (`engine.iceberg.manifests.avro_values` reads the values).

Maps and lists remain encoded bytes (`engine.iceberg.manifests.metrics`), because few values are ever needed. Numeric
ones are skipped in one step: numbers end at a byte below 128, and these bytes are counted in advance.

The schema is the file's with our names (`engine.iceberg.manifests.avro`). An unsupported schema (a recursive one, for
example) raises `NotWalked`, and is decoded by fastavro.

20,000 manifests, compared with fastavro (`tests/bench/bench_manifests.py`, two cores, Python 3.11):

    entries in each        this decoder        fastavro             fastavro, rows discarded
                 10     7.6 s,   822 MB     18.4 s,   686 MB      6.6 s
                 50    13.1 s, 1,583 MB     98.4 s, 1,298 MB     32.0 s

Seconds are processor time. Most fastavro time is spent on a Python object for each value in the metrics maps.

Source: Apache Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, assert_never

import numpy as np

from engine.iceberg.manifests.avro_values import NUMBER_BYTES_MAX, Bytes, Places, lengths_at, numbers_at

# The position that denotes a null value.
NULL = -1


class NotWalked(Exception):
    """Raised for a schema that the walk does not support."""


class Op(IntEnum):
    """The way to walk over a value."""

    NUMBER = 0
    BYTES = 1
    FIXED = 2
    # A list with numbers, or a map from numbers to numbers as a list with pairs.
    NUMBERS = 3
    # A map from numbers to bytes as a list with pairs.
    NUMBER_TO_BYTES = 4


class Kind(IntEnum):
    """The kind that an `Op.FIXED` value has."""

    FLAG = 0
    FLOAT = 1
    DOUBLE = 2
    BYTES = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A leaf column. `name` is the path. `null` is the union's null branch; -1: never null."""

    name: str
    op: Op
    null: int
    # A fixed value's size in bytes; for `Op.NUMBERS`, 2 for pairs and 1 for single items.
    size: int = 0
    kind: Kind = Kind.BYTES


@dataclass(frozen=True, slots=True)
class Found:
    """A column's value positions for each record: `starts` in the whole data, `NULL` for null; `ends` after them.

    Only bytes, maps and lists have `ends`.
    """

    starts: Places
    ends: Places


def columns_of(schema: Any, prefix: str = "", names: dict[str, Any] | None = None) -> list[Column]:
    """Returns a record's columns, with inner records' fields by path. Raises `NotWalked`."""
    names = {} if names is None else names
    found: list[Column] = []
    for each in schema["fields"]:
        kind, null = each["type"], -1
        if isinstance(kind, list):
            if len(kind) != 2 or "null" not in kind:
                raise NotWalked()
            null = kind.index("null")
            kind = kind[1 - null]
        if isinstance(kind, dict) and kind["type"] == "record":
            if null >= 0:
                raise NotWalked()
            names[kind["name"]] = kind
            found += columns_of(kind, f"{prefix}{each['name']}.", names)
            continue
        found.append(_column(f"{prefix}{each['name']}", kind, null, names))
    return found


def _column(name: str, kind: Any, null: int, names: dict[str, Any]) -> Column:
    match kind:
        case "int" | "long":
            return Column(name, Op.NUMBER, null)
        case "bytes":
            return Column(name, Op.BYTES, null)
        case "boolean":
            return Column(name, Op.FIXED, null, 1, Kind.FLAG)
        case "float":
            return Column(name, Op.FIXED, null, 4, Kind.FLOAT)
        case "double":
            return Column(name, Op.FIXED, null, 8, Kind.DOUBLE)
        case {"type": "fixed", "name": called, "size": int(size)}:
            names[called] = kind
            return Column(name, Op.FIXED, null, size)
        case {"type": "array", "items": "int" | "long"}:
            return Column(name, Op.NUMBERS, null, 1)
        case {"type": "array", "items": {"type": "record", "fields": [{"name": "key"}, {"name": "value"}] as pair}}:
            types = (pair[0]["type"], pair[1]["type"])
            if types[0] in ("int", "long") and types[1] in ("int", "long"):
                return Column(name, Op.NUMBERS, null, 2)
            if types[0] in ("int", "long") and types[1] == "bytes":
                return Column(name, Op.NUMBER_TO_BYTES, null)
            raise NotWalked()
        case str() if isinstance(names.get(kind), dict) and names[kind]["type"] == "fixed":
            return Column(name, Op.FIXED, null, names[kind]["size"])
        case _:  # JSON from a file
            raise NotWalked()


def walk(columns: Sequence[Column], data: Bytes, blocks: Sequence[tuple[int, int]]) -> list[Found]:
    """Returns each column's value positions.

    `blocks` are pairs (record count, size in bytes), adjacent in `data`; `data` must have padding after them. Raises
    `ValueError`, `IndexError` if values do not fit their blocks.
    """
    counts = np.array([count for count, _ in blocks], np.int64)
    sizes = np.array([size for _, size in blocks], np.int64)
    order = np.argsort(-counts, kind="stable")  # so that the blocks that have a next record come first
    limits = np.cumsum(sizes)[order]
    at, rows = limits - sizes[order], (np.cumsum(counts) - counts)[order]
    total = int(counts.sum())
    found = [Found(np.full(total, NULL), np.full(total, NULL)) for _ in columns]
    walker = _Walker(data)
    left = counts[order]
    for step in range(int(counts.max(initial=0))):
        lanes = int(np.searchsorted(-left, -step, side="left"))
        places, row = at[:lanes], rows[:lanes] + step
        for column, noted in zip(columns, found, strict=True):
            places = walker.step(column, noted, places, row)
        if (places > limits[:lanes]).any():
            raise ValueError("a value ends behind its block")
        at[:lanes] = places
    if (at != limits).any():
        raise ValueError("a block has more than its records")
    return found


class _Walker:
    """Steps over fields: takes their start positions, returns the end positions."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._ends = _Ends(data)

    def step(self, column: Column, found: Found, at: Places, rows: Places) -> Places:
        if column.null < 0:
            return self._value(column, found, at, rows)
        branch = self._data[at]
        if ((branch != 0) & (branch != 2)).any():
            raise ValueError("a union has no such branch")
        there = branch != 2 * column.null
        at = at + 1
        if there.all():
            return self._value(column, found, at, rows)
        if there.any():
            at[there] = self._value(column, found, at[there], rows[there])
        return at

    def _value(self, column: Column, found: Found, at: Places, rows: Places) -> Places:
        match column.op:
            case Op.NUMBER:
                found.starts[rows] = at
                return self._ends.after(at)
            case Op.FIXED:
                found.starts[rows] = at
                return at + column.size
            case Op.BYTES:
                lengths, at = lengths_at(self._data, at)
                found.starts[rows] = at
                at = at + lengths
            case Op.NUMBERS | Op.NUMBER_TO_BYTES:
                found.starts[rows] = at
                at = self._items(column, at)
            case _:
                assert_never(column.op)
        found.ends[rows] = at
        return at

    def _items(self, column: Column, at: Places) -> Places:
        """Returns the position after a list or map: blocks with items, then an empty block."""
        at, live = at.copy(), np.arange(len(at))
        while len(live):
            counts, places = items_at(self._data, at[live])
            if column.op is Op.NUMBERS:
                at[live] = self._ends.skip(places, counts * column.size)
            else:
                at[live] = self._pairs(places, counts)
            live = live[counts > 0]
        return at

    def _pairs(self, at: Places, counts: Places) -> Places:
        """Returns the position after `counts` pairs with a number and bytes."""
        most, fewest = int(counts.max(initial=0)), int(counts.min(initial=0))
        for step in range(most):
            if step < fewest:
                lengths, places = lengths_at(self._data, self._ends.after(at))
                at = places + lengths
            else:
                rest = np.flatnonzero(counts > step)
                lengths, places = lengths_at(self._data, self._ends.after(at[rest]))
                at[rest] = places + lengths
        return at


def items_at(data: Bytes, at: Places) -> tuple[Places, Places]:
    """Returns the item count, and the first item's position; a negative count is followed by a size in bytes."""
    counts, places = numbers_at(data, at)
    sized = counts < 0
    if sized.any():
        _, places[sized] = numbers_at(data, places[sized])
        counts = np.abs(counts)
    if ((counts < 0) | (counts > len(data))).any():
        raise ValueError("a list that is longer than the file")
    return counts, places


_BITS = np.arange(256, dtype=np.uint8)[:, None] >> np.arange(8, dtype=np.uint8) & 1
# The number of set bits, by byte.
_ONES = _BITS.sum(axis=1).astype(np.int64)
# The lower bits, by bit position.
_BELOW = (1 << np.arange(8)) - 1
# The position that the n-th set bit has in a byte, n from 1.
_PLACE = np.zeros((256, 9), np.int64)
for _nth in range(1, 9):
    _PLACE[:, _nth] = np.argmax(np.cumsum(_BITS, axis=1) == _nth, axis=1)


class _Ends:
    """A cumulative count over the bytes that end a number."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._bits = np.packbits(data < 128, bitorder="little")
        self._before = np.zeros(len(self._bits) + 1, np.int64)
        np.cumsum(_ONES[self._bits], out=self._before[1:])

    def after(self, at: Places) -> Places:
        """Returns the positions after the numbers at these positions."""
        if (self._data[at] < 128).all():
            return at + 1
        return self.skip(at, np.ones(len(at), np.int64))

    def skip(self, at: Places, counts: Places) -> Places:
        """Returns the positions after `counts` numbers from these positions. Raises `IndexError` if there are fewer."""
        first = at >> 3
        wanted = self._before[first] + _ONES[self._bits[first] & _BELOW[at & 7]] + counts
        byte = self._byte_before(first, first + (counts * NUMBER_BYTES_MAX >> 3) + 2, wanted)
        behind = 8 * byte + _PLACE[self._bits[byte], wanted - self._before[byte]] + 1
        return np.where(counts == 0, at, behind)

    def _byte_before(self, low: Places, high: Places, wanted: Places) -> Places:
        """Returns the last byte positions before which fewer ends exist than wanted, by bisection."""
        high = np.minimum(high, len(self._before) - 1)
        if (self._before[high] < wanted).any():
            raise IndexError("numbers end behind the file, or have more than 64 bits")
        for _ in range(int((high - low).max(initial=1)).bit_length()):
            middle = (low + high) >> 1
            is_before = self._before[middle] < wanted
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        return low
