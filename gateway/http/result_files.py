"""A whole result as a file, created in pieces while its client reads them.

A piece is created only after the preceding one has been sent, so a download takes memory for a piece or two, whatever
its size, and ends with its connection. Parquet's row groups are as large as a piece; their footer metadata is kept
until the end, some hundred bytes for each column in a group.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from enum import StrEnum
from itertools import count
from typing import assert_never

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.conditions import NotInParquet
from gateway.http.encode import csv_bytes
from gateway.sessions.operation import Operation

_PIECE_BYTES = 4 << 20
# Row size in memory.
_ROW_GROUP_BYTES = 16 << 20


class FileFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


MEDIA_TYPES = {
    FileFormat.CSV: "text/csv; charset=utf-8",
    FileFormat.PARQUET: "application/vnd.apache.parquet",
    FileFormat.ARROW: "application/vnd.apache.arrow.stream",
}


def result_file(operation: Operation, format_: FileFormat) -> Generator[bytes, None, None]:
    """Yields the file's bytes. Parquet and Arrow have Arrow's types, CSV has JSON's text."""
    match format_:
        case FileFormat.CSV:
            return _csv(operation)
        case FileFormat.PARQUET:
            return _parquet(operation)
        case FileFormat.ARROW:
            return _arrow(operation)
        case _:
            assert_never(format_)


def _csv(operation: Operation) -> Generator[bytes, None, None]:
    """Yields CSV from few rows at a time, because the conversion to text copies them several times."""
    yield csv_bytes(operation.schema.empty_table(), operation.time_zone, header=True)
    for table in operation.pages(_PIECE_BYTES):
        yield csv_bytes(table, operation.time_zone, header=False)


def _arrow(operation: Operation) -> Generator[bytes, None, None]:
    sink = _Sink()
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), operation.schema) as writer:
        for table in operation.pages(_PIECE_BYTES):
            writer.write_table(table)
            yield sink.take()
    yield sink.take()


def _parquet(operation: Operation) -> Generator[bytes, None, None]:
    schema, sink = operation.schema, _Sink()
    names = _distinct(schema.names)
    schema = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
    try:
        opened = pq.ParquetWriter(pa.PythonFile(sink, "w"), schema, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        raise NotInParquet(str(error)) from error
    with opened as writer:
        for table in operation.pages(_ROW_GROUP_BYTES):
            writer.write_table(table.rename_columns(names), row_group_size=table.num_rows)
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Buffers written bytes until they are taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, content: object) -> int:
        piece = bytes(memoryview(content))  # type: ignore[arg-type]
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def _distinct(names: Sequence[str]) -> list[str]:
    """Makes names unique, because Parquet readers distinguish columns by name: a repeated name gets its column's
    number, or the next that makes it unique.
    """
    taken = set(names)
    seen = set[str]()
    distinct = list[str]()
    for at, name in enumerate(names):
        unique_name = name
        if name in seen:
            unique_name = next(each for each in (f"{name}_{n}" for n in count(at)) if each not in taken)
            taken.add(unique_name)
        seen.add(name)
        distinct.append(unique_name)
    return distinct
