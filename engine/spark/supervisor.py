"""Keeps one process running: detects that it ended, became unhealthy or stopped answering, and restarts it.

    RUNNING ──► SILENT ──► AWAY ──► RUNNING ──► …
       └───────────────────►└─────► GIVEN UP

The supervisor checks a process's heartbeat continuously. Without one for `silent_s` seconds it counts as not ready:
callers wait. After `stuck_s` seconds, or as soon as it ended or reports that it is unusable, it is killed, and another
one starts: immediately, or after `pause_s` if it ran for less than `stable_s`. A failed start is repeated after a pause
that doubles; after `failures_max` consecutive failed starts the supervisor gives up, and `on_give_up` gets the reason.
A process that became ready is always replaced, however often it is lost.

Callers request the process each time (`take`), so that none holds an ended one. This module does not depend on Spark;
the process is any :class:`Supervised`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from catalog.conditions import SparkRestarting, SparkUnavailable
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervision:
    """Times in seconds, and the number of consecutive failed starts after which the supervisor gives up.

    `wait_s`: how long a statement waits for an unavailable process. `stable_s`: a process that ran for less is replaced
    after `pause_s` and not immediately. `pause_s` and `pause_max_s`: after the first failed start, and at most.
    """

    silent_s: float = 5.0
    stuck_s: float = 60.0
    wait_s: float = 60.0
    failures_max: int = 5
    stable_s: float = 60.0
    pause_s: float = 1.0
    pause_max_s: float = 30.0


class Supervised(Protocol):
    """The interface for a supervised process; every method except `stop` returns immediately."""

    @property
    def illness(self) -> str | None:
        """Returns why the process is unusable, None if it is usable."""
        ...

    @property
    def silence_s(self) -> float:
        """Returns the seconds since its last answer."""
        ...

    @property
    def unstoppable(self) -> str | None:
        """Returns why a healthy process has to be replaced, for example because its work cannot be stopped."""
        ...

    def kill(self) -> None:
        """Ends the process by force, without waiting for it."""
        ...

    def stop(self) -> None:
        """Ends it gracefully, by force if that takes long."""
        ...


P = TypeVar("P", bound=Supervised)


class Supervisor(Generic[P]):
    """A supervisor: `start()` once, `stop()` once; thread-safe. `on_give_up` is called on the supervising thread."""

    def __init__(
        self,
        launch: Callable[[], P],
        policy: Supervision,
        on_give_up: Callable[[SqlError], None] = lambda error: None,
    ) -> None:
        self._launch = launch
        self._policy = policy
        self._on_give_up = on_give_up
        # Guards the fields below, and is notified after each change.
        self._changed = threading.Condition()
        self._process: P | None = None
        # The number of starts after the first one.
        self.restarts = 0
        # Why the process cannot be taken; None if it can.
        self._reason: str | None = "it is starting"
        self._failure: SqlError | None = None
        self._failed_start: Exception | None = None
        self._condemned: str | None = None
        # The last healthy process that was replaced.
        self._condemned_process: P | None = None
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="spark-supervisor", daemon=True)

    def start(self) -> None:
        """Starts the first process and raises its error."""
        self._began = time.monotonic()
        self._process = self._launch()
        self._reason = None
        self._thread.start()

    @property
    def unready_reason(self) -> str | None:
        """Returns why the process cannot be used now; None if it can."""
        process = self._process
        return self._reason or (process.illness if process is not None else None)

    @property
    def process(self) -> P:
        """Returns the newest process, in any state. Raises `SparkRestarting` if there is no process."""
        process = self._process
        if process is None:
            raise SparkRestarting(self._reason or "it is starting")
        return process

    def take(self, cancel: CancelToken | None = None) -> P:
        """Returns the process, once it is ready.

        Raises `SparkRestarting` after `wait_s` seconds, `SparkUnavailable` if the supervisor gave up, or the reason
        from `cancel`.
        """
        if (process := self._usable()) is not None:
            return process
        if cancel is not None:
            cancel.on_cancel(self._wake)
        with self._changed:
            self._changed.wait_for(lambda: self._may_end_waiting(cancel), self._policy.wait_s)
            process = self._usable()
            reason = self.unready_reason
            failure = self._failure
        if cancel is not None:
            cancel.ensure_live()
        if failure is not None:
            raise failure
        if process is None:
            raise SparkRestarting(reason or "it is starting")
        return process

    def was_condemned(self, process: P) -> bool:
        """Returns whether `process` was healthy when it was killed: its statements did not cause its end."""
        return process is self._condemned_process

    def restart(self, reason: str) -> None:
        """Requests that the process is killed and another one started; returns immediately."""
        with self._changed:
            self._condemned = self._condemned or reason
            self._changed.notify_all()

    def stop(self) -> None:
        """Ends the process and the supervision; waiting callers are notified."""
        with self._changed:
            is_well = self._usable() is not None
            self._is_stopping = True
            self._reason = "the server is shutting down"
            self._changed.notify_all()
        if (process := self._process) is not None and is_well:
            process.stop()
        elif process is not None:
            process.kill()
        if self._thread.is_alive():
            self._thread.join(_LOOK_EVERY_S * 10)  # does not wait for a start in progress: it ends with its process

    def _may_end_waiting(self, cancel: CancelToken | None) -> bool:
        is_cancelled = cancel is not None and cancel.reason is not None
        return self._usable() is not None or self._is_stopping or self._failure is not None or is_cancelled

    def _usable(self) -> P | None:
        """Returns the process, if it is ready according to the current state."""
        process = self._process
        return process if process is not None and self._reason is None and process.illness is None else None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        """Runs the supervision; after an unexpected error it gives up and reports it, instead of leaving a server
        without Spark.
        """
        try:
            self._supervise()
        except Exception as error:
            logger.critical("the supervision of Spark failed", exc_info=True)
            self._give_up(f"its supervision failed ({type(error).__name__}: {error})")

    def _supervise(self) -> None:
        while (reason := self._wait_for_failure()) is not None:
            # A process that dies right after its start would otherwise be restarted in a
            # tight loop.
            is_stable = time.monotonic() - self._began >= self._policy.stable_s or self.was_condemned(self.process)
            logger.error("Spark is restarted: %s", reason)
            self._bury(reason)
            if not self._replace_process(0.0 if is_stable else self._policy.pause_s):
                starts = self._policy.failures_max
                self._give_up(f"{starts} starts in a row failed, the last one because {self._failed_start or reason}")
                return

    def _replace_process(self, pause_s: float) -> bool:
        """Starts another process after `pause_s` seconds; returns whether it runs, or is no longer needed."""
        for number in range(self._policy.failures_max):
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopping, pause_s)
            if self._is_stopping or self._start_again():
                return True
            pause_s = min(self._policy.pause_s * 2**number, self._policy.pause_max_s)
        return self._is_stopping

    def _wait_for_failure(self) -> str | None:
        """Returns why the process must be replaced; None if the supervision ends."""
        process = self.process
        while True:
            with self._changed:
                if self._is_stopping:
                    return None
                silence_s = process.silence_s
                if (reason := self._verdict(process, silence_s)) is not None:
                    return reason
                # A long garbage collection stops Java for seconds; new statements wait,
                # running ones are not lost.
                silent = f"it has not answered for {silence_s:.0f} s" if silence_s > self._policy.silent_s else None
                if (silent is None) is not (self._reason is None):
                    logger.warning("Spark is not ready: %s" if silent else "Spark is ready again%s", silent or "")
                if silent != self._reason:
                    self._reason = silent
                    self._changed.notify_all()
                self._changed.wait(_LOOK_EVERY_S)

    def _verdict(self, process: P, silence_s: float) -> str | None:
        if process.illness is not None:
            return process.illness
        if silence_s > self._policy.stuck_s:
            return f"it has not answered for {silence_s:.0f} s"
        reason = self._condemned or process.unstoppable
        if reason is not None:
            # Remembered, so that the statements in it are repeated: they did nothing wrong.
            self._condemned_process = process
        return reason

    def _bury(self, reason: str) -> None:
        with self._changed:
            process, self._process, self._reason, self._condemned = self._process, None, reason, None
            self._changed.notify_all()
        if process is not None:
            process.kill()

    def _start_again(self) -> bool:
        began = time.monotonic()
        try:
            process = self._launch()
        except Exception as error:  # noqa: BLE001  for any error, another start may succeed
            logger.error("Spark did not start: %s", error)
            self._failed_start = error
            return False
        with self._changed:
            self._process = process
            self._began = time.monotonic()
            self.restarts += 1
            if not self._is_stopping:
                self._reason = self._condemned = None
                logger.warning("Spark is ready again, after %.1f s", self._began - began)
            self._changed.notify_all()
        if self._is_stopping:
            process.kill()
        return True

    def _give_up(self, reason: str) -> None:
        if self._is_stopping:
            return
        error = SparkUnavailable(reason)
        with self._changed:
            self._failure = error
            self._changed.notify_all()
        logger.critical("%s", error)
        self._on_give_up(error)
