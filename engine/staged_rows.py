"""Rows of INSERT … VALUES and of bulk loads that are written together, by one statement.

Rows with literals or bound values, and those of bulk loads, are texts in files of the spool, so that their number is
limited by the spool alone. The statement casts them to the types of the table's columns. Rows with other expressions
are parts of the statement's text. All of it is one INSERT in the pipeline, with the privileges, constraints and limits
of any other:

    staged = StagedRows("t", "(a, b)", types=("int", "string"), spool=spool, owner="ann")
    staged.add(insert, text, parameters)           # one execution of an INSERT
    staged.add_rows(table)                         # rows of a bulk load
    statement = staged.statement()                 # its text, and the rows that it reads
    staged.close()

Each row has a number, so that the rows after a savepoint can be dropped: the statement leaves out their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from catalog.conditions import BlockNotSupported, BlockTextTooLarge
from engine.runtime.parameters import Parameter
from engine.spool.spool import Spool
from engine.spool.spooled_rows import SpooledRows
from engine.sql.postgres_text import MARKER_PREFIX, InsertText
from engine.sql.query.source_text import GeneratedText

# Bytes of the rows that are parts of the statement's text.
TEXT_BYTES_MAX = 16 << 20
# Bytes and rows that a part holds in memory.
_HELD_BYTES, _HELD_ROWS = 2 << 20, 20_000
_VALUE_BYTES = 8
_NUMBER = "gateway_row"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_MARKERS = re.compile(rf":{MARKER_PREFIX}([0-9]+)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PRECISION_MAX = 38
# A malformed value is an error, not a null.
_FAIL = "map('mode', 'FAILFAST')"
_NESTED = ("array<", "map<", "struct<")


@dataclass(slots=True)
class _TextPart:
    """The rows of texts, as they were written, with the number of each text's first row."""

    texts: list[tuple[int, str]] = field(default_factory=list)
    size_bytes: int = 0


@dataclass(slots=True)
class _RowsPart:
    """Rows as texts. `items` are the values of an INSERT with markers; empty for a bulk load. `kinds` are the types of
    each marker's values.
    """

    items: tuple[str, ...]
    rows: SpooledRows
    kinds: list[set[str]]
    _values: list[list[str | None]] = field(init=False)
    _numbers: list[int] = field(default_factory=list)
    _held_bytes: int = 0

    def __post_init__(self) -> None:
        self._values = [[] for _ in self.kinds]

    def add(self, number: int, parameters: Sequence[Parameter]) -> None:
        """Adds a row of bound values."""
        for values, kinds, one in zip(self._values, self.kinds, parameters, strict=True):
            values.append(one.value)
            self._held_bytes += _VALUE_BYTES
            if one.value is not None:
                kinds.add(one.sql_type)
                self._held_bytes += len(one.value)
        self._numbers.append(number)
        if self._held_bytes > _HELD_BYTES or len(self._numbers) >= _HELD_ROWS:
            self._spool()

    def add_rows(self, number: int, table: pa.Table) -> None:
        """Adds rows of texts."""
        numbers = pa.array(range(number, number + table.num_rows), pa.int64())
        for batch in table.append_column(_NUMBER, numbers).to_batches():
            self.rows.add(pa.RecordBatch.from_arrays(batch.columns, schema=self.rows.schema))

    def finish(self) -> None:
        self._spool()
        self.rows.finish()

    def _spool(self) -> None:
        if self._numbers:
            arrays = [pa.array(values, pa.string()) for values in self._values]
            numbers = pa.array(self._numbers, pa.int64())
            self.rows.add(pa.RecordBatch.from_arrays([*arrays, numbers], schema=self.rows.schema))
        self._values, self._numbers, self._held_bytes = [[] for _ in self.kinds], [], 0


@dataclass(frozen=True, slots=True)
class StagedStatement:
    """The statement that writes staged rows: its text, parameters, and the rows that it reads."""

    text: str
    parameters: Sequence[Parameter] = ()
    rows: tuple[SpooledRows, ...] = ()


