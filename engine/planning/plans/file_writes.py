"""Writing data files: what is asked of Spark, and what it wrote.

Files land under final, unique names where they stay (`InPlaceCommitProtocol`), by Spark's own Parquet writer, at the
speed of `df.write.parquet`. They are no part of the table before a commit names them; a failed job deletes what it can.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import unquote

from engine.tables.rules import Distribution

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedExpression:
    """SQL text, and what its value is called."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A column of the values `first`, `first + step`, …: each in one row at most, of all tasks together."""

    name: str
    first: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A projection. `assigned` None, or a schema as JSON: its columns, by position, are assigned to these columns.

    `settings` are Spark's, under which the expressions are analyzed besides the server's; None: the session's own.
    With `counters` these come behind the expressions, rows are distributed over the tasks before this step and not
    behind the last one, and partitions are kept together by the columns `spread_by`.
    """

    expressions: tuple[NamedExpression, ...]
    assigned: str | None = None
    counters: tuple[Counter, ...] = ()
    spread_by: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] | None = None


FILE_BYTES = 128 << 20
"""What files should have where nothing is said: enough that reading one is worth the opening."""

SMALL_BYTES = 32 << 20
"""Rows that Spark estimates to be no more than this are shuffled, so that they do not become a file for each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Rows are sorted along a curve through the values of `columns` (SQL over the stored columns), so that rows with
    near values of all of them are near each other: a Hilbert curve, or the Z-order curve.

    `num_files` None: by partition, and sorted there. Else all rows are one partition's, and become so many files.
    `sampled` is the part of the rows that tells how the values are distributed.
    """

    columns: tuple[str, ...]
    is_hilbert: bool
    num_files: int | None
    sampled: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionValue:
    """`text` is a column in the files, or a field in one; `transform` a partition transform of Iceberg, and `width` its
    number. The files of a partition are in a folder of this name.
    """

    name: str
    text: str
    transform: str
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderColumn:
    """`text` is a column in the files, or a field in one; `transform` and `width` as of `PartitionValue`, None for
    the value itself.
    """

    text: str
    descending: bool
    nulls_first: bool
    transform: str | None
    width: int


class FieldMatching(StrEnum):
    """Ways to match the fields of structs, at any depth, with a column's; names match without regard to case."""

    POSITION = "position"
    NAME = "name"
    FILLED = "filled"
    """By name, and fields that the value does not have are NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRules:
    """What becomes of a query's rows before they are written; `RowEnforcer` says how.

    `columns` and `stored` are schemas as JSON: the columns of the table that the query gives (in its order, or in any
    with `by_name`), and those of the files. `fields` is how structs in the columns match. The last of `steps` gives a
    value for each of `stored`, in their order.
    """

    label: str
    columns: str
    by_name: bool
    fields: FieldMatching
    steps: tuple[Step, ...]
    stored: str
    partition_columns: tuple[str, ...]
    rebalanced: bool = False
    """Whether rows are shuffled so that a file has `file_bytes`; those of partitioned tables always are."""
    file_bytes: int = FILE_BYTES
    small_bytes: int = SMALL_BYTES
    """Up to this estimate rows are shuffled all the same."""
    joins_tasks: bool = False
    """Rows of such an estimate are written by a task for each core at most instead, without a shuffle."""
    distribution: Distribution | None = None
    """NONE: rows are written by the tasks that read them; RANGE: in the order of all files together. None, or HASH: the
    rows of a partition come together, and without partitions those of one order.
    """
    is_arranged: bool = False
    """Whether each task of the query has the rows of a file."""
    literals: bool = False
    """Whether rows that the optimizer has evaluated are written without a job."""
    curve: Curve | None = None
    partitions: tuple[PartitionValue, ...] = ()
    """Values by which the rows are divided, and which the files do not have, of `partition_columns`."""
    order: tuple[OrderColumn, ...] = ()
    """How the rows of each file are sorted; those of a table without partitions are divided into files by that too."""
    names: tuple[str, ...] = ()
    """What the table calls the first of the stored columns; none for rows that are no table's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """A folder (decoded path or URI) and the columns that become folders in it, as the query names them.

    With `rules` they are named as the rules' stored columns are. `compression` None leaves it to Spark. `lease` is
    that of credentials for the folder alone; None: the server's are used.
    """

    folder: str
    lease: str | None = None
    partition_columns: tuple[str, ...] = ()
    compression: str | None = None
    rules: RowRules | None = None
    keeps: str | None = None
    """The name of a scan for which the rows are kept while the statement runs; None: they are a table's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A data file: `path` decoded and relative to the folder, `size` in bytes, `modification_time` in ms.

    `partition_values` are by the names of the query's columns, as Spark casts them to text in UTC.
    `null_counts` are those of arrays and maps, by their paths of names. A file may have no rows.
    """

    path: str
    size: int
    modification_time: int
    partition_values: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    null_counts: Mapping[tuple[str, ...], int] = field(default_factory=lambda: MappingProxyType({}))


def target_request(target: WriteTarget) -> str:
    """What `TableWriter` reads."""
    return json.dumps(asdict(target))


def read_written(answer: str) -> tuple[WrittenFile, ...]:
    """What `TableWriter` answers."""
    return tuple(
        WrittenFile(
            path=path,
            size=size,
            modification_time=time,
            partition_values=partition_values(partition or ""),
            null_counts=MappingProxyType({tuple(names): count for names, count in nulls}),
        )
        for path, partition, size, time, nulls in json.loads(answer)
    )


def partition_values(folders: str) -> Mapping[str, str | None]:
    """The values that names of folders say, `name=value/…`, which Spark escapes with per cent signs."""
    values: dict[str, str | None] = {}
    for folder in folders.split("/") if folders else ():
        name, _, value = folder.partition("=")
        values[unquote(name)] = None if value == _NULL_PARTITION else unquote(value)
    return MappingProxyType(values)
