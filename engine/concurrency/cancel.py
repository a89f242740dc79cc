"""Cancelling: one switch for each run of a statement.

Before a commit is put the run seals its switch. From then on the outcome of the commit is the outcome of the statement:
a statement that was told to be cancelled is run again by its user, and rows that were committed would be there twice.
What asks for an end is kept back, and takes effect when the run reopens the switch, because the attempt has lost to
another writer or because there is more to do: the next statement of a script, the next step. A run that ends sealed
was not cancelled. Work behind a commit that the outcome does not depend on has a switch of its own (`follower`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from catalog.conditions import StatementCancelled, StatementTimedOut

Reason = StatementCancelled | StatementTimedOut


class CancelToken:
    """A switch shared by the thread that runs a statement and those that may end it; thrown once.

    Callbacks run once, in their order, on the thread that cancels or reopens, and must not block for long; one that is
    registered after the switch was thrown runs at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards all below."""
        self._reason: Reason | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._is_sealed = False
        self._kept_back: Reason | None = None
        self._follower: CancelToken | None = None

    @property
    def reason(self) -> Reason | None:
        """Why the statement ends, or None while it may go on."""
        return self._reason

    @property
    def is_sealed(self) -> bool:
        """Whether a commit may have been put since the switch was opened last."""
        return self._is_sealed

    def cancel(self, reason: Reason | None = None) -> bool:
        """Throw the switch; the first reason stays. False: it is sealed, and the reason is kept back."""
        reason = reason or StatementCancelled()
        with self._lock:
            is_sealed, follower = self._is_sealed, self._follower
            if is_sealed:
                self._kept_back = self._kept_back or reason
            callbacks = [] if is_sealed else self._throw(reason)
        for callback in callbacks:
            callback()
        if follower is not None:
            follower.cancel(reason)
        return not is_sealed

    def seal(self) -> None:
        """Keep back what asks for an end from now on. Raises the reason if the switch was thrown."""
        with self._lock:
            self._is_sealed = self._reason is None
        self.ensure_live()

    def reopen(self) -> None:
        """Undo :meth:`seal`: throw the switch if that was asked for since. Raises the reason if it was thrown."""
        with self._lock:
            self._is_sealed = False
            self._follower = None
            kept_back, self._kept_back = self._kept_back, None
            callbacks = self._throw(kept_back) if kept_back else []
        for callback in callbacks:
            callback()
        self.ensure_live()

    def follower(self) -> CancelToken:
        """A switch that is thrown, until this one is reopened, by whatever asks for an end, sealed or not."""
        follower = CancelToken()
        with self._lock:
            reason = self._reason or self._kept_back
            self._follower = follower
        if reason is not None:
            follower.cancel(reason)
        return follower

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

    def _throw(self, reason: Reason) -> list[Callable[[], None]]:
        """The callbacks that are due; the caller has the lock, and runs them without it."""
        if self._reason is not None:
            return []
        self._reason = reason
        callbacks, self._callbacks = self._callbacks, []
        return callbacks
