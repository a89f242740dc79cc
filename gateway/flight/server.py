"""The Flight port: PyArrow's server of Flight with its limits.

A call occupies a thread while it runs, as a result's stream does until its end; further calls than `calls_max` are
rejected.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import flight

from catalog.conditions import FlightFeatureNotSupported, FlightMessageTooLarge, PortInUse
from gateway.authenticators.exchange import Authenticator
from gateway.flight.client_sessions import ClientSessions
from gateway.flight.connections import Connections, LoopbackConnections
from gateway.flight.errors import flight_error, schema_error
from gateway.flight.listener import ForwardingListener, ListenerLimits
from gateway.flight.log_ins import MIDDLEWARE, WIRE, Call, CallLimit, CallStart, Handshake, LogIns, call_context
from gateway.flight.results import Batches
from gateway.flight.service import GATHER_S, Service
from gateway.process.listening import is_loopback
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.process.tls import TlsServer
from gateway.registry import Registry
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.call_context import note_user, working_for

logger = logging.getLogger(__name__)

# The name in the options of its statements, for their recovery.
FRONT_END = WIRE
ToError = Callable[[BaseException], Exception]
_LOOK_AFTER_S = 1.0
# Time in seconds for calls to end by themselves, and after their connections were closed.
_STOP_S, _CLOSE_S = 1.0, 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightSettings:
    """The port's limits; with `tls` it accepts TLS only. Times are in seconds."""

    tls: TlsServer | None = None
    connections_max: int = 1000
    calls_max: int = 500
    # Of a command or an action; the rows that a client sends have messages of their own.
    command_bytes_max: int = 16 << 20
    message_bytes_max: int = 64 << 20
    handshake_s: float = 20.0
    idle_s: float = 7200.0
    stalled_s: float = 600.0
    gather_s: float = GATHER_S


class FlightPort(flight.FlightServerBase):  # type: ignore[misc]
    """PyArrow's server: each method begins a call and converts its errors."""

    def __init__(self, location: str, service: Service, log_ins: LogIns, settings: FlightSettings) -> None:
        self._service = service
        self._log_ins = log_ins
        self._command_bytes_max = settings.command_bytes_max
        start = CallStart(log_ins, CallLimit(settings.calls_max))
        super().__init__(location, auth_handler=Handshake(log_ins), middleware={MIDDLEWARE: start})

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        """Runs a query, or describes a metadata command; returns its endpoints (Flight `GetFlightInfo`)."""
        return self._answer(context, descriptor.command, lambda call: self._service.flight_info(descriptor, call))

    def get_schema(self, context: Any, descriptor: Any) -> Any:
        """Returns the schema of a command's result without running it (Flight `GetSchema`)."""
        return self._answer(
            context,
            descriptor.command,
            lambda call: flight.SchemaResult(self._service.schema(descriptor, call)),
            schema_error,
        )

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Returns the stream of a ticket's rows (Flight `DoGet`)."""
        schema, batches = self._answer(context, ticket.ticket, lambda call: self._service.rows(ticket.ticket, call))
        return flight.GeneratorStream(schema, _converted(batches))

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Runs an update, binds parameters or ingests rows (Flight `DoPut`)."""
        self._answer(context, descriptor.command, lambda call: self._service.put(descriptor, reader, writer, call))

    def do_action(self, context: Any, action: Any) -> Any:
        """Runs an action of Flight SQL and returns its results (Flight `DoAction`)."""
        body = action.body.to_pybytes() if action.body is not None else b""
        found = self._answer(context, body, lambda call: self._service.act(action.type, body, call))
        return iter([flight.Result(pa.py_buffer(one)) for one in found])

    def list_actions(self, context: Any) -> Any:
        """Returns the names and descriptions of the actions (Flight `ListActions`)."""
        return self._answer(context, b"", lambda call: self._service.actions)

    def list_flights(self, context: Any, criteria: bytes) -> Any:
        """Rejects Flight `ListFlights`, which Flight SQL does not use."""
        return self._answer(context, b"", _refuse_list)

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Rejects Flight `DoExchange`, which Flight SQL does not use."""
        self._answer(context, b"", _refuse_exchange)

    def _answer(self, context: Any, message: bytes | None, method: Any, failed: ToError = flight_error) -> Any:
        with working_for(call_context(context)):
            try:
                if message is not None and len(message) > self._command_bytes_max:
                    raise FlightMessageTooLarge("The message", self._command_bytes_max)
                call = self._log_ins.begin(context)
                note_user(call.identity.principal)
                return method(call)
            except Exception as error:  # noqa: BLE001 - the client gets every error
                raise failed(error) from None


