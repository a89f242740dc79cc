"""The threads that answer HTTP requests: each takes a whole one, runs the application (WSGI, PEP 3333), gives it back.

The application sees a request whose body has arrived, and its answer is bytes in memory, so a worker is held by the
work alone. A worker never ends but by `stop`: whatever the application raises becomes an answer.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any
from urllib.parse import unquote_to_bytes

from gateway.http.connection import Connection
from gateway.http.statements import CLIENT_SOCKET
from gateway.http.wire import SERVER_NAME, Answer, Request, format_answer, format_refusal

logger = logging.getLogger(__name__)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Workers:
    """`threads` of them; `done` is told of each connection that was answered."""

    def __init__(self, application: Application, threads: int, done: Callable[[Connection], None]) -> None:
        self._application, self._done = application, done
        self._waiting: SimpleQueue[Connection | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"http-{n}", daemon=True) for n in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def put(self, connection: Connection) -> None:
        """Answer the request of `connection`, as soon as a thread is free."""
        self._waiting.put(connection)

    def stop(self, seconds: float) -> None:
        """End all threads; those that are still busy after `seconds` end with the process."""
        for _ in self._threads:
            self._waiting.put(None)
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.ident:
                thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while (connection := self._waiting.get()) is not None:
            try:
                connection.answer(self._answer(connection))
            except BaseException:
                logger.exception("the connection from %s ended by an error of ours", connection.peer)
                connection.close()
            try:
                self._done(connection)
            except BaseException:
                logger.exception("the connection from %s could not be given back", connection.peer)
                connection.close()

    def _answer(self, connection: Connection) -> Answer:
        request = connection.request
        assert request is not None
        try:
            return run_application(self._application, request, connection)
        except BaseException:
            logger.exception("%s %s ended by an error of ours", request.head.method, request.head.target[:200])
            return format_refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "The server failed; its log has the reason.")


def run_application(application: Application, request: Request, connection: Connection) -> Answer:
    """What `application` answers."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _: object = None) -> Callable[[bytes], None]:
        started.append((status, headers))
        return written.append

    pieces = application(environment(request, connection), start_response)
    try:
        written += pieces
    finally:
        close = getattr(pieces, "close", None)
        if close:
            close()
    status, headers = started[-1]
    return format_answer(status, headers, written, request.head)


def environment(request: Request, connection: Connection) -> dict[str, Any]:
    """The request as WSGI's dictionary, and the client's socket, by which a waiting request sees it hang up."""
    head = request.head
    path, _, query = head.target.partition("?")
    variables: dict[str, Any] = {
        "REQUEST_METHOD": head.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": head.target,
        "SERVER_PROTOCOL": head.version,
        "SERVER_NAME": SERVER_NAME,
        "SERVER_PORT": str(connection.socket.getsockname()[1]),
        "SERVER_SOFTWARE": SERVER_NAME,
        "REMOTE_ADDR": request.peer,
        "CONTENT_LENGTH": str(head.length),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.input_terminated": head.is_chunked,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        CLIENT_SOCKET: connection.socket,
    }
    for name, value in head.headers:
        # A header with an underscore would pass for one with a hyphen, which a proxy in front may have checked.
        if "_" in name or name == "content-length":
            continue
        key = "CONTENT_TYPE" if name == "content-type" else f"HTTP_{name.upper().replace('-', '_')}"
        variables[key] = f"{variables[key]}, {value}" if key in variables else value
    return variables
