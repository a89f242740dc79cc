"""Manifest entries decoded into columns, without an object for each entry.

Avro has no index: where a field begins is known when the one before it was walked over. The walk looks at nothing but
lengths and branches, and notes where values are; numbers are decoded afterwards, all of a column at once. A map or list
of numbers is walked over in one step, for numbers end at a byte below 128, and these are counted beforehand.

The schema is the one of the file with our names (`engine.iceberg.manifests.avro`). What this does not know (a schema
that refers to itself, say) is `NotWalked`, and is decoded by fastavro.

Source: Apache Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_VARINT_BYTES_MAX = 10
Places = npt.NDArray[np.int64]


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


@dataclass(slots=True)
class Column:
    """`name` is the path of names. `null` is the branch of a union that is null; -1: the value is always there.

    `starts` has a place for each entry, -1 for null; `sizes` what belongs to it: bytes, or how many items.
    """

    name: str
    op: Op
    null: int
    size: int = 0
    """Of a fixed value in bytes; of the pairs of `Op.NUMBERS` 2, of its single items 1."""
    kind: Kind = Kind.BYTES
    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


def columns_of(schema: Any, prefix: str = "", names: dict[str, Any] | None = None) -> list[Column]:
    """The columns of a record, fields of inner records by their path. Raises `NotWalked`."""
    names = {} if names is None else names
    found: list[Column] = []
    for each in schema["fields"]:
        kind, null = each["type"], -1
        if isinstance(kind, list):
            if len(kind) == 1:
                raise NotWalked()
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
        case _:
            raise NotWalked()


def walk(columns: Sequence[Column], block: bytes, count: int, base: int) -> None:
    """Notes where the values of `count` records are in `block`, which begins at `base` of all blocks.

    Raises `ValueError`, `IndexError` where they end behind it.
    """
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data < 128)
    before = np.zeros(len(block) + 1, np.int64)
    np.cumsum(data < 128, out=before[1:])
    ends_of, ends_before = ends.tolist(), before.tolist()
    at, size = 0, len(block)
    number, text, fixed, numbers = int(Op.NUMBER), int(Op.BYTES), int(Op.FIXED), int(Op.NUMBERS)
    plan = [
        (int(column.op), column.null, column.starts.append, column.sizes.append, column.size, column)
        for column in columns
    ]  # names of this function cost a fraction of attributes, and are asked for with every value
    for _ in range(count):
        for op, null, add_start, add_size, width, column in plan:
            if null >= 0:
                branch = block[at]
                at += 1
                if branch not in (0, 2):
                    raise ValueError("a union has no such branch")
                if branch >> 1 == null:
                    add_start(-1)
                    add_size(0)
                    continue
            if op == number:
                add_start(at + base)
                at = ends_of[ends_before[at]] + 1
            elif op == text:
                length, at = _long(block, at)
                add_start(at + base)
                add_size(length)
                at += length
            elif op == fixed:
                add_start(at + base)
                at += width
            elif op == numbers:
                at = _numbers(column, block, at, base, ends_of, ends_before)
            else:
                at = _pairs(column, block, at, base, ends_of, ends_before)
        if at > size:
            raise ValueError("a value ends behind its block")
    if at != size:
        raise ValueError("a block has more than its records")


def _long(block: bytes, at: int) -> tuple[int, int]:
    """A length, and the place after it."""
    byte = block[at]
    if byte < 128:
        if byte & 1:
            raise ValueError("a negative length")
        return byte >> 1, at + 1
    number, shift = byte & 127, 7
    while byte >= 128:
        at += 1
        byte = block[at]
        number |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            raise ValueError("a number of more than 64 bits")
    if number & 1:
        raise ValueError("a negative length")
    return number >> 1, at + 1


def _count(block: bytes, at: int) -> tuple[int, int]:
    """How many items follow, and the place of the first; a negative count is followed by their size."""
    byte = block[at]
    if byte < 128 and not byte & 1:
        return byte >> 1, at + 1
    number = shift = 0
    while True:
        byte = block[at]
        number |= (byte & 127) << shift
        at += 1
        shift += 7
        if byte < 128:
            break
        if shift > 70:
            raise ValueError("a number of more than 64 bits")
    if not number & 1:
        return number >> 1, at
    while block[at] >= 128:
        at += 1
    return (number + 1) >> 1, at + 1


def _numbers(
    column: Column, block: bytes, at: int, base: int, ends_of: Sequence[int], ends_before: Sequence[int]
) -> int:
    total = 0
    while True:
        count, at = _count(block, at)
        if not count:
            break
        total += count
        column.items.append(at + base)
        column.lengths.append(count * column.size)
        at = ends_of[ends_before[at] + count * column.size - 1] + 1
    column.starts.append(at + base)
    column.sizes.append(total)
    return at


def _pairs(column: Column, block: bytes, at: int, base: int, ends_of: Sequence[int], ends_before: Sequence[int]) -> int:
    total = 0
    keys, items, lengths = column.keys, column.items, column.lengths
    while True:
        count, at = _count(block, at)
        if not count:
            break
        total += count
        for _ in range(count):
            keys.append(at + base)
            at = ends_of[ends_before[at]] + 1
            length = block[at]
            if length < 128 and not length & 1:
                length >>= 1
                at += 1
            else:
                length, at = _long(block, at)
            items.append(at + base)
            lengths.append(length)
            at += length
    column.starts.append(at + base)
    column.sizes.append(total)
    return at


# --- Values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Values:
    """All blocks one after the other, and what the walk noted of them."""

    data: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, blocks: Sequence[bytes]) -> Values:
        return cls(np.frombuffer(b"".join((*blocks, bytes(_VARINT_BYTES_MAX))), np.uint8))

    def longs(self, places: Places) -> Places:
        """The numbers that begin at these places."""
        number = np.zeros(len(places), np.uint64)
        rows = np.arange(len(places))
        for position in range(_VARINT_BYTES_MAX):
            byte = self.data[places[rows] + position].astype(np.uint64)
            number[rows] |= (byte & np.uint64(127)) << np.uint64(7 * position)
            rows = rows[byte >= 128]
            if not len(rows):
                break
        else:
            raise ValueError("a number of more than 64 bits")
        return ((number >> np.uint64(1)) ^ (np.uint64(0) - (number & np.uint64(1)))).view(np.int64)

    def binary(self, places: Places, lengths: Places) -> pa.Array:
        """The bytes from these places on."""
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        if total >= 1 << 31:
            raise ValueError("a column of more than two gigabytes")
        index = np.repeat(places - (ends - lengths), lengths) + np.arange(total)
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        return pa.BinaryArray.from_buffers(
            pa.binary(), len(places), [None, pa.py_buffer(offsets), pa.py_buffer(self.data[index])]
        )

    def column(self, column: Column) -> pa.Array:
        """Numbers as int64, bytes as binary, lists of numbers or of pairs of `key` and `value`."""
        starts = np.array(column.starts, np.int64)
        missing = starts < 0
        match column.op:
            case Op.NUMBER:
                return pa.array(self.longs(np.where(missing, len(self.data) - _VARINT_BYTES_MAX, starts)), mask=missing)
            case Op.BYTES:
                lengths = np.array(column.sizes, np.int64)
                return _masked(self.binary(np.where(missing, 0, starts), lengths), missing)
            case Op.FIXED:
                return self._fixed(column, starts, missing)
            case Op.NUMBERS | Op.NUMBER_TO_BYTES:
                offsets = pa.array(np.concatenate(([0], np.cumsum(column.sizes))), pa.int32())
                return pa.ListArray.from_arrays(offsets, self._items(column))

    def _items(self, column: Column) -> pa.Array:
        items, lengths = np.array(column.items, np.int64), np.array(column.lengths, np.int64)
        if column.op == Op.NUMBER_TO_BYTES:
            keys = pa.array(self.longs(np.array(column.keys, np.int64)), pa.int64())
            return _pair_array(keys, self.binary(items, lengths))
        numbers = self._runs(items, lengths)
        if column.size == 1:
            return pa.array(numbers)
        return _pair_array(pa.array(numbers[0::2]), pa.array(numbers[1::2]))

    def _runs(self, places: Places, counts: Places) -> Places:
        """Numbers that follow one another, so many from each place."""
        if not len(places):
            return np.empty(0, np.int64)
        ends = np.flatnonzero(self.data < 128)
        first = np.searchsorted(ends, places)
        total = np.cumsum(counts)
        within = np.arange(total[-1]) - np.repeat(total - counts, counts)
        index = np.repeat(first, counts) + within
        starts = np.where(within == 0, np.repeat(places, counts), ends[index - 1] + 1)
        return self.longs(starts)

    def _fixed(self, column: Column, starts: Places, missing: npt.NDArray[np.bool_]) -> pa.Array:
        places = np.where(missing, 0, starts)
        rows = self.data[places[:, None] + np.arange(column.size)]
        match column.kind:
            case Kind.FLAG:
                return pa.array(rows[:, 0] != 0, mask=missing)
            case Kind.FLOAT:
                return pa.array(rows.copy().view("<f4")[:, 0].astype(np.float64), mask=missing)
            case Kind.DOUBLE:
                return pa.array(rows.copy().view("<f8")[:, 0], mask=missing)
            case Kind.BYTES:
                return pa.array(
                    [None if gone else row.tobytes() for row, gone in zip(rows, missing, strict=True)], pa.binary()
                )


def _masked(values: pa.Array, missing: npt.NDArray[np.bool_]) -> pa.Array:
    if not missing.any():
        return values
    return values.take(pa.array(np.arange(len(values)), mask=missing))


def _pair_array(keys: pa.Array, values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([keys, values], ["key", "value"])
