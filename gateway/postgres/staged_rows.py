"""Rows of INSERT … VALUES and COPY that are written together, by one statement.

Parts follow each other: the rows of texts with literals, the bound values of one text with markers, and rows of COPY. A
single text is run as it is. Otherwise the rows become queries, which are cast to the types of the table's columns: a
text's rows are VALUES, and bound values are columns of a local relation, as Spark Connect sends them. All of it becomes
one INSERT in the pipeline, with the privileges, constraints and limits of any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from catalog.conditions import BlockNotSupported, CopyTooLarge
from engine.runtime.parameters import Parameter
from engine.sql.postgres_text import MARKER_PREFIX, InsertText
from engine.types.value_bytes import value_bytes
from gateway.postgres.types import pg_type

# Bytes of the values of all parts, about.
BYTES_MAX = 256 << 20
# Bytes of one local relation; the engine's limit is 32 MiB of its encoded plan.
RELATION_BYTES_MAX = 16 << 20
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_MARKERS = re.compile(rf":{MARKER_PREFIX}([0-9]+)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PRECISION_MAX = 38
# A malformed value is an error, not a null.
_FAIL = "map('mode', 'FAILFAST')"
_NESTED = ("array<", "map<", "struct<")


@dataclass(slots=True)
class LiteralPart:
    """The rows of one or more texts, as they were written."""

    texts: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class BoundPart:
    """The bound values of executions of one text: a list for each marker, and the types of its values."""

    insert: InsertText
    values: list[list[str | None]]
    kinds: list[set[str]]


@dataclass(slots=True)
class RowsPart:
    """Rows of COPY as texts."""

    rows: pa.Table


Part = LiteralPart | BoundPart | RowsPart


@dataclass(slots=True)
class StagedRows:
    """Rows for one table, in their order. `types` are the SQL types of the written columns; empty if unknown."""

    target: str
    columns: str
    types: Sequence[str] = ()
    parts: list[Part] = field(default_factory=list)
    count: int = 0
    size_bytes: int = 0
    # The only execution, which can be run as it was sent.
    single: tuple[str, Sequence[Parameter]] | None = None

    def is_for(self, insert: InsertText) -> bool:
        """Returns True if the rows have the table and the columns of `insert`."""
        return (self.target, self.columns) == (insert.target, insert.columns)

    def add(self, insert: InsertText, text: str, parameters: Sequence[Parameter], rows: int) -> None:
        """Adds the rows of one execution of an INSERT. Raises `BlockNotSupported`, `CopyTooLarge`."""
        self._ensure_same(insert.target, insert.columns)
        self.single = (text, parameters) if self.count == 0 else None
        size = len(insert.rows) + sum(len(one.value or "") + 8 for one in parameters)
        self._grow(size, rows)
        if parameters:
            self._add_bound(insert, parameters)
            return
        if insert.literals:
            self._add_literals(insert)
            return
        if not self.parts or not isinstance(self.parts[-1], LiteralPart):
            self.parts.append(LiteralPart())
        last = self.parts[-1]
        assert isinstance(last, LiteralPart)
        last.texts.append(insert.rows)
        last.counts.append(rows)

    def add_rows(self, target: str, columns: str, rows: pa.Table) -> None:
        """Adds rows of COPY."""
        self._ensure_same(target, columns)
        self.single = None
        self._grow(value_bytes(rows), rows.num_rows)
        self.parts.append(RowsPart(rows))

    def cut(self, count: int) -> None:
        """Drops the rows after the first `count`."""
        if count == self.count:
            return
        self.single = None
        left = count
        first_parts: list[Part] = []
        for part in self.parts:
            taken = _first(part, left)
            left -= _size(taken)
            if _size(taken):
                first_parts.append(taken)
        self.parts, self.count = first_parts, count

    def close(self) -> None:
        self.parts, self.count, self.single = [], 0, None

    def relations(self) -> list[tuple[pa.Table, int]]:
        """Returns the rows of each local relation, all of them texts, with the index of its part."""
        found: list[tuple[pa.Table, int]] = []
        for index, part in enumerate(self.parts):
            if isinstance(part, BoundPart):
                columns = [pa.array(values, pa.string()) for values in part.values]
                labels = [f"{MARKER_PREFIX}{number}" for number in range(1, len(columns) + 1)]
                found += [(piece, index) for piece in _pieces(pa.table(columns, names=labels))]
            elif isinstance(part, RowsPart):
                found += [(piece, index) for piece in _pieces(part.rows)]
        return found

    def text(self, names: dict[int, list[str]]) -> str:
        """Returns the INSERT; `names` are those of the local relations of each part."""
        head = f"INSERT INTO {self.target} {self.columns}"
        if len(self.parts) == 1 and isinstance(self.parts[0], LiteralPart):
            return f"{head} VALUES {', '.join(self.parts[0].texts)}"
        queries = [self._query(part, names.get(index, [])) for index, part in enumerate(self.parts)]
        return f"{head} {' UNION ALL '.join(query for found in queries for query in found)}"

    def _query(self, part: Part, names: Sequence[str]) -> list[str]:
        match part:
            case LiteralPart(texts):
                width = len(self.types)
                columns = ", ".join(self._cast(f"c{index}", index) for index in range(width)) or "*"
                labels = f"(c{', c'.join(map(str, range(width)))})" if width else ""
                return [f"SELECT {columns} FROM VALUES {', '.join(texts)} AS staged{labels}"]
            case BoundPart():
                sources = [_source_type(kinds) for kinds in part.kinds]
                items = ", ".join(self._item(part.insert, index, sources) for index in range(len(part.insert.items)))
                return [f"SELECT {items} FROM {name}" for name in names]
            case RowsPart(rows):
                columns = ", ".join(self._from_text(label, index) for index, label in enumerate(rows.column_names))
                return [f"SELECT {columns} FROM {name}" for name in names]

    def _item(self, insert: InsertText, index: int, sources: Sequence[str]) -> str:
        item = _MARKERS.sub(lambda found: _typed(found[0][1:], sources[int(found[1]) - 1]), insert.items[index])
        return self._cast(item, index) if insert.marker(index) is not None else item.strip()

    def _cast(self, value: str, index: int) -> str:
        return f"CAST({value} AS {self.types[index]})" if index < len(self.types) else value

    def _from_text(self, value: str, index: int) -> str:
        """Returns a value of COPY, which is a text in PostgreSQL's spelling."""
        kind = self.types[index] if index < len(self.types) else "string"
        element = pg_type(kind).element
        if element is not None:  # an array of texts
            array = f"from_json({value}, 'array<string>', {_FAIL})"
            return f"transform({array}, item -> {_of_text('item', kind[len('array<') : -1])})"
        if kind.startswith(_NESTED):
            return f"from_json({value}, '{kind}', {_FAIL})"
        return _of_text(value, kind)

    def _add_literals(self, insert: InsertText) -> None:
        """Adds literals as bound values: thousands of them in a text would take seconds to analyze."""
        width = len(insert.literals[0])
        items = tuple(f":{MARKER_PREFIX}{number}" for number in range(1, width + 1))
        template = InsertText(insert.target, insert.columns, "", items)
        for row in insert.literals:
            self._add_bound(template, [Parameter(value=literal.value, sql_type=literal.sql_type) for literal in row])

    def _add_bound(self, insert: InsertText, parameters: Sequence[Parameter]) -> None:
        last = self.parts[-1] if self.parts else None
        if not isinstance(last, BoundPart) or last.insert != insert:
            last = BoundPart(insert, [[] for _ in parameters], [set() for _ in parameters])
            self.parts.append(last)
        for values, kinds, one in zip(last.values, last.kinds, parameters, strict=True):
            values.append(one.value)
            if one.value is not None:
                kinds.add(one.sql_type)

    def _ensure_same(self, target: str, columns: str) -> None:
        if (target, columns) != (self.target, self.columns):
            reason = f"the block inserts into {self.target} {self.columns}".rstrip()
            raise BlockNotSupported(f"{reason}, and all rows need the same table and columns")

    def _grow(self, size: int, rows: int) -> None:
        if self.size_bytes + size > BYTES_MAX:
            raise CopyTooLarge(BYTES_MAX)
        self.size_bytes += size
        self.count += rows


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


def _pieces(rows: pa.Table) -> list[pa.Table]:
    """Returns the rows in pieces that fit into one local relation."""
    size = value_bytes(rows)
    if size <= RELATION_BYTES_MAX:
        return [rows]
    count = max(1, rows.num_rows * RELATION_BYTES_MAX // size)
    return [rows.slice(start, count) for start in range(0, rows.num_rows, count)]


def _size(part: Part) -> int:
    match part:
        case LiteralPart(counts=counts):
            return sum(counts)
        case BoundPart(values=values):
            return len(values[0])
        case RowsPart(rows):
            return int(rows.num_rows)


def _first(part: Part, count: int) -> Part:
    match part:
        case LiteralPart(texts, counts):
            taken, index = 0, 0
            while index < len(counts) and taken + counts[index] <= count:
                taken += counts[index]
                index += 1
            return LiteralPart(texts[:index], counts[:index])
        case BoundPart():
            return BoundPart(part.insert, [values[:count] for values in part.values], part.kinds)
        case RowsPart(rows):
            return RowsPart(rows.slice(0, count))
