"""Random tables as other writers may leave them: data files from Arrow, and their rows by the protocol.

No product code takes part except for encoding deletion vectors. A file contains the columns that the log leaves to it,
and misleading ones: partition columns with other values, columns under others' names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.filters import Operand
from tests.fuzz.foreign_columns import VALUES, Column, FileColumns
from tests.fuzz.foreign_kinds import EXCLUSIVE, Kind

NAMES = ("a", "b", "c", "d", "e")
PARTITIONS = ("p", "q")
ROWS_MAX = 24


@dataclass(slots=True, kw_only=True)
class DataFile:
    # Relative to the table's folder.
    path: str
    size: int
    partition_texts: dict[str, str | None]
    # By logical name, in file order, with each row's `_metadata`.
    rows: list[dict[str, Any]]
    deleted: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Table:
    folder: Path
    kinds: frozenset[Kind]
    columns: tuple[Column, ...]
    partitions: tuple[Column, ...]
    live: list[DataFile] = field(default_factory=list)

    @property
    def mode(self) -> str:
        return "name" if Kind.BY_NAME in self.kinds else "id" if Kind.BY_ID in self.kinds else "none"

    def rows(self) -> list[dict[str, Any]]:
        """Returns the expected rows."""
        return [row for file in self.live for at, row in enumerate(file.rows) if at not in file.deleted]

    def operands(self) -> list[Operand]:
        """Returns the filters' operands; partition columns twice as often."""
        plain = [column for column in (*self.columns, *self.partitions * 2) if not column.fields]
        found = [_operand((column.name,), column.type) for column in plain]
        for column in self.columns:
            found += [_operand((column.name, inner.name), inner.type) for inner in column.fields]
        names = sorted({row["_file"] for row in self.rows()}) or ["none"]
        found.append(Operand("_metadata.file_name", lambda row: row["_file"], names))
        found.append(Operand("_metadata.row_index", lambda row: row["_index"], range(ROWS_MAX)))
        return found


def _operand(path: tuple[str, ...], data_type: str) -> Operand:
    def value(row: Any) -> Any:
        for name in path:
            row = None if row is None else row[name]
        return row

    return Operand(".".join(path), value, VALUES[data_type][1])


def random_kinds(random: Random, selected: frozenset[Kind]) -> frozenset[Kind]:
    kinds = {kind for kind in sorted(selected) if random.random() < 0.6}
    for group in EXCLUSIVE:
        among = [kind for kind in group if kind in kinds]
        kinds -= set(among)
        kinds |= set(random.sample(among, min(1, len(among))))
    return frozenset(kinds)


def random_table(random: Random, folder: Path, kinds: frozenset[Kind]) -> Table:
    """Returns a table without files."""
    names = [*NAMES[: random.randint(2, len(NAMES))]]
    parts = [*PARTITIONS[: random.randint(1, 2)]] if Kind.PARTITIONS in kinds or Kind.IN_FILES in kinds else []
    physical = dict(zip(["id", *names, *parts], _physical_names(random, kinds, ["id", *names, *parts]), strict=True))
    numbers = iter(random.sample(range(1, 60), 40))

    def column(name: str, types: Sequence[str]) -> Column:
        return Column(name=name, type=random.choice(types), physical=physical[name], number=next(numbers))

    columns = [Column(name="id", type="long", physical=physical["id"], number=next(numbers))]
    columns += [column(name, list(VALUES)) for name in names[:-1]]
    columns.append(_struct(random, names[-1], physical[names[-1]], kinds, [next(numbers) for _ in range(3)]))
    partitions = tuple(column(name, [kind for kind in VALUES if kind != "double"]) for name in parts)
    return Table(folder=folder, kinds=kinds, columns=tuple(columns), partitions=partitions)


def _struct(random: Random, name: str, physical: str, kinds: frozenset[Kind], numbers: list[int]) -> Column:
    inner = _physical_names(random, kinds, ["x", "y"])
    fields = (
        Column(name="x", type="integer", physical=inner[0], number=numbers[1]),
        Column(name="y", type="string", physical=inner[1], number=numbers[2]),
    )
    return Column(name=name, type="struct", physical=physical, number=numbers[0], fields=fields)


def _physical_names(random: Random, kinds: frozenset[Kind], logical: list[str]) -> list[str]:
    """Returns physical names for mapped columns: swapped names and new ones."""
    if not kinds & {Kind.BY_NAME, Kind.BY_ID}:
        return logical
    return random.sample([*logical, *(f"col-{name}" for name in logical)], len(logical))


def random_file(random: Random, table: Table, number: int) -> DataFile:
    """Writes a file."""
    values = {column.name: _value(random, table, column.type) for column in table.partitions}
    near = random.randrange(8)
    count = random.randint(1, ROWS_MAX)
    lacks = {column.name for column in table.columns[1:] if random.random() < 0.15}
    rows = [
        {column.name: None if column.name in lacks else _cell(random, table, column, near) for column in table.columns}
        | {"id": number * 1000 + at}
        | values
        for at in range(count)
    ]
    random.shuffle(rows)
    path = f"{'' if random.random() < 0.5 else 'sub folder/'}f{number}.parquet"
    target = table.folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shown = [column for column in table.columns if column.name not in lacks]
    file_columns = FileColumns(random, rows, is_by_id=table.mode == "id")
    misleading = table.partitions if Kind.IN_FILES in table.kinds else ()
    physical = {column.physical for column in (*table.columns, *table.partitions)} if table.mode == "name" else set()
    junk = () if table.mode == "none" else [name for name in NAMES if name not in physical]
    stored = file_columns.stored(shown, misleading, junk)
    arrays = [pa.array(each, item.type) for item, each in stored]
    whole = pa.Table.from_arrays(arrays, schema=pa.schema([item for item, _ in stored]))
    pq.write_table(whole, target, **_options(random, table, whole.schema))
    for at, row in enumerate(rows):
        row |= {"_file": target.name, "_index": at}
    texts = {column.physical: _text(values[column.name]) for column in table.partitions}
    return DataFile(path=path, size=target.stat().st_size, partition_texts=texts, rows=rows)


def _value(random: Random, table: Table, data_type: str, near: int | None = None) -> Any:
    values = VALUES[data_type][1]
    if Kind.NULLS in table.kinds and random.random() < 0.2:
        return None
    return random.choice(values) if near is None else values[(near + random.randrange(3)) % len(values)]


def _cell(random: Random, table: Table, column: Column, near: int) -> Any:
    if not column.fields:
        return _value(random, table, column.type, near)
    if Kind.NULLS in table.kinds and random.random() < 0.2:
        return None
    return {inner.name: _value(random, table, inner.type, near) for inner in column.fields}


def _text(value: Any) -> str | None:
    """Returns a partition value as the protocol serializes it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case dt.datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
        case _:
            return str(value)


def _options(random: Random, table: Table, schema: pa.Schema) -> dict[str, Any]:
    """Small pages and row groups, so that filters have something to leave out."""
    options: dict[str, Any] = {
        "row_group_size": random.choice((3, 8, 100)),
        "use_dictionary": random.random() < 0.5,
        "data_page_version": random.choice(("1.0", "2.0")),
    }
    if Kind.PAGE_INDEX in table.kinds:
        options |= {"write_page_index": True, "max_rows_per_page": 2, "write_batch_size": 2}
    if Kind.BLOOM_FILTERS in table.kinds:
        plain = [
            item.name for item in schema if not pa.types.is_nested(item.type) and not pa.types.is_boolean(item.type)
        ]
        options["bloom_filter_options"] = {name: {"ndv": 8} for name in plain if "." not in name}
    return options
