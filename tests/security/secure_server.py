"""A server with users and a scripted engine, and clients for both ports."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TFramedTransport, TTransportBase

from engine.engine import Engine
from gateway.configuration.loader import load_config
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.lifecycle import Ports
from gateway.registry import Registry
from gateway.server import Server
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.hs2.wire import connect, sasl_frame

STATEMENTS = "/api/2.0/sql/statements"
SESSIONS = "/api/2.0/sql/sessions"


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


def basic(user: str, password: str | None = None) -> dict[str, str]:
    """Returns the header for a user whose password is the name twice."""
    pair = f"{user}:{user * 2 if password is None else password}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


class SecureServer:
    """Serves from `start` to `stop`, with the users in `tests/gateway/authenticators/users.py`.

    The default engine is a scripted one.
    """

    def __init__(self, folder: Path, engine: Engine | None = None, /, **flags: object) -> None:
        settings = {
            "server.thrift_port": 0,
            "server.http_port": 0,
            "server.drain_deadline_s": 0,
            "lake.folder": str(folder / "lake"),
            "lake.catalog_folder": str(folder / "catalog"),
            "authentication.methods": ["password"],
            "authentication.password_file": str(folder / "users"),
        }
        config = load_config(None, {}, settings | {key.replace("__", "."): value for key, value in flags.items()})
        self.engine = ArrowEngine()
        self._server = Server(config, lambda _: None, lambda *_: engine or self.engine)
        self.ports: Ports

    def start(self) -> SecureServer:
        self.ports = self._server.start()
        return self

    def stop(self) -> None:
        self._server.drain()

    @property
    def registry(self) -> Registry:
        registry = self._server._lifecycle.registry
        assert registry
        return registry

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """`body` is sent as JSON, or as it is if it is bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports.http, timeout=60)
        with contextlib.closing(connection):
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            given = {"Content-Type": "application/json"} | {
                name.replace("_", "-"): value for name, value in headers.items()
            }
            connection.request(method, path, content, given)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())

    def submit(self, text: str = "SELECT 1", *, user: str = "ann", **fields: object) -> Any:
        """Returns the answer to a statement over HTTP."""
        return self.ask("POST", STATEMENTS, {"statement": text, "wait_timeout": "50s", **fields}, **basic(user)).body

    def negotiate(self, *frames: tuple[int, bytes]) -> tuple[socket.socket, int, str]:
        """Returns a connection after these SASL messages, and the last answer; status 0 means that the connection
        ended.
        """
        connection = connect(self.ports.thrift)
        head = b""
        for status, payload in frames:
            connection.sendall(sasl_frame(status, payload))
        with contextlib.suppress(ConnectionResetError):
            head = connection.recv(5, socket.MSG_WAITALL)
        if len(head) < 5:
            return connection, 0, ""
        payload = connection.recv(int.from_bytes(head[1:], "big"), socket.MSG_WAITALL)
        return connection, head[0], payload.decode()

    @contextlib.contextmanager
    def client(self, user: str = "ann", password: str | None = None) -> Iterator[ThriftClient]:
        """Yields a client over SASL PLAIN."""
        message = f"\0{user}\0{user * 2 if password is None else password}".encode()
        connection, status, text = self.negotiate((1, b"PLAIN"), (5, message))
        assert status == 5, text
        with contextlib.closing(connection):
            yield ThriftClient(TBinaryProtocol(TFramedTransport(Stream(connection))))


class Stream(TTransportBase):
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def read(self, count: int) -> bytes:
        return self._connection.recv(count)

    def write(self, content: bytes) -> None:
        self._connection.sendall(content)

    def flush(self) -> None:
        pass
