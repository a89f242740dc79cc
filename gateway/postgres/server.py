"""The PostgreSQL port: accepts connections, one thread each, and closes a connection's session with it.

A client whose thread works for it is watched: if it is gone, its statement is cancelled (`gateway/sessions/watch.py`).
"""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from catalog.conditions import (
    DatabaseNotFound,
    PortInUse,
    PostgresFeatureNotSupported,
    PostgresProtocolViolation,
    TooManyPostgresConnections,
)
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from engine.runtime.request import SqlDialect
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.peer import Peer
from gateway.postgres import messages as m
from gateway.postgres.authentication import authenticate
from gateway.postgres.client import Client, Opening
from gateway.postgres.connection import Connection
from gateway.postgres.errors import error_response
from gateway.postgres.settings import APPLICATION_NAME, STANDARD_STRINGS, TIME_ZONE, Parameters, find_parameter
from gateway.postgres.startup import BackendKeys, CancelRequest, Startup, read_startup, split_dialect
from gateway.process.byte_stream import ByteStream, Disconnected
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.process.tls import TlsFailed, TlsServer
from gateway.recovery import FrontEnd
from gateway.registry import Registry
from gateway.sessions.session import Origin
from gateway.sessions.watch import Watch

logger = logging.getLogger(__name__)

