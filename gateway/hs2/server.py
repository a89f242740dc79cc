"""The Thrift port: accepts connections, one thread each, and closes a connection's sessions with it.

HiveServer2 clients keep one connection per session and often wait in it for minutes, so a thread per connection is the
simplest design; a thousand idle ones cost some 25 MB, and 80 MB with TLS. If a client dies while its thread works for
it, the thread in `watch.py` detects that and cancels its statements, so that its thread ends.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import threading
import time
from dataclasses import dataclass

from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.peer import Peer
from gateway.hs2 import transport
from gateway.hs2.conversation import Conversations
from gateway.hs2.dispatch import Dispatcher
from gateway.hs2.messages import MalformedMessage
from gateway.hs2.service import Client, Service
from gateway.hs2.transport import open_transport
from gateway.process.byte_stream import ByteStream, Disconnected
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.process.tls import TlsFailed, TlsServer
from gateway.registry import Registry
from gateway.sessions.watch import Watch

logger = logging.getLogger(__name__)

_FATAL_ACCEPT = frozenset((errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EOPNOTSUPP))
# As many as connections may be open: the kernel resets clients beyond it, such as pools that reconnect after a restart.
_BACKLOG = 2000
_JOIN_S, _PAUSE_S = 5.0, 0.05
_KEEP_ALIVE_S = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThriftSettings:
    """The port's limits, so that no single address can use all of it; without `tls` it accepts only plaintext.

    `listener` is the port's socket if it is already open.
    """

    connections_max: int = _BACKLOG
    connections_per_address_max: int = 1000
    message_bytes_max: int = 32 << 20
    tls: TlsServer | None = None
    listener: socket.socket | None = None


class Connection:
    """One client's socket and thread."""

    def __init__(
        self, connection: socket.socket, peer: str, service: Service, authenticator: Authenticator, watch: Watch
    ) -> None:
        self._socket = connection
        self._service = service
        self._authenticator = authenticator
        self._watch = watch
        self._client = Client(Peer(peer), descriptor=connection.fileno())
        self.address = peer
        # True from a request to its response.
        self.is_busy = False
        self._ends_after_call = False

    def serve(self, settings: ThriftSettings) -> None:
        """Processes messages until either side ends; never raises."""
        stream = ByteStream(self._socket)
        try:
            self._answer_all(stream, settings)
        except Disconnected:
            pass
        except (MalformedMessage, TlsFailed) as error:
            logger.info("connection from %s ended: %s", self._client.peer.address, error)
        except Exception:
            logger.exception("connection from %s ended by an error of ours", self._client.peer.address)
        finally:
            stream.end()
            self._socket.close()
            self._end_sessions()

    def end_after_call(self) -> None:
        """Ends the connection from another thread: now if it is idle, else after its response."""
        self._ends_after_call = True
        if not self.is_busy:
            self.hang_up()

    def hang_up(self) -> None:
        """Ends the connection from another thread, never raising: its own thread wakes up and cleans up."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._service.cancel_statements(self._client)
        except Exception:
            logger.exception("a statement of %s could not be cancelled", self._client.peer.address)

    def _end_sessions(self) -> None:
        try:
            self._service.end_sessions(self._client)
        except Exception:
            logger.exception("a session of %s could not be closed", self._client.peer.address)

    def _answer_all(self, stream: ByteStream, settings: ThriftSettings) -> None:
        messages, self._client.peer, self._client.identity = open_transport(
            stream, self._authenticator, self._client.peer.address, settings.message_bytes_max, settings.tls
        )
        dispatcher = Dispatcher(self._service, self._client)
        while not self._ends_after_call:
            has_session = self._client.sessions or self._client.is_forwarding
            message = messages.read(None if has_session else transport.SESSIONLESS_S)
            recalled = dispatcher.recall(message)
            if recalled is not None:
                messages.write((recalled,))
                messages.await_shortly()
                continue
            self.is_busy = True
            with self._watch.over(self._socket.fileno(), self.hang_up):
                reply = dispatcher.answer(message)
            messages.write(reply, self._client.take_before_last())
            self.is_busy = False
            dispatcher.follow_up()


def listen(host: str, port: int) -> socket.socket:
    """Opens the port; raises OSError if it is not available."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


