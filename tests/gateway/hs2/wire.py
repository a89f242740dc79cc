"""Thrift clients for tests: our generated `Client` over a dispatcher in the same thread, or over a socket."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportBase

from engine.runtime.identity import Identity
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.peer import Peer
from gateway.hs2.dispatch import Dispatcher
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.hs2.server import ThriftServer, ThriftSettings
from gateway.hs2.service import Client, Service
from gateway.process.supervision import OnDeath, ignore_death
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine

OK, ERROR, INVALID = t.TStatusCode.SUCCESS_STATUS, t.TStatusCode.ERROR_STATUS, t.TStatusCode.INVALID_HANDLE_STATUS
State = t.TOperationState
V10 = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10


class DispatcherTransport(TTransportBase):
    """Flushed bytes are a message to the dispatcher; reads return its reply."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher, self._sent, self._reply = dispatcher, b"", b""

    def write(self, content: bytes) -> None:
        self._sent += content

    def flush(self) -> None:
        message, self._sent = self._sent, b""
        self._reply = b"".join(self._dispatcher.answer(message))
        self._dispatcher.follow_up()

    def read(self, count: int) -> bytes:
        taken, self._reply = self._reply[:count], self._reply[count:]
        return taken


class Lab:
    """A service over a scripted engine, and as many clients as a test wants."""

    def __init__(self, engine: ArrowEngine) -> None:
        self.engine = engine
        self.registry = Registry(engine, Limits(reap_every_s=0.2))
        self.service = Service(self.registry, Anonymous())

    def client(self, principal: str | None = "ada") -> ThriftClient:
        dispatcher = Dispatcher(self.service, Client(Peer("127.0.0.1"), Identity(principal) if principal else None))
        return ThriftClient(TBinaryProtocol(DispatcherTransport(dispatcher)))


def open_session(client: ThriftClient, **fields: object) -> t.TSessionHandle:
    """Returns a session's handle; the test fails if it is rejected."""
    response = client.OpenSession(t.TOpenSessionReq(**{"client_protocol": V10, **fields}))
    assert response.status.statusCode == t.TStatusCode.SUCCESS_STATUS, response
    return response.sessionHandle


def execute(client: ThriftClient, session: t.TSessionHandle, text: str, **fields: Any) -> t.TOperationHandle:
    response = client.ExecuteStatement(t.TExecuteStatementReq(session, text, **fields))
    assert response.status.statusCode == OK, response
    return response.operationHandle


def fetch(
    client: ThriftClient, operation: t.TOperationHandle, count: int = 100, orientation: int = 0, kind: int = 0
) -> t.TFetchResultsResp:
    return client.FetchResults(t.TFetchResultsReq(operation, orientation, count, kind))


def status(client: ThriftClient, operation: t.TOperationHandle) -> t.TGetOperationStatusResp:
    return client.GetOperationStatus(t.TGetOperationStatusReq(operation))


def settle(client: ThriftClient, operation: t.TOperationHandle) -> t.TGetOperationStatusResp:
    while (answer := status(client, operation)).operationState in (State.INITIALIZED_STATE, State.RUNNING_STATE):
        pass
    return answer


def cells(response: t.TFetchResultsResp) -> list[list[Any]]:
    """Returns a columnar response's columns."""
    assert response.status.statusCode == OK, response
    members = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal", "binaryVal")
    return [
        next(getattr(column, m) for m in members if getattr(column, m)).values for column in response.results.columns
    ]


@contextlib.contextmanager
def serving(
    engine: ArrowEngine,
    settings: ThriftSettings | None = None,
    authenticator: Authenticator | None = None,
    on_death: OnDeath = ignore_death,
) -> Iterator[tuple[int, ThriftServer, Registry]]:
    """Yields a real server on a free port."""
    registry = Registry(engine, Limits(reap_every_s=0.2))
    server = ThriftServer(registry, authenticator or Anonymous(), "127.0.0.1", 0, settings, on_death)
    port = server.start()
    try:
        yield port, server, registry
    finally:
        server.stop()
        registry.drain(0)


@contextlib.contextmanager
def unframed_client(port: int) -> Iterator[ThriftClient]:
    """Yields a NOSASL client."""
    transport = TBufferedTransport(TSocket("127.0.0.1", port))
    transport.open()
    try:
        yield ThriftClient(TBinaryProtocol(transport))
    finally:
        transport.close()


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def sasl_frame(status: int, payload: bytes) -> bytes:
    return bytes([status]) + len(payload).to_bytes(4, "big") + payload


def log_in(connection: socket.socket, user: str = "ada") -> None:
    connection.sendall(sasl_frame(1, b"PLAIN") + sasl_frame(5, b"\0" + user.encode() + b"\0x"))
    assert connection.recv(5) == b"\x05\0\0\0\0"


def read_all(connection: socket.socket) -> bytes:
    """Reads until the connection ends, in any way that the server ends it."""
    content = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            content += chunk
    return content
