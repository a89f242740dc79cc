"""Clients' sessions: a session of the registry for each client that runs statements.

A client is known by its cookie `arrow_flight_session_id`, which it gets when its session opens; without cookies by the
token of its login, or else by its connection. A session that was opened for a connection ends with it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from catalog.conditions import FlightStatementNotFound, MalformedHandle, SessionNotFound
from engine.runtime.identity import Identity
from gateway.flight.log_ins import COOKIE, WIRE, Call, LogIn
from gateway.flight.prepared import KnownColumns, Prepared
from gateway.flight.results import Results, Ticket
from gateway.registry import Registry
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

logger = logging.getLogger(__name__)

_CLIENT = "flight"
_SECRET_BYTES = 16
_PREPARED_MAX = 500
# Time in seconds for a session to open.
_OPEN_S = 30.0
# Time in seconds without a connection after which the results of a session that may continue are released.
_DETACHED_S = 60.0


@dataclass(slots=True, eq=False)
class ClientSession:
    """A session as its client knows it."""

    session: Session
    # It ends with this connection; None for one whose client has a cookie or a token.
    connection: str | None
    results: Results
    prepared: OrderedDict[bytes, Prepared] = field(default_factory=OrderedDict)
    known_columns: KnownColumns = field(default_factory=KnownColumns)
    # The connections on which it was used.
    connections: set[str] = field(default_factory=set)
    _detached_since: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_prepared(self, prepared: Prepared) -> None:
        """Adds a prepared statement; the oldest one is closed if there are too many."""
        with self._lock:
            self.prepared[prepared.handle] = prepared
            while len(self.prepared) > _PREPARED_MAX:
                self.prepared.popitem(last=False)

    def look_after(self, open_keys: set[str]) -> None:
        """Releases results that were read, and those of a client without a connection."""
        now = time.monotonic()
        self.connections &= open_keys
        if self.connections:
            self._detached_since = None
        elif self._detached_since is None:
            self._detached_since = now
        since = self._detached_since
        self.results.release_read(is_detached=since is not None and now - since > _DETACHED_S)


class ClientSessions:
    """The sessions by id. Thread-safe."""

    def __init__(self, registry: Registry, calls: EngineCalls) -> None:
        self.registry = registry
        self._calls = calls
        self._found: dict[uuid.UUID, ClientSession] = {}
        # The session of a login by Handshake, or of a user's connection.
        self._by_client: dict[object, uuid.UUID] = {}
        self._opening: dict[object, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, call: Call) -> ClientSession:
        """Returns the session of a call, opened if its client has none. Raises `SessionNotFound` for the cookie of
        another user's session, or of one that has ended.
        """
        if call.cookie is not None:
            found = self._by_cookie(call)
        else:
            with self._place(_client_key(call)) as key:
                found = self._current(key, call.identity) or self._open(key, call)
        found.connections.add(call.connection.key)
        return found

    def close(self, call: Call) -> bool:
        """Closes the session of a call; returns False if it has none."""
        if call.cookie is not None:
            found: ClientSession | None = self._by_cookie(call)
        else:
            found = self._current(_client_key(call), call.identity)
        if found is None:
            return False
        self.registry.close_session(found.session.id, call.identity)
        with self._lock:
            self._found.pop(found.session.id, None)
        return True

    def find_result(self, ticket: Ticket, identity: Identity) -> tuple[ClientSession, Operation]:
        """Returns the operation of a ticket. Raises `OperationNotFound`, also for another user's, and
        `MalformedHandle`.
        """
        session, operation = self.registry.find_operation(ticket.operation_id, identity)
        if not _is_own(session) or not ticket.is_of(session.secret):
            raise MalformedHandle()
        return self.adopt(session), operation

    def find_prepared(self, handle: bytes, identity: Identity) -> tuple[ClientSession, Prepared]:
        """Raises `FlightStatementNotFound`, also for another user's."""
        for found in self.all():
            prepared = found.prepared.get(handle)
            if prepared is not None and found.session.identity.admits(identity):
                # A session that has ended has none.
                self.registry.session(found.session.id, identity)
                return found, prepared
        raise FlightStatementNotFound()

    def adopt(self, session: Session) -> ClientSession:
        """Returns the client's session of a session, which a former process may have opened."""
        with self._lock:
            found = self._found.get(session.id)
            if found is None or found.session is not session:
                found = self._found[session.id] = ClientSession(session, None, Results(session))
            return found

    def all(self) -> list[ClientSession]:
        """Returns a copy of the list of sessions."""
        with self._lock:
            return list(self._found.values())

    def look_after(self, open_keys: set[str]) -> None:
        """Closes sessions whose connection is gone, releases results, and forgets sessions that have ended."""
        for found in self.all():
            session = found.session
            if not self.registry.holds(session.id):
                with self._lock:
                    self._found.pop(session.id, None)
            elif found.connection is not None and found.connection not in open_keys:
                self.registry.close_session(session.id, session.identity)
            else:
                found.look_after(open_keys)
        with self._lock:
            ended = [key for key, session_id in self._by_client.items() if session_id not in self._found]
            for key in ended:
                del self._by_client[key]

    def _by_cookie(self, call: Call) -> ClientSession:
        session_id, secret = _parse_cookie(call.cookie or "")
        session = self.registry.session(session_id, call.identity)
        if not _is_own(session) or not hmac.compare_digest(_digest(secret), session.secret):
            raise SessionNotFound()
        found = self.adopt(session)
        found.connection = None  # its client can continue on another one
        return found

    def _current(self, key: object, identity: Identity) -> ClientSession | None:
        with self._lock:
            session_id = self._by_client.get(key)
            found = self._found.get(session_id) if session_id is not None else None
        if found is None:
            return None
        try:
            self.registry.session(found.session.id, identity)
        except SessionNotFound:
            return None
        return found

    @contextmanager
    def _place(self, key: object) -> Iterator[object]:
        """Yields the key of a client while no other call opens its session."""
        with self._lock:
            place = self._opening.setdefault(key, threading.Lock())
        with place:
            yield key
        with self._lock:
            if not place.locked():
                self._opening.pop(key, None)

    def _open(self, key: object, call: Call) -> ClientSession:
        identity = call.identity
        session = self._calls.run(
            lambda: self.registry.open_session(identity, origin=call.origin),
            _OPEN_S,
            # A session that opens after the request has given up would belong to nobody.
            abandoned=lambda session: self.registry.close_session(session.id, identity),
        )
        secret = secrets.token_hex(_SECRET_BYTES)
        session.is_detached = True
        session.secret, session.client = _digest(secret), {_CLIENT: True}
        session.last_used = time.monotonic()
        session.record()
        connection = call.connection.key if call.log_in is None else None
        found = ClientSession(session, connection, Results(session))
        with self._lock:
            self._found[session.id] = found
            self._by_client[key] = session.id
        call.context.add_header("set-cookie", f"{COOKIE}={session.id.hex}{secret}")
        return found


def _client_key(call: Call) -> LogIn | tuple[str, object]:
    return call.log_in if call.log_in is not None else (call.connection.key, call.identity.owner)


def _is_own(session: Session) -> bool:
    return session.origin.wire == WIRE and _CLIENT in session.client


def _parse_cookie(cookie: str) -> tuple[uuid.UUID, str]:
    """Raises `SessionNotFound` for a text that is no cookie of this server."""
    try:
        return uuid.UUID(cookie[:32]), cookie[32:]
    except ValueError:
        raise SessionNotFound() from None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
