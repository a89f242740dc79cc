"""The calls of Flight SQL over the registry's sessions and operations.

A method takes decoded arguments and its :class:`Call`; `server.py` logs in and converts errors. Rules that clients
depend on:

* GetFlightInfo of a statement runs it, and returns when its columns are known; a result that ends within `GATHER_S`
  has its number of rows, and several endpoints if it is large;
* DoGet's columns are those of the FlightInfo;
* preparing a statement does not run it, but says whether it has a result: JDBC's driver decides by it which call
  follows;
* a statement that changes rows answers a row with its counts in a query, and their total in an update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyarrow import flight

from catalog.conditions import FlightFeatureNotSupported, FlightMessageInvalid, OperationNotFound
from catalog.errors import SqlError
from engine.runtime.parameters import Parameter
from engine.statements.session.statement import ResetSetting, SetSetting, UseCatalog, UseSchema
from gateway.flight.client_sessions import ClientSession, ClientSessions
from gateway.flight.ingest import Ingest, ingest_rows, read_rows
from gateway.flight.log_ins import COOKIE, WIRE, Call
from gateway.flight.messages import decode, new_message, pack, unpack
from gateway.flight.metadata import rows_of, schema_of
from gateway.flight.prepared import Prepared, prepare, unknown_values
from gateway.flight.results import READ_AGAIN_S, Batches, Ticket, client_schema
from gateway.recovery import Attach, Through
from gateway.sessions.operation import Operation
from gateway.sessions.requested import WantedResult
from gateway.sessions.session import Session
from gateway.sessions.waiting import run_call, wait_for_end, wait_for_rows

FRONT_END = WIRE
# Time in seconds that a statement with rows has to end before its client may read them.
GATHER_S = 20.0
_PARAMETER_BYTES_MAX = 16 << 20
_OPTIONS_MAX = 100
_UNKNOWN_COUNT = -1
_CANCELED, _CANCELING, _NOT_CANCELABLE = 1, 2, 3
_CLOSED = 1
_INVALID_NAME, _INVALID_VALUE = 1, 2
_CATALOG, _SCHEMA = "catalog", "schema"

Stream = tuple[pa.Schema, Batches]


class Service:
    """The methods of the protocol."""

    def __init__(self, sessions: ClientSessions, gather_s: float = GATHER_S) -> None:
        self.sessions = sessions
        self._gather_s = gather_s
        self._actions: Mapping[str, Callable[[bytes, Call], list[bytes]]] = {
            "CreatePreparedStatement": self._create_prepared,
            "ClosePreparedStatement": self._close_prepared,
            "CancelQuery": self._cancel_query,
            "CancelFlightInfo": self._cancel_info,
            "RenewFlightEndpoint": self._renew,
            "SetSessionOptions": self._set_options,
            "GetSessionOptions": self._get_options,
            "CloseSession": self._close_session,
        }

    @property
    def actions(self) -> list[tuple[str, str]]:
        """Returns the names of the actions, with their descriptions."""
        return [(name, "Arrow Flight SQL") for name in self._actions]

    # -------------------------------------------------------------------------------------------------------- queries

    def flight_info(self, descriptor: Any, call: Call) -> Any:
        """Returns the endpoints for a command's result.

        A query is started; a metadata command runs with `DoGet`. Raises `FlightFeatureNotSupported`, and the
        statement's errors.
        """
        kind, command = _command(descriptor)
        if (schema := schema_of(kind, command)) is not None:
            return flight.FlightInfo(schema, descriptor, [flight.FlightEndpoint(descriptor.command, [])], -1, -1)
        match kind:
            case "CommandStatementQuery":
                _ensure_no_transaction(command)
                client = self.sessions.find(call)
                return self._run_query(client, command.query, (), descriptor, call)
            case "CommandPreparedStatementQuery":
                client, prepared = self.sessions.find_prepared(command.prepared_statement_handle, call.identity)
                runs = list(_first_two(prepared))
                if len(runs) > 1:
                    raise FlightFeatureNotSupported("A query with several rows of parameters", "Run it for each row.")
                return self._run_query(client, prepared.text, runs[0] if runs else (), descriptor, call)
            case _:  # a message's name
                raise FlightFeatureNotSupported(f"The command {kind}")

    def schema(self, descriptor: Any, call: Call) -> pa.Schema:
        """Returns the columns of a command, which does not run."""
        kind, command = _command(descriptor)
        if (schema := schema_of(kind, command)) is not None:
            return schema
        match kind:
            case "CommandStatementQuery":
                return prepare(self.sessions.find(call).session, command.query, call.is_active).columns
            case "CommandPreparedStatementQuery":
                return self.sessions.find_prepared(command.prepared_statement_handle, call.identity)[1].columns
            case _:  # a message's name
                raise FlightFeatureNotSupported(f"The schema of the command {kind}")

    def rows(self, ticket: bytes, call: Call) -> Stream:
        """Returns the schema and the batches for a ticket; waits for the first rows of a running query.

        Raises `FlightFeatureNotSupported`, and the statement's errors.
        """
        kind, command = unpack(ticket)
        if (schema := schema_of(kind, command)) is not None:
            session = self.sessions.find(call).session
            table = rows_of(kind, command, lambda statement: run_call(session, statement, call.is_active))
            return schema, iter(table.to_batches())
        if kind != "TicketStatementQuery":
            raise FlightFeatureNotSupported(f"A ticket with the message {kind}")
        found = Ticket.parse(command.statement_handle)
        client, operation = self.sessions.find_result(found, call.identity)
        client.connections.add(call.connection.key)
        wait_for_rows(client.session, operation, call.is_active)
        result = client.results.find(operation)
        return client_schema(operation.schema), client.results.rows(result, found, call.is_active)

    def _run_query(
        self, client: ClientSession, text: str, parameters: tuple[Parameter, ...], descriptor: Any, call: Call
    ) -> Any:
        session = client.session
        wanted = WantedResult(streams=True, has_counts=True)
        operation = session.execute(text, parameters=parameters, wanted=wanted)
        operation.options = lambda: {"front_end": FRONT_END}
        try:
            operation.recorder.record()
            wait_for_rows(session, operation, call.is_active)
            wait_for_end(session, operation, call.is_active, self._gather_s)
            if operation.error is not None:
                raise operation.error
            operation.ensure_result()
        except BaseException:
            session.forget(operation)
            session.record()
            raise
        operation.recorder.flush(is_whole=False)
        return self._info(client, operation, descriptor)

    def _info(self, client: ClientSession, operation: Operation, descriptor: Any) -> Any:
        result = client.results.add(operation)
        expires = datetime.now(UTC) + timedelta(seconds=READ_AGAIN_S)
        endpoints = [
            flight.FlightEndpoint(
                pack("TicketStatementQuery", statement_handle=ticket.encode(client.session.secret)),
                [],
                pa.scalar(expires, pa.timestamp("ns", "UTC")),
            )
            for ticket in client.results.tickets(result)
        ]
        total = operation.rows_total if operation.has_rows else 0
        count = -1 if total is None else total
        size = operation.result_bytes if total is not None else -1
        return flight.FlightInfo(client_schema(operation.schema), descriptor, endpoints, count, size, ordered=True)

    # -------------------------------------------------------------------------------------------------------- changes

    def put(self, descriptor: Any, reader: Any, writer: Any, call: Call) -> None:
        """Executes a command with an uploaded table and writes its answer.

        That is the number of changed rows, or for parameters the handle of their prepared statement. Raises
        `FlightFeatureNotSupported`.
        """
        kind, command = _command(descriptor)
        match kind:
            case "CommandStatementUpdate":
                _ensure_no_transaction(command)
                client = self.sessions.find(call)
                _answer_count(writer, self._update(client.session, command.query, (), call))
            case "CommandPreparedStatementUpdate":
                client, prepared = self.sessions.find_prepared(command.prepared_statement_handle, call.identity)
                rows = read_rows(reader, call, _PARAMETER_BYTES_MAX, "The table of parameters")
                if rows.num_columns:
                    prepared.bind(rows)
                _answer_count(writer, self._update_each(client.session, prepared, call))
            case "CommandPreparedStatementQuery":
                _, prepared = self.sessions.find_prepared(command.prepared_statement_handle, call.identity)
                prepared.bind(read_rows(reader, call, _PARAMETER_BYTES_MAX, "The table of parameters"))
                answer = new_message("DoPutPreparedStatementResult", prepared_statement_handle=prepared.handle)
                writer.write(answer.SerializeToString())
            case "CommandStatementIngest":
                _ensure_no_transaction(command)
                ingest = Ingest.of(command)
                client = self.sessions.find(call)
                _answer_count(writer, ingest_rows(client.session, ingest, reader, call))
            case _:  # a message's name
                raise FlightFeatureNotSupported(f"The command {kind}")

    def _update_each(self, session: Session, prepared: Prepared, call: Call) -> int:
        total = 0
        for parameters in prepared.runs():
            count = self._update(session, prepared.text, parameters, call)
            total = count if count == _UNKNOWN_COUNT else total + count
        return total

    def _update(self, session: Session, text: str, parameters: tuple[Parameter, ...], call: Call) -> int:
        """Returns the number of changed rows: 0 for a statement that changes none, -1 for one with a result."""
        operation = session.execute(text, parameters=parameters)
        try:
            wait_for_rows(session, operation, call.is_active)
            if operation.rows_modified is not None:
                return operation.rows_modified
            return _UNKNOWN_COUNT if operation.has_rows else 0
        finally:
            session.forget(operation)
            session.record()

    # -------------------------------------------------------------------------------------------------------- actions

    def act(self, name: str, body: bytes, call: Call) -> list[bytes]:
        """Returns the results of an action."""
        action = self._actions.get(name)
        if action is None:
            raise FlightFeatureNotSupported(f"The action {name[:100]}")
        return action(body, call)

    def _create_prepared(self, body: bytes, call: Call) -> list[bytes]:
        request = _unpacked(body, "ActionCreatePreparedStatementRequest")
        _ensure_no_transaction(request)
        client = self.sessions.find(call)
        try:
            prepared = prepare(client.session, request.query, call.is_active, client.known_columns)
        except SqlError:
            # Run as a statement, it fails in the same way, and is in the history and the audit log.
            self._run_unprepared(client.session, request.query, call)
            raise
        client.add_prepared(prepared)
        result = pack(
            "ActionCreatePreparedStatementResult",
            prepared_statement_handle=prepared.handle,
            dataset_schema=_serialized(prepared.columns) if not prepared.is_update else b"",
            parameter_schema=_serialized(prepared.parameters),
            is_update=prepared.is_update,
        )
        return [result]

    def _run_unprepared(self, session: Session, text: str, call: Call) -> None:
        """Runs a text that cannot be prepared. Raises its error."""
        operation = session.execute(text, parameters=unknown_values(text))
        try:
            wait_for_rows(session, operation, call.is_active)
        finally:
            session.forget(operation)

    def _close_prepared(self, body: bytes, call: Call) -> list[bytes]:
        request = _unpacked(body, "ActionClosePreparedStatementRequest")
        client, prepared = self.sessions.find_prepared(request.prepared_statement_handle, call.identity)
        client.prepared.pop(prepared.handle, None)
        return []

    def _cancel_query(self, body: bytes, call: Call) -> list[bytes]:
        status = self._cancel(_unpacked(body, "ActionCancelQueryRequest").info, call)
        return [pack("ActionCancelQueryResult", result=status)]

    def _cancel_info(self, body: bytes, call: Call) -> list[bytes]:
        status = self._cancel(decode("CancelFlightInfoRequest", body).info, call)
        return [new_message("CancelFlightInfoResult", status=status).SerializeToString()]

    def _cancel(self, info: bytes, call: Call) -> int:
        """Cancels the statement of a FlightInfo. Raises `OperationNotFound`, also for another user's."""
        try:
            endpoints = flight.FlightInfo.deserialize(info).endpoints
        except (pa.ArrowException, ValueError) as error:
            raise FlightMessageInvalid("it has no FlightInfo") from error
        status = _NOT_CANCELABLE
        for endpoint in endpoints:
            kind, command = unpack(endpoint.ticket.ticket)
            if kind == "TicketStatementQuery":
                found = Ticket.parse(command.statement_handle)
                client, operation = self.sessions.find_result(found, call.identity)
                operation.cancel()
                client.results.release(operation)
                return _CANCELED
        return status

    def _renew(self, body: bytes, call: Call) -> list[bytes]:
        request = decode("RenewFlightEndpointRequest", body)
        try:
            endpoint = flight.FlightEndpoint.deserialize(request.endpoint)
        except (pa.ArrowException, ValueError) as error:
            raise FlightMessageInvalid("it has no FlightEndpoint") from error
        kind, command = unpack(endpoint.ticket.ticket)
        if kind != "TicketStatementQuery":
            raise OperationNotFound()
        client, operation = self.sessions.find_result(Ticket.parse(command.statement_handle), call.identity)
        client.results.renew(operation)
        expires = pa.scalar(datetime.now(UTC) + timedelta(seconds=READ_AGAIN_S), pa.timestamp("ns", "UTC"))
        return [flight.FlightEndpoint(endpoint.ticket, [], expires).serialize()]

    # ------------------------------------------------------------------------------------------------------- sessions

    def _set_options(self, body: bytes, call: Call) -> list[bytes]:
        request = decode("SetSessionOptionsRequest", body)
        if len(request.session_options) > _OPTIONS_MAX:
            raise FlightMessageInvalid(f"it has more than {_OPTIONS_MAX} options")
        session = self.sessions.find(call).session
        response = new_message("SetSessionOptionsResult")
        for name, option in request.session_options.items():
            try:
                self._set_option(session, name, _option_text(option), call)
            except SqlError as error:
                is_unknown = error.sqlstate == "42K0I"
                response.errors[name].value = _INVALID_NAME if is_unknown else _INVALID_VALUE
        session.record()
        return [response.SerializeToString()]

    def _set_option(self, session: Session, name: str, value: str | None, call: Call) -> None:
        match name.lower(), value:
            case "catalog", str():
                run_call(session, UseCatalog(catalog=value), call.is_active)
            case "schema", str():
                run_call(session, UseSchema(parts=(value,), schema_only=True), call.is_active)
            case _, None:
                run_call(session, ResetSetting(key=name), call.is_active)
            case _, str():
                run_call(session, SetSetting(key=name, value=value), call.is_active)

    def _get_options(self, body: bytes, call: Call) -> list[bytes]:
        engine = self.sessions.find(call).session.engine_session
        settings = engine.saved_state().get("settings")
        found = dict(settings) if isinstance(settings, Mapping) else {}
        found |= {_CATALOG: engine.current_catalog, _SCHEMA: engine.current_schema}
        response = new_message("GetSessionOptionsResult")
        for name, value in sorted(found.items()):
            response.session_options[name].string_value = str(value)
        return [response.SerializeToString()]

    def _close_session(self, body: bytes, call: Call) -> list[bytes]:
        self.sessions.close(call)
        call.context.add_header("set-cookie", f"{COOKIE}=; Max-Age=0")
        return [new_message("CloseSessionResult", status=_CLOSED).SerializeToString()]

    # ------------------------------------------------------------------------------------------------------- recovery

    def through(self, session: Session, options: Mapping[str, object]) -> tuple[Through | None, Attach]:
        """Returns the conversion and options of a restored statement; see `FrontEnd`."""

        def attach(operation: Operation) -> None:
            operation.options = lambda: dict(options)
            self.sessions.adopt(session).results.add(operation)

        return None, attach


