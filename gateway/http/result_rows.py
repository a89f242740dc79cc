"""Parts of a result that is held, for those who look at it: rows by position in any order, numbers to draw, files.

`rows` answers a window of a result as an Arrow stream whose cells are text, as JSON has them, or numbers: those of
numeric columns as doubles, dates and timestamps as seconds since 1970 on the session's wall clock. With an order the
window is one of the sorted result: nulls last, and equal rows as they came. The order that was asked for last is kept
with its statement, so that scrolling does not sort again.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text, wall_clock
from gateway.http.encode import csv_bytes
from gateway.operation import Operation

_PIECE_BYTES = 4 << 20
"""Of rows in memory, which become text at once."""


class CellForm(StrEnum):
    TEXT = "text"
    NUMBER = "number"


class FileFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """`order` is the position of a column and whether the largest come first; `columns` are positions, None for all;
    text is cut after `cut` characters.
    """

    offset: int = 0
    limit: int
    order: tuple[int, bool] | None = None
    columns: tuple[int, ...] | None = None
    form: CellForm = CellForm.TEXT
    cut: int | None = None


@dataclass(slots=True)
class Orders:
    """The order of each statement's rows that was asked for last; thread-safe."""

    _kept: WeakKeyDictionary[Operation, tuple[tuple[int, bool], pa.Array]] = field(default_factory=WeakKeyDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def indices(self, operation: Operation, table: pa.Table, order: tuple[int, bool]) -> pa.Array:
        with self._lock:
            known = self._kept.get(operation)
        if known and known[0] == order and len(known[1]) == table.num_rows:
            return known[1]
        indices = sorted_indices(table, order, operation.time_zone)
        with self._lock:
            self._kept[operation] = order, indices
        return indices


def sorted_indices(table: pa.Table, order: tuple[int, bool], time_zone: str) -> pa.Array:
    """The positions of the rows in `order`; values that have no order of their own are sorted as text."""
    position, descending = order
    column = table.column(position)
    direction = "descending" if descending else "ascending"
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        column = pa.chunked_array([to_text(column, sql_type_of(table.schema.field(position)), time_zone)])
    keyed = pa.table({"key": column})
    return pc.sort_indices(keyed, sort_keys=[("key", direction, "at_end")])


def window_table(operation: Operation, orders: Orders, window: Window) -> pa.Table:
    """The rows of `window`, fewer at the result's end."""
    chosen = list(range(len(operation.schema)) if window.columns is None else window.columns)
    if window.order is None:
        rows = operation.page(window.offset, window.limit).rows.select(chosen)
    else:
        whole = operation.page(0, operation.row_count()).rows
        indices = orders.indices(operation, whole, window.order).slice(window.offset, window.limit)
        rows = whole.select(chosen).take(indices)
    convert = _number if window.form is CellForm.NUMBER else _text
    columns = [
        convert(column, field, operation.time_zone) for column, field in zip(rows.columns, rows.schema, strict=True)
    ]
    if window.cut is not None:
        columns = [pc.utf8_slice_codeunits(each, 0, window.cut) if _is_text(each) else each for each in columns]
    return pa.Table.from_arrays(columns, rows.schema.names)


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _text(column: pa.ChunkedArray, field_: pa.Field, time_zone: str) -> pa.Array:
    return to_text(column, sql_type_of(field_), time_zone)


def _number(column: pa.ChunkedArray, field_: pa.Field, time_zone: str) -> pa.Array:
    """Doubles, or text where a value is no number."""
    values, kind = column.combine_chunks(), column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.float64(), safe=False)
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32())
        return pc.multiply(days.cast(pa.float64()), 86_400.0)
    if pa.types.is_timestamp(kind):
        local = wall_clock(values.cast(pa.timestamp("us", "UTC")), time_zone) if kind.tz else values
        return pc.divide(local.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
    return _text(column, field_, time_zone)


def result_file(operation: Operation, format_: FileFormat) -> bytes:
    """The whole result as a file; Parquet has the types of Arrow, CSV the text of JSON.

    CSV is made of a few rows at a time: on the way it exists several times.
    """
    table = operation.page(0, operation.row_count()).rows
    sink = io.BytesIO()
    if format_ is FileFormat.CSV:
        step = max(1, table.num_rows * _PIECE_BYTES // max(1, table.nbytes))
        for offset in range(0, max(1, table.num_rows), step):
            sink.write(csv_bytes(table.slice(offset, step), operation.time_zone, header=offset == 0))
        return sink.getvalue()
    pq.write_table(table.rename_columns(_distinct(table.column_names)), sink, compression="zstd")
    return sink.getvalue()


def _distinct(names: Sequence[str]) -> list[str]:
    """Readers of Parquet tell columns apart by name: repeated names get the number of their column."""
    return [f"{name}_{at}" if name in names[:at] else name for at, name in enumerate(names)]
