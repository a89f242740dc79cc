"""Time-bounded calls into the engine, for requests with a deadline.

Opening a session, cancelling and closing call Java, and a stopped JVM, or one in garbage collection, does not respond
until it resumes. Such a call runs on an :class:`EngineCalls` thread, and the request waits for it up to its deadline.
The late result of an abandoned call is passed to `abandoned`, which undoes it.

The threads are daemons, since one that waits for Java forever must not keep the process from ending.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from catalog.conditions import EngineNotAnswering

logger = logging.getLogger(__name__)

_IDLE_S = 2.0
_BUSY_FACTOR = 10
_Result = TypeVar("_Result")


def keep(_: object) -> None:
    """Does nothing: the result needs no undo."""


class _Call(Generic[_Result]):
    def __init__(self, call: Callable[[], _Result], abandoned: Callable[[_Result], None]) -> None:
        self._call = call
        self._abandoned = abandoned
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_abandoned = False
        self._result: list[_Result] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result.append(self._call())
        except BaseException as error:  # noqa: BLE001 - the waiting caller raises it
            self._error = error
            if self._is_abandoned:
                logger.info("a call that nobody waits for failed: %s", error)
        with self._lock:
            self._ended.set()
            is_abandoned = self._is_abandoned
        if is_abandoned:
            self._undo()

    def wait(self, seconds: float, last_end: Callable[[], float]) -> _Result:
        """Waits `seconds` from now, or from `last_end` on, the latest end of any call."""
        began = time.monotonic()
        while not self._ended.is_set():
            until = min(max(began, last_end()) + seconds, began + seconds * _BUSY_FACTOR)
            if (left := until - time.monotonic()) <= 0:
                break
            self._ended.wait(left)
        if not self._ended.is_set():
            with self._lock:
                self._is_abandoned = not self._ended.is_set()
            if self._is_abandoned:
                raise EngineNotAnswering(seconds)
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _undo(self) -> None:
        try:
            for result in self._result:
                self._abandoned(result)
        except Exception:
            logger.exception("what a call made that nobody waits for could not be undone")


class EngineCalls:
    """Runs at most `threads_max` calls concurrently; further ones wait, within their callers' time.

    An engine that responds to other calls is busy, and not stopped: each call's end restarts a caller's time, up to
    `_BUSY_FACTOR` times.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self._changed = threading.Condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self._threads = self._idle = 0
        self._last_end = 0.0

    def run(self, call: Callable[[], _Result], seconds: float, abandoned: Callable[[_Result], None] = keep) -> _Result:
        """Returns the result of `call`, or raises its error; raises EngineNotAnswering once no call has ended for
        `seconds`.
        """
        made = _Call(call, abandoned)
        with self._changed:
            self._waiting.append(made.run)
            self._changed.notify()
            if len(self._waiting) > self._idle and self._threads < self._threads_max:
                threading.Thread(target=self._work, name="engine-call", daemon=True).start()
                self._threads += 1
        return made.wait(seconds, lambda: self._last_end)

    def _work(self) -> None:
        while run := self._next():
            run()
            self._last_end = time.monotonic()

    def _next(self) -> Callable[[], None] | None:
        """Returns the next call; None for an idle thread that should end."""
        with self._changed:
            self._idle += 1
            found = self._changed.wait_for(lambda: self._waiting, _IDLE_S)
            self._idle -= 1
            if found:
                return self._waiting.popleft()
            self._threads -= 1
            return None