FRONT_END = "postgres"
_FATAL_ACCEPT = frozenset((errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EOPNOTSUPP))
_BACKLOG = 2000
_JOIN_S = 5.0
_KEEP_ALIVE_S = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
# Databases that clients name by default, in addition to the user's name.
_DEFAULT_DATABASE = "postgres"
_DEFAULT_DATABASES = frozenset({"", _DEFAULT_DATABASE, "default"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSettings:
    """The port's limits. `startup_s` is the time from the connection's begin to the login's end."""

    tls: TlsServer | None = None
    connections_max: int = 1000
    connections_per_address_max: int = 500
    startup_s: float = 60.0


class PostgresServer:
    """The server. `start()` binds and serves on its own threads; `stop()` ends every connection with its session."""

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator,
        host: str,
        port: int,
        settings: PostgresSettings | None = None,
        on_death: OnDeath = ignore_death,
    ) -> None:
        """Prepares the server. `port` 0 means any."""
        self._registry, self._authenticator = registry, authenticator
        self._host, self._port = host, port
        self._settings = settings or PostgresSettings()
        self._keys = BackendKeys()
        self._zone = ServerZone()
        self._connections: dict[socket.socket, tuple[str, threading.Thread]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watch = Watch(self._stopping)
        self._listener: socket.socket | None = None
        self._threads = [
            supervised_thread(name, run, self._stopping.is_set, on_death)
            for name, run in (("postgres-accept", self._accept_loop), ("postgres-watch", self._watch.run))
        ]

    @property
    def service(self) -> FrontEnd | None:
        """Returns None: a session ends with its connection."""
        return None

    def connection_count(self) -> int:
        return len(self._connections)

    def start(self) -> int:
        """Starts the server, and returns the port. Raises `PortInUse`."""
        try:
            family = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
            self._listener = socket.create_server((self._host, self._port), family=family, backlog=_BACKLOG)
        except OSError as error:
            raise PortInUse("postgres", self._host, self._port, (error.strerror or str(error)).lower()) from error
        for thread in self._threads:
            thread.start()
        return int(self._listener.getsockname()[1])

    def stop(self) -> None:
        """Stops accepting, ends all connections, and waits briefly for their threads."""
        self._stopping.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
            self._listener.close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        end = time.monotonic() + _JOIN_S
        for thread in (*(thread for _, thread in connections.values()), *self._threads):
            if thread.ident:
                thread.join(max(0.0, end - time.monotonic()))

    def _accept_loop(self) -> None:
        assert self._listener is not None
        while not self._stopping.is_set():
            try:
                accepted, address = self._listener.accept()
            except OSError as error:
                if self._stopping.wait(0.1):  # a short pause: the process may be out of descriptors
                    return
                if error.errno in _FATAL_ACCEPT:
                    raise
                logger.warning("no connection accepted: %s", error)
                continue
            try:
                self._begin(accepted, address[0])
            except Exception:
                logger.exception("connection from %s ended by an error of ours", address[0])
                accepted.close()

    def _begin(self, accepted: socket.socket, address: str) -> None:
        with contextlib.suppress(OSError):  # the client may be gone, which its thread detects
            _tune(accepted)
        if (limit := self._limit_reached(address)) is not None:
            logger.warning("connection from %s refused: there are %d already", address, limit)
            with contextlib.suppress(OSError):
                accepted.send(error_response(TooManyPostgresConnections(limit), is_fatal=True), socket.MSG_DONTWAIT)
            accepted.close()
            return
        thread = threading.Thread(target=self._run, args=(accepted, address), name=f"postgres-{address}", daemon=True)
        with self._lock:
            self._connections[accepted] = address, thread
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread left
            logger.warning("connection from %s refused: %s", address, error)
            with self._lock:
                self._connections.pop(accepted, None)
            accepted.close()

    def _limit_reached(self, address: str) -> int | None:
        with self._lock:
            total = len(self._connections)
            own = sum(one == address for one, _ in self._connections.values())
        if total >= self._settings.connections_max:
            return total
        return own if own >= self._settings.connections_per_address_max else None

    def _run(self, accepted: socket.socket, address: str) -> None:
        stream = ByteStream(accepted)
        try:
            self._serve(stream, accepted, address)
        except Disconnected:
            pass
        except (m.MalformedMessage, TlsFailed) as error:
            logger.info("connection from %s ended: %s", address, error)
        except Exception:
            logger.exception("connection from %s ended by an error of ours", address)
        finally:
            with self._lock:
                self._connections.pop(accepted, None)
            stream.end()
            accepted.close()

    def _serve(self, stream: ByteStream, accepted: socket.socket, address: str) -> None:
        stream.set_deadline(self._settings.startup_s)
        try:
            startup = read_startup(stream, self._settings.tls)
            if isinstance(startup, CancelRequest):
                self._keys.cancel(startup)
                return
            client = self._log_in(stream, startup, address, accepted.fileno())
        except SqlError as error:
            stream.write((error_response(error, is_fatal=True),))
            return
        except m.MalformedMessage as error:
            stream.write((error_response(PostgresProtocolViolation(str(error)), is_fatal=True),))
            raise
        try:
            client.process_id, key = self._keys.add(client, startup.offered)
            connection = Connection(stream, client)
            connection.begin(key)
            try:
                connection.serve()
            finally:
                connection.close()
        finally:
            self._keys.remove(client.process_id)
            client.close()

    def _log_in(self, stream: ByteStream, startup: Startup, address: str, descriptor: int) -> Client:
        given = startup.parameters
        user = given.get("user", "")
        if not user:
            raise PostgresProtocolViolation("the startup packet names no user")
        if given.get("replication", "false").lower() not in ("false", "off", "no", "0"):
            raise PostgresFeatureNotSupported("Replication")
        peer = Peer(
            address,
            is_encrypted=stream.is_encrypted,
            certificate_names=stream.peer_names,
            end_point=stream.end_point,
        )
        if startup.is_negotiated:
            stream.write((m.negotiate_version(startup.offered, startup.protocol_options),))
        identity = authenticate(stream, self._authenticator, user, peer)
        return self._open(identity, user, startup, address, descriptor)

    def _open(self, identity: Identity, user: str, startup: Startup, address: str, descriptor: int) -> Client:
        parameters = Parameters({"session_authorization": identity.principal})
        given = startup.parameters.get("database", user)
        database, dialect = split_dialect(given)
        if dialect is SqlDialect.POSTGRES:
            parameters.initial[STANDARD_STRINGS] = "on"
        for name, value in startup.settings.items():
            one = find_parameter(name)
            parameters.initial[one.name] = parameters.checked(one, value)
        origin = Origin(FRONT_END, address, parameters.get(APPLICATION_NAME) or None)
        if TIME_ZONE not in parameters.initial:
            parameters.initial[TIME_ZONE] = self._zone.name(self._registry, identity, origin)

        def watching(hang_up: Callable[[], None]) -> AbstractContextManager[None]:
            return self._watch.over(descriptor, hang_up)

        named = None if database in _DEFAULT_DATABASES or database == user else database
        # Other names may be those of schemas too, before a table and a column.
        alias = given if given == _DEFAULT_DATABASE or given != database else ""
        opening = Opening(identity, origin, named, parameters, dialect, alias)
        try:
            return Client(self._registry, opening, watching)
        except SqlError as error:
            if named is not None and error.sqlstate.startswith("42") and error.sqlstate != "42501":
                raise DatabaseNotFound(named) from error
            raise


def make_server(
    registry: Registry, authenticator: Authenticator, host: str, port: int, tls: TlsServer | None, on_death: OnDeath
) -> PostgresServer:
    """Returns the server of the port, which is not started."""
    return PostgresServer(registry, authenticator, host, port, PostgresSettings(tls=tls), on_death)


def _tune(connection: socket.socket) -> None:
    """Sends small responses immediately, and detects a machine that vanished silently."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE_S.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


_UTC = "UTC"
_WAIT_S = 30.0


@dataclass(slots=True)
class ServerZone:
    """Asks the engine once. Thread-safe."""

    _name: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def name(self, registry: Registry, identity: Identity, origin: Origin) -> str:
        """Returns the zone's name, from a query in a session of its own; UTC if it fails."""
        with self._lock:
            if self._name is None:
                self._name = _read(registry, identity, origin)
            return self._name


def _read(registry: Registry, identity: Identity, origin: Origin) -> str:
    session = registry.open_session(identity, origin=origin, may_lack_schema=True)
    try:
        operation = session.execute("SELECT current_timezone()")
        operation.wait(_WAIT_S)
        return str(operation.page(0, 1).rows.column(0)[0].as_py())
    except SqlError as error:
        logger.warning("the time zone of new sessions is not known: %s", error)
        return _UTC
    finally:
        registry.close_session(session.id, identity)
