"""The RPCs in TCLIService, one method each, over the registry's sessions and operations.

A method takes the decoded request and its :class:`Client` and returns the response struct, or raises; the dispatcher
converts an error to the same RPC's response. Rules that clients depend on:

* the response's protocol version is the smaller of the client's and the server's; PyHive requires exactly its own;
* ExecuteStatement from a synchronous client returns when the statement has ended, with its error if it failed; an
  asynchronous client always gets a handle and the rest from GetOperationStatus;
* GetOperationStatus is delayed, because some clients sleep for seconds after "running" and others do not sleep: until
  the statement is :data:`FIRST_HOLD_S` old, later :data:`HOLD_S`. On a socket that carries one call at a time a cancel
  waits for the delayed call; for this reason the later delays are short, and so are all for Databricks' clients, which
  poll immediately;
* clients see a waiting statement as INITIALIZED, since some treat PENDING as an end;
* a statement without rows has no result set, and reports the number of changed rows: 0 for DDL, and -1 if there is a
  result set, as JDBC requires for getUpdateCount. An asynchronous client gets it after parsing, since some never check
  again. A fetch still returns one column `Result` and no rows, since a result has as many columns as its metadata. A
  synchronous client with Hive's protocols gets a result set with this column, as from Spark's own server: PyHive's
  `executemany` and ADBC's Spark driver fail for a statement without one;
* clients before V6, which get rows, receive all the rows that they request with no more to follow: ADBC's Spark driver
  repeats FETCH_FIRST while more are announced;
* clients that request direct results get the rows available :data:`DIRECT_S` after the statement was sent, in the same
  response, and nothing if it is still running: without the handle they cannot cancel. A result that fits is closed
  immediately;
* a query with rows while it runs is FINISHED for clients that can wait for the others: clients on their own connection,
  for which a response without rows is the result's end, and Databricks' clients, for which it is not;
* metadata calls have ended when they return, since drivers fetch immediately;
* only OpenSession may call Java, if a client sends Spark settings; it returns within :data:`OPEN_S` seconds, if
  necessary with EngineNotAnswering. Statements call Java on their own threads, and a cancel or a timeout ends them for
  the client whatever Java does.

Handles grant access only to the sessions and statements of the connection's identity, which the registry checks.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from catalog.conditions import (
    DelegationTokenNotSupported,
    MalformedHandle,
    OperationNotFound,
    SessionNotFound,
    StatementCancelled,
    TransferNotSupported,
)
from engine.runtime.identity import Identity
from engine.runtime.results import ResultStream
from engine.storage.volume_files import FileTransfer
from gateway.authenticators.exchange import Authenticator, Mechanism, log_in, plain_message
from gateway.authenticators.peer import Peer
from gateway.forwarding.forwarder import Forwarder
from gateway.hs2 import metadata
from gateway.hs2.fetching import ROWS_S, fetch, fetch_all, fetch_links, fetch_log, page_limits
from gateway.hs2.gen import ttypes as t
from gateway.hs2.handles import Handle, new_handle, parse_handle
from gateway.hs2.info import info_value, info_values
from gateway.hs2.metadata_calls import MetadataCall
from gateway.hs2.next_pages import NextPages
from gateway.hs2.progress import progress_update
from gateway.hs2.result_form import (
    FIRST_SPARK_VERSION,
    SUCCESS,
    Pieces,
    ResultForm,
    RowSetKind,
    ShapedResult,
    plain_form,
    requested_form,
    restored_form,
)
from gateway.hs2.rowset import encode_with_results
from gateway.hs2.variables import parse_configuration, parse_parameters, statement_trace_parent
from gateway.observability.status import describe
from gateway.registry import Registry
from gateway.results.result_buffer import Page
from gateway.results.row_links import LinkedRows, RowLinks
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.call_context import current_call, working_for
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.requested import WantedResult
from gateway.sessions.session import Origin, Session
from gateway.sessions.watch import find_disconnected

HIVE_VERSION = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V11
SPARK_VERSION = t.TProtocolVersion.SPARK_CLI_SERVICE_PROTOCOL_V9
FIRST_HOLD_S, HOLD_S, EXTENDED_HOLD_S = 2.0, 0.5, 0.25
OPEN_S = 15.0
# Maximum time in seconds that a request for a running query's columns waits for its analysis.
COLUMNS_S = 30.0
_TOUCH_S = 0.5
PARSED_S, DIRECT_S = 0.5, 0.5
_OPENED_AT_ONCE_MAX = 64
# Minimum result size for links to rows, if the client supports them.
LINKED_FROM_BYTES = 32 << 20
# Memory limit for all prefetched responses.
NEXT_PAGES_BYTES_MAX = 64 << 20
_LOG_FETCH = 1
# The wire of sessions that end with their connection.
_WIRE = "thrift"
# Names in the state folder: the front end, a session's protocol version, and a statement's row format.
FRONT_END = "thrift"
_VERSION, _FORM = "version", "form"
_HIVE_ERROR = "org.apache.hive.service.cli.HiveSQLException"
# The prefix in the driver's User-Agent.
_DATABRICKS_JDBC = "DatabricksJDBCDriver"

_STATES = {
    OperationState.PENDING: t.TOperationState.INITIALIZED_STATE,
    OperationState.RUNNING: t.TOperationState.RUNNING_STATE,
    OperationState.STREAMING: t.TOperationState.FINISHED_STATE,
    OperationState.FINISHED: t.TOperationState.FINISHED_STATE,
    OperationState.FAILED: t.TOperationState.ERROR_STATE,
    OperationState.CANCELED: t.TOperationState.CANCELED_STATE,
    OperationState.TIMED_OUT: t.TOperationState.TIMEDOUT_STATE,
    OperationState.CLOSED: t.TOperationState.CLOSED_STATE,
}

_HAVE_RESULTS = (OperationState.STREAMING, OperationState.FINISHED)


@dataclass(slots=True)
class Client:
    """The client on a connection. `identity` is None until its transport or OpenSession authenticates it.

    `sessions` are the ones that it opened, which end with the connection; `finished_operation` is the ended statement
    in the client's last status request; `awaited` is the statement that it waits for without a handle; `before_last` is
    called when the response's last byte is about to be sent; `links` are for rows that it may fetch by URL; `agent` is
    its User-Agent; `descriptor` is its socket, or -1; `afterwards` is work that need not delay the response: over TCP
    it starts after the response was sent, over HTTP just before. A call on the client's own connection (`is_connected`)
    may take long; over HTTP a proxy may end it.
    """

    peer: Peer
    identity: Identity | None = None
    sessions: set[uuid.UUID] = field(default_factory=set)
    finished_operation: Operation | None = None
    awaited: Operation | None = None
    before_last: Callable[[], None] | None = None
    links: RowLinks | None = None
    agent: str = ""
    is_connected: bool = True
    afterwards: Callable[[], None] | None = None
    descriptor: int = -1
    # Another gateway has forwarded the call.
    is_forwarded: bool = False
    # It has a session of another gateway.
    is_forwarding: bool = False

    @property
    def reads_counts(self) -> bool:
        """Returns True if it reads the number of changed rows only from a result row, as Databricks' JDBC driver
        does.
        """
        return self.agent.startswith(_DATABRICKS_JDBC)

    def ensure_connected(self) -> None:
        """Raises :class:`StatementCancelled` if the client closed its connection during the call."""
        if find_disconnected((self.descriptor,)):
            raise StatementCancelled()

    def take_before_last(self) -> Callable[[], None] | None:
        """Returns `before_last` of the last call, once."""
        before_last, self.before_last = self.before_last, None
        return before_last

    @contextlib.contextmanager
    def awaiting(self, operation: Operation) -> Iterator[None]:
        """Records within the block that the client waits for the statement, which then ends if it disconnects."""
        self.awaited = operation
        try:
            yield
        finally:
            self.awaited = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded response struct."""

    pieces: tuple[bytes, ...]


