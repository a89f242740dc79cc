"""What crosses from the engine to the front ends: an Arrow schema and batches pulled on demand. Nothing else does.

Arrow cannot say every SQL type (varchar(10), an interval's fields, variant), so each field of a result schema carries
the SQL type in its metadata under :data:`SQL_TYPE`, spelled as Spark's DDL spells it: `bigint`, `decimal(10,2)`,
`varchar(5)`, `array<int>`, `struct<a:int,b:string>`, `interval day to second`, `timestamp_ntz`, `void`, `variant`.
A front end takes the type from there and never guesses from Arrow. Values come as Arrow's own types, timestamps as
microseconds in UTC (`timestamp`) or without a zone (`timestamp_ntz`), intervals of days as durations, those of months
and calendar intervals as text (`1-2`, `1 years 2 days`), variant as JSON text; so at any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import pyarrow as pa

from engine.spool.spool_file import AnyBatch, StoredBatch, loaded

SQL_TYPE = b"sql_type"
_COPIED_BYTES_MAX = 256 << 10


def sql_field(name: str, arrow_type: pa.DataType, sql_type: str) -> pa.Field:
    """A field of a result schema; `sql_type` is Spark's DDL spelling."""
    return pa.field(name, arrow_type, metadata={SQL_TYPE: sql_type.encode()})


def sql_type_of(field_: pa.Field) -> str:
    """The DDL spelling that :func:`sql_field` put there."""
    return bytes(field_.metadata[SQL_TYPE]).decode()


def _nothing() -> None:
    pass


def _at_once(_: float) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """How many rows of a table a statement changed in any way, and in which (None: not said)."""

    affected: int
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    skipped_corrupt_files: int | None = None
    """Of the files of a COPY INTO."""
    defines_table: bool = False
    """Whether a CREATE TABLE … AS wrote them: Databricks names the counts of one, and gives no row of them."""

    @property
    def named(self) -> dict[str, int]:
        """Under the names that users of Delta know, in their order."""
        parts = (
            ("num_affected_rows", self.affected),
            ("num_updated_rows", self.updated),
            ("num_deleted_rows", self.deleted),
            ("num_inserted_rows", self.inserted),
            ("num_skipped_corrupt_files", self.skipped_corrupt_files),
        )
        return {name: count for name, count in parts if count is not None}


class Repeatable(StrEnum):
    """Whether the same query over the same versions of its tables, under the same settings, gives the same answer."""

    ALWAYS = "always"
    SESSION = "session"
    """To the same principal, at the same current schema."""
    NEVER = "never"
    """It depends on the time or on chance, or that is unknown."""


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """Which files of a scan Spark asked for while it planned a query: what an answer follows from, besides their rows.

    `scan` is the number of one in its plan, `filters` their JSON (`engine.spark.filters`), `zone` the name of the
    session's; with `rows`, files with so many rows are enough.
    """

    scan: int
    filters: str
    zone: str
    rows: int | None


@dataclass(slots=True)
class ResultStream:
    """The result of one statement: `schema`, and batches that are made as they are pulled.

    `has_rows` is False for statements that answer no rows (SET, USE, DDL). `row_counts` are those of a DML statement,
    else None. Iterate once; `close()` gives back what the stream holds, at any time, more than once. `wait_ready`
    waits up to so many seconds for the next batch, or the end, of a query that still runs: whether it is there.
    """

    schema: pa.Schema
    source: Iterable[AnyBatch] = ()
    has_rows: bool = True
    row_counts: RowCounts | None = None
    time_zone: str = "UTC"
    on_close: Callable[[], None] = field(default=_nothing)
    wait_ready: Callable[[float], bool] = field(default=_at_once)
    repeatable: Repeatable = Repeatable.NEVER
    """Known once all of a query has run."""
    rows_made: int | None = None
    """How many rows there are, as who made them has counted; None where that is not known, or not yet."""
    is_staging: bool = False
    """Its row says where the client transfers a file."""
    _closed: bool = False

    @property
    def rows_modified(self) -> int | None:
        """The one number of a DML statement that every protocol has a place for."""
        return None if self.row_counts is None else self.row_counts.affected

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Pull the batches; each has `schema`."""
        yield from map(loaded, self.source)

    def pieces(self) -> Iterator[AnyBatch]:
        """As :meth:`batches`, without reading those that are in files."""
        yield from self.source

    def limited(self, rows_max: int) -> ResultStream:
        """The first `rows_max` rows of this stream, which must not be pulled beside it."""
        return replace(self, source=_first_rows(self.pieces(), rows_max), on_close=self.close, rows_made=None)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.on_close()


def _first_rows(batches: Iterator[AnyBatch], rows_max: int) -> Iterator[AnyBatch]:
    """Few rows come in memory, as copies: what is stored would keep its whole file."""
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
    """The answer of a statement without rows."""
    return ResultStream(schema=pa.schema([]), has_rows=False)


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a small result: its Arrow type and SQL's spelling of that."""

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
    """A result that is at hand as rows of Python values, as SHOW and DESCRIBE make them; pairs may repeat a name."""
    pairs = columns.items() if isinstance(columns, Mapping) else columns
    fields = [sql_field(name, column.arrow_type, column.sql_type) for name, column in pairs]
    values = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [pa.array(cells, field_.type) for cells, field_ in zip(values, fields, strict=True)]
    batch = pa.record_batch(arrays, schema=pa.schema(fields))
    return ResultStream(schema=batch.schema, source=(batch,))


def counts_as_row(stream: ResultStream) -> ResultStream:
    """The counts of a DML statement as a result, as Databricks answers it; any other stream as it is.

    Those of a CREATE TABLE … AS are columns without a row.
    """
    if stream.has_rows or stream.row_counts is None:
        return stream
    counts = stream.row_counts.named
    told = [] if stream.row_counts.defines_table else [tuple(counts.values())]
    counted = small_result(dict.fromkeys(counts, BIGINT), told)
    return replace(counted, row_counts=stream.row_counts, on_close=stream.close)


def string_rows(names: Iterable[str], rows: Iterable[Sequence[str | None]]) -> ResultStream:
    """A small result of text columns."""
    return small_result(dict.fromkeys(names, STRING), rows)
