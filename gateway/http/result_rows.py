"""Parts of a held result, for display: rows by position in any order, and numbers for charts.

`rows` returns a window as an Arrow stream whose cells are text, as in JSON, or numbers: numeric columns as doubles,
dates and timestamps as seconds since 1970 in the session's local time. With conditions the window is from the rows that
satisfy them, and with an order from the sorted rows: nulls last, equal rows in their original order. The last requested
selection is cached with its statement, so that scrolling does not filter and sort again. Sorting holds the one column
and the order in memory, and displayed rows are read from storage; larger results must be sorted in SQL.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import ResultTooLargeToSort
from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text, wall_clock
from engine.types.value_bytes import value_bytes
from gateway.http.result_filters import Condition, matching_positions
from gateway.sessions.operation import Operation

_PAGE_BYTES = 4 << 20
# Limit for the sort column with each row's position.
_SORTED_BYTES_MAX = 512 << 20


class CellForm(StrEnum):
    TEXT = "text"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of a result. `order` is a column's position and True for descending."""

    conditions: tuple[Condition, ...] = ()
    order: tuple[int, bool] | None = None

    @property
    def is_all(self) -> bool:
        """Returns True for all rows in their own order."""
        return not self.conditions and self.order is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window of `selection`; `columns` are positions, None for all; text is truncated after `cut` characters."""

    offset: int = 0
    limit: int
    selection: Selection = Selection()
    columns: tuple[int, ...] | None = None
    form: CellForm = CellForm.TEXT
    cut: int | None = None


@dataclass(slots=True)
class Selections:
    """Caches each statement's last selection of rows, as many as fit into `bytes_max`; thread-safe."""

    bytes_max: int = _SORTED_BYTES_MAX

    _found: WeakKeyDictionary[Operation, tuple[Selection, pa.Array]] = field(default_factory=WeakKeyDictionary)
    _selecting: WeakKeyDictionary[Operation, threading.Lock] = field(default_factory=WeakKeyDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def positions(self, operation: Operation, selection: Selection) -> pa.Array:
        """Returns the positions of the selected rows in order; raises `ResultTooLargeToSort`.

        Several windows are requested concurrently when a sorted result is first displayed: only one request sorts.
        """
        with self._lock:
            own = self._selecting.setdefault(operation, threading.Lock())
        with own:
            found = self._cached(operation, selection)
            return self._select(operation, selection) if found is None else found

    def _cached(self, operation: Operation, selection: Selection) -> pa.Array | None:
        with self._lock:
            known = self._found.pop(operation, None)
            if known:
                self._found[operation] = known  # as the most recently used one
        return known[1] if known and known[0] == selection else None

    def _select(self, operation: Operation, selection: Selection) -> pa.Array:
        positions = selected_positions(operation, selection)
        with self._lock:
            self._found.pop(operation, None)
            self._found[operation] = selection, positions
            entries = list(self._found.items())
            held = sum(value_bytes(each) for _, (_, each) in entries)
            for oldest, (_, each) in entries:
                if held <= self.bytes_max:
                    break
                held -= value_bytes(each)
                self._found.pop(oldest, None)
        return positions


def selected_positions(operation: Operation, selection: Selection) -> pa.Array:
    """Returns the positions of the matching rows, in the selection's order."""
    matching = matching_positions(operation, selection.conditions) if selection.conditions else None
    if selection.order is None:
        return pa.array(np.arange(operation.row_count(), dtype=np.uint64)) if matching is None else matching
    column, descending = selection.order
    key = _key(operation, column)
    if matching is None:
        return sorted_indices(key, descending)
    return matching.take(sorted_indices(key.take(matching), descending))


def _key(operation: Operation, position: int) -> pa.ChunkedArray:
    """Returns only the sort column in memory; values without an order are compared as text."""
    field = operation.schema.field(position)
    chunks = []
    size = operation.row_count() * 8
    for table in operation.pages(_PAGE_BYTES):
        column = table.column(position)
        if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
            chunk = to_text(column, sql_type_of(field), operation.time_zone)
        else:
            chunk = pa.concat_arrays([*column.chunks, pa.array([], column.type)])  # a copy, without the other columns
        size += value_bytes(chunk)
        if size > _SORTED_BYTES_MAX:
            raise ResultTooLargeToSort(field.name, _SORTED_BYTES_MAX)
        chunks.append(chunk)
    return pa.chunked_array(chunks, None if chunks else field.type)


def sorted_indices(column: pa.ChunkedArray, descending: bool) -> pa.Array:
    """Returns the values' positions in sorted order."""
    direction = "descending" if descending else "ascending"
    return pc.sort_indices(pa.table({"key": column}), sort_keys=[("key", direction, "at_end")])


def rows_at(operation: Operation, positions: pa.Array, columns: Sequence[int]) -> pa.Table:
    """Returns these rows in this order, with these columns; reads only the parts that contain them."""
    order = pc.sort_indices(positions)
    ascending = positions.take(order).to_numpy()
    found = []
    for start, count, _ in operation.spans(_PAGE_BYTES):
        first, last = np.searchsorted(ascending, (start, start + count))
        if first < last:
            near = operation.page(start, count).rows.select(columns)
            found.append(near.take(pa.array(ascending[first:last] - start)))
    if not found:
        return operation.schema.empty_table().select(columns)
    return pa.concat_tables(found).take(pc.sort_indices(order))


def window_table(operation: Operation, selections: Selections, window: Window) -> pa.Table:
    """Returns the window's rows, fewer at the result's end."""
    column_numbers = list(range(len(operation.schema)) if window.columns is None else window.columns)
    if window.selection.is_all:
        end = window.offset + window.limit
        pages = [
            _convert_rows(page.select(column_numbers), operation, window)
            for page in operation.pages(_PAGE_BYTES, window.offset, end)
        ]
        return (
            pa.concat_tables(pages)
            if pages
            else _convert_rows(operation.schema.empty_table().select(column_numbers), operation, window)
        )
    positions = selections.positions(operation, window.selection).slice(window.offset, window.limit)
    return _convert_rows(rows_at(operation, positions, column_numbers), operation, window)


def _convert_rows(rows: pa.Table, operation: Operation, window: Window) -> pa.Table:
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
    """Returns doubles, or text for values that are not numbers."""
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