@dataclass(slots=True)
class StagedRows:
    """Rows for one table. `types` are the SQL types of the written columns; empty if unknown. `owner` is charged for
    the bytes in `spool`, which is None where nothing but one statement is written.
    """

    target: str
    columns: str
    types: Sequence[str] = ()
    spool: Spool | None = None
    owner: str = ""
    # The number of the next row.
    position: int = 0
    _text: _TextPart = field(default_factory=_TextPart)
    _parts: dict[tuple[str, ...], _RowsPart] = field(default_factory=dict)
    # Numbers of rows that were dropped: the first one, and the one after the last.
    _dropped: list[tuple[int, int]] = field(default_factory=list)
    # The only execution, which can be run as it was sent.
    _single: StagedStatement | None = None

    @property
    def count(self) -> int:
        """Returns the number of rows."""
        return self.position - sum(end - start for start, end in self._dropped)

    def is_for(self, insert: InsertText) -> bool:
        """Returns True if the rows have the table and the columns of `insert`."""
        return (self.target, self.columns) == (insert.target, insert.columns)

    def add(self, insert: InsertText, text: str, parameters: Sequence[Parameter]) -> None:
        """Adds the rows of one execution of an INSERT. Raises `BlockNotSupported`, `BlockTextTooLarge`, and the errors
        of the spool.
        """
        if not self.is_for(insert):
            reason = f"the block inserts into {self.target} {self.columns}".rstrip()
            raise BlockNotSupported(f"{reason}, and all rows need the same table and columns")
        self._single = StagedStatement(text, parameters) if self.position == 0 else None
        if parameters:
            self._bound_part(insert.items, len(parameters)).add(self.position, parameters)
        elif insert.literals:
            self._add_literals(insert)
        else:
            self._add_text(insert)
        self.position += insert.row_count

    def add_rows(self, table: pa.Table) -> None:
        """Adds rows of a bulk load, a text for each written column. Raises the errors of the spool."""
        self._single = None
        part = self._parts.get(())
        if part is None:
            part = self._parts[()] = self._new_part((), table.column_names, [])
        part.add_rows(self.position, table)
        self.position += table.num_rows

    def cut(self, position: int) -> None:
        """Drops the rows from the number `position` on."""
        if position >= self.position:
            return
        self._single = None
        self._dropped = [*(one for one in self._dropped if one[0] < position), (position, self.position)]
        self._text.texts = [one for one in self._text.texts if one[0] < position]
        self._text.size_bytes = sum(len(text) for _, text in self._text.texts)

    def close(self) -> None:
        """Removes the rows."""
        for part in self._parts.values():
            part.rows.close()
        self._parts, self._text, self._single = {}, _TextPart(), None
        self._dropped = [(0, self.position)]

    def statement(self) -> StagedStatement:
        """Returns the statement that writes the rows, which must exist until its end. Raises the errors of the
        spool.
        """
        if self._single is not None:
            return self._single
        head = f"INSERT INTO {self.target} {self.columns}"
        texts = ", ".join(text for _, text in self._text.texts)
        if not self._parts:
            return StagedStatement(GeneratedText(f"{head} VALUES {texts}"))
        for part in self._parts.values():
            part.finish()
        filled = [part for part in self._parts.values() if part.rows.num_rows]
        queries = [*([self._text_query(texts)] if texts else []), *map(self._rows_query, filled)]
        rows = tuple(part.rows for part in filled)
        return StagedStatement(GeneratedText(f"{head} {' UNION ALL '.join(queries)}"), rows=rows)

    def _text_query(self, texts: str) -> str:
        width = len(self.types)
        columns = ", ".join(self._cast(f"c{index}", index) for index in range(width)) or "*"
        labels = f"(c{', c'.join(map(str, range(width)))})" if width else ""
        return f"SELECT {columns} FROM VALUES {texts} AS staged{labels}"

    def _rows_query(self, part: _RowsPart) -> str:
        if part.items:
            sources = [_source_type(kinds) for kinds in part.kinds]
            items = [self._item(part.items, index, sources) for index in range(len(part.items))]
        else:
            items = [self._from_text(label, index) for index, label in enumerate(part.rows.schema.names[:-1])]
        dropped = [f"{_NUMBER} BETWEEN {start} AND {end - 1}" for start, end in self._dropped]
        condition = f" WHERE NOT ({' OR '.join(dropped)})" if dropped else ""
        return f"SELECT {', '.join(items)} FROM {part.rows.name}{condition}"

    def _item(self, items: Sequence[str], index: int, sources: Sequence[str]) -> str:
        item = items[index].strip()
        replaced = _MARKERS.sub(lambda found: _typed(found[0][1:], sources[int(found[1]) - 1]), item)
        return self._cast(replaced, index) if _MARKERS.fullmatch(item) else replaced

    def _cast(self, value: str, index: int) -> str:
        return f"CAST({value} AS {self.types[index]})" if index < len(self.types) else value

    def _from_text(self, value: str, index: int) -> str:
        """Returns a value of a bulk load, which is a text in PostgreSQL's spelling."""
        kind = self.types[index] if index < len(self.types) else "string"
        element = kind.removeprefix("array<").removesuffix(">")
        if kind.startswith("array<") and not element.startswith(_NESTED):  # an array of texts
            array = f"from_json({value}, 'array<string>', {_FAIL})"
            return f"transform({array}, item -> {_of_text('item', element)})"
        if kind.startswith(_NESTED):
            return f"from_json({value}, '{kind}', {_FAIL})"
        return _of_text(value, kind)

    def _add_literals(self, insert: InsertText) -> None:
        """Adds literals as bound values: thousands of them in a text would take seconds to analyze."""
        width = len(insert.literals[0])
        part = self._bound_part(tuple(f":{MARKER_PREFIX}{number}" for number in range(1, width + 1)), width)
        for index, row in enumerate(insert.literals):
            values = [Parameter(value=literal.value, sql_type=literal.sql_type) for literal in row]
            part.add(self.position + index, values)

    def _add_text(self, insert: InsertText) -> None:
        self._text.size_bytes += len(insert.rows)
        if self._text.size_bytes > TEXT_BYTES_MAX:
            raise BlockTextTooLarge(TEXT_BYTES_MAX)
        self._text.texts.append((self.position, insert.rows))

    def _bound_part(self, items: tuple[str, ...], width: int) -> _RowsPart:
        part = self._parts.get(items)
        if part is None:
            names = [f"{MARKER_PREFIX}{number}" for number in range(1, width + 1)]
            part = self._parts[items] = self._new_part(items, names, [set() for _ in names])
        return part

    def _new_part(self, items: tuple[str, ...], names: Sequence[str], kinds: list[set[str]]) -> _RowsPart:
        fields = [(name, pa.string()) for name in names]
        schema = pa.schema([*fields, (_NUMBER, pa.int64())])
        # Without a spool one statement is written, whose rows stay in memory.
        return _RowsPart(items, SpooledRows(self.spool, schema, self.owner), kinds)  # type: ignore[arg-type]


