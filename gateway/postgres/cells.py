"""A column's values as bytes, and their composition to messages with one row each. Pure and vectorized.

Arrow concatenates the cells of each row, so that no Python code runs for a row. Columns whose cells have the same
length, without nulls, are joined by numpy first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_LENGTH = ">i4"
_NULL = -1
_ROW, _I32 = struct.Struct(">ih"), struct.Struct(">i")
_NULL_CELL = _I32.pack(_NULL)
_FEW_CELLS = 100


@dataclass(frozen=True, slots=True)
class FixedCells:
    """Cells with the same length, as rows of a matrix; `is_null` is None if there are no nulls."""

    content: _Bytes
    is_null: npt.NDArray[np.bool_] | None = None

    def variable(self) -> pa.BinaryArray:
        """Returns the cells as an Arrow array."""
        cells = binary_array(self.content)
        if self.is_null is None:
            return cells
        return pc.if_else(pa.array(self.is_null), pa.scalar(None, pa.binary()), cells)

    def with_lengths(self) -> pa.BinaryArray:
        """Returns the cells, each after its length as an int32."""
        return VariableCells(self.variable()).with_lengths()


@dataclass(frozen=True, slots=True)
class VariableCells:
    """Cells as an Arrow array."""

    content: pa.BinaryArray

    def variable(self) -> pa.BinaryArray:
        """Returns the cells as an Arrow array."""
        return self.content

    def lengths(self) -> npt.NDArray[np.int32]:
        """Returns the lengths in bytes; -1 for a null."""
        found: npt.NDArray[np.int32] = pc.binary_length(self.content).fill_null(_NULL).to_numpy(zero_copy_only=False)
        return found

    def filled(self) -> pa.BinaryArray:
        """Returns the cells with empty bytes for nulls."""
        return self.content.fill_null(b"") if self.content.null_count else self.content

    def with_lengths(self) -> pa.BinaryArray:
        """Returns the cells, each after its length as an int32."""
        return pc.binary_join_element_wise(binary_array(as_bytes(self.lengths())), self.filled(), b"")


Cells: TypeAlias = FixedCells | VariableCells


def as_bytes(numbers: npt.NDArray[np.int32]) -> _Bytes:
    """Returns int32 numbers in network order, as rows of a matrix."""
    return np.ascontiguousarray(numbers.astype(_LENGTH)).view(np.uint8).reshape(len(numbers), 4)


def binary_array(content: _Bytes) -> pa.BinaryArray:
    """Returns the rows of a matrix as an Arrow array."""
    count, width = content.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(content))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def prefixed(prefix: bytes, cells: pa.BinaryArray) -> pa.BinaryArray:
    """Returns the cells after `prefix`; nulls stay null."""
    return pc.binary_join_element_wise(pa.scalar(prefix, pa.binary()), cells, b"")


def row_messages(tag: bytes, columns: Sequence[Cells], count: int) -> memoryview:
    """Returns `count` messages of the type `tag`, each with the number of columns and the cells of one row.

    DataRow (`D`) and CopyData (`d`) of the binary format have the same content.
    """
    if count * len(columns) <= _FEW_CELLS:
        return _few_rows(tag, columns, count)
    total = np.full(count, 6 + 4 * len(columns), np.int32)
    blocks: list[_Bytes] = []
    pieces: list[pa.BinaryArray] = []
    for cells in columns:
        if isinstance(cells, FixedCells) and cells.is_null is None:
            width = cells.content.shape[1]
            total += width
            blocks += [np.broadcast_to(np.frombuffer(struct.pack(">i", width), np.uint8), (count, 4)), cells.content]
            continue
        variable = VariableCells(cells.variable())
        lengths = variable.lengths()
        total += np.maximum(lengths, 0)
        pieces += [_block([*blocks, as_bytes(lengths)]), variable.filled()]
        blocks = []
    header = [
        np.broadcast_to(np.frombuffer(tag, np.uint8), (count, 1)),
        as_bytes(total),
        np.broadcast_to(np.frombuffer(struct.pack(">h", len(columns)), np.uint8), (count, 2)),
    ]
    if not pieces:
        return memoryview(np.concatenate([*header, *blocks], axis=1).tobytes())
    pieces.insert(0, _block(header))
    if blocks:
        pieces.append(_block(blocks))
    return _content(pc.binary_join_element_wise(*pieces, b""))


def _few_rows(tag: bytes, columns: Sequence[Cells], count: int) -> memoryview:
    """Returns the same messages for a few cells, for which Arrow's functions take longer than Python."""
    values = [cells.variable().to_pylist() for cells in columns]
    pieces: list[bytes] = []
    for index in range(count):
        cells = b"".join(_cell(column[index]) for column in values)
        pieces += [tag, _ROW.pack(len(cells) + _ROW.size, len(columns)), cells]
    return memoryview(b"".join(pieces))


def _cell(value: bytes | None) -> bytes:
    return _NULL_CELL if value is None else _I32.pack(len(value)) + value


def line_messages(tag: bytes, lines: pa.BinaryArray) -> memoryview:
    """Returns a message of the type `tag` for each line."""
    lengths = pc.binary_length(lines).to_numpy(zero_copy_only=False).astype(np.int32)
    count = len(lines)
    header = [np.broadcast_to(np.frombuffer(tag, np.uint8), (count, 1)), as_bytes(lengths + np.int32(4))]
    return _content(pc.binary_join_element_wise(_block(header), lines, b""))


def _block(blocks: Sequence[_Bytes]) -> pa.BinaryArray:
    return binary_array(np.concatenate(blocks, axis=1) if len(blocks) > 1 else blocks[0])


def _content(cells: pa.BinaryArray) -> memoryview:
    if not len(cells):
        return memoryview(b"")
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, np.int32)
    return memoryview(data)[ends[cells.offset] : ends[cells.offset + len(cells)]]