def _refuse_list(call: Call) -> None:
    raise FlightFeatureNotSupported("A list of flights", "Use the commands GetCatalogs, GetDbSchemas and GetTables.")


def _refuse_exchange(call: Call) -> None:
    raise FlightFeatureNotSupported("DoExchange")


def _converted(batches: Batches) -> Batches:
    try:
        yield from batches
    except Exception as error:  # noqa: BLE001 - the client gets every error
        raise flight_error(error) from None


class FlightServer:
    """The server. `start()` binds and serves on its own threads; `stop()` ends every call."""

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator,
        host: str,
        port: int,
        settings: FlightSettings | None = None,
        on_death: OnDeath = ignore_death,
    ) -> None:
        """Prepares the server. `port` 0 means any."""
        self._settings = settings or FlightSettings()
        self._host, self._port = host, port
        self._authenticator = authenticator
        self._on_death = on_death
        self._sessions = ClientSessions(registry, EngineCalls(16))
        self.service = Service(self._sessions, self._settings.gather_s)
        self._connections: Connections = LoopbackConnections(port, self._settings.connections_max)
        self._server: FlightPort | None = None
        self._stopping = threading.Event()
        self._watch = supervised_thread("flight-watch", self._look_after, self._stopping.is_set, on_death)

    def start(self) -> int:
        """Starts the server, and returns the port. Raises `PortInUse`."""
        if self._settings.tls is None and is_loopback(self._host):
            port = self._start_directly()
        else:
            port = self._start_forwarding()
        self._watch.start()
        return port

    def stop(self) -> None:
        """Accepts no more calls, and ends the open ones."""
        self._stopping.set()
        if self._server is None:
            return
        ending = threading.Thread(target=self._server.shutdown, name="flight-end", daemon=True)
        ending.start()
        ending.join(_STOP_S)
        self._connections.close()  # a client that reads no further would keep its call from ending
        ending.join(_CLOSE_S)

    def session_count(self) -> int:
        """Returns the number of sessions that clients use."""
        return len(self._sessions.all())

    def connection_count(self) -> int:
        """Returns the number of open connections."""
        return self._connections.count()

    def _start_directly(self) -> int:
        name = f"[{self._host}]" if ":" in self._host else self._host
        connections = LoopbackConnections(self._port, self._settings.connections_max)
        try:
            self._server = self._open(f"grpc://{name}:{self._port}", connections)
        except pa.ArrowException as error:
            raise PortInUse("flight", self._host, self._port, "address not available") from error
        self._connections = connections
        connections.port = int(self._server.port)
        return connections.port

    def _start_forwarding(self) -> int:
        settings = self._settings
        limits = ListenerLimits(
            connections_max=settings.connections_max,
            message_bytes_max=settings.message_bytes_max,
            handshake_s=settings.handshake_s,
            idle_s=settings.idle_s,
            stalled_s=settings.stalled_s,
        )
        listener = ForwardingListener(self._host, self._port, settings.tls, limits)
        self._connections = listener
        self._server = self._open(f"grpc+unix://{listener.path}", listener)
        listener.start(self._on_death)
        return listener.port

    def _open(self, location: str, connections: Connections) -> FlightPort:
        log_ins = LogIns(self._authenticator, connections)
        return FlightPort(location, self.service, log_ins, self._settings)

    def _look_after(self) -> None:
        while not self._stopping.wait(_LOOK_AFTER_S):
            self._sessions.look_after(self._connections.open_keys())


def make_server(
    registry: Registry, authenticator: Authenticator, host: str, port: int, tls: TlsServer | None, on_death: OnDeath
) -> FlightServer:
    """Returns the server of the port, which is not started."""
    return FlightServer(registry, authenticator, host, port, FlightSettings(tls=tls), on_death)