class ThriftServer:
    """The Thrift server. `start()` binds and serves on its own threads; `stop()` ends every connection with its
    sessions.
    """

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator,
        host: str,
        port: int,
        settings: ThriftSettings | None = None,
        on_death: OnDeath = ignore_death,
    ) -> None:
        """Prepares the server. `port` 0 means any; `on_death` is called if one of the port's own threads ends by
        itself.
        """
        self.service = Service(registry, authenticator)
        self._authenticator = authenticator
        self._address = (host, port)
        self._settings = settings or ThriftSettings()
        self._connections: dict[Connection, threading.Thread] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watch = Watch(self._stopping)
        self.listener = self._settings.listener
        self._threads = [
            supervised_thread(name, run, self._stopping.is_set, on_death)
            for name, run in (("thrift-accept", self._accept_loop), ("thrift-watch", self._watch.run))
        ]

    def start(self) -> int:
        """Starts the server, and returns the port. Raises OSError if it is not available."""
        if self.listener is None:
            self.listener = listen(*self._address)
        for thread in self._threads:
            thread.start()
        return int(self.listener.getsockname()[1])

    def stop(self, calls_s: float = 0.0) -> None:
        """Stops accepting, and closes all connections: idle ones at once, others after their response, or after
        `calls_s` seconds. Waits briefly for their threads.
        """
        self._stopping.set()
        if self.listener:
            with contextlib.suppress(OSError):
                self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
            self.listener.close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            connection.end_after_call()
        end = time.monotonic() + calls_s
        while time.monotonic() < end and any(connection.is_busy for connection in connections):
            time.sleep(_PAUSE_S)
        for connection in connections:
            connection.hang_up()
        end = time.monotonic() + _JOIN_S
        for thread in (*connections.values(), *self._threads):
            if thread.ident:
                thread.join(max(0.0, end - time.monotonic()))

    def conversations(self) -> Conversations:
        """Returns the same service for the HTTP port."""
        return Conversations(self.service, self._watch)

    def connection_count(self) -> int:
        return len(self._connections)

    def _accept_loop(self) -> None:
        assert self.listener is not None
        while not self._stopping.is_set():
            try:
                accepted, address = self.listener.accept()
            except OSError as error:
                if self._stopping.wait(0.1):  # a short pause: the process may be out of descriptors
                    return
                if error.errno in _FATAL_ACCEPT:
                    raise
                logger.warning("no connection accepted: %s", error)
                continue
            if (count := self._too_many(address[0])) is not None:
                logger.warning("connection from %s refused: there are %d already", address[0], count)
                accepted.close()
                continue
            try:
                self._serve(accepted, address[0])
            except Exception:
                logger.exception("connection from %s ended by an error of ours", address[0])
                accepted.close()

    def _too_many(self, address: str) -> int | None:
        """Returns the number of connections, in total or from `address`, if it has reached its limit."""
        with self._lock:
            counts = len(self._connections), sum(one.address == address for one in self._connections)
        if counts[0] >= self._settings.connections_max:
            return counts[0]
        return counts[1] if counts[1] >= self._settings.connections_per_address_max else None

    def _serve(self, accepted: socket.socket, peer: str) -> None:
        with contextlib.suppress(OSError):  # the client may be gone, which its thread detects
            _tune(accepted)
        connection = Connection(accepted, peer, self.service, self._authenticator, self._watch)
        thread = threading.Thread(target=self._run, args=(connection,), name=f"thrift-{peer}", daemon=True)
        with self._lock:
            self._connections[connection] = thread
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread left
            logger.warning("connection from %s refused: %s", peer, error)
            with self._lock:
                self._connections.pop(connection, None)
            accepted.close()

    def _run(self, connection: Connection) -> None:
        try:
            connection.serve(self._settings)
        finally:
            with self._lock:
                self._connections.pop(connection, None)


def _tune(connection: socket.socket) -> None:
    """Sends small responses immediately, and detects a machine that vanished silently."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE_S.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
