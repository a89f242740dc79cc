"""Cancellation: one token for each run of a statement.

Before the commit is written, the run seals its token. From then on the commit's outcome is the statement's outcome:
users rerun a statement that was reported as canceled, and rows that were committed would then be there twice.
Cancellation requests are deferred, and take effect when the run reopens the token, because the attempt lost to another
writer or because more work follows: a script's next statement, the next step. A run that ends sealed was not canceled.
Work after a commit that does not affect the outcome has its own token (`follower`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from catalog.conditions import StatementCancelled, StatementTimedOut

Reason = StatementCancelled | StatementTimedOut


class CancelToken:
    """A token shared by the thread that runs a statement and the threads that may cancel it; canceled at most once.

    Callbacks run once, in order, on the thread that cancels or reopens, and must not block for long. A callback that is
    registered after the cancellation runs immediately.
    """

    def __init__(self) -> None:
        # Guards all fields below.
        self._lock = threading.Lock()
        self._reason: Reason | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._is_sealed = False
        self._deferred: Reason | None = None
        self._follower: CancelToken | None = None

    @property
    def reason(self) -> Reason | None:
        """Returns the reason for the cancellation, or None if the statement may continue."""
        return self._reason

    @property
    def is_sealed(self) -> bool:
        """Returns True if a commit may have been written since the token was last opened."""
        return self._is_sealed

    def cancel(self, reason: Reason | None = None) -> bool:
        """Cancels the statement; the first reason is kept.

        Returns False if the token is sealed and the reason is deferred.
        """
        reason = reason or StatementCancelled()
        with self._lock:
            is_sealed, follower = self._is_sealed, self._follower
            if is_sealed:
                self._deferred = self._deferred or reason
            callbacks = [] if is_sealed else self._throw(reason)
        for callback in callbacks:
            callback()
        if follower is not None:
            follower.cancel(reason)
        return not is_sealed

    def seal(self) -> None:
        """Defers cancellation requests from now on. Raises the reason if the statement was canceled."""
        with self._lock:
            self._is_sealed = self._reason is None
        self.ensure_live()

    def reopen(self) -> None:
        """Undoes :meth:`seal` and applies a deferred cancellation. Raises the reason if the statement was canceled."""
        with self._lock:
            self._is_sealed = False
            self._follower = None
            deferred, self._deferred = self._deferred, None
            callbacks = self._throw(deferred) if deferred else []
        for callback in callbacks:
            callback()
        self.ensure_live()

    def follower(self) -> CancelToken:
        """Returns a token that any cancellation request cancels, sealed or not, until this one is reopened."""
        follower = CancelToken()
        with self._lock:
            reason = self._reason or self._deferred
            self._follower = follower
        if reason is not None:
            follower.cancel(reason)
        return follower

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Registers `callback` for cancellation; runs it immediately if already canceled."""
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Unregisters `callback`; otherwise a script would collect one for each statement."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def pause(self, seconds: float) -> None:
        """Waits for `seconds`. Raises the reason as soon as the statement is canceled."""
        thrown = threading.Event()
        self.on_cancel(thrown.set)
        thrown.wait(seconds)
        self.forget(thrown.set)
        self.ensure_live()

    def ensure_live(self) -> None:
        """Raises the reason if the statement was canceled or timed out."""
        if self._reason is not None:
            raise self._reason

    def _throw(self, reason: Reason) -> list[Callable[[], None]]:
        """Returns the callbacks that are due; the caller holds the lock and runs them without it."""
        if self._reason is not None:
            return []
        self._reason = reason
        callbacks, self._callbacks = self._callbacks, []
        return callbacks
