"""The threads that run statements: so many places, and a thread for each statement that has one.

A statement that was cancelled or ran out of time gives its place back at once, though its thread may go on: nothing can
stop Spark's analyzer in the middle of a rule, or a call to a store that hangs. Such a thread is abandoned, and counted
until it ends. Of each further one beyond `abandoned_max` the place stays taken, so there are never more threads than
both limits together. Where as many have been abandoned for longer than cancelling takes, `on_stuck` is told, which
frees those that hang in Spark, and statements are refused for so long. Threads are daemons: none holds up the end of
the process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from gateway.admission import Admission
from gateway.call_context import working_for
from gateway.errors import TooManyAbandoned
from gateway.limits import Limits
from gateway.operation import Operation

logger = logging.getLogger(__name__)


class StatementThreads:
    """Thread-safe. `statements_running_max` statements have a place at once, further ones wait as `Admission` says."""

    def __init__(self, limits: Limits, on_stuck: Callable[[str], None]) -> None:
        self._limits, self._on_stuck = limits, on_stuck
        self._lock = threading.RLock()
        """Guards all below."""
        self._has_taken, self._has_ended = threading.Condition(self._lock), threading.Condition(self._lock)
        """What idle threads wait for, of which one is woken for each statement, and what the end waits for."""
        self._admission = Admission(limits.admission)
        self._taken: deque[Operation] = deque()
        """Have a place, but no thread yet."""
        self._running: set[Operation] = set()
        self._abandoned: dict[Operation, float] = {}
        self._told = float("-inf")
        self._known = 0
        self._idle = 0
        self._is_closed = False

    @property
    def abandoned_count(self) -> int:
        return len(self._abandoned)

    def submit(self, operation: Operation) -> None:
        """Run `operation` when there is a place. Raises `TooManyAbandoned`, `TooManyQueued`."""
        with self._lock:
            if (stuck := self._stuck()) >= self._limits.abandoned_max:
                raise TooManyAbandoned(stuck)
            self._admission.add(operation, time.monotonic())
            self._give_places()
        operation.on_end(lambda: self._release(operation))

    def watch(self) -> None:
        """Look for threads that hang, and for what has waited too long; to be called now and then."""
        with self._lock:
            stuck, now = self._stuck(), time.monotonic()
            is_due = stuck >= self._limits.abandoned_max and now - self._told > self._limits.abandoned_told_every_s
            if is_due:
                self._told = now
            changed, self._known = stuck != self._known, stuck
            expired = list(self._admission.expired(now))
        for operation, error in expired:
            operation.refuse(error)
        if changed:
            logger.warning("statements that were ended and run on: %d", stuck)
        if is_due:
            logger.error("%d statements that were ended do not end", stuck)
            self._on_stuck(f"{stuck} statements in it that were ended do not end")

    def close(self, grace_s: float) -> bool:
        """Start nothing more, and wait for the threads; whether all ended in time."""
        end = time.monotonic() + grace_s
        with self._lock:
            self._is_closed = True
            self._admission.clear()
            self._has_taken.notify_all()
            self._has_ended.wait_for(lambda: not self._running and not self._abandoned, max(0, end - time.monotonic()))
            return not self._running and not self._abandoned

    def _give_places(self) -> None:
        while (operation := self._admission.take(self._places())) is not None:
            self._running.add(operation)
            self._taken.append(operation)
            if self._idle >= len(self._taken):
                self._has_taken.notify()
            else:
                threading.Thread(target=self._work, name="statement", daemon=True).start()

    def _places(self) -> int:
        kept = max(0, len(self._abandoned) - self._limits.abandoned_max)
        return self._limits.statements_running_max - self._admission.running - kept

    def _stuck(self) -> int:
        """How many were abandoned for longer than cancelling takes."""
        since = time.monotonic() - self._limits.abandoned_grace_s
        return sum(1 for began in self._abandoned.values() if began < since)

    def _work(self) -> None:
        while (operation := self._next()) is not None:
            try:
                with working_for(operation.call):
                    operation.run()
            except Exception:
                logger.exception("statement %s ended by an error of ours", operation.id)
            finally:
                self._end(operation)

    def _next(self) -> Operation | None:
        """None where there are threads enough without this one."""
        with self._lock:
            if not self._taken and self._idle >= self._limits.statements_running_max:
                return None
            self._idle += 1
            try:
                self._has_taken.wait_for(lambda: self._taken or self._is_closed)
            finally:
                self._idle -= 1
            return self._taken.popleft() if self._taken else None

    def _end(self, operation: Operation) -> None:
        with self._lock:
            since = self._abandoned.pop(operation, None)
            self._running.discard(operation)
            self._admission.remove(operation)
            self._give_places()
            self._has_ended.notify_all()
        if since is not None:
            with working_for(operation.call):
                logger.info("statement %s ended, %.1f s after it was given up", operation.id, time.monotonic() - since)

    def _release(self, operation: Operation) -> None:
        """The operation ended for its client; its thread may be at work still."""
        with self._lock:
            if operation not in self._running:
                self._admission.remove(operation)
            if operation not in self._running or operation.is_on_this_thread or operation in self._taken:
                return
            self._running.discard(operation)
            self._admission.remove(operation)
            self._abandoned[operation] = time.monotonic()
            self._give_places()
