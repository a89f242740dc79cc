"""The RPCs of TCLIService, one method each, over the registry's sessions and operations.

A method takes the decoded request and the :class:`Client` that sent it and answers the response struct, or raises; the
dispatcher makes an error a response of the same RPC. Rules that clients depend on:

* the answered protocol version is the smaller of the client's and ours; PyHive insists on exactly its own;
* ExecuteStatement of a synchronous client answers when the statement has ended, with its error if it failed; an
  asynchronous client always gets a handle and learns the rest from GetOperationStatus;
* GetOperationStatus is held, because some clients sleep for seconds after "running" and others do not sleep at all:
  until the statement is :data:`FIRST_HOLD_S` old, later :data:`HOLD_S`. On a socket that carries one call at a time a
  cancel waits for the held call, which is why the later ones are short;
* a waiting statement is INITIALIZED to clients, since some take PENDING for an end;
* a result has as many columns as its metadata, also when it is empty; a statement without rows answers one column
  `Result` and none;
* metadata calls have ended when they answer, since drivers fetch at once;
* of all calls only OpenSession may reach Java, where a client sends settings of Spark; it is answered within
  :data:`OPEN_S` seconds, if need be by EngineNotAnswering. What statements need of Java runs on their own threads, and
  a cancel or a timeout ends them for the client whatever Java does.

Handles carry an id and a secret that is made from it, so an id out of a log opens nothing; and they open the sessions
and statements of the connection's principal only, which the registry checks.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from engine.runtime.foreign_settings import is_foreign
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream
from gateway.authenticators import Authenticator
from gateway.bounded import EngineCalls
from gateway.errors import OperationNotFound, SessionNotFound
from gateway.hs2 import metadata
from gateway.hs2.errors import (
    DelegationTokenNotSupported,
    FetchOrientationNotSupported,
    MalformedHandle,
    ProxyUserNotAllowed,
    StatementSettingNotSupported,
)
from gateway.hs2.gen import ttypes as t
from gateway.hs2.info import info_value
from gateway.hs2.metadata_calls import MetadataCall
from gateway.hs2.rowset import encode_columns, encode_fetch_response, encode_rows
from gateway.hs2.types import table_schema
from gateway.hs2.variables import parse_configuration, substitute
from gateway.operation import Operation, OperationState, Page
from gateway.registry import Registry
from gateway.session import Session
from gateway.status import describe

SERVER_VERSION = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V11
FIRST_COLUMNAR_VERSION = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6
FIRST_HOLD_S, HOLD_S = 2.0, 0.5
OPEN_S = 15.0
_OPENED_AT_ONCE_MAX = 64
FETCH_ROWS_MAX, FETCH_BYTES_MAX = 100_000, 8 << 20
"""One answer's rows and bytes; clients of Thrift 0.25 refuse single strings from 15.6 MiB on."""
EXPANDED_LENGTH_MAX = 4 << 20
"""Characters of a statement with its variables' values; the engine takes no longer text either."""
_LOG_FETCH = 1

SUCCESS = t.TStatus(t.TStatusCode.SUCCESS_STATUS)
_STATES = {
    OperationState.PENDING: t.TOperationState.INITIALIZED_STATE,
    OperationState.RUNNING: t.TOperationState.RUNNING_STATE,
    OperationState.FINISHED: t.TOperationState.FINISHED_STATE,
    OperationState.FAILED: t.TOperationState.ERROR_STATE,
    OperationState.CANCELED: t.TOperationState.CANCELED_STATE,
    OperationState.TIMED_OUT: t.TOperationState.TIMEDOUT_STATE,
    OperationState.CLOSED: t.TOperationState.CLOSED_STATE,
}


