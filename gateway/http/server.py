"""The HTTP server: the application on a pool of threads, with keep-alive, until it is stopped."""

from __future__ import annotations

import logging
import select
import threading
from typing import Any

from cheroot import wsgi
from flask import Flask

from gateway.http.statements import CLIENT_SOCKET

logger = logging.getLogger(__name__)

_IDLE_CONNECTION_S = 60
_IDLE_CONNECTIONS_MAX = 1000
_BACKLOG = 128


class _Gateway(wsgi.Gateway_10):
    """Gives the application its client's socket, by which a waiting request sees that the client hung up.

    A body of unstated length is refused by the application, so what follows it on the connection cannot be told from
    it: the connection ends there.
    """

    def respond(self) -> None:
        if self.req.chunked_read:
            self.req.close_connection = True
        super().respond()

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]  # cheroot's own annotation says None
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        return environ | {CLIENT_SOCKET: self.req.conn.socket}


class _Server(wsgi.Server):
    """A connection on which nothing was sent yet takes no thread: it waits beside those that are kept alive."""

    keep_alive_conn_limit = _IDLE_CONNECTIONS_MAX

    def process_conn(self, conn: Any) -> None:
        if conn.requests_seen or not self._waits_for_its_first_bytes(conn):
            super().process_conn(conn)

    def _waits_for_its_first_bytes(self, conn: Any) -> bool:
        """Let a new connection wait for its first bytes; False where they are there, or too many wait."""
        poll = select.poll()
        poll.register(conn.socket, select.POLLIN)
        if poll.poll(0) or not self.can_add_keepalive_connection:
            return False
        self.put_conn(conn)
        return True

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        logger.log(level, "%s", msg, exc_info=traceback)


class HttpServer:
    """Listens from `start` until `stop`; `port` is the one in use, also where any was asked for."""

    def __init__(self, app: Flask, host: str, port: int, *, threads: int) -> None:
        self._server = _Server(
            (host, port),
            app,
            numthreads=threads,
            server_name="delta-gateway",
            request_queue_size=_BACKLOG,
            timeout=_IDLE_CONNECTION_S,
            shutdown_timeout=5,
        )
        self._server.gateway = _Gateway
        self._thread = threading.Thread(target=self._server.serve, name="http", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.bind_addr[1])

    def start(self) -> None:
        """Bind and answer; raises OSError where the port cannot be had."""
        self._server.prepare()
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests at hand and close; stopping one that never started does nothing."""
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join()