def _command(descriptor: Any) -> tuple[str, Any]:
    """Returns a descriptor's command and the name of its kind. Raises `FlightMessageInvalid`."""
    if descriptor.descriptor_type != flight.DescriptorType.CMD:
        raise FlightMessageInvalid("a descriptor has a path, and no command")
    return unpack(descriptor.command)


def _unpacked(body: bytes, kind: str) -> Any:
    found, message = unpack(body)
    if found != kind:
        raise FlightMessageInvalid(f"it is no {kind}")
    return message


def _ensure_no_transaction(command: Any) -> None:
    if command.transaction_id:
        raise FlightFeatureNotSupported("A transaction of several statements", "Each statement is a transaction.")


def _first_two(prepared: Prepared) -> Iterator[tuple[Parameter, ...]]:
    for number, parameters in enumerate(prepared.runs()):
        yield parameters
        if number:
            return


def _answer_count(writer: Any, count: int) -> None:
    writer.write(new_message("DoPutUpdateResult", record_count=count).SerializeToString())


def _serialized(schema: pa.Schema) -> bytes:
    return bytes(schema.serialize().to_pybytes())


def _option_text(option: Any) -> str | None:
    """Returns the value of a session option as text; None for one that is unset."""
    if option.HasField("string_list_value"):
        return ",".join(option.string_list_value.values)
    if option.HasField("bool_value"):
        return str(option.bool_value).lower()
    for name in ("string_value", "int64_value", "double_value"):
        if option.HasField(name):
            return str(getattr(option, name))
    return None
