"""What crosses from the engine to the front ends: an Arrow schema and batches pulled on demand. Nothing else does.

Arrow cannot say every SQL type (varchar(10), an interval's fields, variant), so each field of a result schema carries
the SQL type in its metadata under :data:`SQL_TYPE`, spelled as Spark's DDL spells it: `bigint`, `decimal(10,2)`,
`varchar(5)`, `array<int>`, `struct<a:int,b:string>`, `interval day to second`, `timestamp_ntz`, `void`, `variant`.
A front end takes the type from there and never guesses from Arrow. Values come as Arrow's own types, timestamps as
microseconds in UTC (`timestamp`) or without a zone (`timestamp_ntz`), variant as JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

SQL_TYPE = b"sql_type"


def sql_field(name: str, arrow_type: pa.DataType, sql_type: str) -> pa.Field:
    """A field of a result schema; `sql_type` is Spark's DDL spelling."""
    return pa.field(name, arrow_type, metadata={SQL_TYPE: sql_type.encode()})


def sql_type_of(field_: pa.Field) -> str:
    """The DDL spelling that :func:`sql_field` put there."""
    return bytes(field_.metadata[SQL_TYPE]).decode()


def _nothing() -> None:
    pass


@dataclass(slots=True)
class ResultStream:
    """The result of one statement: `schema`, and batches that are made as they are pulled.

    `has_rows` is False for statements that answer no rows (SET, USE, DDL). `rows_modified` is the count of a DML
    statement, else None. Iterate once; `close()` gives back what the stream holds, at any time, more than once.
    """

    schema: pa.Schema
    source: Iterable[pa.RecordBatch] = ()
    has_rows: bool = True
    rows_modified: int | None = None
    time_zone: str = "UTC"
    on_close: Callable[[], None] = field(default=_nothing)
    _closed: bool = False

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Pull the batches; each has `schema`."""
        yield from self.source

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.on_close()


def empty_result() -> ResultStream:
    """The answer of a statement without rows."""
    return ResultStream(schema=pa.schema([]), has_rows=False)


def string_rows(names: Iterable[str], rows: Iterable[Iterable[str | None]]) -> ResultStream:
    """A small result of text columns, as SHOW and DESCRIBE make them."""
    names = list(names)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    schema = pa.schema([sql_field(name, pa.string(), "string") for name in names])
    batch = pa.record_batch([pa.array(column, pa.string()) for column in columns], schema=schema)
    return ResultStream(schema=schema, source=(batch,))