@dataclass(slots=True)
class Client:
    """Who is at the other end of a connection. `principal` is None until its transport or OpenSession says it.

    `sessions` are those it opened, which end with the connection; `settled` is the ended statement whose status was
    the client's last question.
    """

    peer: str
    principal: str | None = None
    sessions: set[uuid.UUID] = field(default_factory=set)
    settled: Operation | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A response struct that is bytes already."""

    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _ClientSettings:
    """What the front end itself remembers of a session."""

    version: int
    variables: dict[str, str]


def error_status(error: BaseException) -> Any:
    """A TStatus for any exception; no stack, which clients would show to their users."""
    failure = describe(error)
    code = t.TStatusCode.INVALID_HANDLE_STATUS if failure.is_stale_handle else t.TStatusCode.ERROR_STATUS
    notes = None
    if failure.condition == "TABLE_OR_VIEW_NOT_FOUND" and failure.name:
        # The words by which PyHive's SQLAlchemy dialect knows a missing table, with and without its schema.
        parts = failure.name.replace("`", "").split(".")
        notes = [f"SemanticException: Table not found {'.'.join(parts[-count:])}" for count in range(1, len(parts) + 1)]
    return t.TStatus(code, notes, failure.sqlstate, 0, failure.message)


class Service:
    """One method per RPC; see the module."""

    def __init__(self, registry: Registry, authenticator: Authenticator) -> None:
        self._registry, self._authenticator = registry, authenticator
        self._client_settings: WeakKeyDictionary[Session, _ClientSettings] = WeakKeyDictionary()
        self._secret_key = secrets.token_bytes(32)
        self._calls = EngineCalls(_OPENED_AT_ONCE_MAX)

    # ---------------------------------------------------------------------------------------------------- sessions

    def open_session(self, request: Any, client: Client) -> Any:
        wanted = parse_configuration(request.configuration or {})
        if client.principal is None:  # a transport without a log-in of its own
            user, password = request.username or "", request.password or ""
            client.principal = self._authenticator.authenticate(user, password, client.peer)
        if wanted.proxy_user not in (None, client.principal):
            raise ProxyUserNotAllowed(client.principal, wanted.proxy_user or "")
        namespace = request.initialNamespace or t.TNamespace()
        principal = client.principal
        session = self._calls.run(
            lambda: self._registry.open_session(
                principal,
                settings=wanted.settings,
                catalog=namespace.catalogName or wanted.catalog,
                schema=namespace.schemaName or wanted.schema,
            ),
            OPEN_S,
            abandoned=lambda late: self._registry.close_session(late.id, principal),
        )
        client.sessions.add(session.id)
        version = _negotiate(request)
        self._client_settings[session] = _ClientSettings(version, dict(wanted.variables))
        return t.TOpenSessionResp(
            SUCCESS,
            version,
            t.TSessionHandle(self._handle(session.id)),
            {},
            canUseMultipleCatalogs=request.canUseMultipleCatalogs,
        )

    def close_session(self, request: Any, client: Client) -> Any:
        session_id = self._id(request.sessionHandle and request.sessionHandle.sessionId)
        client.sessions.discard(session_id)
        self._registry.close_session(session_id, client.principal)
        return t.TCloseSessionResp(SUCCESS)

    def set_client_info(self, request: Any, client: Client) -> Any:
        self._session(request, client)
        return t.TSetClientInfoResp(SUCCESS)

    def get_info(self, request: Any, client: Client) -> Any:
        session = self._session(request, client)
        info_type = -1 if request.infoType is None else request.infoType
        return t.TGetInfoResp(SUCCESS, info_value(info_type, session.principal))

    # -------------------------------------------------------------------------------------------------- statements

    def execute_statement(self, request: Any, client: Client) -> Any:
        session = self._session(request, client)
        for key in request.confOverlay or {}:
            if not is_foreign(key):
                raise StatementSettingNotSupported(key)
        client_settings = self._client_settings.get(session)
        text = request.statement or ""
        operation = session.execute(
            substitute(text, client_settings.variables, EXPANDED_LENGTH_MAX) if client_settings else text,
            parameters=tuple(map(_parameter, request.parameters or ())),
            timeout_s=float(request.queryTimeout or 0) or None,
        )
        if not request.runAsync:
            _await(session, operation)
        handle = self._operation_handle(operation, t.TOperationType.EXECUTE_STATEMENT)
        return t.TExecuteStatementResp(SUCCESS, handle)

    def get_operation_status(self, request: Any, client: Client) -> Any:
        _, operation = self._operation(request, client)
        age_s = time.time() - operation.created_ms / 1000
        state = operation.wait(max(HOLD_S, min(FIRST_HOLD_S - age_s, FIRST_HOLD_S)))
        if state.is_terminal:
            operation.tell_end()
            client.settled = operation
        response = t.TGetOperationStatusResp(
            SUCCESS,
            _STATES[state],
            operationStarted=operation.created_ms,
            operationCompleted=operation.ended_ms or 0,
            hasResultSet=True,
            numModifiedRows=operation.rows_modified,
        )
        if operation.error is not None:
            failure = describe(operation.error)
            response.sqlState, response.errorCode, response.errorMessage = failure.sqlstate, 0, failure.message
            response.displayMessage = failure.message
        return response

    def cancel_operation(self, request: Any, client: Client) -> Any:
        self._operation(request, client)[1].cancel()
        return t.TCancelOperationResp(SUCCESS)

    def close_operation(self, request: Any, client: Client) -> Any:
        operation_id = self._id(request.operationHandle and request.operationHandle.operationId)
        self._registry.close_operation(operation_id, client.principal)
        return t.TCloseOperationResp(SUCCESS)

    def get_query_id(self, request: Any, client: Client) -> Any:
        return t.TGetQueryIdResp(str(self._operation(request, client)[1].id))

    def get_log(self, request: Any, client: Client) -> Any:
        return t.TGetLogResp(SUCCESS, "\n".join(self._operation(request, client)[1].log_lines(from_start=True)))

    # ----------------------------------------------------------------------------------------------------- results

    def get_result_set_metadata(self, request: Any, client: Client) -> Any:
        _, operation = self._operation(request, client)
        schema = operation.schema
        return t.TGetResultSetMetadataResp(SUCCESS, table_schema(schema if operation.has_rows else metadata.RESULT))

    def fetch_results(self, request: Any, client: Client) -> Encoded:
        session, operation = self._operation(request, client)
        if request.fetchType == _LOG_FETCH:
            page = _fetch_log(operation, request.orientation)
        else:
            page = _fetch(operation, request.orientation, request.maxRows)
        client_settings = self._client_settings.get(session)
        is_columnar = client_settings is None or client_settings.version >= FIRST_COLUMNAR_VERSION
        encode = encode_columns if is_columnar else encode_rows
        row_set = encode(page.rows, page.row_offset, operation.time_zone)
        return Encoded(tuple(encode_fetch_response(SUCCESS, page.has_more, row_set)))

    # ---------------------------------------------------------------------------------------------------- metadata

    def call_metadata(self, call: MetadataCall, request: Any, client: Client) -> Any:
        session = self._session(request, client)
        match call.plan(request):
            case ResultStream() as stream:
                operation = session.answer(call.name, stream)
            case statement, shape:
                operation = session.request(statement, shape)
        _await(session, operation)
        return call.response(SUCCESS, self._operation_handle(operation, call.operation_type))

    # ------------------------------------------------------------------------------------------- delegation tokens

    def refuse_delegation_token(self, request: Any, client: Client) -> Any:
        raise DelegationTokenNotSupported()

    # ----------------------------------------------------------------------------------------------------- handles

    def end_sessions(self, client: Client) -> None:
        """Close what `client` opened; its connection is gone."""
        for session_id in tuple(client.sessions):
            self._registry.close_session(session_id, client.principal)

    def cancel_statements(self, client: Client) -> None:
        """End what runs in the sessions of `client`, without waiting; its connection seems to be gone."""
        for session_id in tuple(client.sessions):
            with contextlib.suppress(SessionNotFound):
                for operation in self._registry.session(session_id, client.principal).operations():
                    operation.cancel()

    def _session(self, request: Any, client: Client) -> Session:
        session_id = self._id(request.sessionHandle and request.sessionHandle.sessionId)
        return self._registry.session(session_id, client.principal)

    def _operation(self, request: Any, client: Client) -> tuple[Session, Operation]:
        operation_id = self._id(request.operationHandle and request.operationHandle.operationId)
        return self._registry.find_operation(operation_id, client.principal)

    def _operation_handle(self, operation: Operation, kind: int) -> Any:
        return t.TOperationHandle(self._handle(operation.id), kind, True)

    def _handle(self, handle_id: uuid.UUID) -> Any:
        return t.THandleIdentifier(handle_id.bytes, self._secret(handle_id.bytes))

    def _id(self, handle: Any) -> uuid.UUID:
        guid, secret = (handle.guid, handle.secret) if handle else (None, None)
        if guid is None or secret is None or not hmac.compare_digest(secret, self._secret(guid)):
            raise MalformedHandle()
        return uuid.UUID(bytes=guid)

    def _secret(self, guid: bytes) -> bytes:
        return hmac.digest(self._secret_key, guid, "sha256")[:16]


def _negotiate(request: Any) -> int:
    """The smaller version of both sides; Databricks' clients have theirs in a field of its own."""
    asked = request.client_protocol_i64 if request.client_protocol_i64 is not None else request.client_protocol
    return int(max(0, min(asked or 0, SERVER_VERSION)))


