"""Encodes Arrow columns as Avro records, without an object per record.

A column is encoded as a whole: all its bytes, and each row's byte count. A record interleaves its fields' pieces.
Numbers become varints with one numpy operation for each of up to ten bytes.

The types are those in manifests: `null` in unions with two branches, `int`, `long`, `float`, `double`, `boolean`,
`bytes`, `string`, fixed, arrays and records; a record is a struct with the schema's field names.

Source: Apache Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_VARINT_BITS = 7
_NUMBERS = frozenset(["int", "long"])
_TEXTS = frozenset(["bytes", "string"])
_FLOATS = {"float": "<f4", "double": "<f8"}


@dataclass(frozen=True, slots=True)
class Pieces:
    """`data` is all rows' encoding in sequence; `sizes` are each row's bytes."""

    data: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.int64]


def encode(schema: Any, column: pa.Array) -> Pieces:
    """Encodes a column by an Avro schema. Raises `ValueError` for values outside the schema."""
    if isinstance(schema, list):
        return _union(schema, column)
    if column.null_count:
        raise ValueError(f"a value of {str(schema)[:60]} is null")
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind in _NUMBERS:
        return varints(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
    if kind in _TEXTS:
        return _texts(column)
    if kind in _FLOATS:
        return _fixed_width(column.to_numpy(zero_copy_only=False).astype(_FLOATS[kind]))
    match kind:
        case "boolean":
            return _fixed_width(column.to_numpy(zero_copy_only=False).astype(np.uint8))
        case "fixed":
            return _fixed_bytes(column, schema["size"])
        case "array" if pa.types.is_binary(column.type):
            return _bytes(column)  # already in Avro's encoding (`engine.iceberg.manifests.metrics`)
        case "array":
            return _array(schema["items"], column)
        case "record":
            fields = [encode(each["type"], pc.struct_field(column, each["name"])) for each in schema["fields"]]
            return _interleave(fields, len(column))
        case _:  # any other Avro type
            raise ValueError(f"{str(schema)[:60]} is no type of manifests")


def varints(values: npt.NDArray[np.int64]) -> Pieces:
    """Encodes integers in zigzag order, 7 bits per byte."""
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    sizes = np.ones(len(values), np.int64)
    for bits in range(_VARINT_BITS, 64, _VARINT_BITS):
        sizes += (zigzag >> np.uint64(bits)) > 0
    starts = np.cumsum(sizes) - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    for position in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > position)
        piece = (zigzag[rows] >> np.uint64(_VARINT_BITS * position)) & np.uint64(0x7F)
        data[starts[rows] + position] = piece.astype(np.uint8) | np.where(sizes[rows] > position + 1, 0x80, 0).astype(
            np.uint8
        )
    return Pieces(data, sizes)


def _union(schema: list[Any], column: pa.Array) -> Pieces:
    if len(schema) != 2 or "null" not in schema:
        raise ValueError(f"{str(schema)[:60]} is no type of manifests")
    null = schema.index("null")
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    branch = varints(np.where(valid, 1 - null, null).astype(np.int64))
    if not valid.any():
        return branch
    return _interleave([branch, _expand(encode(schema[1 - null], column.drop_null()), valid)], len(column))


def _expand(some: Pieces, rows: npt.NDArray[np.bool_]) -> Pieces:
    """Expands pieces for some rows; the other rows are empty."""
    sizes = np.zeros(len(rows), np.int64)
    sizes[rows] = some.sizes
    return Pieces(some.data, sizes)


def _texts(column: pa.Array) -> Pieces:
    found = _bytes(column)
    return _interleave([varints(found.sizes), found], len(column))


def _bytes(column: pa.Array) -> Pieces:
    values = column.cast(pa.large_binary())
    lengths = pc.binary_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64, len(values) + 1, values.offset * 8)
    found = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return Pieces(found, lengths)


def _fixed_width(values: Any) -> Pieces:
    data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    return Pieces(data, np.full(len(values), values.dtype.itemsize, np.int64))


def _fixed_bytes(column: pa.Array, size: int) -> Pieces:
    values = column.to_pylist()
    if any(len(value) != size for value in values):
        raise ValueError(f"a value does not have {size} bytes")
    return Pieces(np.frombuffer(b"".join(values), np.uint8), np.full(len(values), size, np.int64))


def _array(items: Any, column: pa.Array) -> Pieces:
    """Encodes one block with the items if any, and a zero."""
    counts = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    filled = counts > 0
    inner = encode(items, column.flatten())
    ends = np.concatenate(([0], np.cumsum(inner.sizes)))
    last = np.cumsum(counts)
    block = Pieces(inner.data, ends[last] - ends[last - counts])
    zeros = Pieces(np.zeros(len(counts), np.uint8), np.ones(len(counts), np.int64))
    return _interleave([_expand(varints(counts[filled]), filled), block, zeros], len(counts))


def _interleave(parts: Sequence[Pieces], count: int) -> Pieces:
    """Interleaves all parts' pieces, row by row."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.sum([part.sizes for part in parts], axis=0) if parts else np.zeros(count, np.int64)
    places = np.cumsum(sizes) - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    for part in parts:
        own = np.cumsum(part.sizes) - part.sizes
        data[np.arange(len(part.data)) + np.repeat(places - own, part.sizes)] = part.data
        places = places + part.sizes
    return Pieces(data, sizes)
