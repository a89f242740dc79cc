"""Waiting for operations whose client is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pyarrow as pa

from engine.runtime.statement import Statement
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

_WAIT_S = 0.5
_ROWS_MAX = 1 << 62


def wait_for_rows(session: Session, operation: Operation, is_active: Callable[[], bool]) -> None:
    """Waits until rows can be read; cancels the operation if the client is gone. Raises its error."""
    while not operation.wait(_WAIT_S).is_final:
        _touch(session, operation, is_active)
    if operation.error is not None:
        raise operation.error


def wait_for_end(session: Session, operation: Operation, is_active: Callable[[], bool], seconds: float) -> None:
    """Waits at most `seconds` for the end of an operation of which rows can be read."""
    ended = threading.Event()
    operation.on_end(ended.set)
    until = time.monotonic() + seconds
    while not ended.wait(min(_WAIT_S, max(0.0, until - time.monotonic()))) and time.monotonic() < until:
        _touch(session, operation, is_active)


def run_call(session: Session, statement: Statement, is_active: Callable[[], bool]) -> pa.Table:
    """Runs a call of the protocol; returns its rows. Raises its error."""
    return ended_rows(session, session.request(statement), is_active)


def ended_rows(session: Session, operation: Operation, is_active: Callable[[], bool]) -> pa.Table:
    """Returns all rows of an operation when it has ended, and releases it. Raises its error."""
    try:
        wait_for_rows(session, operation, is_active)
        operation.ensure_result()
        if not operation.has_rows:
            return operation.schema.empty_table()
        return operation.page(0, _ROWS_MAX).rows
    finally:
        session.forget(operation)


def _touch(session: Session, operation: Operation, is_active: Callable[[], bool]) -> None:
    session.last_used = time.monotonic()
    if not is_active():
        operation.cancel()
