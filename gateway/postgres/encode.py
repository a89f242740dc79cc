"""Rows of Arrow batches as messages: DataRow, and CopyData of the three formats of COPY. Pure.

A column is sent in the format that the client has bound, text or binary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gateway.postgres.binary_cells import binary_cells
from gateway.postgres.cells import Cells, VariableCells, line_messages, row_messages
from gateway.postgres.text_cells import text_cells
from gateway.postgres.types import BINARY_FORMAT, Column

COPY_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
_ESCAPES = (("\b", "\\b"), ("\f", "\\f"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\v", "\\v"))


@dataclass(frozen=True, slots=True)
class RowEncoder:
    """Encodes rows with these columns; `formats` has one format for each. `zone` is the session's time zone."""

    columns: Sequence[Column]
    formats: Sequence[int]
    zone: str = "UTC"

    def data_rows(self, rows: pa.Table) -> memoryview:
        """Returns a DataRow message for each row, as one buffer."""
        return row_messages(b"D", self._cells(rows), rows.num_rows)

    def copy_rows(self, rows: pa.Table) -> memoryview:
        """Returns a CopyData message in the binary format for each row."""
        return row_messages(b"d", self._cells(rows), rows.num_rows)

    def texts(self, rows: pa.Table) -> list[pa.Array]:
        """Returns the columns as texts."""
        return [
            text_cells(_whole(values), column.type, column.sql_type, self.zone)
            for values, column in zip(rows.columns, self.columns, strict=True)
        ]

    def _cells(self, rows: pa.Table) -> list[Cells]:
        return [
            self._column(_whole(values), column, form)
            for values, column, form in zip(rows.columns, self.columns, self.formats, strict=True)
        ]

    def _column(self, values: pa.Array, column: Column, form: int) -> Cells:
        if pa.types.is_null(values.type):
            return VariableCells(pa.nulls(len(values), pa.binary()))
        if form == BINARY_FORMAT:
            return binary_cells(values, column.type, column.sql_type)
        return VariableCells(text_cells(values, column.type, column.sql_type, self.zone).cast(pa.binary()))


def _whole(values: pa.ChunkedArray) -> pa.Array:
    found = values.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


@dataclass(frozen=True, slots=True)
class LineFormat:
    """The options of COPY's formats with lines; `quote` is empty in the format text."""

    delimiter: str = "\t"
    null: str = "\\N"
    quote: str = ""
    escape: str = ""

    def lines(self, columns: Sequence[pa.Array]) -> memoryview:
        """Returns a CopyData message for each row."""
        cells = [self._quoted(column) if self.quote else self._escaped(column) for column in columns]
        joined = pc.binary_join_element_wise(*cells, self.delimiter)
        return line_messages(b"d", pc.binary_join_element_wise(joined, "\n", "").cast(pa.binary()))

    def _escaped(self, column: pa.Array) -> pa.Array:
        if _has_any(column, f"\\\b\f\n\r\t\v{self.delimiter}"):
            column = pc.replace_substring(column, "\\", "\\\\")
            for char, escape in _ESCAPES:
                column = pc.replace_substring(column, char, escape)
            if self.delimiter != "\t":
                column = pc.replace_substring(column, self.delimiter, f"\\{self.delimiter}")
        return column.fill_null(self.null)

    def _quoted(self, column: pa.Array) -> pa.Array:
        is_null_text = pc.equal(column, self.null)
        special = f"{self.delimiter}{self.quote}\n\r"
        if not _has_any(column, special) and not pc.any(is_null_text).as_py():
            return column.fill_null(self.null)
        chars = "".join(f"\\x{ord(char):02x}" for char in special)
        is_quoted = pc.or_(pc.match_substring_regex(column, f"[{chars}]"), is_null_text)
        escaped = column
        for char in dict.fromkeys((self.escape, self.quote)):
            escaped = pc.replace_substring(escaped, char, self.escape + char)
        column = pc.if_else(is_quoted, pc.binary_join_element_wise(self.quote, escaped, self.quote, ""), column)
        return column.fill_null(self.null)


def _has_any(column: pa.StringArray, chars: str) -> bool:
    """Returns True if a value has one of these characters, or another one with one of their bytes."""
    _, offsets, content = column.buffers()
    if content is None or not len(column):
        return False
    ends = np.frombuffer(offsets, np.int32)
    used = np.frombuffer(content, np.uint8)[ends[column.offset] : ends[column.offset + len(column)]]
    is_special = np.zeros(256, bool)
    is_special[list(chars.encode())] = True
    return bool(is_special[used].any())
