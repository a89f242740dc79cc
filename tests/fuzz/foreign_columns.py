"""A data file's content: a table's columns under their logged names or ids, and misleading columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

_DAYS = [dt.date(2024, 1, day) for day in range(1, 9)]
VALUES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "long": (pa.int64(), range(-3, 9)),
    "integer": (pa.int32(), range(-3, 9)),
    "string": (pa.string(), ("a", "ab", "abc", "b", "zz", "x'y", "Ä", "a b")),
    "date": (pa.date32(), _DAYS),
    "double": (pa.float64(), [number / 2 for number in range(-3, 9)]),
    "decimal(9,2)": (pa.decimal128(9, 2), [Decimal(number) / 4 for number in range(-3, 9)]),
    "boolean": (pa.bool_(), (True, False)),
    "timestamp": (pa.timestamp("us", "UTC"), [dt.datetime(d.year, 1, d.day, 3, tzinfo=dt.UTC) for d in _DAYS]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    # A key in `VALUES`, or `struct`.
    type: str
    physical: str
    number: int
    fields: tuple[Column, ...] = ()


Stored = tuple[pa.Field, list[Any]]


class FileColumns:
    """One file's columns. By id, names are misleading: they belong to other columns."""

    def __init__(self, random: Random, rows: Sequence[Mapping[str, Any]], *, is_by_id: bool) -> None:
        self._random, self._rows, self._is_by_id = random, rows, is_by_id

    def stored(self, columns: Sequence[Column], constants: Sequence[Column], junk: Sequence[str]) -> list[Stored]:
        """`columns` hold their rows, `constants` whatever, `junk` stands under names that nobody else has."""
        every = [*columns, *constants]
        names = dict(zip(every, self._names([column.physical for column in every]), strict=True))
        found = [self._column(column, names[column]) for column in columns]
        found += [self._misleading(column, names[column]) for column in constants]
        taken = {name.casefold() for name in names.values()}
        for name in junk:
            if name not in taken:
                found.append((self._field(name, None, pa.int64()), [self._random.randrange(9) for _ in self._rows]))
        self._random.shuffle(found)
        return found

    def _names(self, physical: list[str]) -> list[str]:
        return self._random.sample(physical, len(physical)) if self._is_by_id else physical

    def _field(self, name: str, number: int | None, data_type: pa.DataType) -> pa.Field:
        identified = self._is_by_id and number is not None
        return pa.field(name, data_type, metadata={"PARQUET:field_id": str(number)} if identified else None)

    def _column(self, column: Column, name: str) -> Stored:
        values = [row[column.name] for row in self._rows]
        if not column.fields:
            return self._field(name, column.number, VALUES[column.type][0]), values
        names = dict(zip(column.fields, self._names([inner.physical for inner in column.fields]), strict=True))
        fields = [self._field(names[inner], inner.number, VALUES[inner.type][0]) for inner in column.fields]
        stored = [
            None if value is None else {names[inner]: value[inner.name] for inner in column.fields} for value in values
        ]
        return self._field(name, column.number, pa.struct(self._random.sample(fields, len(fields)))), stored

    def _misleading(self, column: Column, name: str) -> Stored:
        """Returns the log's value, another one, several, none, or one with another type."""
        data_type, values = VALUES[column.type]
        stored = [row[column.name] for row in self._rows]
        kind = self._random.choice(("same", "other", "several", "null", "type"))
        if kind == "other":
            stored = [self._random.choice(values)] * len(stored)
        elif kind == "several":
            stored = [self._random.choice([*values, None]) for _ in stored]
        elif kind == "null":
            stored = [None] * len(stored)
        elif kind == "type":
            data_type = pa.string() if data_type != pa.string() else pa.int64()
            stored = [None if value is None else ("b" if data_type == pa.string() else 3) for value in stored]
        return self._field(name, column.number, data_type), stored
