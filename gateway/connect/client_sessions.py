"""Clients' sessions: a session of the registry for each user and session id that a client chooses.

The id is a UUID of the client, so that it is unique within the sessions of one user only. The registry's own id is the
`server_side_session_id`: a client that has received it learns by it that its session is no longer open, and that a
session which it would silently get instead has none of its state.

A session that another process has opened is continued if the registry has restored it.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

from catalog.conditions import (
    ConnectOperationAbandoned,
    ConnectPlanInvalid,
    ConnectSessionChanged,
    ConnectSessionClosed,
    OperationNotFound,
    SessionNotFound,
)
from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer
from gateway.connect.cached_frames import CachedFrames
from gateway.connect.errors import ErrorDetails
from gateway.connect.executions import Execution
from gateway.registry import Registry
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.session import Origin, Session

logger = logging.getLogger(__name__)

WIRE = "connect"
_CLIENT_ID = "connect_session_id"
# Time in seconds for a session to open.
_OPEN_S = 30.0
# The number of closed sessions whose ids are remembered, and of abandoned executions per session.
_CLOSED_MAX, _ABANDONED_MAX = 1000, 100
# `Identity.owner`, and the client's id.
_Key = tuple[object, str]


@dataclass(slots=True, eq=False)
class ClientSession:
    """A session as its client knows it."""

    client_id: str
    session: Session
    executions: dict[str, Execution] = field(default_factory=dict)
    errors: ErrorDetails = field(default_factory=ErrorDetails)
    cached: CachedFrames = field(default_factory=CachedFrames)
    abandoned: deque[str] = field(default_factory=lambda: deque(maxlen=_ABANDONED_MAX))
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def server_id(self) -> str:
        """Returns the registry's id of the session, by which clients notice that it was replaced."""
        return str(self.session.id)

    def execution(self, operation_id: str) -> Execution:
        """Raises `OperationNotFound`, `ConnectOperationAbandoned`."""
        found = self.executions.get(operation_id)
        if found is None:
            raise ConnectOperationAbandoned() if operation_id in self.abandoned else OperationNotFound()
        return found

    def end_abandoned(self, detached_s: float) -> None:
        """Ends the executions whose clients are gone; a client may reattach for `detached_s` seconds.

        Ids of reattachable ones are recorded for the error that a late client gets.
        """
        for execution in tuple(self.executions.values()):
            if execution.is_abandoned(detached_s):
                if execution.is_reattachable:
                    self.abandoned.append(execution.operation_id)
                execution.end()


@dataclass(slots=True)
class Call:
    """One call; `client` is set once its session is known."""

    context: grpc.ServicerContext
    identity: Identity
    origin: Origin
    peer: Peer
    metadata: dict[str, str]
    # True if another gateway has sent it here.
    is_forwarded: bool = False
    client: ClientSession | None = None

    def is_active(self) -> bool:
        """Returns False if the client is gone."""
        return bool(self.context.is_active())


