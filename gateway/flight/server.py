"""The Flight port: PyArrow's server of Flight with its limits.

A call occupies a thread while it runs, as a result's stream does until its end; further calls than `calls_max` are
rejected.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import flight

from catalog.conditions import FlightFeatureNotSupported, FlightMessageTooLarge, PortInUse
from gateway.authenticators.exchange import Authenticator
from gateway.flight.client_sessions import ClientSessions
from gateway.flight.connections import LoopbackConnections
from gateway.flight.errors import flight_error
from gateway.flight.log_ins import MIDDLEWARE, WIRE, Call, CallLimit, CallStart, Handshake, LogIns, call_context
from gateway.flight.service import GATHER_S, Service
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.process.tls import TlsServer
from gateway.registry import Registry
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.call_context import note_user, working_for

logger = logging.getLogger(__name__)

# The name in the options of its statements, for their recovery.
FRONT_END = WIRE
_LOOK_AFTER_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightSettings:
    """The port's limits; with `tls` it accepts TLS only. Times are in seconds."""

    tls: TlsServer | None = None
    connections_max: int = 1000
    calls_max: int = 500
    message_bytes_max: int = 16 << 20
    gather_s: float = GATHER_S


class FlightPort(flight.FlightServerBase):  # type: ignore[misc]
    """PyArrow's server: each method begins a call and converts its errors."""

    def __init__(self, location: str, service: Service, log_ins: LogIns, settings: FlightSettings) -> None:
        self._service = service
        self._log_ins = log_ins
        self._message_bytes_max = settings.message_bytes_max
        start = CallStart(log_ins, CallLimit(settings.calls_max))
        super().__init__(location, auth_handler=Handshake(log_ins), middleware={MIDDLEWARE: start})

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        return self._answer(context, descriptor.command, lambda call: self._service.flight_info(descriptor, call))

    def get_schema(self, context: Any, descriptor: Any) -> Any:
        return self._answer(
            context,
            descriptor.command,
            lambda call: flight.SchemaResult(self._service.schema(descriptor, call)),
        )

    def do_get(self, context: Any, ticket: Any) -> Any:
        schema, batches = self._answer(context, ticket.ticket, lambda call: self._service.rows(ticket.ticket, call))
        return flight.GeneratorStream(schema, _converted(batches))

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        self._answer(context, descriptor.command, lambda call: self._service.put(descriptor, reader, writer, call))

    def do_action(self, context: Any, action: Any) -> Any:
        body = action.body.to_pybytes() if action.body is not None else b""
        found = self._answer(context, body, lambda call: self._service.act(action.type, body, call))
        return iter([flight.Result(pa.py_buffer(one)) for one in found])

    def list_actions(self, context: Any) -> Any:
        return self._answer(context, b"", lambda call: self._service.actions)

    def list_flights(self, context: Any, criteria: bytes) -> Any:
        return self._answer(context, b"", _refuse_list)

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        self._answer(context, b"", _refuse_exchange)

    def _answer(self, context: Any, message: bytes | None, method: Any) -> Any:
        with working_for(call_context(context)):
            try:
                if message is not None and len(message) > self._message_bytes_max:
                    raise FlightMessageTooLarge("The message", self._message_bytes_max)
                call = self._log_ins.begin(context)
                note_user(call.identity.principal)
                return method(call)
            except Exception as error:  # noqa: BLE001 - the client gets every error
                raise flight_error(error) from None


def _refuse_list(call: Call) -> None:
    raise FlightFeatureNotSupported("A list of flights", "Use the commands GetCatalogs, GetDbSchemas and GetTables.")


def _refuse_exchange(call: Call) -> None:
    raise FlightFeatureNotSupported("DoExchange")


def _converted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
        self._sessions = ClientSessions(registry, EngineCalls(16))
        self.service = Service(self._sessions, self._settings.gather_s)
        self._connections = LoopbackConnections(port)
        self._log_ins = LogIns(authenticator, self._connections)
        self._server: FlightPort | None = None
        self._stopping = threading.Event()
        self._watch = supervised_thread("flight-watch", self._look_after, self._stopping.is_set, on_death)

    def start(self) -> int:
        """Starts the server, and returns the port. Raises `PortInUse`."""
        name = f"[{self._host}]" if ":" in self._host else self._host
        try:
            self._server = FlightPort(f"grpc://{name}:{self._port}", self.service, self._log_ins, self._settings)
        except pa.ArrowException as error:
            raise PortInUse("flight", self._host, self._port, "address not available") from error
        self._connections.port = self._server.port
        self._watch.start()
        return int(self._server.port)

    def stop(self) -> None:
        """Accepts no more calls, and ends the open ones."""
        self._stopping.set()
        if self._server is not None:
            self._server.shutdown()

    def session_count(self) -> int:
        """Returns the number of sessions that clients use."""
        return len(self._sessions.all())

    def _look_after(self) -> None:
        while not self._stopping.wait(_LOOK_AFTER_S):
            self._sessions.look_after(self._connections.open_keys())
