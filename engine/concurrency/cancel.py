"""Cancelling: one switch for each run of a statement."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors.statement_errors import StatementCancelled, StatementTimedOut


class CancelToken:
    """A one-way switch shared by the thread that runs a statement and those that may end it.

    Callbacks run once, on the thread that cancels, and must not block for long; one that is registered after the
    switch was thrown runs at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: StatementCancelled | StatementTimedOut | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def reason(self) -> StatementCancelled | StatementTimedOut | None:
        """Why the statement ends, or None while it may go on."""
        return self._reason

    def cancel(self, reason: StatementCancelled | StatementTimedOut | None = None) -> None:
        """Throw the switch; the first reason stays."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason or StatementCancelled()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run `callback` when the switch is thrown (at once if it was)."""
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Do not run `callback` any more: a script would collect one for each of its statements."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def pause(self, seconds: float) -> None:
        """Wait so long. Raises the reason as soon as the switch is thrown."""
        thrown = threading.Event()
        self.on_cancel(thrown.set)
        thrown.wait(seconds)
        self.forget(thrown.set)
        self.ensure_live()

    def ensure_live(self) -> None:
        """Raise the reason if the statement was cancelled or ran out of time."""
        if self._reason is not None:
            raise self._reason