def error_status(error: BaseException) -> Any:
    """Returns a TStatus for any exception; without a stack, which clients would show to their users."""
    failure = describe(error)
    code = t.TStatusCode.INVALID_HANDLE_STATUS if failure.is_stale_handle else t.TStatusCode.ERROR_STATUS
    # Hive writes a chain of causes here, and hive-jdbc parses it: class, text, stack depth, and its last frame (here
    # absent). ADBC's Spark driver shows nothing else, and dbt recognizes a missing table by these words.
    notes = [f"*{_HIVE_ERROR}:Error running query: {failure.message}:0:-1"]
    if failure.condition == "TABLE_OR_VIEW_NOT_FOUND" and failure.name:
        # PyHive's SQLAlchemy dialect recognizes a missing table by these words, with and without its schema.
        parts = failure.name.replace("`", "").split(".")
        notes += [
            f"SemanticException: Table not found {'.'.join(parts[-count:])}" for count in range(1, len(parts) + 1)
        ]
    return t.TStatus(code, notes, failure.sqlstate, 0, failure.message, failure.message)


def _stage(session: Session, client: Client) -> Callable[[FileTransfer], str] | None:
    """Returns the function that creates URLs for volume files; None if the client's address for this server is
    unknown.
    """
    links = client.links
    return None if links is None else lambda transfer: links.stage(session.identity, transfer)


