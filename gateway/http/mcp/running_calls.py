"""Calls of tools in flight, so that a client's `notifications/cancelled` finds their statements.

A notification names the id of a request, which is unique within the client's session (`Mcp-Session-Id`). The server
makes that id for `initialize`, and keeps nothing about it: any gateway takes any id, and it only distinguishes clients
of one user. Clients of the stateless versions end a call by closing its connection instead.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gateway.sessions.operation import Operation


@dataclass(slots=True)
class Call:
    """A call in flight. Thread-safe."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _operation: Operation | None = None
    _is_cancelled: bool = False

    def attach(self, operation: Operation) -> None:
        """Sets the call's statement, which is cancelled at once if the call was cancelled before."""
        with self._lock:
            self._operation, is_cancelled = operation, self._is_cancelled
        if is_cancelled:
            operation.cancel()

    def cancel(self) -> None:
        """Cancels the call's statement, or the one that is attached later."""
        with self._lock:
            self._is_cancelled, operation = True, self._operation
        if operation is not None:
            operation.cancel()


class RunningCalls:
    """The calls in flight by client and request id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[Hashable, Call] = {}

    @contextmanager
    def call(self, key: Hashable | None) -> Iterator[Call]:
        """Yields a new call; None for a client whose notifications could be another one's."""
        call = Call()
        if key is None:
            yield call
            return
        with self._lock:
            self._calls[key] = call
        try:
            yield call
        finally:
            with self._lock:
                if self._calls.get(key) is call:
                    del self._calls[key]

    def find(self, key: Hashable) -> Call | None:
        """Returns the call in flight; None if it has ended."""
        with self._lock:
            return self._calls.get(key)
