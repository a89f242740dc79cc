"""Results, as the engine passes them to the front ends: an Arrow schema, and batches that are pulled on demand.

Arrow has no type for some SQL types (varchar(10), an interval's fields, variant), so each field of a result schema has
its SQL type in its metadata under :data:`SQL_TYPE`, in Spark's DDL spelling: `bigint`, `decimal(10,2)`, `varchar(5)`,
`array<int>`, `struct<a:int,b:string>`, `interval day to second`, `timestamp_ntz`, `void`, `variant`. A front end takes
the type from there and never derives it from Arrow's. Values have Arrow's own types, timestamps as microseconds in UTC
(`timestamp`) or without a zone (`timestamp_ntz`), day intervals as durations, month and calendar intervals as text
(`1-2`, `1 years 2 days`), variant as JSON text; the same holds for nested values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from engine.spool.spool_file import AnyBatch, StoredBatch, load_batch

SQL_TYPE = b"sql_type"
USER_TYPE = b"user_type"
_COPIED_BYTES_MAX = 256 << 10


def sql_field(
    name: str, arrow_type: pa.DataType, sql_type: str, user_type: Mapping[str, Any] | None = None
) -> pa.Field:
    """Returns a field of a result schema; `sql_type` is Spark's DDL spelling, and `user_type` Spark's JSON of a type
    with user-defined ones, whose values are those of their underlying types.
    """
    metadata = {SQL_TYPE: sql_type.encode()}
    if user_type is not None:
        metadata[USER_TYPE] = json.dumps(user_type).encode()
    return pa.field(name, arrow_type, metadata=metadata)


def user_type_of(field_: pa.Field) -> dict[str, Any] | None:
    """Returns the JSON of a type with user-defined ones that :func:`sql_field` stored, or None."""
    found = field_.metadata.get(USER_TYPE)
    return None if found is None else json.loads(found)


def sql_type_of(field_: pa.Field) -> str:
    """Returns the DDL spelling that :func:`sql_field` stored."""
    return bytes(field_.metadata[SQL_TYPE]).decode()


def _do_nothing() -> None:
    pass


def _at_once(_: float) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """The number of rows that a statement changed, in total and by kind of change (None: not reported)."""

    affected: int
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    # The number of skipped files of a COPY INTO.
    skipped_corrupt_files: int | None = None
    # Whether a CREATE TABLE … AS wrote the rows: for this statement, Databricks returns the columns of the counts
    # without a row.
    defines_table: bool = False

    @property
    def named(self) -> dict[str, int]:
        """Returns the counts by the names that Delta users know, in their order."""
        parts = (
            ("num_affected_rows", self.affected),
            ("num_updated_rows", self.updated),
            ("num_deleted_rows", self.deleted),
            ("num_inserted_rows", self.inserted),
            ("num_skipped_corrupt_files", self.skipped_corrupt_files),
        )
        return {name: count for name, count in parts if count is not None}


class Repeatable(StrEnum):
    """Whether a query returns the same result again for the same table versions and settings."""

    ALWAYS = "always"
    # The same result for the same principal at the same current schema.
    SESSION = "session"
    # The result depends on time or chance, or this is unknown.
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class FileListRequest:
    """The files of a scan that Spark requested while it planned a query; the result depends on them and on their rows.

    `scan` is the number of the scan in its plan, `filters` the pushed filters as JSON (`engine.spark.filters`), `zone`
    the session's time zone; with `rows`, files with this many rows are enough.
    """

    scan: int
    filters: str
    zone: str
    rows: int | None


@dataclass(slots=True)
class ResultStream:
    """The result of one statement: `schema`, and batches that are produced while they are pulled.

    `has_rows` is False for statements without rows (SET, USE, DDL). `row_counts` are the counts of a DML statement,
    else None. Iterate once; `close()` releases the stream's resources, at any time, and may be called again.
    `wait_ready` waits up to the given number of seconds for the next batch, or the end, of a running query, and returns
    whether it is available.
    """

    schema: pa.Schema
    source: Iterable[AnyBatch] = ()
    has_rows: bool = True
    row_counts: RowCounts | None = None
    time_zone: str = "UTC"
    on_close: Callable[[], None] = field(default=_do_nothing)
    wait_ready: Callable[[float], bool] = field(default=_at_once)
    # Known when the query has run to its end.
    repeatable: Repeatable = Repeatable.NEVER
    # The number of rows as counted by their producer; None if it is not known, or not yet.
    rows_made: int | None = None
    # Its row has the URL for the client's file transfer.
    is_staging: bool = False
    _closed: bool = False

    @property
    def rows_modified(self) -> int | None:
        """Returns the total row count of a DML statement, which every protocol can report."""
        return None if self.row_counts is None else self.row_counts.affected

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches; each has `schema`."""
        yield from map(load_batch, self.source)

    def pieces(self) -> Iterator[AnyBatch]:
        """Yields the batches as :meth:`batches` does, but does not read those in files."""
        yield from self.source

    def limit(self, rows_max: int) -> ResultStream:
        """Returns the first `rows_max` rows of this stream, which must not be pulled in addition."""
        return replace(self, source=_first_rows(self.pieces(), rows_max), on_close=self.close, rows_made=None)

    def close(self) -> None:
        """Releases the stream's resources; calls after the first have no effect."""
        if not self._closed:
            self._closed = True
            self.on_close()


