"""Rows of the front end as a relation that a statement of the engine reads: a temporary view of a DataFrame plan.

The plan is the protobuf message `spark.connect.Relation` with a local relation, whose rows are an Arrow stream. It has
two fields with a length, which are written here: the package of the messages is optional.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa

from catalog.errors import SqlError
from catalog.names import quote
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.statement import Statement
from engine.sql.query.dataframes import dataframe_query
from engine.statements.views.statement import CreateView, DropView
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

_PREFIX = "gateway_rows_"
_LOCAL_RELATION, _DATA = 11, 1
_LENGTH_DELIMITED = 2


@contextmanager
def named_rows(session: Session, tables: list[pa.Table]) -> Iterator[list[str]]:
    """Yields the names of temporary views with the rows of `tables`, which exist until the end of the block."""
    names: list[str] = []
    try:
        for table in tables:
            name = f"{_PREFIX}{uuid.uuid4().hex}"
            plan = local_plan(table)
            view = CreateView(view_parts=(name,), query=dataframe_query(plan), frame=plan, temporary=True)
            _run(session, view)
            names.append(name)
        yield [quote(name) for name in names]
    finally:
        for name in names:
            with suppress(SqlError):  # a session that is closed has none
                _run(session, DropView(view_parts=("system", "session", name), if_exists=True))


def local_plan(table: pa.Table) -> DataFramePlan:
    """Returns a plan with the rows of `table`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    relation = _field(_LOCAL_RELATION, _field(_DATA, sink.getvalue().to_pybytes()))
    return DataFramePlan(plan=relation, inputs=(), description=f"{table.num_rows} rows", is_source=True)


def _field(number: int, content: bytes) -> bytes:
    return bytes([(number << 3) | _LENGTH_DELIMITED]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _run(session: Session, statement: Statement) -> None:
    operation: Operation = session.request(statement)
    try:
        while not operation.wait(1.0).is_terminal:
            pass
        if operation.error is not None:
            raise operation.error
    finally:
        session.forget(operation)