class Service:
    """One method per RPC; see the module."""

    def __init__(self, registry: Registry, authenticator: Authenticator) -> None:
        self._registry = registry
        self._authenticator = authenticator
        self._forms: WeakKeyDictionary[Operation, ResultForm] = WeakKeyDictionary()
        self._next_pages = NextPages(NEXT_PAGES_BYTES_MAX)
        self._calls = EngineCalls(_OPENED_AT_ONCE_MAX)
        # None: there are no other gateways.
        self.forwarder: Forwarder | None = None

    # ---------------------------------------------------------------------------------------------------- sessions

    def open_session(self, request: Any, client: Client) -> Any:
        """Opens a session (OpenSession).

        Logs in by the request if the transport has no login, and acts for the proxy user if one is named.
        """
        wanted = parse_configuration(request.configuration or {})
        identity = client.identity
        if identity is None:  # a transport without its own login
            identity = self._log_in(request.username or "", request.password or "", client.peer)
            client.identity = identity
        if wanted.proxy_user not in (None, identity.principal):
            identity = self._authenticator.act_for(identity, wanted.proxy_user or "", client.peer)
        namespace = request.initialNamespace or t.TNamespace()
        session = self._calls.run(
            lambda: self._registry.open_session(
                identity,
                settings=wanted.settings,
                catalog=namespace.catalogName or wanted.catalog,
                schema=namespace.schemaName or wanted.schema,
                # dbt-databricks creates it in the session that begins there
                may_lack_schema=bool(namespace.schemaName),
                origin=Origin(_WIRE if client.is_connected else "thrift-http", client.peer.address),
            ),
            OPEN_S,
            # The client got an error after the time limit and has no handle, so a session
            # that opens later would never be closed.
            abandoned=lambda late: self._registry.close_session(late.id, identity),
        )
        client.sessions.add(session.id)
        version = _negotiate(request)
        session.client = {_VERSION: version}
        handle = new_handle(session)
        session.record()
        names = session.engine_session
        return t.TOpenSessionResp(
            SUCCESS,
            version,
            t.TSessionHandle(handle.identifier(), version),
            {},
            getInfos=info_values(request.getInfos or (), identity.principal) or None,
            initialNamespace=t.TNamespace(names.current_catalog, names.current_schema),
            canUseMultipleCatalogs=request.canUseMultipleCatalogs,
        )

    def close_session(self, request: Any, client: Client) -> Any:
        """Closes the session and its statements (CloseSession). A session that does not exist is not an error."""
        with contextlib.suppress(SessionNotFound):
            session = self._session(request, client)
            client.sessions.discard(session.id)
            self._registry.close_session(session.id, client.identity)
        return t.TCloseSessionResp(SUCCESS)

    def set_client_info(self, request: Any, client: Client) -> Any:
        """Accepts the client's information without using it (SetClientInfo, Databricks' extension)."""
        self._session(request, client)
        return t.TSetClientInfoResp(SUCCESS)

    def get_info(self, request: Any, client: Client) -> Any:
        """Returns one property of the server (GetInfo)."""
        session = self._session(request, client)
        info_type = -1 if request.infoType is None else request.infoType
        return t.TGetInfoResp(SUCCESS, info_value(info_type, session.principal))

    # -------------------------------------------------------------------------------------------------- statements

    def execute_statement(self, request: Any, client: Client) -> Any:
        """Runs a statement (ExecuteStatement); waits for its end unless `runAsync` is set."""
        session = self._session(request, client)
        trace_parent = statement_trace_parent(request.confOverlay or {})
        version = _version(session)
        limit = request.resultRowLimit
        call = current_call()
        with working_for(replace(call, trace_parent=trace_parent or call.trace_parent)):
            operation = session.execute(
                request.statement or "",
                parameters=parse_parameters(request.parameters or ()),
                timeout_s=_timeout_s(request.queryTimeout),
                wanted=WantedResult(
                    row_limit=limit if limit and limit > 0 else None,
                    streams=client.is_connected or version >= FIRST_SPARK_VERSION,
                    has_counts=client.reads_counts,
                    shows_materialized=version >= FIRST_SPARK_VERSION,
                    stage=_stage(session, client) if version >= FIRST_SPARK_VERSION else None,
                ),
            )
        self._set_form(operation, requested_form(version, request))
        if not request.runAsync:
            _await(session, operation, client)
        kind = t.TOperationType.EXECUTE_STATEMENT
        return self._recorded_response(t.TExecuteStatementResp, operation, kind, session, request, client)

    def get_operation_status(self, request: Any, client: Client) -> Any:
        """Returns a statement's state (GetOperationStatus).

        Waits a moment for a running one, so that clients poll less.
        """
        session, operation = self._operation(request, client)
        state = operation.wait(self._hold_s(session, operation))
        if state.is_final:
            operation.tell_end()
            client.finished_operation = operation
        response = _status(operation, state)
        if request.getProgressUpdate:
            response.progressUpdateResponse = progress_update(
                operation.profile, operation.created_ms, has_ended=state.is_final
            )
        return response

    def _hold_s(self, session: Session, operation: Operation) -> float:
        """Returns how long a status response may be delayed, in seconds."""
        if _version(session) >= FIRST_SPARK_VERSION:
            return EXTENDED_HOLD_S
        age_s = time.time() - operation.created_ms / 1000
        return max(HOLD_S, min(FIRST_HOLD_S - age_s, FIRST_HOLD_S))

    def cancel_operation(self, request: Any, client: Client) -> Any:
        """Cancels a statement (CancelOperation); one that has ended and was closed is not an error."""
        with contextlib.suppress(OperationNotFound):  # it has ended, and was closed
            self._operation(request, client)[1].cancel()
        return t.TCancelOperationResp(SUCCESS)

    def close_operation(self, request: Any, client: Client) -> Any:
        """Closes a statement (CloseOperation); one that does not exist is not an error."""
        handle = parse_handle(request.operationHandle and request.operationHandle.operationId)
        if (session := self._registry.session_of(handle.id, client.identity)) is not None:
            handle.ensure_opens(session)
            self._registry.close_operation(handle.id, client.identity)
        return t.TCloseOperationResp(SUCCESS)

    def close_impala_operation(self, request: Any, client: Client) -> Any:
        """Closes an operation as impyla does; the response is where it reads how many rows a statement modified."""
        count = None
        with contextlib.suppress(OperationNotFound):
            count = self._operation(request, client)[1].rows_modified
        self.close_operation(request, client)
        return t.TCloseImpalaOperationResp(SUCCESS, None if count is None else t.TDmlResult({"": count}))

    def get_query_id(self, request: Any, client: Client) -> Any:
        """Returns the statement's id (GetQueryId)."""
        return t.TGetQueryIdResp(str(self._operation(request, client)[1].id))

    def get_log(self, request: Any, client: Client) -> Any:
        """Returns all log lines of a statement (GetLog, from Hive's older versions)."""
        return t.TGetLogResp(SUCCESS, "\n".join(self._operation(request, client)[1].log_lines(from_start=True)))

    # ----------------------------------------------------------------------------------------------------- results

    def get_result_set_metadata(self, request: Any, client: Client) -> Any:
        """Returns the result's columns, for a running query as soon as it is analyzed.

        Waits up to `COLUMNS_S` seconds for that: hive-jdbc's executeAsync requests the columns before the query ends.
        """
        session, operation = self._operation(request, client)
        form = self._form(session, operation)
        if form.may_link:
            operation.wait(COLUMNS_S)  # the size of the result decides on links
            stream = None
        else:
            stream = operation.wait_for_columns(COLUMNS_S)
        if stream is not None:
            schema = stream.schema if stream.has_rows else metadata.RESULT
            return form.of(schema, stream.time_zone).metadata()
        return self._shape_result(session, operation, client).metadata()

    def fetch_results(self, request: Any, client: Client) -> Encoded:
        """Returns the next page of rows, or of log lines (FetchResults). Raises the statement's error."""
        session, operation = self._operation(request, client)
        if request.fetchType == _LOG_FETCH:
            lines = fetch_log(operation, request.orientation)
            form = plain_form(_version(session))
            return Encoded(form.of(lines.rows.schema, operation.time_zone).encode_rows(lines))
        # May wait for a statement that is run again, longer than the client does: rows for a client that has gone would
        # be skipped by its next fetch.
        shaped = self._shape_result(session, operation, client)
        client.ensure_connected()
        self._note_position(operation, client)
        with_metadata = bool(request.includeResultSetMetadata)
        if shaped.form.kind is RowSetKind.LINKS and client.links:
            return Encoded(fetch_links(shaped, operation, request.orientation, client.links, with_metadata))
        limits = (*page_limits(request.maxRows, request.maxBytes), with_metadata)

        def encode(page: Page) -> Pieces:
            return shaped.encode_rows(page, with_metadata=with_metadata)

        if shaped.form.kind is RowSetKind.ROWS:
            page = fetch_all(operation, request.orientation, request.maxRows)
            _ensure_sent(operation, page, client)
            # These clients take `hasMoreRows` as a reason to start again, so the flag is
            # never set for them.
            return Encoded(encode(replace(page, has_more=False)))
        is_next = request.orientation in (None, t.TFetchOrientation.FETCH_NEXT)
        made = self._next_pages.take(operation, limits) if is_next else None
        if made is None:
            wait_s = ROWS_S if shaped.form.is_extended else None
            page = fetch(operation, request.orientation, request.maxRows, request.maxBytes, wait_s=wait_s)
            _ensure_sent(operation, page, client)
            made = page, encode(page)
        page, pieces = made
        if page.has_more and page.rows.num_rows:
            # Started after the response was sent: encoding the next page would delay this
            # one.
            client.afterwards = partial(self._next_pages.make, operation, limits, encode)
        return Encoded(pieces)

    def linked_rows(self, rows: LinkedRows, peer: Peer) -> bytes:
        """Returns some rows from a result that is sent as links; the reader's permission has been checked."""
        part = f"{rows.row_count} rows from row {rows.row_offset}"
        origin = Origin("http", peer.address)
        operation = self._registry.linked_operation(rows.operation_id, part, origin)
        if (form := self._forms.get(operation)) is None:
            raise OperationNotFound()
        page = operation.page(rows.row_offset, rows.row_count)
        return form.of(operation.schema, operation.time_zone).document(page)

    def _shape_result(self, session: Session, operation: Operation, client: Client) -> ShapedResult:
        """Returns the result in its wire format; raises the error for an operation without a result."""
        form, schema = self._form(session, operation), operation.schema
        if form.may_link and client.links:  # decided once, when its metadata or its first rows are requested
            # Metadata and rows must agree on the form for the whole result, and clients
            # request the metadata first.
            kind = RowSetKind.LINKS if operation.exceeds(LINKED_FROM_BYTES) else form.kind
            form = replace(form, kind=kind, may_link=False)
            self._set_form(operation, form)
        shaped = form.of(schema if operation.has_rows else metadata.RESULT, operation.time_zone)
        return replace(shaped, is_staging=True) if operation.is_staging else shaped

    def _form(self, session: Session, operation: Operation) -> ResultForm:
        return self._forms.get(operation) or plain_form(_version(session))

    def through(self, session: Session, options: Mapping[str, object]) -> tuple[None, Callable[[Operation], None]]:
        """Returns what a restored statement needs; see `FrontEnd`."""
        saved = options.get(_FORM)
        form = restored_form(saved) if isinstance(saved, Mapping) else plain_form(_version(session))
        return None, lambda operation: self._set_form(operation, form)

    def _set_form(self, operation: Operation, form: ResultForm) -> None:
        self._forms[operation] = form
        operation.options = lambda: {"front_end": FRONT_END, _FORM: form.saved()}

    def _note_position(self, operation: Operation, client: Client) -> None:
        """Stores the operation's next row when the response is sent."""
        if (state := self._registry.state) is not None:
            client.before_last = lambda: state.positions.store(operation.id, operation.sent_rows)

    def _recorded_response(
        self, response: type[Any], operation: Operation, kind: int, session: Session, request: Any, client: Client
    ) -> Any:
        """Returns the response of :meth:`_start_response`, after the statement and the session are recorded."""
        answer = self._start_response(response, operation, kind, session, request, client)
        if session.operation(operation.id) is None:
            session.record()  # the statement is closed, and may have changed the session
        else:
            operation.recorder.record()
            operation.recorder.flush(is_whole=False)
        return answer

    def _start_response(
        self, response: type[Any], operation: Operation, kind: int, session: Session, request: Any, client: Client
    ) -> Any:
        """Returns the response to a call that created `operation`: with its results if the client requests them and it
        has ended.
        """
        wanted = request.getDirectResults
        with client.awaiting(operation):
            if wanted is None:
                operation.wait_until_parsed(PARSED_S)
            state = operation.wait(DIRECT_S if wanted is not None else 0)
        # PyHive's executemany, and so pandas' to_sql, reads the result of each statement but the last.
        is_hive = _version(session) < FIRST_SPARK_VERSION
        has_column = not request.runAsync and (is_hive or operation.rows_modified is not None)
        # @databricks/sql waits for a statement's end, and so reads its error, only if it may have rows.
        is_open = wanted is not None and state not in _HAVE_RESULTS
        has_results = operation.may_have_rows or has_column or is_open
        secret = request.sessionHandle.sessionId.secret
        handle = t.TOperationHandle(Handle(operation.id, secret).identifier(), kind, has_results)
        answer = response(SUCCESS, handle)
        if wanted is None or not state.is_final:
            return answer
        operation.tell_end()
        results = t.TSparkDirectResults(_status(operation, state))
        if state not in _HAVE_RESULTS:
            results.operationStatus.hasResultSet = has_results
            if state is OperationState.FAILED:  # a cancelled one's fetch returns the reason
                session.forget(operation)
                results.closeOperation = t.TCloseOperationResp(SUCCESS)
            answer.directResults = results
            return answer
        shaped = self._shape_result(session, operation, client)
        results.resultSetMetadata = shaped.metadata()
        if not operation.has_rows:  # with a resultSet, which it never reads here, @databricks/sql fetches forever
            answer.directResults = results
            return answer
        if shaped.form.kind is RowSetKind.LINKS and client.links:  # these are fetched while it is open
            fetched = fetch_links(shaped, operation, None, client.links, with_metadata=False)
            return Encoded(tuple(encode_with_results(answer, results, fetched)))
        page = fetch(operation, None, wanted.maxRows, wanted.maxBytes)
        self._note_position(operation, client)
        fetched = shaped.encode_rows(page)
        if not page.has_more:
            session.forget(operation)
            results.closeOperation = t.TCloseOperationResp(SUCCESS)
        return Encoded(tuple(encode_with_results(answer, results, fetched)))

    # ---------------------------------------------------------------------------------------------------- metadata

    def call_metadata(self, call: MetadataCall, request: Any, client: Client) -> Any:
        """Runs a metadata call (GetTables and others) as an operation."""
        session = self._session(request, client)
        match call.plan(request):
            case ResultStream() as stream:
                operation = session.answer(call.name, stream)
            case statement, shape:
                operation = session.request(statement, shape)
        if not request.runAsync:
            _await(session, operation, client)
        return self._recorded_response(call.response, operation, call.operation_type, session, request, client)

    # ----------------------------------------------------------------------------------------------- refused calls

    def refuse_transfer(self, request: Any, client: Client) -> Any:
        """Raises `TransferNotSupported` (UploadData, DownloadData)."""
        raise TransferNotSupported()

    def refuse_delegation_token(self, request: Any, client: Client) -> Any:
        """Raises `DelegationTokenNotSupported` (GetDelegationToken and its siblings)."""
        raise DelegationTokenNotSupported()

    # ----------------------------------------------------------------------------------------------------- handles

    def end_sessions(self, client: Client) -> None:
        """Closes the sessions that `client` opened; its connection is gone."""
        for session_id in tuple(client.sessions):
            self._registry.close_session(session_id, client.identity)

    def cancel_statements(self, client: Client) -> None:
        """Cancels all statements in the client's sessions, without waiting; its connection seems to be gone."""
        for session_id in tuple(client.sessions):
            with contextlib.suppress(SessionNotFound):
                for operation in self._registry.session(session_id, client.identity).operations():
                    operation.cancel()

    def detach_sessions(self, client: Client) -> None:
        """Lets the sessions that `client` opened continue without it, until they expire."""
        while client.sessions:
            with contextlib.suppress(SessionNotFound):
                # Over HTTP a connection says nothing about the client's life: load
                # balancers close idle ones.
                self._registry.session(client.sessions.pop(), client.identity).is_detached = True

    def cancel_awaited(self, client: Client) -> None:
        """Cancels the statement for which `client` has no handle; it disconnected."""
        if operation := client.awaited:
            operation.cancel()

    def _log_in(self, user: str, password: str, peer: Peer) -> Identity:
        if not user and not password:
            return log_in(self._authenticator, Mechanism.ANONYMOUS, b"", peer)
        return log_in(self._authenticator, Mechanism.PLAIN, plain_message(user, password), peer)

    def _recognize(self, handle: Handle, client: Client) -> None:
        """Identifies a client that has connected again by a transport without a login, after a restart of the server.

        Only a session without authentication, to which its handle's secret gives access.
        """
        if client.identity is None and (session := self._registry.find_anonymous(handle.id)) is not None:
            handle.ensure_opens(session)
            client.identity = session.identity

    def _session(self, request: Any, client: Client) -> Session:
        handle = parse_handle(request.sessionHandle and request.sessionHandle.sessionId)
        self._recognize(handle, client)
        session = self._registry.session(handle.id, client.identity)
        handle.ensure_opens(session)
        return session

    def _operation(self, request: Any, client: Client) -> tuple[Session, Operation]:
        handle = parse_handle(request.operationHandle and request.operationHandle.operationId)
        self._recognize(handle, client)
        session, operation = self._registry.find_operation(handle.id, client.identity)
        handle.ensure_opens(session)
        return session, operation


