"""CommandStatementIngest: the rows that a client sends, written by one statement.

The rows are local relations of temporary views, so that the statement is an INSERT or CREATE TABLE … AS with the
privileges, constraints, defaults and the single commit of any other one.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
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
from engine.runtime.dataframe import DataFramePlan
from engine.sql.query.dataframes import dataframe_query
from engine.sql.query.source_text import GeneratedText
from engine.statements.describe.statement import DescribeTable
from engine.statements.views.statement import CreateView, DropView
from engine.types.value_bytes import value_bytes
from gateway.flight.messages import new_message
from gateway.flight.waiting import run_call
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

# Bytes of all rows of one call, and of one local relation. Spark holds the rows of local relations as objects in the
# memory of its driver, many times as large, so that only few fit, and one ingestion runs at a time.
INGEST_BYTES_MAX = 16 << 20
_RUNNING = threading.Lock()
_RELATION_BYTES = 12 << 20
_SOURCE = "flight_source_"
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


def read_rows(reader: Any, bytes_max: int, what: str) -> pa.Table:
    """Returns all rows that a client sends. Raises `FlightMessageTooLarge`."""
    schema, size = reader.schema, 0
    batches: list[pa.RecordBatch] = []
    while True:
        try:
            chunk = reader.read_chunk()
        except StopIteration:
            return pa.Table.from_batches(batches, schema)
        if chunk.data is not None:
            size += value_bytes(chunk.data)
            if size > bytes_max:
                raise FlightMessageTooLarge(what, bytes_max)
            batches.append(chunk.data)


def write_rows(session: Session, ingest: Ingest, rows: pa.Table, is_active: Callable[[], bool]) -> int:
    """Writes the rows; returns their number. Raises the statement's error, and writes nothing then."""
    plans = list(_plans(_storable(rows), ".".join(ingest.parts)))
    with ExitStack() as views:
        while not _RUNNING.acquire(timeout=0.5):
            session.last_used = time.monotonic()
            if not is_active():
                raise StatementCancelled()
        views.callback(_RUNNING.release)
        names = [_open_view(session, plan, views, is_active) for plan in plans]
        query = " UNION ALL ".join(f"SELECT * FROM {quote(name)}" for name in names)
        text = ingest.text(query, exists=lambda: _exists(session, ingest.parts, is_active))
        operation = session.execute(GeneratedText(text))
        try:
            _wait(session, operation, is_active)
        finally:
            session.forget(operation)
    return int(rows.num_rows)


def _wait(session: Session, operation: Operation, is_active: Callable[[], bool]) -> None:
    while not operation.wait(0.5).is_terminal:
        if not is_active():
            operation.cancel()
    if operation.error is not None:
        raise operation.error


def _open_view(session: Session, plan: DataFramePlan, views: ExitStack, is_active: Callable[[], bool]) -> str:
    name = f"{_SOURCE}{uuid.uuid4().hex}"
    view = CreateView(view_parts=(name,), query=dataframe_query(plan), frame=plan, temporary=True)
    run_call(session, view, is_active)
    views.callback(_drop_view, session, name)
    return name


def _drop_view(session: Session, name: str) -> None:
    """Drops a source without waiting; a session that is closed has none."""
    with suppress(SqlError):
        dropped = session.request(DropView(view_parts=("system", "session", name), if_exists=True))
        dropped.on_end(lambda: session.forget(dropped))


def _exists(session: Session, parts: tuple[str, ...], is_active: Callable[[], bool]) -> bool:
    try:
        run_call(session, DescribeTable(table_parts=parts), is_active)
    except SqlError as error:
        if error.sqlstate in _NOT_FOUND:
            return False
        if error.sqlstate != "42501":
            raise
    return True


def _plans(rows: pa.Table, target: str) -> Iterator[DataFramePlan]:
    """Yields the rows as local relations, at least one."""
    step = max(1, rows.num_rows * _RELATION_BYTES // max(1, value_bytes(rows)))
    for start in range(0, max(1, rows.num_rows), step):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows.slice(start, step), max_chunksize=100_000)
        relation = new_message("LocalRelation", data=sink.getvalue().to_pybytes())
        plan = new_message("Relation", local_relation=relation).SerializeToString()
        yield DataFramePlan(plan=plan, inputs=(), description=f"Ingestion into {target}", is_source=True)


def _storable(rows: pa.Table) -> pa.Table:
    """Returns the rows with the Arrow types that Spark reads."""
    fields = [pa.field(field.name, _storable_type(field.type), field.nullable) for field in rows.schema]
    try:
        columns = [column.cast(field.type) for column, field in zip(rows.columns, fields, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FlightMessageInvalid(f"a column cannot be written: {str(error)[:200]}") from error
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _storable_type(arrow: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(arrow):
        return _storable_type(arrow.value_type)
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
