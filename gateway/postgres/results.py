"""A statement's result, as a portal sends it: columns, pages of rows, and the tag of its completion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from engine.runtime.results import sql_field
from gateway.postgres.types import Column, columns_of
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

# Bytes of the rows in one page, about, and their number.
PAGE_BYTES, PAGE_ROWS = 2 << 20, 100_000
# The first page is small: a client shows its first rows at once.
FIRST_PAGE_ROWS = 2_000
_COMMENTS = re.compile(r"(?s)(?:\s|--[^\n]*+(?:\n|$)|/\*.*?\*/|\()*+")
_WORD = re.compile(r"[A-Za-z]+")
_COUNTED = frozenset({"UPDATE", "DELETE", "MERGE"})
_TWO_WORDS = frozenset({"CREATE", "DROP", "ALTER"})
_READS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE"})
_SKIPPED = frozenset({"OR", "REPLACE", "EXTERNAL", "TEMPORARY", "TEMP", "GLOBAL", "MATERIALIZED", "STREAMING", "LIVE"})


class Result(Protocol):
    """Rows, or the completion of a statement without rows (`columns` is None)."""

    @property
    def columns(self) -> Sequence[Column] | None:
        """Returns the columns; None for a statement without rows."""
        ...

    @property
    def zone(self) -> str:
        """Returns the time zone of timestamps."""
        ...

    def page(self, rows_max: int) -> pa.Table:
        """Returns the next rows, at most `rows_max` of them; none at the end."""
        ...

    def has_more(self) -> bool:
        """Returns False if all rows were returned."""
        ...

    def rows_at(self, offset: int, count: int) -> pa.Table:
        """Returns `count` rows from `offset` on, without moving; fewer at the end, or in a large result."""
        ...

    @property
    def is_binary(self) -> bool:
        """Returns True for rows of a binary cursor, which a simple query sends in the binary formats."""
        ...

    def tag(self, rows: int) -> str:
        """Returns the tag for a completion after `rows` rows."""
        ...

    def close(self) -> None:
        """Releases the result; called once by its portal."""
        ...


def leading_words(text: str) -> tuple[str, str]:
    """Returns a statement's first word and, for DDL, the kind of its object; in upper case."""
    begin = _COMMENTS.match(text)
    words = [word.upper() for word in _WORD.findall(text[begin.end() if begin else 0 :][:200])]
    if not words:
        return "", ""
    kinds = [word for word in words[1:] if word not in _SKIPPED]
    return words[0], kinds[0] if kinds and words[0] in _TWO_WORDS else ""


def completion_tag(text: str, rows: int, changed: int | None) -> str:
    """Returns the tag of an engine's statement: its first word, with the number of rows where PostgreSQL has one."""
    word, kind = leading_words(text)
    # WITH … INSERT and FROM … INSERT begin as queries do.
    if word == "INSERT" or (word in _READS and changed is not None):
        return f"INSERT 0 {changed or 0}"
    if word in _COUNTED:
        return f"{word} {changed or 0}"
    if word in _READS or rows:
        return f"SELECT {rows}"
    if word == "CREATE" and kind == "TABLE" and changed is not None:
        return f"SELECT {changed}"
    return f"{word} {kind}".strip() or "OK"


@dataclass(slots=True)
class OperationResult:
    """The result of an operation that has ended, or whose rows can be read; released by `close`."""

    session: Session
    operation: Operation
    text: str
    # The number of changed rows, if another statement has changed them.
    changed: int | None = None
    # The types of columns that texts have.
    types: Sequence[str | None] = ()
    columns: Sequence[Column] | None = field(init=False)
    zone: str = field(init=False)
    is_binary: bool = False
    _rest: pa.Table | None = None
    _has_more: bool = field(init=False)
    _is_first: bool = True

    def __post_init__(self) -> None:
        self.operation.ensure_result()
        self._has_more = self.operation.has_rows
        self.columns = columns_of(self.operation.schema, self.types) if self._has_more else None
        self.zone = self.operation.time_zone

    def page(self, rows_max: int) -> pa.Table:
        rest, self._rest = self._rest, None
        if rest is None:
            wanted = min(rows_max, FIRST_PAGE_ROWS if self._is_first else PAGE_ROWS)
            self._is_first = False
            found = self.operation.fetch(wanted, bytes_max=PAGE_BYTES)
            rest, self._has_more = found.rows, found.has_more
        if rest.num_rows > rows_max:
            self._rest, rest = rest.slice(rows_max), rest.slice(0, rows_max)
        return rest

    def has_more(self) -> bool:
        return self._rest is not None or self._has_more

    def rows_at(self, offset: int, count: int) -> pa.Table:
        return self.operation.page(offset, min(count, PAGE_ROWS), PAGE_BYTES).rows

    def tag(self, rows: int) -> str:
        changed = self.operation.rows_modified if self.changed is None else self.changed
        return completion_tag(self.text, rows, changed)

    def close(self) -> None:
        self.session.forget(self.operation)


@dataclass(slots=True)
class FixedResult:
    """Rows that the front end makes itself."""

    columns: Sequence[Column] | None
    rows: pa.Table
    command: str = "SELECT"
    zone: str = "UTC"
    is_binary: bool = False
    _at: int = 0

    def page(self, rows_max: int) -> pa.Table:
        found = self.rows.slice(self._at, rows_max)
        self._at += found.num_rows
        return found

    def has_more(self) -> bool:
        return self._at < int(self.rows.num_rows)

    def rows_at(self, offset: int, count: int) -> pa.Table:
        return self.rows.slice(offset, count)

    def tag(self, rows: int) -> str:
        return f"{self.command} {rows}" if self.command == "SELECT" else self.command

    def close(self) -> None:
        pass


def completed(tag: str) -> FixedResult:
    """Returns the result of a statement without rows."""
    return FixedResult(None, pa.table({}), tag)


def texts_result(columns: Sequence[Column], rows: Sequence[Sequence[object]], command: str = "SELECT") -> FixedResult:
    """Returns rows of Python values, of the Arrow types that belong to the columns' types."""
    arrays = []
    for index in range(len(columns)):
        values = [row[index] for row in rows]
        arrays.append(pa.array(values, pa.string() if all(isinstance(one, str | None) for one in values) else None))
    fields = [
        sql_field(column.name, array.type, column.sql_type) for column, array in zip(columns, arrays, strict=True)
    ]
    return FixedResult(columns, pa.table(arrays, schema=pa.schema(fields)), command)


def pages(result: Result, rows_max: int | None) -> Iterator[pa.Table]:
    """Yields the next rows, at most `rows_max` of them, in pages."""
    left = PAGE_ROWS if rows_max is None else rows_max
    while left > 0 and result.has_more():
        found = result.page(left)
        if not found.num_rows:
            return
        yield found
        left -= 0 if rows_max is None else found.num_rows
