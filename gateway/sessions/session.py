"""A session: a connection's identity, its engine session and its open operations.

A session's :class:`Origin` is the front end and address that opened it.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from catalog.conditions import (
    NestedParameter,
    OperationNotFound,
    SessionNotFound,
    StatementTooLong,
    TooManyStatements,
)
from catalog.errors import SqlError
from catalog.store.commit_guard import run_guarded
from engine.engine import EngineSession
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.results import ResultStream, counts_as_row
from engine.runtime.statement import Statement, StatementClass, class_of
from engine.sql.query.source_text import join_texts, slice_text
from engine.statements.volumes.statement import ChangeFile, GetFile
from engine.storage.volume_files import FileTransfer
from gateway.results.result_store import ResultStore
from gateway.sessions.limits import Limits
from gateway.sessions.open_statements import OpenStatements, evictable
from gateway.sessions.operation import TEXT_CHARACTERS_MAX, NoRecorder, Operation, RestoredOutcome
from gateway.sessions.recorder import SessionRecorder, StatementRecorder
from gateway.sessions.requested import ALL_ROWS, Repetition, RequestedStatement, WantedResult
from gateway.state.journal import StateStore, id_in_session
from gateway.state.records import SessionOpened, saved_identity

HTTP_WIRE, MCP_WIRE = "http", "mcp"
# The wires of sessions whose clients are seen by their requests alone: the statement API with the console, and MCP.
POLLED_WIRES = (HTTP_WIRE, MCP_WIRE)
_NESTED_TYPE = re.compile(r"\s*(array|map|struct|row|variant|object|geometry|geography)\b", re.IGNORECASE)

# Changes a statement's request.
Within: TypeAlias = Callable[[StatementRequest], StatementRequest]


def unchanged(request: StatementRequest) -> StatementRequest:
    """Returns the request itself, for statements that are described without a change of their request."""
    return request


class Session:
    """A session, created by the registry; `close()` cancels and closes all its operations and its engine session.

    `owners` is the registry's index of operations, which the session updates, as it does `open_statements`.
    `is_detached` means that no connection ends it when its client is gone: without calls it expires with its
    statements.
    """

    def __init__(
        self,
        identity: Identity,
        engine_session: EngineSession,
        submit: Callable[[Operation], None],
        owners: dict[uuid.UUID, Session],
        open_statements: OpenStatements,
        limits: Limits,
    ) -> None:
        self.id = uuid.uuid4()
        self.identity = identity
        # None: the session ends with the process.
        self.recorder: SessionRecorder | None = None
        # The SHA-256 of the secret in its handles, in hexadecimal, and the front end's state; empty for a front end
        # without.
        self.secret, self.client = "", dict[str, object]()
        # It was opened for one statement, and retires when that ends.
        self.is_single = False
        self.engine_session = engine_session
        self.created = self.last_used = time.monotonic()
        self.is_detached = False
        self.origin = Origin()
        self.store = ResultStore()
        self._submit = submit
        self._owners = owners
        self._open = open_statements
        self._limits = limits
        self._operations: dict[uuid.UUID, Operation] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def principal(self) -> str:
        return self.identity.principal

    def execute(
        self,
        text: str | DataFramePlan,
        *,
        parameters: Sequence[Parameter] = (),
        timeout_s: float | None = None,
        through: Callable[[ResultStream], ResultStream] | None = None,
        wanted: WantedResult = ALL_ROWS,
    ) -> Operation:
        """Starts SQL text or a DataFrame plan; returns immediately. The statement's errors are the operation's, not
        this call's.

        A front end that needs the whole result before its response passes `through`, which may truncate the stream; the
        result is then pulled on the statement's own thread, while it still counts as running.
        """
        _ensure_flat(parameters)
        if isinstance(text, str) and len(text) > TEXT_LENGTH_MAX:  # not even held in the queue
            refused = self._operation(
                text[:TEXT_CHARACTERS_MAX], _refusal(StatementTooLong(len(text), TEXT_LENGTH_MAX))
            )
            return self._start(refused, class_of(refused.text), timeout_s)
        requested = RequestedStatement(parameters=tuple(parameters), timeout_s=timeout_s, wanted=wanted)
        kind = StatementClass.READ if isinstance(text, DataFramePlan) else class_of(text)
        return self._start(self._statement(text, requested, through), kind, timeout_s)

    def repeat(
        self,
        text: str,
        requested: RequestedStatement,
        through: Callable[[ResultStream], ResultStream] | None,
        repetition: Repetition,
        prepare: Callable[[Operation], None],
    ) -> Operation:
        """Starts a statement again that a former process began; `prepare` is called before it is submitted."""
        operation = self._statement(text, requested, through, repetition.statement_id)
        operation.repeat(repetition)
        prepare(operation)
        return self._start(operation, class_of(text), requested.timeout_s)

    def restore(self, text: str, outcome: RestoredOutcome, operation_id: uuid.UUID) -> Operation:
        """Adds a statement that ended in a former process."""
        operation = self._operation(text, _refusal(OperationNotFound()), operation_id=operation_id)
        operation.restore(outcome)
        with self._lock:
            self._operations[operation.id] = operation
            self._owners[operation.id] = self
        if not self._closed:
            self._open.add(operation, self)
        return operation

    def _statement(
        self,
        text: str | DataFramePlan,
        requested: RequestedStatement,
        through: Callable[[ResultStream], ResultStream] | None,
        operation_id: uuid.UUID | None = None,
    ) -> Operation:
        wanted = requested.wanted

        def run(request: StatementRequest) -> ResultStream:
            request = with_changes(
                request,
                rows_wanted=wanted.row_limit,
                bytes_wanted=wanted.bytes_wanted,
                shows_materialized=wanted.shows_materialized,
                settings=wanted.settings,
                stage=wanted.stage,
                block=wanted.block,
                spooled_rows=wanted.rows,
            )
            request = request if wanted.within is None else wanted.within(request)
            # A DML statement becomes one with rows: clients that ask before its end must
            # hear that a result set follows.
            if wanted.has_counts:
                on_parsed = request.on_parsed
                request = with_changes(request, on_parsed=lambda _: on_parsed(True))
            stream = self.engine_session.execute(text, request, requested.parameters)
            stream = counts_as_row(stream) if wanted.has_counts else stream
            stream = stream if wanted.row_limit is None else stream.limit(wanted.row_limit)
            return through(stream) if through else stream

        streams = wanted.streams and wanted.row_limit is None
        # Records take plain text, not the subclasses that map positions.
        shown = text.description if isinstance(text, DataFramePlan) else str(text)
        operation = self._operation(shown, run, whole=through is not None, streams=streams, operation_id=operation_id)
        operation.is_text = isinstance(text, str)
        operation.requested = requested
        if wanted.block is not None or wanted.rows:
            # It ends with its connection, and must not be run again without its block or its rows.
            operation.recorder = NoRecorder()
        return operation

    def request(self, statement: Statement, through: Callable[[ResultStream], ResultStream] | None = None) -> Operation:
        """Starts a metadata call, as a statement value; `through` may convert its result to a protocol's columns."""

        def run(request: StatementRequest) -> ResultStream:
            stream = self.engine_session.run(statement, request)
            return through(stream) if through else stream

        return self._call(type(statement).__name__, run)

    def describe(self, text: str, parameters: Sequence[Parameter] = (), within: Within = unchanged) -> Operation:
        """Starts a call that returns the columns of the query `text`, as DESCRIBE QUERY does, without running it;
        `within` changes its request.
        """
        return self._call_about("DescribeQuery", "DESCRIBE QUERY ", text, parameters, within)

    def explain(self, text: str, parameters: Sequence[Parameter] = (), within: Within = unchanged) -> Operation:
        """Starts a call that returns the plans of the statement `text`, as EXPLAIN EXTENDED does, without running it;
        `within` changes its request.
        """
        return self._call_about("Explain", "EXPLAIN EXTENDED ", text, parameters, within)

    def _call_about(
        self, name: str, head: str, text: str, parameters: Sequence[Parameter], within: Within
    ) -> Operation:
        _ensure_flat(parameters)
        whole = join_texts((head, slice_text(text, 0, len(text))))
        return self._call(name, lambda request: self.engine_session.execute(whole, within(request), parameters))

    def transfer(self, statement: GetFile | ChangeFile, stage: Callable[[FileTransfer], str]) -> Operation:
        """Starts a statement about a volume file, as a value; `stage` is called once it is authorized."""
        text = f"GET '{statement.path}'" if isinstance(statement, GetFile) else _file_text(statement)
        operation = self._operation(
            text, lambda context: self.engine_session.run(statement, with_changes(context, stage=stage))
        )
        return self._start(operation, StatementClass.METADATA)

    def may_transfer(self, statement: GetFile | ChangeFile) -> bool:
        """Returns True if :meth:`transfer` would be allowed now; nothing is recorded."""
        request = StatementRequest(identity=self.identity, stage=lambda _: "")
        try:
            self.engine_session.run(statement, request).close()
        except SqlError:
            return False
        return True

    def answer(self, name: str, stream: ResultStream) -> Operation:
        """Starts an operation with a given result, for protocol calls that need no engine."""
        return self._call(name, lambda _: stream)

    def renew(self, identity: Identity) -> None:
        """Uses a later login by the same owner, or its impersonator, from the next statement on."""
        if identity.scopes != self.identity.scopes:
            return  # the session keeps the read-only login that opened it
        # An impersonator's renewed login extends the session, but must not change whom it
        # acts for.
        if identity.owner != self.identity.owner:
            identity = replace(self.identity, client_id=identity.client_id, expires_ms=identity.expires_ms)
        self.identity = identity

    def operations(self) -> tuple[Operation, ...]:
        """Returns a copy of the list of open operations."""
        with self._lock:
            return tuple(self._operations.values())

    def forget(self, operation: Operation) -> None:
        """Closes `operation` and drops it."""
        with self._lock:
            self._operations.pop(operation.id, None)
            self._drop(operation)
        operation.close()

    def operation(self, operation_id: uuid.UUID) -> Operation | None:
        """Returns an open operation; None if it is unknown or closed."""
        return self._operations.get(operation_id)

    def record_in(self, store: StateStore) -> SessionRecorder:
        """Records the session in the state folder from its first record on."""
        self.id = store.new_session_id(is_single=self.is_single)
        self.recorder = SessionRecorder(store, self.engine_session, self._opened)
        return self.recorder

    def record(self) -> None:
        """Records the session and its state; called before its client learns its id, or that its state has changed."""
        if self.recorder is not None:
            self.recorder.append()
            self.recorder.flush(is_whole=True)

    def _opened(self) -> SessionOpened:
        return SessionOpened(
            id=str(self.id),
            identity=saved_identity(self.identity),
            wire=self.origin.wire,
            peer=self.origin.peer,
            user_agent=self.origin.user_agent,
            created_ms=time.time_ns() // 1_000_000,
            secret=self.secret,
            client=self.client,
            is_single=self.is_single,
        )

    def is_idle(self) -> bool:
        """Returns True if no operation is waiting or running."""
        return all(operation.state.is_terminal for operation in self.operations())

    def retire(self) -> None:
        """Accepts no more statements and closes the engine's session, but keeps the operations for their results."""
        with self._lock:
            was_closed, self._closed = self._closed, True
            for operation in self._operations.values():
                self._open.remove(operation, self.principal)
        if not was_closed:
            self.engine_session.close()

    def suspend(self) -> None:
        """Ends the session here, and leaves it and its statements to another process."""
        if self.origin.wire in POLLED_WIRES:
            # A request that waits for its statement continues to wait at the next process.
            for operation in self.operations():
                operation.recorder.record()
        if self.recorder is not None:
            self.recorder.suspend()
        with self._lock:
            was_closed, self._closed = self._closed, True
        for operation in self.operations():
            operation.cancel()
        if not was_closed:
            self.engine_session.close()

    def close(self) -> None:
        """Cancels and closes all operations and closes the engine session. May be called again."""
        if self.recorder is not None:
            self.recorder.remove()
        with self._lock:
            was_closed, self._closed = self._closed, True
            operations = tuple(self._operations.values())
            self._operations.clear()
            for operation in operations:
                self._drop(operation)
        for operation in operations:
            operation.close()
        if not was_closed:
            self.engine_session.close()

    def _operation(
        self,
        text: str,
        run: Callable[[StatementRequest], ResultStream],
        *,
        whole: bool = False,
        streams: bool = False,
        operation_id: uuid.UUID | None = None,
    ) -> Operation:
        recorder = self.recorder
        if recorder is not None:
            operation_id = operation_id or id_in_session(self.id)
            run = partial(run_guarded, recorder.store.lease.ensure_held, run)
        operation = Operation(
            self.identity,
            text,
            run,
            result_bytes_max=self._limits.result_bytes_max,
            whole=whole,
            streams=streams,
        )
        if operation_id is not None:
            operation.identify(operation_id)
        operation.store = self.store
        if recorder is not None:
            operation.recorder = StatementRecorder(recorder, operation)
        return operation

    def _call(self, name: str, run: Callable[[StatementRequest], ResultStream]) -> Operation:
        operation = self._operation(name, run)
        operation.is_call = True
        return self._start(operation, StatementClass.METADATA)

    def _start(self, operation: Operation, kind: StatementClass | None, timeout_s: float | None = None) -> Operation:
        operation.kind = kind or StatementClass.WRITE
        operation.is_kind_known = kind is not None
        if operation.call.trace_parent is None and (parent := self.engine_session.trace_parent) is not None:
            operation.call = replace(operation.call, trace_parent=parent)
        with ExitStack() as unlocked, self._lock:
            if self._closed:
                raise SessionNotFound()
            # Closed after the lock is released, because closing deletes files and runs
            # callbacks.
            if done := self._evict():
                unlocked.callback(done.close)
            if other := self._open.add(operation, self):
                done, holder = other
                unlocked.callback(holder.forget, done)
            self._operations[operation.id] = operation
            self._owners[operation.id] = self
            self.last_used = time.monotonic()
        own_s = self.engine_session.statement_timeout_s
        limits = [limit for limit in (timeout_s, own_s, self._limits.statement_timeout_s) if limit]
        if limits:
            operation.start_timer(min(limits))
        try:
            self._submit(operation)
        except SqlError:
            self.forget(operation)
            raise
        return operation

    def _evict(self) -> Operation | None:
        """Removes the oldest statement that its client has finished, if the limit is reached."""
        if len(self._operations) < self._limits.statements_per_session_max:
            return None
        # JDBC and ODBC clients often leave closing to their garbage collector.
        done = evictable(self._operations.values())
        if done is None:
            raise TooManyStatements(self._limits.statements_per_session_max)
        self._operations.pop(done.id)
        self._drop(done)
        return done

    def _drop(self, operation: Operation) -> None:
        self._owners.pop(operation.id, None)
        self._open.remove(operation, self.principal)


def _refusal(error: SqlError) -> Callable[[StatementRequest], ResultStream]:
    def run(_: StatementRequest) -> ResultStream:
        raise error

    return run


def _ensure_flat(parameters: Sequence[Parameter]) -> None:
    """Raises `NestedParameter` for a nested type's value as text; arrays and maps have members."""
    for position, parameter in enumerate(parameters, 1):
        if parameter.members is not None:
            _ensure_flat(parameter.members)
        elif _NESTED_TYPE.match(parameter.sql_type):
            raise NestedParameter(parameter.name or str(position), parameter.sql_type)


def _file_text(statement: ChangeFile) -> str:
    """Returns the change as the history and the audit log show it."""
    return f"{statement.operation} '{statement.path}'{' OVERWRITE' if statement.overwrite else ''}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The protocol, the client's address, and the client's own name."""

    wire: str = ""
    peer: str = ""
    user_agent: str | None = None
