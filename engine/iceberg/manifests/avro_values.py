"""Reads a column's Avro values from a byte buffer in one vectorized operation.

Source: Apache Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Places = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
# Appended to a buffer's values, so that reading a number needs no bounds check.
PADDING = bytes(16)
NUMBER_BYTES_MAX = 10


def numbers_at(data: Bytes, at: Places) -> tuple[Places, Places]:
    """Returns the numbers at these positions, and the positions after them. Raises `ValueError`, `IndexError`."""
    byte = data[at]
    if not len(at) or byte.max() < 128:
        small = byte.astype(np.int64)
        return (small >> 1) ^ -(small & 1), at + 1
    number = (byte & 127).astype(np.uint64)
    after = at + 1
    rows = np.flatnonzero(byte >= 128)
    for position in range(1, NUMBER_BYTES_MAX):
        byte = data[at[rows] + position]
        number[rows] |= (byte & 127).astype(np.uint64) << np.uint64(7 * position)
        after[rows] += 1
        rows = rows[byte >= 128]
        if not len(rows):
            break
    else:
        raise ValueError("a number of more than 64 bits")
    return ((number >> np.uint64(1)) ^ (np.uint64(0) - (number & np.uint64(1)))).view(np.int64), after


def lengths_at(data: Bytes, at: Places) -> tuple[Places, Places]:
    """Reads like `numbers_at`, for lengths within the data."""
    lengths, after = numbers_at(data, at)
    if len(lengths) and (int(lengths.min()) < 0 or int(lengths.max()) > len(data)):
        raise ValueError("a length that is negative, or longer than the file")
    return lengths, after


def slices(data: Bytes, starts: Places, ends: Places) -> Any:
    """Returns the bytes between ascending positions; null if `starts` is negative."""
    missing = starts < 0
    edges = np.column_stack((starts, ends))[~missing].ravel()
    if not len(edges):
        return pa.nulls(len(starts), pa.binary())
    if len(data) >= 1 << 31:
        raise ValueError("a column of more than two gigabytes")
    # Every other array value is a gap between two values: Arrow copies the others faster than numpy does.
    gapped = pa.BinaryArray.from_buffers(
        pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges.astype(np.int32)), pa.py_buffer(data)]
    )
    index = 2 * (np.cumsum(~missing) - 1)
    return gapped.take(pa.array(index, mask=missing))


def as_number(number: int) -> bytes:
    """Returns a number in Avro's encoding. Raises `OverflowError` beyond 64 bits."""
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("a number of more than 64 bits")
    pieces = bytearray()
    number = (number << 1) ^ (number >> 63)
    while number > 0x7F:
        pieces.append((number & 0x7F) | 0x80)
        number >>= 7
    pieces.append(number)
    return bytes(pieces)
