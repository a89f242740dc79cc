"""The thread that owns the HTTP port: it accepts, reads, writes and enforces deadlines for all connections.

Whole requests are passed to `dispatch`, processed connections return through `give_back`, the only method besides
`stop` that other threads call. A request whose response `recall` knows is handled here. Nothing here waits for a client
or a statement. A connection's error ends that connection; an error in the loop itself is raised, and ends the server.

`HttpLimits.held_bytes_max` bounds the memory for received requests without a response and for responses not yet sent:
the connection with the most is closed until the rest fits. Likewise, when there are `connections_max`, the longest
waiting connection from the address with the most is closed for a new one.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import selectors
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from gateway.http.connection import Connection, HttpLimits, State
from gateway.http.wire import Answer
from gateway.process.tls import TlsServer

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.25
# Time in seconds after the end of accepting in which a request may still arrive on a connection.
_LAST_REQUESTS_S = 0.5
# A bound, so that a flood of new connections does not starve established ones in one round.
_ACCEPTS_AT_ONCE = 64
_RECALLS_AT_ONCE = 16
_TOO_MUCH = (HTTPStatus.SERVICE_UNAVAILABLE, "The server holds too many large requests. Try again in a moment.")
# All other errors of `accept` concern one client or pass by themselves (accept(2):
# ENETDOWN, EMFILE, ENOBUFS and others).
_FATAL_ACCEPT = frozenset((errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EOPNOTSUPP))
_EVENTS = {
    State.READING: selectors.EVENT_READ,
    State.LINGERING: selectors.EVENT_READ,
    State.WRITING: selectors.EVENT_WRITE,
}


class ConnectionLoop:
    """Runs from `run` until `stop`."""

    def __init__(
        self,
        listener: socket.socket,
        limits: HttpLimits,
        dispatch: Callable[[Connection], None],
        recall: Callable[[Connection], Answer | None],
        tls: TlsServer | None,
        on_response: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Prepares the loop; `on_response` receives the status of each response."""
        listener.setblocking(False)
        self._listener, self._limits, self._tls = listener, limits, tls
        self._dispatch, self._recall, self._on_response = dispatch, recall, on_response
        self._selector = selectors.DefaultSelector()
        self._connections: dict[Connection, int] = {}  # with the bytes that each held at the last check
        self._away: set[Connection] = set()  # owned by a worker, in any state
        self._held_bytes = 0
        # A deque, because `append` and `popleft` are atomic in CPython: the loop reads it
        # without the lock.
        self._given_back: deque[Connection] = deque()
        # The selector only wakes up for descriptors, so other threads write a byte.
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._accept_again = float("inf")
        self._stop_at: float | None = None
        self._idle_until = float("inf")
        self._lock = threading.Lock()
        self._is_over = False

    @property
    def is_stopping(self) -> bool:
        """Returns True after `stop`; the loop ends after the last request, or at the end of the given time."""
        return self._stop_at is not None

    def connection_count(self) -> int:
        return len(self._connections)

    def held_bytes(self) -> int:
        """Returns the bytes in received requests without a response and in responses not yet sent."""
        return self._held_bytes

    def give_back(self, connection: Connection) -> None:
        """Takes back a connection that its worker has finished; callable from any thread."""
        with self._lock:
            if self._is_over:
                connection.close()
            else:
                self._given_back.append(connection)
                self._wake()

    def stop(self, seconds: float) -> None:
        """Stops accepting, lets current requests end within `seconds`, and ends; callable from any thread."""
        with self._lock:
            now = time.monotonic()
            self._idle_until, self._stop_at = now + min(_LAST_REQUESTS_S, seconds), now + seconds
            if not self._is_over:
                self._wake()

    def run(self) -> None:
        """Serves connections; raises an error that makes that impossible."""
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        try:
            looked = 0.0
            while not self._may_end():
                for key, _ in self._selector.select(_LOOK_EVERY_S):
                    self._handle(key)
                while self._given_back:
                    self._take_back(self._given_back.popleft())
                self._shed()
                if time.monotonic() - looked >= _LOOK_EVERY_S:
                    self._look_at_clock()
                    looked = time.monotonic()
        finally:
            self._close_all()

    def _handle(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._listener:
            self._accept()
        elif key.fileobj is self._woken:
            self._woken.recv(4096)
        else:
            connection: Connection = key.data
            # An earlier event in this round may have ended it, or have passed it to a worker: a
            # descriptor can have two events. While a process that was just forked has a copy of
            # a socket that was closed here, the kernel continues to report it under its number,
            # which a new connection may have.
            if connection in self._connections and connection not in self._away:
                self._advance(connection, connection.send if connection.state is State.WRITING else connection.receive)

    def _advance(self, connection: Connection, step: Callable[[], None]) -> None:
        """Runs one step on a connection and the actions for its resulting state."""
        try:
            step()
            connection.finish_writing()
            # A client may have pipelined many requests with remembered answers; a bound
            # leaves time for other connections.
            for _ in range(_RECALLS_AT_ONCE):
                if connection.state is not State.ANSWERING or (answer := self._recall(connection)) is None:
                    break
                connection.answer(answer)
                connection.finish_writing()
        except Exception:
            logger.exception("the connection from %s ended by an error of ours", connection.peer)
            connection.close()
        self._settle(connection)

    def _settle(self, connection: Connection) -> None:
        held = connection.held_bytes
        self._held_bytes += held - self._connections[connection]
        self._connections[connection] = held
        wanted = _EVENTS.get(connection.state)
        if connection.is_idle and time.monotonic() >= self._idle_until:
            connection.close()
        if connection.state is State.CLOSED or wanted is None:
            # While a worker owns the connection no events may be reported for it: the
            # selector is level-triggered and would return at once, forever.
            self._unregister(connection)
        else:
            self._register(connection, wanted)
        if connection.state is State.CLOSED:
            self._held_bytes -= self._connections.pop(connection)
        elif connection.state is State.ANSWERING:
            self._away.add(connection)
            self._dispatch(connection)

    def _take_back(self, connection: Connection) -> None:
        self._away.discard(connection)
        self._advance(connection, connection.resume)

    def _shed(self) -> None:
        """Closes the connections that hold most; a worker's connections release their bytes soon."""
        while self._held_bytes > self._limits.held_bytes_max:
            largest = max(self._ours(), key=lambda connection: connection.held_bytes, default=None)
            if largest is None or not largest.held_bytes:
                return
            logger.warning("%d bytes of requests and answers wait; ending one of %s", self._held_bytes, largest.peer)
            # A client that is still sending can be told why; one that does not read its
            # response cannot.
            is_read = largest.state is State.READING
            self._advance(largest, partial(largest.refuse, *_TOO_MUCH) if is_read else largest.close)

    def _ours(self) -> list[Connection]:
        return [connection for connection in self._connections if connection not in self._away]

    # -------------------------------------------------------------------------------------------------- selector

    def _register(self, connection: Connection, wanted: int) -> None:
        key = self._selector.get_map().get(connection.descriptor)
        if key is None:
            self._selector.register(connection.descriptor, wanted, connection)
        elif key.events != wanted:
            self._selector.modify(connection.descriptor, wanted, connection)

    def _unregister(self, connection: Connection) -> None:
        """Unregisters a connection; if its worker closed it, its descriptor may have been reused."""
        key = self._selector.get_map().get(connection.descriptor)
        if key is not None and key.data is connection:
            self._selector.unregister(connection.descriptor)

    # ----------------------------------------------------------------------------------------------- new and old

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                accepted, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:
                if error.errno in _FATAL_ACCEPT:
                    raise
                logger.warning("no connection accepted: %s", error)  # temporarily out of descriptors or memory
                self._selector.unregister(self._listener)
                self._accept_again = time.monotonic() + _LOOK_EVERY_S
                return
            self._greet(accepted, str(address[0]))

    def _greet(self, accepted: socket.socket, peer: str) -> None:
        if len(self._connections) >= self._limits.connections_max and not self._evict():
            logger.warning("connection from %s refused: all %d are answered now", peer, len(self._connections))
            accepted.close()
            return
        try:
            connection = Connection(accepted, peer, self._limits, self._tls, self._on_response)
        except OSError:  # gone already
            accepted.close()
            return
        self._connections[connection] = 0
        self._settle(connection)

    def _evict(self) -> bool:
        ours = list(self._ours())
        held = Counter(connection.peer for connection in ours)  # the address with most connections first
        # Idle connections first: closing them loses no request, and HTTP clients open a new
        # one.
        oldest = min(ours, key=lambda one: (not one.is_idle, -held[one.peer], one.since), default=None)
        if oldest is None:
            return False
        self._advance(oldest, oldest.close)
        return True

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        if self._listener.fileno() < 0 and not self.is_stopping:
            raise OSError(errno.EBADF, "the listening socket is closed")  # the selector would never report it again
        for connection in [one for one in self._ours() if one.deadline <= now]:
            self._advance(connection, connection.expire)
        if now >= self._accept_again and not self.is_stopping:
            self._accept_again = float("inf")
            self._selector.register(self._listener, selectors.EVENT_READ, None)

    # ------------------------------------------------------------------------------------------------------- end

    def _may_end(self) -> bool:
        if self._stop_at is None:
            return False
        if self._listener.fileno() >= 0:
            self._accept()  # clients that have connected, and may have sent a request
            if self._listener in self._selector.get_map():
                self._selector.unregister(self._listener)
            self._listener.close()
        now = time.monotonic()
        if now >= self._idle_until:
            for connection in [one for one in self._ours() if one.is_idle]:
                self._advance(connection, connection.close)
        is_busy = self._away or any(
            one.state is State.WRITING or (one.state is State.READING and now < self._idle_until)
            for one in self._connections
        )
        return now >= self._stop_at or not is_busy

    def _close_all(self) -> None:
        with self._lock:
            self._is_over = True
        self._listener.close()
        for connection in self._given_back:
            self._away.discard(connection)
        for connection in list(self._connections):
            if connection in self._away:
                connection.hang_up()
            else:
                connection.close()
        self._connections.clear()
        for resource in (self._selector, self._waker, self._woken):
            resource.close()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is already due to wake up
            self._waker.send(b"\0")
