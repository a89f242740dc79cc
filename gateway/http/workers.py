"""The threads that answer HTTP requests: each takes a whole one, makes its answer, gives the connection back.

A worker is held by the work alone, since requests have arrived before and answers are sent after. It never ends by a
request: whatever is raised becomes an answer.

There are three pools. Pieces of downloads have a few threads of their own. The application's has a fixed number of
threads, and keeps account itself of how many of them may wait for statements (`waiting.py`). A call of Thrift may have
to wait for as long as its statement runs, as it may over TCP, and has a thread of its own there; so that pool grows up
to a thread per connection, and shrinks when they idle.
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
from gateway.observability.call_context import CallContext, request_id_of, working_for

logger = logging.getLogger(__name__)

Handler = Callable[[Request, Connection], Answer]
_IDLE_S = 10.0


class Workers:
    """`threads` of them, and further ones up to `threads_max` while requests wait for one."""

    def __init__(
        self, name: str, handler: Handler, done: Callable[[Connection], None], *, threads: int, threads_max: int
    ) -> None:
        """`done` is told of each connection that was answered."""
        self._name, self._handler, self._done = name, handler, done
        self._kept, self.threads_max = threads, threads_max
        self._waiting: SimpleQueue[Connection | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._unanswered = self._started = 0

    def start(self) -> None:
        for _ in range(self._kept):
            self._start_thread()

    @property
    def is_full(self) -> bool:
        """Whether a further request would have to wait for one of those before it."""
        return self._unanswered >= self.threads_max

    def put(self, connection: Connection) -> None:
        """Answer the request of `connection`, as soon as a thread is free."""
        with self._lock:
            self._waiting.put(connection)
            self._unanswered += 1
            if self._unanswered > len(self._threads) and len(self._threads) < self.threads_max:
                try:
                    self._start_thread()
                except RuntimeError as error:  # the system has no thread left; those there are answer it later
                    logger.warning("no further thread for requests: %s", error)

    def stop(self, seconds: float) -> None:
        """End all threads; those that are still busy after `seconds` end with the process."""
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
            del connection  # with what it holds, for as long as this thread has nothing to do

    def _serve(self, connection: Connection) -> None:
        answer = self._answer(connection) if connection.rest is None else self._continue(connection, connection.rest)
        with self._lock:  # before the client has it: its next request may come at once
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
        """The next piece of an answer; None where there is none, though there should be."""
        try:
            return rest.next()
        except SqlError as error:
            logger.info("an answer to %s ends early: %s", connection.peer, error)
        except BaseException:
            logger.exception("an answer to %s ends early by an error of ours", connection.peer)
        return None

    def _next(self) -> Connection | None:
        """The next connection; None for a thread that has to end, or found nothing to do and is one of many."""
        while True:
            try:
                return self._waiting.get(timeout=_IDLE_S)
            except Empty:
                with self._lock:
                    if len(self._threads) > max(self._kept, self._unanswered):
                        self._threads.discard(threading.current_thread())
                        return None

    def _answer(self, connection: Connection) -> Answer:
        request = connection.request
        assert request is not None
        try:
            return self._handler(request, connection)
        except BaseException:
            head, request_id = request.head, request_id_of(request.head.value("x-request-id"))
            with working_for(CallContext(request_id=request_id)):
                logger.exception("%s %s ended by an error of ours", head.method, head.target[:200])
            reason = "The server failed; its log has the reason."
            return format_refusal(HTTPStatus.INTERNAL_SERVER_ERROR, reason, request_id)
