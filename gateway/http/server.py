"""The HTTP server: one loop for client I/O, and a worker pool for whole requests.

A slow, silent, malformed or disconnected client does not affect others: the loop (`loop.py`) never waits for one, the
workers (`workers.py`) never get a request before it is complete, and a connection's states and limits (`connection.py`,
`wire.py`) are the same for any content. Thrift calls (`thrift_route.py`) and application requests have separate
workers. If the loop itself ends, the server's owner is notified.

No library does all of it. `tests/bench/bench_http_servers.py` sends the same requests to each, on two cores:

                                      this server      h11    cheroot    waitress    hypercorn
    SELECT 1, least ms                       0.86     1.04       0.96        1.04            -
    SELECT 1, eight at once, ms each          4.4      3.3        4.7         4.7          5.6
    32 pipelined, ms each                     1.6      1.5        1.7         1.4          2.1
    answered of 20 beside 200 slow             20       20          0          20            0
    threads with 29 long polls                125      112        127         124          103
    answered of 990 open connections          990      990        990         990          990
    their memory in MB                         27       27         27          25           30
    a disconnected client cancels             yes      yes         no          no           no
    TLS and plain text on one port            yes      yes        TLS       plain          TLS

`h11` is this loop with h11 as its parser. It accepts heads that `wire.py` rejects because a proxy may read them
differently: line ends without a carriage return, folded headers, repeated credentials, a length with a transfer coding.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from flask import Flask

from catalog.conditions import TooManyCalls
from gateway.http.app import BODY_BYTES_MAX
from gateway.http.connection import Connection, HttpLimits
from gateway.http.loop import ConnectionLoop
from gateway.http.thrift_route import ThriftRoute
from gateway.http.wire import Answer
from gateway.http.workers import Workers
from gateway.http.wsgi import run_application
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.process.tls import TlsServer

# As many as connections may be open: the kernel resets clients beyond it.
_BACKLOG = 1000
_STOP_S = 5.0
_THRIFT_THREADS = 4
# Threads that create download pieces, which take CPU time and memory; short requests do not wait for them.
_PIECE_THREADS = 4
# Maximum share of connections that may wait for Thrift calls; health checks use the others.
_CALLS_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Settings. `threads` handle application requests; without `tls` the port accepts only plain HTTP."""

    threads: int = 32
    limits: HttpLimits = field(default_factory=lambda: HttpLimits(body_bytes_max=BODY_BYTES_MAX))
    tls: TlsServer | None = None
    on_response: Callable[[int], None] = lambda _: None


class HttpServer:
    """Listens from `start` until `stop`; `port` is the actual one, also if 0 was requested."""

    def __init__(
        self,
        app: Flask,
        thrift: ThriftRoute,
        host: str,
        port: int,
        *,
        settings: HttpSettings | None = None,
        on_death: OnDeath = ignore_death,
    ) -> None:
        self._thrift, self._address, self._on_death = thrift, (host, port), on_death
        settings = settings or HttpSettings()
        self._limits, self._tls, self._on_response = settings.limits, settings.tls, settings.on_response
        handler = partial(run_application, app)
        self._app_workers = Workers(
            "http", handler, self._give_back, threads=settings.threads, threads_max=settings.threads
        )
        self._piece_workers = Workers(
            "http-piece", handler, self._give_back, threads=_PIECE_THREADS, threads_max=_PIECE_THREADS
        )
        self._thrift_workers = Workers(
            "http-thrift",
            thrift.answer,
            self._give_back,
            threads=_THRIFT_THREADS,
            threads_max=max(1, int(settings.limits.connections_max * _CALLS_SHARE)),
        )
        self._loop: ConnectionLoop | None = None
        self._thread: threading.Thread | None = None
        self.listener: socket.socket | None = None

    @property
    def port(self) -> int:
        """Returns the TCP port, also if 0 was requested."""
        return self._address[1]

    def start(self) -> None:
        """Binds and serves; raises OSError if the port is not available."""
        family = socket.getaddrinfo(*self._address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        self.listener = socket.create_server(self._address, family=family, backlog=_BACKLOG)
        self._address = (self._address[0], int(self.listener.getsockname()[1]))
        loop = self._loop = ConnectionLoop(
            self.listener, self._limits, self._dispatch, self._recall, self._tls, self._on_response
        )
        self._thread = supervised_thread("http-loop", loop.run, lambda: loop.is_stopping, self._on_death)
        self._app_workers.start()
        self._piece_workers.start()
        self._thrift_workers.start()
        self._thread.start()

    def stop(self) -> None:
        """Finishes current requests and closes; stopping one that never started does nothing."""
        if self._loop is None or self._thread is None:
            return
        self._loop.stop(_STOP_S)
        self._thread.join()
        self._app_workers.stop(_STOP_S)
        self._piece_workers.stop(_STOP_S)
        self._thrift_workers.stop(_STOP_S)

    def connection_count(self) -> int:
        return self._loop.connection_count() if self._loop else 0

    def held_bytes(self) -> int:
        """Returns the bytes in all connections that wait for a response, or for its transmission."""
        return self._loop.held_bytes() if self._loop else 0

    def _dispatch(self, connection: Connection) -> None:
        request = connection.request
        if connection.rest is not None:
            self._piece_workers.put(connection)
        elif request is None or not self._thrift.matches(request.head):
            self._app_workers.put(connection)
        elif not self._thrift_workers.is_full:
            self._thrift_workers.put(connection)
        else:
            connection.answer(self._thrift.refuse(TooManyCalls(self._thrift_workers.threads_max), request.head))
            self._give_back(connection)

    def _recall(self, connection: Connection) -> Answer | None:
        return self._thrift.recall(connection.request, connection) if connection.request else None

    def _give_back(self, connection: Connection) -> None:
        assert self._loop is not None
        self._loop.give_back(connection)
