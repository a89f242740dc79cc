"""Manifest entries decoded into columns, without an object for each entry.

Avro has no index: where a field begins is known when the one before it was walked over. But a file is many blocks, and
each can be walked over by itself. So all blocks of a set of manifests are walked over in lockstep: one step is one
field of one record in every block, as a handful of operations on arrays with a place for each block. The walk looks at
nothing but lengths and branches, and notes where values are (`engine.iceberg.manifests.avro_values` reads them).

Maps and lists stay the bytes that they are in the file (`engine.iceberg.manifests.metrics`): few of their values are
ever asked for. Those of numbers are passed in one step, for numbers end at a byte below 128, and these are counted
beforehand.

The schema is the one of the file with our names (`engine.iceberg.manifests.avro`). What this does not know (a schema
that refers to itself, say) is `NotWalked`, and is decoded by fastavro.

20,000 manifests take, beside fastavro (`tests/bench/bench_manifests.py`, on two cores with Python 3.11):

    entries in each        this decoder        fastavro             fastavro, rows that nobody keeps
                 10     7.6 s,   822 MB     18.4 s,   686 MB      6.6 s
                 50    13.1 s, 1,583 MB     98.4 s, 1,298 MB     32.0 s

Seconds are those of processors. Most of fastavro's go into a Python object for each value of the maps of metrics.

Source: Apache Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, assert_never

import numpy as np

from engine.iceberg.manifests.avro_values import NUMBER_BYTES_MAX, Bytes, Places, lengths_at, numbers_at

NULL = -1
"""The place of a value that is null."""


class NotWalked(Exception):
    """A schema that the walk does not know."""


class Op(IntEnum):
    """How a value is walked over."""

    NUMBER = 0
    BYTES = 1
    FIXED = 2
    NUMBERS = 3
    """A list of numbers, or a map of numbers to numbers as a list of pairs."""
    NUMBER_TO_BYTES = 4
    """A map of numbers to bytes as a list of pairs."""


class Kind(IntEnum):
    """What a value of `Op.FIXED` is."""

    FLAG = 0
    FLOAT = 1
    DOUBLE = 2
    BYTES = 3


@dataclass(frozen=True, slots=True)
class Column:
    """`name` is the path of names. `null` is the branch of a union that is null; -1: the value is always there."""

    name: str
    op: Op
    null: int
    size: int = 0
    """Of a fixed value in bytes; of the pairs of `Op.NUMBERS` 2, of its single items 1."""
    kind: Kind = Kind.BYTES


@dataclass(frozen=True, slots=True)
class Found:
    """Where the values of a column are, for each record: `starts` in all bytes, `NULL` for null; `ends` behind them.

    Only bytes, maps and lists have `ends`.
    """

    starts: Places
    ends: Places


def columns_of(schema: Any, prefix: str = "", names: dict[str, Any] | None = None) -> list[Column]:
    """The columns of a record, fields of inner records by their path. Raises `NotWalked`."""
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
    """Where the values of each column are. `blocks` are pairs of a count of records and a size in bytes, which follow
    one another in `data`; something that belongs to none has to follow them.

    Raises `ValueError`, `IndexError` where values do not fit their blocks.
    """
    counts = np.array([count for count, _ in blocks], np.int64)
    sizes = np.array([size for _, size in blocks], np.int64)
    order = np.argsort(-counts, kind="stable")  # so that blocks that have a next record are the first ones
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
    """Steps over fields: places where they begin in, places behind them out."""

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
        """The place behind a list or map: blocks of items, and a block of none."""
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
        """The place behind so many pairs of a number and bytes."""
        most, least = int(counts.max(initial=0)), int(counts.min(initial=0))
        for step in range(most):
            if step < least:
                lengths, places = lengths_at(self._data, self._ends.after(at))
                at = places + lengths
            else:
                rest = np.flatnonzero(counts > step)
                lengths, places = lengths_at(self._data, self._ends.after(at[rest]))
                at[rest] = places + lengths
        return at


def items_at(data: Bytes, at: Places) -> tuple[Places, Places]:
    """How many items follow, and the place of the first; a negative count is followed by their size in bytes."""
    counts, places = numbers_at(data, at)
    sized = counts < 0
    if sized.any():
        _, places[sized] = numbers_at(data, places[sized])
        counts = np.abs(counts)
    if ((counts < 0) | (counts > len(data))).any():
        raise ValueError("a list that is longer than the file")
    return counts, places


_BITS = np.arange(256, dtype=np.uint8)[:, None] >> np.arange(8, dtype=np.uint8) & 1
_ONES = _BITS.sum(axis=1).astype(np.int64)
"""How many bits of a byte are set."""
_BELOW = (1 << np.arange(8)) - 1
"""The bits of a byte below one."""
_PLACE = np.zeros((256, 9), np.int64)
"""The place of the n-th bit of a byte that is set, from 1."""
for _nth in range(1, 9):
    _PLACE[:, _nth] = np.argmax(np.cumsum(_BITS, axis=1) == _nth, axis=1)


class _Ends:
    """The bytes that end a number, counted."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._bits = np.packbits(data < 128, bitorder="little")
        self._before = np.zeros(len(self._bits) + 1, np.int64)
        np.cumsum(_ONES[self._bits], out=self._before[1:])

    def after(self, at: Places) -> Places:
        """The places behind the numbers at these ones."""
        if (self._data[at] < 128).all():
            return at + 1
        return self.skip(at, np.ones(len(at), np.int64))

    def skip(self, at: Places, counts: Places) -> Places:
        """The places behind so many numbers from these ones on. Raises `IndexError` where there are not so many."""
        first = at >> 3
        wanted = self._before[first] + _ONES[self._bits[first] & _BELOW[at & 7]] + counts
        byte = self._byte_before(first, first + (counts * NUMBER_BYTES_MAX >> 3) + 2, wanted)
        behind = 8 * byte + _PLACE[self._bits[byte], wanted - self._before[byte]] + 1
        return np.where(counts == 0, at, behind)

    def _byte_before(self, low: Places, high: Places, wanted: Places) -> Places:
        """The last bytes of the bits before which there are fewer ends than are wanted, found by bisection."""
        high = np.minimum(high, len(self._before) - 1)
        if (self._before[high] < wanted).any():
            raise IndexError("numbers end behind the file, or have more than 64 bits")
        for _ in range(int((high - low).max(initial=1)).bit_length()):
            middle = (low + high) >> 1
            is_before = self._before[middle] < wanted
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        return low