def _first_rows(batches: Iterator[AnyBatch], rows_max: int) -> Iterator[AnyBatch]:
    """Yields few rows as copies in memory: a stored batch would keep its whole file."""
    for batch in batches:
        first = batch.slice(0, rows_max)
        if isinstance(first, StoredBatch) and first.value_bytes <= _COPIED_BYTES_MAX:
            rows = first.read()
            yield rows.take(pa.array(range(rows.num_rows), pa.int64()))
        else:
            yield first
        rows_max -= batch.num_rows
        if rows_max <= 0:
            return


def empty_result() -> ResultStream:
    """Returns the result of a statement without rows."""
    return ResultStream(schema=pa.schema([]), has_rows=False)


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a small result: its Arrow type and the SQL name of that type."""

    arrow_type: pa.DataType
    sql_type: str


STRING, INT, BIGINT = (
    ResultColumn(pa.string(), "string"),
    ResultColumn(pa.int32(), "int"),
    ResultColumn(pa.int64(), "bigint"),
)
BOOLEAN, TIMESTAMP = ResultColumn(pa.bool_(), "boolean"), ResultColumn(pa.timestamp("us", "UTC"), "timestamp")
STRINGS = ResultColumn(pa.list_(pa.string()), "array<string>")
STRING_MAP = ResultColumn(pa.map_(pa.string(), pa.string()), "map<string,string>")


Columns = Mapping[str, ResultColumn] | Sequence[tuple[str, ResultColumn]]


def small_result(columns: Columns, rows: Iterable[Sequence[object]]) -> ResultStream:
    """Returns a result from rows of Python values, for SHOW and DESCRIBE; column names may repeat."""
    pairs = columns.items() if isinstance(columns, Mapping) else columns
    fields = [sql_field(name, column.arrow_type, column.sql_type) for name, column in pairs]
    values = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [pa.array(cells, field_.type) for cells, field_ in zip(values, fields, strict=True)]
    batch = pa.record_batch(arrays, schema=pa.schema(fields))
    return ResultStream(schema=batch.schema, source=(batch,))


def counts_as_row(stream: ResultStream) -> ResultStream:
    """Returns the counts of a DML statement as a result, like Databricks; any other stream is returned unchanged.

    For a CREATE TABLE … AS, the result has these columns and no row.
    """
    if stream.has_rows or stream.row_counts is None:
        return stream
    counts = stream.row_counts.named
    rows = [] if stream.row_counts.defines_table else [tuple(counts.values())]
    counted = small_result(dict.fromkeys(counts, BIGINT), rows)
    return replace(counted, row_counts=stream.row_counts, on_close=stream.close)


def string_rows(names: Iterable[str], rows: Iterable[Sequence[str | None]]) -> ResultStream:
    """Returns a small result with text columns."""
    return small_result(dict.fromkeys(names, STRING), rows)


def canonical_bytes(rows: pa.RecordBatch) -> pa.Buffer:
    """Returns the same bytes for the same rows, whatever they were sliced from; NaN equals itself."""
    # A slice has the bits of the rows around it; a copy does not.
    return rows.take(pa.arange(0, rows.num_rows)).serialize()
