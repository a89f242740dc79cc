"""Waiting for operations whose result is part of a response, while their client is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from engine.runtime.statement import Statement
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

_WAIT_S = 0.5
_ROWS_MAX = 1 << 62
# Returns False when the client is gone.
IsActive = Callable[[], bool]


def _always() -> bool:
    return True


def run_call(session: Session, statement: Statement, is_active: IsActive = _always) -> pa.Table:
    """Runs a call of the protocol; returns its rows. Raises its error."""
    with ended(session, session.request(statement), is_active) as operation:
        return rows_of(operation)


@contextmanager
def ended(session: Session, operation: Operation, is_active: IsActive) -> Iterator[Operation]:
    """Yields the operation when it has ended, and releases it after the block. Cancels it if the client is gone. Raises
    its error.
    """
    try:
        while not operation.wait(_WAIT_S).is_terminal:
            _touch(session, operation, is_active)
        if operation.error is not None:
            raise operation.error
        yield operation
    finally:
        session.forget(operation)


def ended_rows(session: Session, operation: Operation, is_active: IsActive) -> pa.Table:
    """Returns all rows of an operation when they can be read, and releases it. Raises its error."""
    try:
        wait_for_rows(session, operation, is_active)
        return rows_of(operation)
    finally:
        session.forget(operation)


def wait_for_rows(session: Session, operation: Operation, is_active: IsActive) -> None:
    """Waits until rows can be read; cancels the operation if the client is gone. Raises its error."""
    while not operation.wait(_WAIT_S).is_final:
        _touch(session, operation, is_active)
    if operation.error is not None:
        raise operation.error


def wait_for_end(session: Session, operation: Operation, is_active: IsActive, seconds: float) -> None:
    """Waits at most `seconds` for the end of an operation of which rows can be read."""
    over = threading.Event()
    operation.on_end(over.set)
    until = time.monotonic() + seconds
    while not over.wait(min(_WAIT_S, max(0.0, until - time.monotonic()))) and time.monotonic() < until:
        _touch(session, operation, is_active)


def rows_of(operation: Operation) -> pa.Table:
    """Returns all rows of an operation that has a result."""
    operation.ensure_result()
    if not operation.has_rows:
        return operation.schema.empty_table()
    return operation.page(0, _ROWS_MAX).rows


def _touch(session: Session, operation: Operation, is_active: IsActive) -> None:
    session.last_used = time.monotonic()
    if not is_active():
        operation.cancel()
