"""CommandStatementIngest: the rows that a client sends, written by one statement.

The rows go to the spool (`engine/spool/spooled_rows.py`), which limits them, and the statement is an INSERT or CREATE
TABLE … AS over them with the privileges, constraints, defaults and the single commit of any other one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.conditions import (
    FlightFeatureNotSupported,
    FlightMessageInvalid,
    FlightMessageTooLarge,
    StatementCancelled,
)
from catalog.errors import SqlError
from catalog.names import quote
from engine.runtime.request import with_changes
from engine.spool.spooled_rows import SpooledRows
from engine.sql.query.source_text import GeneratedText
from engine.statements.describe.statement import DescribeTable
from engine.types.value_bytes import value_bytes
from gateway.flight.log_ins import Call
from gateway.sessions.operation import Operation
from gateway.sessions.requested import WantedResult
from gateway.sessions.session import Session
from gateway.sessions.waiting import ended_rows, run_call

# Bytes of rows after which the statement is checked while the others arrive.
_UNCHECKED_BYTES = 8 << 20
_NOT_FOUND = ("42P01", "42704", "42P08")
_CREATE, _FAIL_IF_MISSING = 1, 2
_FAIL_IF_EXISTS, _APPEND, _REPLACE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Ingest:
    """A request to write rows: the parts of the table's name, and what to do if it exists or not."""

    parts: tuple[str, ...]
    if_missing: int
    if_exists: int

    @classmethod
    def of(cls, command: Any) -> Ingest:
        """Raises `FlightMessageInvalid` and `FlightFeatureNotSupported`."""
        options = command.table_definition_options
        if options.if_not_exist not in (_CREATE, _FAIL_IF_MISSING):
            raise FlightMessageInvalid("an ingestion does not say what to do if the table does not exist")
        if options.if_exists not in (_FAIL_IF_EXISTS, _APPEND, _REPLACE):
            raise FlightMessageInvalid("an ingestion does not say what to do if the table exists")
        if command.temporary:
            raise FlightFeatureNotSupported("Ingestion into a temporary table")
        if command.options:
            raise FlightFeatureNotSupported(f"The option {min(command.options)[:100]} of an ingestion")
        if not command.table or (command.catalog and not command.schema):
            raise FlightMessageInvalid("an ingestion has a catalog without a schema, or no table")
        parts = (command.catalog, command.schema, command.table)
        return cls(tuple(filter(None, parts)), options.if_not_exist, options.if_exists)

    def text(self, rows: str, *, exists: Callable[[], bool]) -> str:
        """Returns the statement that writes the query `rows`."""
        target = ".".join(map(quote, self.parts))
        insert = f"INSERT INTO {target} BY NAME {rows}"
        match self.if_missing, self.if_exists:
            case (1, 1):
                return f"CREATE TABLE {target} AS {rows}"
            case (1, 2):
                return insert if exists() else f"CREATE TABLE {target} AS {rows}"
            case (1, 3):
                return f"CREATE OR REPLACE TABLE {target} AS {rows}"
            case (2, 2):
                return insert
            case (2, 3):
                return f"REPLACE TABLE {target} AS {rows}"
            case _:  # of two numbers that were checked, the pair without an effect
                raise FlightMessageInvalid("an ingestion fails whether the table exists or not")


def received(reader: Any, call: Call, session: Session | None = None) -> Iterator[pa.RecordBatch]:
    """Yields the rows that a client sends, and raises `StatementCancelled` instead of ending if the client is gone:
    PyArrow reports the end of the rows in both cases.
    """
    while True:
        try:
            chunk = reader.read_chunk()
        except StopIteration:
            break
        if session is not None:
            session.last_used = time.monotonic()
        if chunk.data is not None:
            yield chunk.data
    if not call.is_active():
        raise StatementCancelled()


