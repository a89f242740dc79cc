"""Cursors of SQL: DECLARE, FETCH, MOVE.

A cursor's position is the number of its current row: 0 before the first one, one more than the number of rows after the
last one. Rows are read by position from the statement's result, which holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from catalog.conditions import CursorNotScrollable
from gateway.postgres.commands import Fetch
from gateway.postgres.results import PAGE_ROWS, FixedResult, Result
from gateway.postgres.types import Column


@dataclass(slots=True)
class Cursor:
    """A cursor over the rows of `result`; `columns` of it are known."""

    name: str
    result: Result
    can_scroll: bool
    holds: bool
    is_binary: bool
    position: int = 0

    def ensure_scrollable(self) -> None:
        """Raises `CursorNotScrollable` for a cursor with NO SCROLL."""
        if not self.can_scroll:
            raise CursorNotScrollable(self.name)


@dataclass(slots=True)
class ForwardRows:
    """The rows that FETCH returns in the cursor's direction, read while they are sent; `count` None is all."""

    cursor: Cursor
    count: int | None
    moves: bool
    columns: Sequence[Column] | None = field(init=False)
    is_binary: bool = field(init=False)
    _is_done: bool = False
    _sent: int = 0

    def __post_init__(self) -> None:
        self.columns = None if self.moves else self.cursor.result.columns
        self.is_binary = self.cursor.is_binary
        self._is_done = self.count == 0

    @property
    def zone(self) -> str:
        return self.cursor.result.zone

    def page(self, rows_max: int) -> pa.Table:
        left = rows_max if self.count is None else min(rows_max, self.count - self._sent)
        rows = self.cursor.result.rows_at(self.cursor.position, min(left, PAGE_ROWS))
        self._sent += rows.num_rows
        self.cursor.position += rows.num_rows
        if not rows.num_rows:
            self.cursor.position += 1  # after the last row
            self._is_done = True
        elif self.count is not None and self._sent >= self.count:
            self._is_done = True
        return rows

    def has_more(self) -> bool:
        return not self._is_done

    def rows_at(self, offset: int, count: int) -> pa.Table:
        return self.cursor.result.rows_at(offset, count)

    def tag(self, rows: int) -> str:
        while self.moves and self.has_more():
            self.page(PAGE_ROWS)
        return f"{'MOVE' if self.moves else 'FETCH'} {self._sent}"

    def close(self) -> None:
        pass


def fetched(cursor: Cursor, command: Fetch) -> Result:
    """Returns the rows of FETCH, or the completion of MOVE. Raises `CursorNotScrollable`."""
    is_same = command.count == 0 and not command.is_absolute
    if is_same:  # the current row again
        if cursor.position and not command.moves:
            cursor.ensure_scrollable()
        return _rows(cursor, command, cursor.position, 1 if cursor.position else 0, cursor.position)
    if command.is_absolute or command.is_relative:
        return _row_at(cursor, command)
    if not command.is_backward:
        return ForwardRows(cursor, command.count, command.moves)
    cursor.ensure_scrollable()
    last = cursor.position - 1
    first = 1 if command.count is None else max(1, cursor.position - command.count)
    is_before = command.count is None or cursor.position - command.count < 1
    return _rows(cursor, command, first, max(0, last - first + 1), 0 if is_before else first, is_reversed=True)


def _row_at(cursor: Cursor, command: Fetch) -> Result:
    number = command.count or 0
    if number < 0:
        cursor.ensure_scrollable()
    if command.is_relative:
        target = cursor.position + number
    else:
        target = number if number >= 0 else _total(cursor.result) + 1 + number
    if cursor.position and target <= cursor.position:
        cursor.ensure_scrollable()
    if target < 1:
        return _rows(cursor, command, 1, 0, 0)
    return _rows(cursor, command, target, 1, target)


def _rows(
    cursor: Cursor, command: Fetch, first: int, count: int, position: int, *, is_reversed: bool = False
) -> FixedResult:
    """Returns rows by their numbers, and moves to `position`, or after the last row."""
    rows = _collect(cursor.result, first - 1, count)
    cursor.position = position if rows.num_rows == count else _total(cursor.result) + 1
    if is_reversed:
        rows = rows.take(pa.array(range(rows.num_rows - 1, -1, -1), pa.int64()))
    columns = None if command.moves else cursor.result.columns
    tag = f"{'MOVE' if command.moves else 'FETCH'} {rows.num_rows}"
    return FixedResult(columns, rows, tag, cursor.result.zone, cursor.is_binary)


def _collect(result: Result, offset: int, count: int) -> pa.Table:
    pieces = [result.rows_at(max(0, offset), min(count, PAGE_ROWS))]
    while (taken := sum(piece.num_rows for piece in pieces)) < count and pieces[-1].num_rows:
        pieces.append(result.rows_at(offset + taken, min(count - taken, PAGE_ROWS)))
    return pa.concat_tables(pieces)


def _total(result: Result) -> int:
    total = 0
    while rows := result.rows_at(total, PAGE_ROWS).num_rows:
        total += rows
    return total
