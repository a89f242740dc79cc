"""The RPCs of Spark Connect over the registry's sessions and operations.

A method takes the decoded request and its :class:`Call` and returns the response, or yields responses; `rpc.py` decodes
messages, logs in and converts errors. Rules that clients depend on:

* each response has the client's session id and the registry's, which must not change;
* `spark.sql` returns the relation of a query without running it, and runs any other statement, once;
* ExecutePlan with the id of an operation that exists continues it if the request is the same: a client repeats the
  call if it does not know whether it arrived;
* clients release responses and operations asynchronously, so an unknown one is no error.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from catalog.conditions import (
    ConnectFeatureNotSupported,
    ConnectNotReattachable,
    ConnectOperationExists,
    ConnectPlanInvalid,
    ServerDraining,
)
from gateway.connect.analysis import Analysis
from gateway.connect.client_sessions import WIRE, Call, ClientSession, ClientSessions
from gateway.connect.commands import Statements, whole
from gateway.connect.executions import STREAM_S, Execution
from gateway.connect.plans import operation_of
from gateway.connect.proto import pb2
from gateway.connect.replies import Position, Reply, Response, SqlResult, chunk_bytes, restored_reply, saved_reply
from gateway.connect.rpc import StatementFailed
from gateway.connect.settings import Configuration, ServerZone
from gateway.recovery import Attach, Through
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Session

_Status = pb2.GetStatusResponse.OperationStatus
_STATES = {
    OperationState.PENDING: _Status.OPERATION_STATE_RUNNING,
    OperationState.RUNNING: _Status.OPERATION_STATE_RUNNING,
    OperationState.STREAMING: _Status.OPERATION_STATE_RUNNING,
    OperationState.FINISHED: _Status.OPERATION_STATE_SUCCEEDED,
    OperationState.FAILED: _Status.OPERATION_STATE_FAILED,
    OperationState.TIMED_OUT: _Status.OPERATION_STATE_FAILED,
    OperationState.CANCELED: _Status.OPERATION_STATE_CANCELLED,
    OperationState.CLOSED: _Status.OPERATION_STATE_UNKNOWN,
}
_TAGS_MAX = 100
_FRONT_END, _OPERATION, _DIGEST = "front_end", "operation_id", "digest"


@dataclass(slots=True)
class Service:
    """The methods; `stream_s` is the time after which a stream ends for its client to reattach."""

    sessions: ClientSessions
    stream_s: float = STREAM_S
    zone: ServerZone = field(default_factory=ServerZone)
    _starting: set[tuple[str, str]] = field(default_factory=set)
    _started: threading.Condition = field(default_factory=threading.Condition)

    # --------------------------------------------------------------------------------------------------- operations

    def execute_plan(self, request: pb2.ExecutePlanRequest, call: Call) -> Iterator[Response]:
        """Runs a plan or command and yields its responses (ExecutePlan)."""
        client = self._session(request, call)
        execution = self._start(client, request, call)
        yield from self._stream(client, execution, None, call)

    def reattach_execute(self, request: pb2.ReattachExecuteRequest, call: Call) -> Iterator[Response]:
        """Yields an execution's responses after `last_response_id` (ReattachExecute).

        Raises `ConnectNotReattachable`.
        """
        client = self._existing(request, call)
        execution = client.execution(request.operation_id)
        if not execution.is_reattachable:
            raise ConnectNotReattachable()
        has_last = request.HasField("last_response_id")
        last = Position.parse(request.last_response_id, execution.operation_id) if has_last else None
        yield from self._stream(client, execution, last, call)

    def release_execute(self, request: pb2.ReleaseExecuteRequest, call: Call) -> pb2.ReleaseExecuteResponse:
        """Ends an execution, unless only a part of its responses is released (ReleaseExecute).

        An unknown one is not an error.
        """
        client = self._existing(request, call)
        execution = client.executions.get(request.operation_id)
        response = pb2.ReleaseExecuteResponse()
        if execution is None:
            return _identified(response, client)
        response.operation_id = execution.operation_id
        # Rows are read again from the operation's result, so only the whole operation is released.
        if request.WhichOneof("release") != "release_until":
            execution.end()
        return _identified(response, client)

    def interrupt(self, request: pb2.InterruptRequest, call: Call) -> pb2.InterruptResponse:
        """Cancels the executions that the request names, by id or tag, or all; returns their ids (Interrupt)."""
        client = self._session(request, call)
        response = pb2.InterruptResponse()
        for execution in tuple(client.executions.values()):
            if _is_meant(request, execution) and not execution.operation.state.is_terminal:
                execution.operation.cancel()
                response.interrupted_ids.append(execution.operation_id)
        return _identified(response, client)

    def get_status(self, request: pb2.GetStatusRequest, call: Call) -> pb2.GetStatusResponse:
        """Returns the states of the named executions, or of all (GetStatus)."""
        client = self._session(request, call)
        response = pb2.GetStatusResponse()
        if request.HasField("operation_status"):
            for operation_id in list(request.operation_status.operation_ids) or list(client.executions):
                found = client.executions.get(operation_id)
                state = _Status.OPERATION_STATE_UNKNOWN if found is None else _STATES[found.operation.state]
                response.operation_statuses.append(_Status(operation_id=operation_id, state=state))
        return _identified(response, client)

    # ----------------------------------------------------------------------------------------------------- sessions

    def analyze_plan(self, request: pb2.AnalyzePlanRequest, call: Call) -> pb2.AnalyzePlanResponse:
        """Returns a property of a plan without running it, for example its schema (AnalyzePlan)."""
        client = self._session(request, call)
        return _identified(Analysis(client.session, call.is_active, client.cached).answer(request), client)

    def config(self, request: pb2.ConfigRequest, call: Call) -> pb2.ConfigResponse:
        """Reads and changes settings (Config)."""
        client = self._session(request, call)
        return _identified(Configuration(client.session, self.zone).answer(request.operation), client)

    def release_session(self, request: pb2.ReleaseSessionRequest, call: Call) -> pb2.ReleaseSessionResponse:
        """Closes the session with its executions (ReleaseSession); an unknown one is not an error.

        Without `allow_reconnect`, its id cannot be used again.
        """
        may_return = request.allow_reconnect
        client = self.sessions.release(request.session_id, call.identity, may_return=may_return)
        response = pb2.ReleaseSessionResponse(session_id=request.session_id)
        if client is not None:
            response.server_side_session_id = client.server_id
        return response

    def clone_session(self, request: pb2.CloneSessionRequest, call: Call) -> pb2.CloneSessionResponse:
        """Opens a session with the state of an existing one (CloneSession)."""
        client = self._existing(request, call)
        new_id = request.new_session_id or str(uuid.uuid4())
        clone = self.sessions.clone(client, new_id, call.identity, call.origin)
        response = pb2.CloneSessionResponse(new_session_id=clone.client_id, new_server_side_session_id=clone.server_id)
        return _identified(response, client)

    def fetch_error_details(self, request: pb2.FetchErrorDetailsRequest, call: Call) -> pb2.FetchErrorDetailsResponse:
        """Returns the details of a recent error, once (FetchErrorDetails)."""
        client = self._existing(request, call)
        return _identified(client.errors.take(request.error_id), client)

    def artifact_status(self, request: pb2.ArtifactStatusesRequest, call: Call) -> pb2.ArtifactStatusesResponse:
        """Returns that no artifact exists (ArtifactStatus)."""
        client = self._session(request, call)
        response = pb2.ArtifactStatusesResponse()
        for name in request.names:
            response.statuses[name].exists = False
        return _identified(response, client)

    def add_artifacts(self, request: pb2.AddArtifactsRequest, call: Call) -> pb2.AddArtifactsResponse:
        """Raises `ConnectFeatureNotSupported` (AddArtifacts)."""
        raise ConnectFeatureNotSupported(
            "Sending artifacts (files, jars, Python code) to the server",
            "Use SQL functions instead of functions of the client.",
        )

    # ------------------------------------------------------------------------------------------------------ helpers

    def _start(self, client: ClientSession, request: pb2.ExecutePlanRequest, call: Call) -> Execution:
        """Starts the operation, or returns the one that the same request has started."""
        operation_id = _operation_id(request)
        digest = hashlib.sha256(request.plan.SerializeToString(deterministic=True)).digest()
        key = client.server_id, operation_id
        with self._started:
            self._started.wait_for(lambda: key not in self._starting)
            if (found := client.executions.get(operation_id)) is not None:
                if found.digest != digest or not found.is_reattachable:
                    raise ConnectOperationExists(operation_id)
                return found
            self._starting.add(key)
        try:
            options = _Options.of(request)
            statements = Statements(client.session, options.chunk_bytes, call.is_active, client.cached)
            operation, reply = statements.start(operation_of(request.plan))
            execution = Execution(
                operation_id,
                operation,
                client.session,
                reply,
                digest,
                tags=frozenset(request.tags[:_TAGS_MAX]),
                is_reattachable=options.is_reattachable,
                siblings=client.executions,
                observed=statements.observed,
            )
            client.executions[operation_id] = execution
            self._record(execution)
            return execution
        finally:
            with self._started:
                self._starting.discard(key)
                self._started.notify_all()

    def _record(self, execution: Execution) -> None:
        """Records a statement before its client gets a response: after a crash the client repeats a request of which
        it has no response, which must not write twice. A DataFrame's query is run again instead.
        """
        operation, reply = execution.operation, saved_reply(execution.reply)
        if reply is None or operation.is_call or not operation.is_text or not execution.is_reattachable:
            return
        saved = {_FRONT_END: WIRE, _OPERATION: execution.operation_id, _DIGEST: execution.digest.hex(), **reply}
        operation.options = lambda: saved
        operation.recorder.record()

    def through(self, session: Session, options: Mapping[str, object]) -> tuple[Through | None, Attach]:
        """Returns the conversion and options of a restored statement; see `FrontEnd`."""
        reply = restored_reply(options)
        return whole if isinstance(reply, SqlResult) else None, partial(self._attach, session, options, reply)

    def _attach(self, session: Session, options: Mapping[str, object], reply: Reply, operation: Operation) -> None:
        client = self.sessions.adopt(session)
        operation_id = str(options.get(_OPERATION))
        digest = bytes.fromhex(str(options.get(_DIGEST)))
        operation.options = lambda: dict(options)
        client.executions[operation_id] = Execution(
            operation_id, operation, session, reply, digest, is_reattachable=True, siblings=client.executions
        )

    def _stream(
        self, client: ClientSession, execution: Execution, last: Position | None, call: Call
    ) -> Iterator[Response]:
        try:
            for position, response in execution.responses(call.context, last, self.stream_s):
                response.message.operation_id = execution.operation_id
                response.message.response_id = position.response_id(execution.operation_id)
                _identified(response.message, client)
                yield response
        except Exception as error:
            if self.sessions.is_suspended:  # another process continues with the statement
                raise ServerDraining() from error
            if execution.operation.error is not None:
                raise StatementFailed(execution.operation.error) from error
            raise

    def _session(self, request: pb2.ExecutePlanRequest, call: Call) -> ClientSession:
        """Returns the request's session, opened if it is new."""
        observed = request.client_observed_server_side_session_id
        call.client = self.sessions.find(request.session_id, call.identity, observed, call.origin)
        return call.client

    def _existing(self, request: pb2.ReattachExecuteRequest, call: Call) -> ClientSession:
        observed = request.client_observed_server_side_session_id
        call.client = self.sessions.existing(request.session_id, call.identity, observed)
        return call.client


