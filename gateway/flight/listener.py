"""The listener of a port that other machines reach, in front of gRPC's, which listens on a Unix socket.

PyArrow's server cannot limit connections and messages, renew its certificate, or accept clients with and without a
certificate. So this listener does, and forwards the bytes; see `frames.py`. A loopback port without TLS is gRPC's own:
forwarding halves its throughput.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalog.conditions import PortInUse
from catalog.errors import SqlError
from gateway.authenticators.peer import Peer
from gateway.flight.connections import Connection
from gateway.flight.frames import CONNECTION_HEADER, ClientFrames
from gateway.process.supervision import OnDeath, supervised_thread
from gateway.process.tls import HTTP2, TlsFailed, TlsServer, TlsSession

logger = logging.getLogger(__name__)

_READ_BYTES = 256 << 10
_POLL_S = 0.5
_BACKLOG = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerLimits:
    """Times are in seconds: for the handshake of TLS, without any byte, and for sending one piece to a slow client."""

    connections_max: int = 1000
    message_bytes_max: int = 64 << 20
    handshake_s: float = 20.0
    idle_s: float = 7200.0
    stalled_s: float = 600.0


@dataclass(slots=True, eq=False)
class _Client:
    """A connection: the client's socket, gRPC's, and TLS between them."""

    token: str
    downstream: socket.socket
    upstream: socket.socket
    address: str
    tls: TlsSession | None
    names: tuple[str, ...] = ()
    used: float = field(default_factory=time.monotonic)
    # Guards `tls`, and the order in which its bytes are sent.
    sending: threading.Lock = field(default_factory=threading.Lock)

    @property
    def connection(self) -> Connection:
        peer = Peer(self.address, is_encrypted=self.tls is not None, certificate_names=self.names)
        return Connection(self.token, peer)

    def close(self) -> None:
        for one in (self.downstream, self.upstream):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def send(self, content: memoryview) -> None:
        if self.tls is None:
            self.downstream.sendall(content)
            return
        with self.sending:
            self.tls.send(content)
            self.downstream.sendall(self.tls.outgoing())

    def receive(self) -> bytes | None:
        """Returns the next plaintext bytes, perhaps none; None at the end."""
        content = self.downstream.recv(_READ_BYTES)
        if not content:
            return None
        if self.tls is None:
            return content
        with self.sending:
            plain = self.tls.receive(content)
            if answer := self.tls.outgoing():
                self.downstream.sendall(answer)
        return plain


class ForwardingListener:
    """The listener; `Connections` of its clients. Thread-safe."""

    def __init__(self, host: str, port: int, tls: TlsServer | None, limits: ListenerLimits) -> None:
        """Opens the port. Raises `PortInUse`."""
        self._tls = tls
        self._limits = limits
        self._folder = tempfile.mkdtemp(prefix="delta-gateway-flight-")
        self.path = str(Path(self._folder, "grpc"))
        self._socket = _listen(host, port)
        self._found: dict[str, _Client] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    @property
    def port(self) -> int:
        """Returns the TCP port, also if 0 was requested."""
        return int(self._socket.getsockname()[1])

    def start(self, on_death: OnDeath) -> None:
        """Accepts connections; called when gRPC listens."""
        self._socket.settimeout(_POLL_S)
        supervised_thread("flight-accept", self._accept, self._stopping.is_set, on_death).start()

    def of_call(self, peer: str, headers: Mapping[str, Sequence[Any]]) -> Connection:
        for token in reversed(headers.get(CONNECTION_HEADER) or ()):
            found = self._found.get(str(token))
            if found is not None:
                return found.connection
        return Connection("", Peer(""))

    def open_keys(self) -> set[str]:
        now = time.monotonic()
        with self._lock:
            found = list(self._found.values())
        for client in found:
            if now - client.used > self._limits.idle_s:
                client.close()
        return {client.token for client in found}

    def count(self) -> int:
        return len(self._found)

    def close(self) -> None:
        self._stopping.set()
        with suppress(OSError):
            self._socket.close()
        with self._lock:
            found = list(self._found.values())
        for client in found:
            client.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                client, address = self._socket.accept()
            except TimeoutError:
                continue
            except OSError:
                if self._stopping.is_set():
                    return
                time.sleep(_POLL_S)  # no descriptor is free, say
                continue
            if len(self._found) >= self._limits.connections_max:
                client.close()
                continue
            threading.Thread(target=self._serve, args=[client, address[0]], name="flight-client", daemon=True).start()

    def _serve(self, client: socket.socket, address: str) -> None:
        """Serves one connection, on its own thread and another one for gRPC's answers."""
        with client, socket.socket(socket.AF_UNIX) as upstream:
            made = _Client(secrets.token_hex(16), client, upstream, address, None)
            try:
                _configure(client)
                with self._lock:
                    self._found[made.token] = made
                self._forward(made)
            except (OSError, TlsFailed) as error:
                logger.debug("a connection from %s has ended: %s", address, error)
            except SqlError as error:
                logger.info("a connection from %s was closed: %s", address, error)
            finally:
                made.close()
                with self._lock:
                    self._found.pop(made.token, None)

    def _forward(self, client: _Client) -> None:
        content = b""
        if self._tls is not None:
            client.tls = self._tls.begin(HTTP2)
            content = self._shake_hands(client)
            client.names = client.tls.peer_names
        client.downstream.settimeout(self._limits.stalled_s)
        client.upstream.connect(self.path)
        threading.Thread(target=self._answer, args=[client], name="flight-answers", daemon=True).start()
        frames = ClientFrames(client.token, self._limits.message_bytes_max)
        piece: bytes | None = content
        while piece is not None:
            if piece:
                client.used = time.monotonic()
                client.upstream.sendall(frames.receive(piece))
            try:
                piece = client.receive()
            except TimeoutError:  # the idle time is longer
                piece = b""

    def _shake_hands(self, client: _Client) -> bytes:
        """Completes the handshake of TLS; returns the first bytes after it."""
        until = time.monotonic() + self._limits.handshake_s
        content = b""
        assert client.tls is not None
        while not client.tls.is_established:
            client.downstream.settimeout(max(0.01, until - time.monotonic()))
            found = client.receive()
            if found is None:
                raise ConnectionError("it ended in the handshake")
            content += found
        return content

    def _answer(self, client: _Client) -> None:
        """Sends gRPC's bytes to the client."""
        buffer = memoryview(bytearray(_READ_BYTES))
        try:
            while count := client.upstream.recv_into(buffer):
                client.send(buffer[:count])
                client.used = time.monotonic()
        except OSError as error:
            logger.debug("a connection from %s has ended: %s", client.address, error)
        finally:
            client.close()


def _listen(host: str, port: int) -> socket.socket:
    """Opens the port. Raises `PortInUse`."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise PortInUse("flight", host, port, (error.strerror or str(error)).lower()) from error


def _configure(client: socket.socket) -> None:
    """Lets the kernel find clients that are gone."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if (option := getattr(socket, name, None)) is not None:
            client.setsockopt(socket.IPPROTO_TCP, option, value)
