"""The HTTP server: one loop that talks to the clients, and a pool of workers that answer whole requests.

A client can be slow, silent, malformed or gone without anybody else noticing: the loop (`loop.py`) never waits for one,
the workers (`workers.py`) never see a request before all of it is there, and the states and limits of a connection
(`connection.py`, `wire.py`) are the same whatever it sends. Calls of Thrift (`thrift_route.py`) and requests of the
application have workers of their own. If the loop itself ends, the server's owner is told.

No library does all of it. `tests/bench/bench_http_servers.py` sends the same requests to each, on two cores:

                                      this server      h11    cheroot    waitress    hypercorn
    SELECT 1, least ms                       0.86     1.04       0.96        1.04            -
    SELECT 1, eight at once, ms each          4.4      3.3        4.7         4.7          5.6
    32 pipelined, ms each                     1.6      1.5        1.7         1.4          2.1
    answered of 20 beside 200 slow             20       20          0          20            0
    threads with 29 long polls                125      112        127         124          103
    answered of 990 open connections          990      990        990         990          990
    their memory in MB                         27       27         27          25           30
    a client that hangs up cancels            yes      yes         no          no           no
    TLS and plain text on one port            yes      yes        TLS       plain          TLS

`h11` is this loop with h11 as its parser. It accepts heads that `wire.py` rejects because a proxy may read them
differently: line ends without a carriage return, folded headers, repeated credentials, a length with a transfer coding.
"""

from __future__ import annotations

import socket
import threading
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
from gateway.process.supervision import OnDeath, ignore_death, supervised
from gateway.process.tls import TlsServer

_BACKLOG = 512
_STOP_S = 5.0
_THRIFT_THREADS = 4
_PIECE_THREADS = 4
"""Make the pieces of downloads, which take processor time and memory; short requests do not wait for them."""
_CALLS_SHARE = 0.9
"""Of all connections, so many may wait for calls of Thrift; health checks find a place among the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """`threads` answer the requests of the application; without `tls` the port speaks plain HTTP only."""

    threads: int = 32
    limits: HttpLimits = field(default_factory=lambda: HttpLimits(body_bytes_max=BODY_BYTES_MAX))
    tls: TlsServer | None = None


class HttpServer:
    """Listens from `start` until `stop`; `port` is the one in use, also where any was asked for."""

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
        self._limits, self._tls = settings.limits, settings.tls
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
        return self._address[1]

    def start(self) -> None:
        """Bind and answer; raises OSError where the port cannot be had."""
        family = socket.getaddrinfo(*self._address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        self.listener = socket.create_server(self._address, family=family, backlog=_BACKLOG)
        self._address = (self._address[0], int(self.listener.getsockname()[1]))
        loop = self._loop = ConnectionLoop(self.listener, self._limits, self._dispatch, self._recall, self._tls)
        self._thread = supervised("http-loop", loop.run, lambda: loop.is_stopping, self._on_death)
        self._app_workers.start()
        self._piece_workers.start()
        self._thrift_workers.start()
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests at hand and close; stopping one that never started does nothing."""
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
        """Bytes of all connections that wait to be answered, or to be taken."""
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
