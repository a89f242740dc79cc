"""Requests that wait for their statement: bounded in number, and ended when their client disconnects.

A waiting request holds a thread in the HTTP pool. Not all threads may wait (`WaitQueue`), so that status requests and
health checks always get a response. A client that disconnects before it received its statement's id can neither fetch
nor cancel it; its statement is cancelled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.sessions.operation import Operation
from gateway.sessions.watch import find_disconnected

_LOOK_EVERY_S = 0.25
_RESERVED_THREADS = 3


class WaitQueue:
    """Slots for waiting requests."""

    def __init__(self, threads: int) -> None:
        self.places = max(1, threads - _RESERVED_THREADS)
        self._free = threading.BoundedSemaphore(self.places)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Holds a slot; yields False if there is none."""
        taken = self._free.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self._free.release()


def wait_for_end(operation: Operation, seconds: float, client: int | None) -> bool:
    """Waits until the operation ended or `seconds` passed; returns False as soon as the client disconnects.

    `client` is its socket's file descriptor.
    """
    end = time.monotonic() + seconds
    while not operation.state.is_terminal and (left := end - time.monotonic()) > 0:
        is_over = operation.wait(min(left, _LOOK_EVERY_S)).is_terminal
        if not is_over and client is not None and find_disconnected([client]):
            return False
    return True