def read_rows(reader: Any, call: Call, bytes_max: int, what: str) -> pa.Table:
    """Returns all rows that a client sends. Raises `FlightMessageTooLarge`."""
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in received(reader, call):
        batch.validate(full=True)
        size += value_bytes(batch)
        if size > bytes_max:
            raise FlightMessageTooLarge(what, bytes_max)
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def ingest_rows(session: Session, ingest: Ingest, reader: Any, call: Call) -> int:
    """Writes the rows that a client sends; returns their number. Raises the statement's error, and writes nothing
    then. Rows are in the spool until they are written, and memory holds about one message of them.
    """
    rows = _open_rows(session, reader.schema)
    text = ingest.text(f"SELECT * FROM {rows.name}", exists=lambda: _exists(session, ingest.parts, call.is_active))
    is_checked = False
    try:
        for batch in received(reader, call, session):
            if not is_checked and rows.size_bytes > _UNCHECKED_BYTES:
                _ensure_writable(session, text, rows, call)
                is_checked = True
            rows.add(_storable(batch, rows.schema))
        rows.finish()
        return _write(session, text, rows, call)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FlightMessageInvalid(f"a column cannot be written: {str(error)[:200]}") from error
    finally:
        rows.close()


def _open_rows(session: Session, schema: pa.Schema) -> SpooledRows:
    spool = session.store.spool
    assert spool is not None, "a server has a spool"
    stored = pa.schema([pa.field(field.name, _storable_type(field.type), field.nullable) for field in schema])
    return SpooledRows(spool, stored, session.principal)


def _ensure_writable(session: Session, text: str, rows: SpooledRows, call: Call) -> None:
    """Raises the error of an INSERT that may not write, before all of its rows have arrived."""
    if not text.startswith("INSERT"):  # EXPLAIN takes no CREATE TABLE
        return
    explained = session.explain(GeneratedText(text), within=lambda request: with_changes(request, spooled_rows=(rows,)))
    ended_rows(session, explained, call.is_active)


def _write(session: Session, text: str, rows: SpooledRows, call: Call) -> int:
    operation = session.execute(GeneratedText(text), wanted=WantedResult(rows=(rows,)))
    try:
        _wait(session, operation, call.is_active)
    finally:
        session.forget(operation)
    return rows.num_rows


def _wait(session: Session, operation: Operation, is_active: Callable[[], bool]) -> None:
    while not operation.wait(0.5).is_terminal:
        if not is_active():
            operation.cancel()
    if operation.error is not None:
        raise operation.error


def _exists(session: Session, parts: tuple[str, ...], is_active: Callable[[], bool]) -> bool:
    try:
        run_call(session, DescribeTable(table_parts=parts), is_active)
    except SqlError as error:
        if error.sqlstate in _NOT_FOUND:
            return False
        if error.sqlstate != "42501":
            raise
    return True


def _storable(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Returns the rows with the Arrow types of `schema`, which Spark reads."""
    batch.validate(full=True)  # before a value is read
    columns = [
        column if column.type.equals(field.type) else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _storable_type(arrow: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(arrow):
        return _storable_type(arrow.value_type)
    if types.is_time(arrow):
        return pa.time64("ns")
    if types.is_timestamp(arrow):
        return pa.timestamp("us", None if arrow.tz is None else "UTC")
    if types.is_duration(arrow):
        return pa.duration("us")
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        return pa.list_(pa.field("element", _storable_type(arrow.value_type), arrow.value_field.nullable))
    if types.is_map(arrow):
        item = pa.field("value", _storable_type(arrow.item_type), arrow.item_field.nullable)
        return pa.map_(_storable_type(arrow.key_type), item)
    if types.is_struct(arrow):
        return pa.struct([pa.field(field.name, _storable_type(field.type), field.nullable) for field in arrow])
    for is_kind, stored in _STORED_AS:
        if is_kind(arrow):
            return stored
    return arrow


_STORED_AS: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_date64, pa.date32()),
)