def can_stage(parameters: Sequence[Parameter]) -> bool:
    """Returns False for values without an exact text: bytes and arrays."""
    return all(one.row_value is None and one.members is None for one in parameters)


def _of_text(value: str, kind: str) -> str:
    """Returns a value of the type `kind` from its text in PostgreSQL's spelling."""
    return f"unhex(substring({value}, 3))" if kind == "binary" else f"CAST({value} AS {kind})"


def _typed(column: str, kind: str) -> str:
    return column if kind == "string" else f"CAST({column} AS {kind})"


def _source_type(kinds: set[str]) -> str:
    """Returns a type for all values of a marker."""
    if len(kinds) <= 1:
        return next(iter(kinds), "string")
    if kinds <= {*_INTEGERS}:
        return "bigint"
    sizes = [found for kind in kinds if (found := _DECIMAL.fullmatch(kind))]
    if len(sizes) == len(kinds):
        scale = max(int(found[2]) for found in sizes)
        whole = max(int(found[1]) - int(found[2]) for found in sizes)
        return f"decimal({min(whole + scale, _PRECISION_MAX)},{scale})"
    is_number = kinds <= {*_INTEGERS, "float", "double"} | {kind for kind in kinds if _DECIMAL.fullmatch(kind)}
    return "double" if is_number else "string"
