"""Requests to Spark for writing data files, and their results.

Files are written under their final, unique names in their final location (`InPlaceCommitProtocol`), by Spark's own
Parquet writer, as fast as `df.write.parquet`. They are not part of the table until a commit names them; a failed job
deletes the files that it can.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from engine.tables.config import Distribution

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedExpression:
    """SQL text, and its column name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A column with the values `first`, `first + step`, …; no value occurs twice, across all tasks."""

    name: str
    first: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A projection. `assigned` None, or a schema as JSON: its columns, by position, are assigned to these columns.

    `settings` are Spark settings under which the expressions are analyzed, in addition to the server's; None: the
    session's own. Columns for `counters` follow the expressions; with counters, rows are distributed over the tasks
    before this step instead of after the last one, and partitions are kept together by the columns `spread_by`.
    """

    expressions: tuple[NamedExpression, ...]
    assigned: str | None = None
    counters: tuple[Counter, ...] = ()
    spread_by: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] | None = None


# Default target file size: large enough to justify opening the file.
FILE_BYTES = 128 << 20

# Results that Spark estimates to be at most this large are shuffled, so that each task does not write a small file.
SMALL_BYTES = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A sort order along a curve through the values of `columns` (SQL over the stored columns), which places rows with
    similar values in all columns near each other: a Hilbert curve, or the Z-order curve.

    `num_files` None: by partition, and sorted there. Otherwise all rows belong to one partition, and are written to
    this many files. `sampled` is the fraction that is sampled for the value distribution.
    """

    columns: tuple[str, ...]
    is_hilbert: bool
    num_files: int | None
    sampled: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionValue:
    """A partition field. `text` is a column in the files, or a field in one; `transform` an Iceberg partition
    transform, and `width` its parameter. A partition's files are in a directory with this name.
    """

    name: str
    text: str
    transform: str
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderColumn:
    """A sort field. `text` is a column in the files, or a field in one; `transform` and `width` as in `PartitionValue`,
    None for the value itself.
    """

    text: str
    descending: bool
    nulls_first: bool
    transform: str | None
    width: int


class FieldMatching(StrEnum):
    """Ways to match a struct's fields, at any depth, with a column's; names match without regard to case."""

    POSITION = "position"
    NAME = "name"
    # By name; missing fields are NULL.
    FILLED = "filled"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWriting:
    """The transformation from a query's rows to written rows, applied by `RowEnforcer`.

    `columns` and `stored` are schemas as JSON: the table columns that the query provides (in its order, or in any with
    `by_name`), and the file columns. `fields` is how structs in the columns match. The last of `steps` returns a value
    for each of `stored`, in their order.
    """

    label: str
    # A text in the errors of the checks, which no other statement has.
    token: str
    columns: str
    by_name: bool
    fields: FieldMatching
    steps: tuple[Step, ...]
    stored: str
    partition_columns: tuple[str, ...]
    # Rows are shuffled so that a file has `file_bytes`; rows for partitioned tables always are.
    rebalanced: bool = False
    file_bytes: int = FILE_BYTES
    # Rows are shuffled anyway up to this estimate.
    small_bytes: int = SMALL_BYTES
    # Rows up to this estimate are instead written by at most one task per core, without a shuffle.
    joins_tasks: bool = False
    # NONE: rows are written by the tasks that read them; RANGE: files are in a total order. None, or HASH: a
    # partition's rows are collected in one task, or without partitions the rows with equal sort keys.
    distribution: Distribution | None = None
    # Each task of the query has one file's rows.
    is_arranged: bool = False
    # Rows that the optimizer has evaluated are written without a job.
    literals: bool = False
    curve: Curve | None = None
    # Partition fields that the files do not store, for `partition_columns`.
    partitions: tuple[PartitionValue, ...] = ()
    # The sort order within each file; it also determines the split into files for a table without partitions.
    order: tuple[OrderColumn, ...] = ()
    # The table's names for the first stored columns; empty for rows that belong to no table.
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """A target directory (decoded path or URI) and the query's columns that become its partition directories.

    With `rules` they have the names of the rules' stored columns. `compression` None leaves it to Spark. `lease`
    identifies vended credentials for the directory; None: the server's credentials are used.
    """

    folder: str
    lease: str | None = None
    partition_columns: tuple[str, ...] = ()
    compression: str | None = None
    rules: RowWriting | None = None
    # The name of a scan that reads the rows while the statement runs; None: the rows belong to a table.
    keeps: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A data file: `path` decoded and relative to the directory, `size` in bytes, `modification_time` in ms.

    `partition_values` use the query's column names, cast to text by Spark in UTC. `null_counts` contains the counts for
    arrays and maps, by their name paths. A file may have no rows.
    """

    path: str
    size: int
    modification_time: int
    partition_values: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    null_counts: Mapping[tuple[str, ...], int] = field(default_factory=lambda: MappingProxyType({}))
    # PyArrow's `FileMetaData` if this process wrote the file; None if the footer must be read.
    footer: Any = None


def target_request(target: WriteTarget) -> str:
    """Returns the request for `TableWriter`."""
    # `asdict` would copy each tuple of the description first: 7 % of an INSERT of one row.
    return json.dumps(target, default=_attributes)


def _attributes(value: object) -> dict[str, object]:
    """Returns a dataclass as a JSON object, for `json.dumps`. Raises `TypeError` for any other value."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return {each.name: getattr(value, each.name) for each in fields(value)}


def read_written(answer: str) -> tuple[WrittenFile, ...]:
    """Parses the response of `TableWriter`."""
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
    """Returns the values in directory names, `name=value/…`, which Spark escapes with percent signs."""
    values: dict[str, str | None] = {}
    for folder in folders.split("/") if folders else ():
        name, _, value = folder.partition("=")
        values[unquote(name)] = None if value == _NULL_PARTITION else unquote(value)
    return MappingProxyType(values)
