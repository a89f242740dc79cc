"""Requests that wait for their statement: bounded in number, and ended when their client goes away.

A waiting request holds a thread of the HTTP pool. So that status requests and health checks are always answered, not
all threads may wait (`WaitingRoom`). A client that hangs up before it was told its statement's id can neither fetch
nor cancel it; its statement is cancelled rather than left running for nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.sessions.hangups import hung_up
from gateway.sessions.operation import Operation

_LOOK_EVERY_S = 0.25
_RESERVED_THREADS = 3


class WaitingRoom:
    """Places for requests that wait."""

    def __init__(self, threads: int) -> None:
        self.places = max(1, threads - _RESERVED_THREADS)
        self._free = threading.BoundedSemaphore(self.places)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Hold a place; False where none is free."""
        taken = self._free.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self._free.release()


def wait_for_end(operation: Operation, seconds: float, client: int | None) -> bool:
    """Wait until the operation ended or `seconds` passed; False as soon as the client hangs up.

    `client` is the file descriptor of its socket.
    """
    end = time.monotonic() + seconds
    while not operation.state.is_terminal and (left := end - time.monotonic()) > 0:
        is_over = operation.wait(min(left, _LOOK_EVERY_S)).is_terminal
        if not is_over and client is not None and hung_up([client]):
            return False
    return True