def _parameter(given: Any) -> Parameter:
    value = given.value or t.TSparkParameterValue()
    text: str | None = value.stringValue
    if value.doubleValue is not None:
        text = repr(value.doubleValue)
    elif value.booleanValue is not None:
        text = str(value.booleanValue).lower()
    return Parameter(value=text, sql_type=given.type or "string", name=given.name)


def _await(session: Session, operation: Operation) -> None:
    """Wait for the end; one that failed is dropped and its error raised, since no handle of it goes out."""
    state = operation.wait(threading.TIMEOUT_MAX)
    if operation.error is not None:
        session.forget(operation)
        raise operation.error
    if state is OperationState.CLOSED:
        raise OperationNotFound()
    operation.tell_end()


def _fetch_log(operation: Operation, orientation: int | None) -> Page:
    lines = operation.log_lines(from_start=orientation == t.TFetchOrientation.FETCH_FIRST)
    return Page(0, pa.table([pa.array(lines, pa.string())], schema=metadata.OPERATION_LOG), False)


def _fetch(operation: Operation, orientation: int | None, rows_max: int | None) -> Page:
    if orientation not in (None, t.TFetchOrientation.FETCH_NEXT, t.TFetchOrientation.FETCH_FIRST):
        names = {member.value: member.name for member in t.TFetchOrientation}
        raise FetchOrientationNotSupported(names.get(orientation, str(orientation)))
    if not operation.has_rows and operation.schema is not None:  # asking for the schema raises the error, if any
        return Page(0, metadata.RESULT.empty_table(), False)
    return operation.fetch(
        max(1, min(rows_max or FETCH_ROWS_MAX, FETCH_ROWS_MAX)),
        from_start=orientation == t.TFetchOrientation.FETCH_FIRST,
        bytes_max=FETCH_BYTES_MAX,
    )
