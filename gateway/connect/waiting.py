"""Statements whose result is part of a response: they have ended when the call returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from engine.runtime.statement import Statement
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

_WAIT_S = 1.0
_ROWS_MAX = 1 << 62


def _always() -> bool:
    return True


def run_call(session: Session, statement: Statement, is_active: Callable[[], bool] = _always) -> pa.Table:
    """Runs a call of the protocol; returns its rows. Raises its error."""
    with ended(session, session.request(statement), is_active) as operation:
        return rows_of(operation)


@contextmanager
def ended(session: Session, operation: Operation, is_active: Callable[[], bool]) -> Iterator[Operation]:
    """Yields the operation when it has ended, and releases it after the block. Cancels it if the client is gone, by
    `is_active`. Raises its error.
    """
    try:
        while not operation.wait(_WAIT_S).is_terminal:
            session.last_used = time.monotonic()
            if not is_active():
                operation.cancel()
        if operation.error is not None:
            raise operation.error
        yield operation
    finally:
        session.forget(operation)


def rows_of(operation: Operation) -> pa.Table:
    """Returns all rows of an ended operation."""
    operation.ensure_result()
    if not operation.has_rows:
        return operation.schema.empty_table()
    return operation.page(0, _ROWS_MAX).rows