@dataclass(slots=True)
class _Place:
    """A key's session, opened under the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    found: ClientSession | None = None


class ClientSessions:
    """The sessions by user and client's id. Thread-safe."""

    def __init__(self, registry: Registry, calls: EngineCalls) -> None:
        self._registry = registry
        self._calls = calls
        self._places: dict[_Key, _Place] = {}
        self._closed: OrderedDict[_Key, None] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def is_suspended(self) -> bool:
        """Returns True if the sessions were left to another process."""
        return self._registry.is_suspended

    def find(self, client_id: str, identity: Identity, observed: str, origin: Origin) -> ClientSession:
        """Returns the session, opened if the client has not observed one with this id (`observed` is empty).

        Raises `ConnectSessionChanged`, `ConnectSessionClosed`, and the registry's errors for a new session.
        """
        key = identity.owner, _valid_id(client_id)
        with self._place(key) as place:
            found = self._current(place, key, identity)
            if observed and (found is None or observed != found.server_id):
                raise ConnectSessionChanged()
            if found is None:
                found = place.found = ClientSession(key[1], self._open(key[1], identity, origin))
            return found

    def existing(self, client_id: str, identity: Identity, observed: str) -> ClientSession:
        """Returns an open session. Raises `SessionNotFound`, `ConnectSessionChanged`, `ConnectSessionClosed`."""
        key = identity.owner, _valid_id(client_id)
        with self._place(key) as place:
            found = self._current(place, key, identity)
        if found is None:
            raise ConnectSessionChanged() if observed else SessionNotFound()
        if observed and observed != found.server_id:
            raise ConnectSessionChanged()
        return found

    def release(self, client_id: str, identity: Identity, *, may_return: bool) -> ClientSession | None:
        """Closes a session; None for an unknown one. Unless it `may_return`, the id is not accepted again."""
        key = identity.owner, _valid_id(client_id)
        with self._lock:
            place = self._places.pop(key, None)
            if not may_return:
                self._closed[key] = None
                while len(self._closed) > _CLOSED_MAX:
                    self._closed.popitem(last=False)
        if place is None:
            return None
        with place.lock:
            found = self._current(place, key, identity)
        if found is not None:
            self._registry.close_session(found.session.id, identity)
        return found

    def clone(self, client: ClientSession, new_id: str, identity: Identity, origin: Origin) -> ClientSession:
        """Opens a session with the state of another. Raises `ConnectPlanInvalid` for an id in use."""
        key = identity.owner, _valid_id(new_id)
        with self._place(key) as place:
            if self._current(place, key, identity) is not None:
                raise ConnectPlanInvalid(f"a session with the id {new_id} exists")
            place.found = ClientSession(key[1], self._open(key[1], identity, origin, client.session))
            return place.found

    def adopt(self, session: Session) -> ClientSession:
        """Returns the session that a former process had opened for a client."""
        client_id = str(session.client.get(_CLIENT_ID))
        with self._place((session.identity.owner, client_id)) as place:
            if place.found is None or place.found.session is not session:
                place.found = ClientSession(client_id, session)
            return place.found

    def look_after(self, detached_s: float) -> None:
        """Ends abandoned executions, and forgets sessions that the registry has closed."""
        with self._lock:
            places = tuple(self._places.items())
        for key, place in places:
            if not place.lock.acquire(blocking=False):
                continue  # it is being opened
            try:
                found = place.found
                is_open = found is not None and self._registry.holds(found.session.id)
                if not is_open:
                    with self._lock:
                        self._places.pop(key, None)
            finally:
                place.lock.release()
            if found is not None and is_open:
                found.end_abandoned(detached_s)

    def all(self) -> Iterable[ClientSession]:
        """Returns a copy of the list of open sessions."""
        with self._lock:
            return [place.found for place in self._places.values() if place.found is not None]

    @contextmanager
    def _place(self, key: _Key) -> Iterator[_Place]:
        """Yields a key's place with its lock held. Raises `ConnectSessionClosed`."""
        while True:
            with self._lock:
                if key in self._closed:
                    raise ConnectSessionClosed()
                place = self._places.setdefault(key, _Place())
            with place.lock:
                if self._places.get(key) is place:  # it was not removed since
                    yield place
                    return

    def _current(self, place: _Place, key: _Key, identity: Identity) -> ClientSession | None:
        """Returns the place's session if it is open, or a restored one."""
        if place.found is not None:
            try:
                self._registry.session(place.found.session.id, identity)
            except SessionNotFound:
                place.found = None
        if place.found is None and (restored := self._restored(key[1], identity)) is not None:
            place.found = ClientSession(key[1], restored)
        return place.found

    def _restored(self, client_id: str, identity: Identity) -> Session | None:
        if self._registry.state is None:
            return None
        for session in self._registry.sessions():
            if session.client.get(_CLIENT_ID) == client_id and session.identity.admits(identity):
                return session
        return None

    def _open(self, client_id: str, identity: Identity, origin: Origin, cloned: Session | None = None) -> Session:
        def open_session() -> Session:
            if cloned is not None:
                return self._registry.clone_session(cloned, identity, origin)
            return self._registry.open_session(identity, origin=origin)

        session = self._calls.run(
            open_session,
            _OPEN_S,
            # A session that opens after the request has given up would belong to nobody.
            abandoned=lambda session: self._registry.close_session(session.id, identity),
        )
        # No connection ends it: without calls it expires.
        session.is_detached = True
        session.client = {_CLIENT_ID: client_id}
        session.last_used = time.monotonic()
        session.record()
        return session


def _valid_id(client_id: str) -> str:
    try:
        return str(uuid.UUID(client_id))
    except ValueError:
        raise ConnectPlanInvalid("the session id is not a UUID") from None