@dataclass(frozen=True, slots=True)
class _Options:
    is_reattachable: bool
    chunk_bytes: int | None

    @classmethod
    def of(cls, request: pb2.ExecutePlanRequest) -> _Options:
        is_reattachable, chunks = False, None
        for option in request.request_options:
            match option.WhichOneof("request_option"):
                case "reattach_options":
                    is_reattachable = option.reattach_options.reattachable
                case "result_chunking_options":
                    chunks = chunk_bytes(option.result_chunking_options)
                case other:  # a member of a protobuf oneof, or none
                    raise ConnectFeatureNotSupported(f"The request option {other or 'of a newer client'}")
        return cls(is_reattachable, chunks)


def _operation_id(request: pb2.ExecutePlanRequest) -> str:
    if not request.operation_id:
        return str(uuid.uuid4())
    try:
        return str(uuid.UUID(request.operation_id))
    except ValueError:
        raise ConnectPlanInvalid("the operation id is not a UUID") from None


def _is_meant(request: pb2.InterruptRequest, execution: Execution) -> bool:
    match request.interrupt_type:
        case pb2.InterruptRequest.INTERRUPT_TYPE_ALL:
            return True
        case pb2.InterruptRequest.INTERRUPT_TYPE_TAG:
            return request.operation_tag in execution.tags
        case pb2.InterruptRequest.INTERRUPT_TYPE_OPERATION_ID:
            return bool(request.operation_id == execution.operation_id)
        case _:  # a member of a protobuf oneof, or none
            raise ConnectPlanInvalid("the kind of the interruption is unknown")


def _identified(response: pb2.ExecutePlanResponse, client: ClientSession) -> pb2.ExecutePlanResponse:
    """Sets the ids by which the client recognizes its session."""
    response.session_id, response.server_side_session_id = client.client_id, client.server_id
    return response
