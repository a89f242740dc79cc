"""Runs the statements of tools as operations of the request's user, and makes their results, which are bounded.

Everything is the statement API's: sessions for one statement, limits, waiting, and statements that a client finds again
by id at any gateway. Only the form of a result is different: one object with rows and without chunks. A statement whose
client disconnects, or cancels the call, is cancelled.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from flask import Response

from catalog.conditions import EngineNotAnswering, TooManyWaiting
from engine.runtime.statement import Statement
from gateway.http.browse import Rows, json_values
from gateway.http.delivery import Delivery
from gateway.http.encode import Cell, column_info, json_rows
from gateway.http.forwarding import Target, forward
from gateway.http.mcp.running_calls import Call
from gateway.http.requests import SessionRequest, StatementRequest
from gateway.http.statements import (
    Body,
    StatementApi,
    client_of_request,
    parse_statement_id,
    state_name,
)
from gateway.http.waiting import wait_for_end
from gateway.observability.status import Failure, describe
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Session

_OPEN_S, _ANSWER_S = 5.0, 60.0
# Bytes of Arrow rows that a result is made from. More than any result has, so that a long text is cut and not left out.
ARROW_BYTES_MAX = 8 << 20
_ROWS_MAX = 100_000
_CELL_BYTES = 4  # quotes, comma and blank


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs statements; results have at most `rows_max` rows, and about `bytes_max` bytes."""

    api: StatementApi
    rows_max: int
    bytes_max: int

    def execute(self, submitted: StatementRequest, call: Call) -> Body:
        """Runs a text; returns its result, or its state if it has not ended within its `wait_timeout_s`."""
        end = time.monotonic() + submitted.wait_timeout_s
        with self.api.wait_queue.place() as may_wait:
            operation, delivery = self.api.start(submitted, may_wait=may_wait)
            call.attach(operation)
            if may_wait:
                self._wait(operation, end - time.monotonic())
        return self._result(operation, delivery)

    def poll(self, statement_id: str, wait_s: float, call: Call) -> Body | Response:
        """Returns the result or the state of an earlier statement, which another gateway may run."""
        operation_id, forwarder = parse_statement_id(statement_id), self.api.lifecycle.forwarder
        if forwarder is not None:
            target = Target(operation_id, starts_statement=False)
            if response := forward(forwarder, target, self.api.identity(), self.api.base_url()):
                return response
        operation, delivery = self.api.find(statement_id)
        call.attach(operation)
        with self.api.wait_queue.place() as may_wait:
            if may_wait:
                self._wait(operation, wait_s)
        return self._result(operation, delivery)

    def rows(self, statement: Statement, call: Call) -> Rows:
        """Returns the rows of a metadata call, from its own session; raises its error."""
        with self.session() as session:
            return self.rows_in(session, statement, call)

    def rows_in(self, session: Session, statement: Statement, call: Call) -> Rows:
        """Returns the rows of a metadata call in a session."""
        operation = session.request(statement)
        call.attach(operation)
        self._wait(operation, _ANSWER_S)
        if not operation.state.is_final:
            raise EngineNotAnswering(_ANSWER_S)
        return json_values(operation.page(0, _ROWS_MAX).rows)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Opens a session for metadata calls."""
        registry, identity = self.api.registry(), self.api.identity()
        anywhere = SessionRequest(catalog=None, schema=None, settings={})
        with self.api.wait_queue.place() as may_wait:
            if not may_wait:
                raise TooManyWaiting(self.api.wait_queue.places)
            session = self.api.open(anywhere, _OPEN_S, may_lack_schema=True)
            try:
                yield session
            finally:
                self.api.end(partial(registry.close_session, session.id, identity))

    def bounded(self, name: str, found: Sequence[dict[str, object]]) -> Body:
        """Returns the first objects of a list, without their null members."""
        listed: list[dict[str, object]] = []
        left = self.bytes_max
        for each in found[: self.rows_max]:
            known = {key: value for key, value in each.items() if value is not None}
            left -= len(to_json(known))
            if left < 0 and listed:
                break
            listed.append(known)
        return {name: listed, "truncated": len(listed) < len(found)}

    def _wait(self, operation: Operation, seconds: float) -> None:
        """Waits for the end; a client that disconnects cancels its statement."""
        if not wait_for_end(operation, seconds, client_of_request()):
            self.api.end(operation.cancel)

    def _result(self, operation: Operation, delivery: Delivery) -> Body:
        operation.recorder.record()
        state = operation.state
        # The next owner of the session continues the statement, which a client finds by its id.
        is_left = state is OperationState.CANCELED and self.api.registry().is_suspended
        status: Body = {"state": "RUNNING" if is_left else state_name(state)}
        body: Body = {"statement_id": str(operation.id), "status": status}
        if operation.error is not None and not is_left:
            status |= failure_status(describe(operation.error))
        if state.is_terminal:
            operation.tell_end()
        if state is OperationState.FINISHED:
            body |= self._rows(operation, delivery)
        return body

    def _rows(self, operation: Operation, delivery: Delivery) -> Body:
        schema = operation.schema
        found = json_rows(operation.page(0, self.rows_max).rows, operation.time_zone) if len(schema) else []
        rows, is_cut = cut_rows(found, self.bytes_max)
        columns = [column_info(field, position) for position, field in enumerate(schema)]
        manifest = {
            "schema": {"column_count": len(columns), "columns": columns},
            "total_row_count": len(rows),
            "truncated": delivery.is_truncated or is_cut,
        }
        return {"manifest": manifest, "result": {"data_array": rows}}


def cut_rows(rows: Iterable[list[Cell]], bytes_max: int) -> tuple[list[list[Cell]], bool]:
    """Returns the first rows that fit, and True if something was cut; the texts of a first row that does not fit."""
    fitting: list[list[Cell]] = []
    left = bytes_max
    for row in rows:
        left -= sum(_size(cell) for cell in row)
        if left < 0:
            return (fitting, True) if fitting else ([_cut_cells(row, bytes_max)], True)
        fitting.append(row)
    return fitting, False


def _cut_cells(row: list[Cell], bytes_max: int) -> list[Cell]:
    most = max(1, bytes_max // (4 * len(row)))  # in UTF-8 a character has at most four bytes
    return [cell if cell is None else cell[:most] for cell in row]


def _size(cell: Cell) -> int:
    return _CELL_BYTES + (0 if cell is None else len(cell) if cell.isascii() else len(cell.encode()))


def failure_status(failure: Failure) -> Body:
    """Returns the fields of a failed statement's status."""
    error = {"error_code": failure.http_error_code, "message": failure.message} | failure.details
    return {"error": error, "sql_state": failure.sqlstate}


def to_json(value: object) -> str:
    """Returns JSON; a value that JSON does not have, such as a date in a table's history, is text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