def _ensure_sent(operation: Operation, page: Page, client: Client) -> None:
    """Takes `page` back and raises :class:`StatementCancelled` if the client is gone."""
    try:
        client.ensure_connected()
    except StatementCancelled:
        operation.take_back(page)
        raise


def _version(session: Session) -> int:
    """Returns the session's protocol version; raises `MalformedHandle` for another front end's session."""
    version = session.client.get(_VERSION)
    if not isinstance(version, int):
        raise MalformedHandle()
    return version


def _negotiate(request: Any) -> int:
    """Returns the smaller version of both sides; Databricks' clients send theirs in a separate field."""
    client_version = request.client_protocol_i64 if request.client_protocol_i64 is not None else request.client_protocol
    # Databricks' protocol versions continue in another number range than Hive's.
    newest = SPARK_VERSION if (client_version or 0) >= FIRST_SPARK_VERSION else HIVE_VERSION
    return int(max(0, min(client_version or 0, newest)))


def _timeout_s(requested: int | None) -> float | None:
    """Returns seconds for a timer; None for no limit, as 0 and negative numbers mean."""
    return float(min(requested, threading.TIMEOUT_MAX)) if requested and requested > 0 else None


def _status(operation: Operation, state: OperationState) -> Any:
    """Returns a TGetOperationStatusResp."""
    response = t.TGetOperationStatusResp(
        SUCCESS,
        _STATES[state],
        operationStarted=operation.created_ms,
        operationCompleted=operation.ended_ms or 0,
        hasResultSet=operation.may_have_rows,
    )
    if state in _HAVE_RESULTS:
        count = operation.rows_modified
        response.numModifiedRows = count if count is not None else -1 if operation.has_rows else 0
    if operation.error is not None:
        failure = describe(operation.error)
        response.sqlState, response.errorCode, response.errorMessage = failure.sqlstate, 0, failure.message
        response.displayMessage = failure.message
        # Databricks' JDBC driver shows the text in the call's status, although it is a success.
        response.status = t.TStatus(
            t.TStatusCode.SUCCESS_STATUS, None, failure.sqlstate, 0, failure.message, failure.message
        )
    return response


def _await(session: Session, operation: Operation, client: Client) -> None:
    """Waits for the end; a failed statement is closed and its error raised, since the client gets no handle."""
    with client.awaiting(operation):
        while not (state := operation.wait(_TOUCH_S)).is_final:
            session.last_used = time.monotonic()  # the client is connected
    if operation.error is not None:
        session.forget(operation)
        session.record()
        raise operation.error
    if state is OperationState.CLOSED:
        raise OperationNotFound()
    operation.tell_end()
