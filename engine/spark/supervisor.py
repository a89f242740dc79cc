"""Keeps one process running: notices that it ended, fell ill or stopped answering, and starts it again.

    RUNNING ──► SILENT ──► AWAY ──► RUNNING ──► …
       └───────────────────►└─────► GIVEN UP

A process is asked for a beat all the time. Without one for `silent_s` seconds it counts as not ready: those who need
it wait. After `stuck_s` seconds, or as soon as it ended or says itself that it is of no more use, it is killed, and
another one starts: at once, or after `pause_s` if it ran for less than `stable_s`. A start that fails is repeated
after a pause that doubles; after `failures_max` starts in a row of which none became ready there is no other, and
`on_give_up` gets the reason. However often a process that was ready is lost, another one starts.

Callers ask for the process each time (`take`), so that none keeps one that is gone. Nothing here knows
Spark; the process is anything that is a :class:`Supervised`.
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
    """Seconds, and the number of failed starts in a row after which there is no other.

    `wait_s`: how long a statement waits for a process that is away. `stable_s`: a process that ran for less is replaced
    after `pause_s` and not at once. `pause_s` and `pause_max_s`: after the first failed start, and at most.
    """

    silent_s: float = 5.0
    stuck_s: float = 60.0
    wait_s: float = 60.0
    failures_max: int = 5
    stable_s: float = 60.0
    pause_s: float = 1.0
    pause_max_s: float = 30.0


class Supervised(Protocol):
    """What a process must offer; every method but `stop` returns at once."""

    @property
    def illness(self) -> str | None:
        """Why the process is of no more use, None while it is."""
        ...

    @property
    def silence_s(self) -> float:
        """Seconds since it last answered."""
        ...

    @property
    def unstoppable(self) -> str | None:
        """Why the process has to be replaced though it is well, such as work in it that nothing ends."""
        ...

    def kill(self) -> None: ...

    def stop(self) -> None:
        """End it in good order, by force where that takes long."""
        ...


P = TypeVar("P", bound=Supervised)


class Supervisor(Generic[P]):
    """`start()` once, `stop()` once; thread-safe. `on_give_up` is called on the thread that supervises."""

    def __init__(
        self,
        launch: Callable[[], P],
        policy: Supervision,
        on_give_up: Callable[[SqlError], None] = lambda error: None,
    ) -> None:
        self._launch = launch
        self._policy = policy
        self._on_give_up = on_give_up
        self._changed = threading.Condition()
        """Guards all below, and is notified whenever any of it changes."""
        self._process: P | None = None
        self.restarts = 0
        """Starts after the first one."""
        self._reason: str | None = "it is starting"
        """Why the process cannot be taken; None where it can."""
        self._failure: SqlError | None = None
        self._failed_start: Exception | None = None
        self._condemned: str | None = None
        self._condemned_process: P | None = None
        """The last process that was well and was replaced nevertheless."""
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="spark-supervisor", daemon=True)

    def start(self) -> None:
        """The first start, whose error is raised."""
        self._began = time.monotonic()
        self._process = self._launch()
        self._reason = None
        self._thread.start()

    @property
    def unready_reason(self) -> str | None:
        """Why the process cannot be used now; None where it can."""
        process = self._process
        return self._reason or (process.illness if process is not None else None)

    @property
    def process(self) -> P:
        """The newest one, in whatever state. Raises `SparkRestarting` while there is none."""
        process = self._process
        if process is None:
            raise SparkRestarting(self._reason or "it is starting")
        return process

    def take(self, cancel: CancelToken | None = None) -> P:
        """The process, once it is ready.

        Raises `SparkRestarting` after `wait_s` seconds, `SparkUnavailable` where there will be none, or the reason of
        `cancel`.
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
        """Returns whether `process` was well when it was killed: what ran in it did not cause its end."""
        return process is self._condemned_process

    def restart(self, reason: str) -> None:
        """Have the process killed and another one started; returns at once."""
        with self._changed:
            self._condemned = self._condemned or reason
            self._changed.notify_all()

    def stop(self) -> None:
        """End the process and the supervision; waiting callers are told."""
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
            self._thread.join(_LOOK_EVERY_S * 10)  # not for a start that is under way: that ends with its process

    def _may_end_waiting(self, cancel: CancelToken | None) -> bool:
        is_cancelled = cancel is not None and cancel.reason is not None
        return self._usable() is not None or self._is_stopping or self._failure is not None or is_cancelled

    def _usable(self) -> P | None:
        """The process, where it is ready as far as is known at this moment."""
        process = self._process
        return process if process is not None and self._reason is None and process.illness is None else None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        """A supervision that ends by an error would leave a server that never has Spark again: it gives up, aloud."""
        try:
            self._supervise()
        except Exception as error:
            logger.critical("the supervision of Spark failed", exc_info=True)
            self._give_up(f"its supervision failed ({type(error).__name__}: {error})")

    def _supervise(self) -> None:
        while (reason := self._wait_for_failure()) is not None:
            is_stable = time.monotonic() - self._began >= self._policy.stable_s or self.was_condemned(self.process)
            logger.error("Spark is restarted: %s", reason)
            self._bury(reason)
            if not self._replaced(0.0 if is_stable else self._policy.pause_s):
                starts = self._policy.failures_max
                self._give_up(f"{starts} starts in a row failed, the last one because {self._failed_start or reason}")
                return

    def _replaced(self, pause_s: float) -> bool:
        """Starts another process after `pause_s` seconds; returns whether there is one, or need be none any more."""
        for number in range(self._policy.failures_max):
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopping, pause_s)
            if self._is_stopping or self._start_again():
                return True
            pause_s = min(self._policy.pause_s * 2**number, self._policy.pause_max_s)
        return self._is_stopping

    def _wait_for_failure(self) -> str | None:
        """Why the process must be replaced; None where the supervision ends."""
        process = self.process
        while True:
            with self._changed:
                if self._is_stopping:
                    return None
                silence_s = process.silence_s
                if (reason := self._verdict(process, silence_s)) is not None:
                    return reason
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
        except Exception as error:  # noqa: BLE001  whatever it is, another start may fare better
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
