"""Worker threads for HTTP requests: each takes a whole request, creates its response, returns the connection.

A worker is occupied only by processing, since requests have arrived before and responses are sent afterwards. A request
never ends it: every exception becomes a response.

There are three pools. Download pieces have a few separate threads. The application's pool has a fixed number of
threads, and itself limits the number that may wait for statements (`waiting.py`). A Thrift call may wait as long as its
statement runs, as over TCP, and occupies a thread; so that pool grows up to a thread per connection, and shrinks when
threads idle.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from queue import Empty, SimpleQueue

from catalog.errors import SqlError
from gateway.http.connection import Connection
from gateway.http.wire import Answer, Request, Rest, format_refusal
from gateway.sessions.call_context import CallContext, request_id_of, working_for

logger = logging.getLogger(__name__)

Handler = Callable[[Request, Connection], Answer]
_IDLE_S = 10.0


class Workers:
    """A pool with `threads`, and additional ones up to `threads_max` while requests wait."""

    def __init__(
        self, name: str, handler: Handler, done: Callable[[Connection], None], *, threads: int, threads_max: int
    ) -> None:
        """Creates the pool; `done` receives each processed connection."""
        self._name, self._handler, self._done = name, handler, done
        self._waiting_threads, self.threads_max = threads, threads_max
        self._waiting: SimpleQueue[Connection | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._unanswered = self._started = 0

    def start(self) -> None:
        """Starts the permanent threads."""
        for _ in range(self._waiting_threads):
            self._start_thread()

    @property
    def is_full(self) -> bool:
        """Returns True if another request would have to wait for an earlier one."""
        return self._unanswered >= self.threads_max

    def put(self, connection: Connection) -> None:
        """Processes the request on `connection`, as soon as a thread is free."""
        with self._lock:
            self._waiting.put(connection)
            self._unanswered += 1
            if self._unanswered > len(self._threads) and len(self._threads) < self.threads_max:
                try:
                    self._start_thread()
                except RuntimeError as error:  # the system has no thread left; an existing one processes it later
                    logger.warning("no further thread for requests: %s", error)

    def stop(self, seconds: float) -> None:
        """Ends all threads; threads still busy after `seconds` end with the process."""
        with self._lock:
            threads = tuple(self._threads)
        for _ in threads:
            self._waiting.put(None)
        end = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True)
        thread.start()
        self._started += 1
        self._threads.add(thread)

    def _work(self) -> None:
        while (connection := self._next()) is not None:
            self._serve(connection)
            del connection  # with its contents, for as long as this thread is idle

    def _serve(self, connection: Connection) -> None:
        answer = self._answer(connection) if connection.rest is None else self._continue(connection, connection.rest)
        with self._lock:  # before the client has it: its next request may arrive immediately
            self._unanswered -= 1
        try:
            if answer is None:
                connection.close()
            else:
                connection.answer(answer)
        except BaseException:
            logger.exception("the connection from %s ended by an error of ours", connection.peer)
            connection.close()
        try:
            self._done(connection)
        except BaseException:
            logger.exception("the connection from %s could not be given back", connection.peer)
            connection.close()

    def _continue(self, connection: Connection, rest: Rest) -> Answer | None:
        """Returns a response's next piece; None if creating it failed."""
        try:
            return rest.next()
        except SqlError as error:
            logger.info("an answer to %s ends early: %s", connection.peer, error)
        except BaseException:
            logger.exception("an answer to %s ends early by an error of ours", connection.peer)
        return None

    def _next(self) -> Connection | None:
        """Returns the next connection; None for a thread that has to end, or a surplus idle one."""
        while True:
            try:
                return self._waiting.get(timeout=_IDLE_S)
            except Empty:
                with self._lock:
                    if len(self._threads) > max(self._waiting_threads, self._unanswered):
                        self._threads.discard(threading.current_thread())
                        return None

    def _answer(self, connection: Connection) -> Answer | None:
        """Returns the response; None for a connection without a request, which then ends."""
        request = connection.request
        if request is None:
            # A bug of ours, which must not end this thread, and must not leave the connection without an owner.
            logger.error("a connection from %s has no request (%s)", connection.peer, connection.state.name)
            return None
        try:
            return self._handler(request, connection)
        except BaseException:
            head, request_id = request.head, request_id_of(request.head.value("x-request-id"))
            with working_for(CallContext(request_id=request_id)):
                logger.exception("%s %s ended by an error of ours", head.method, head.target[:200])
            reason = "The server failed; its log has the reason."
            return format_refusal(HTTPStatus.INTERNAL_SERVER_ERROR, reason, request_id)
