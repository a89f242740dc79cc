"""Requests that wait for their statement: bounded in number, and ended when their client goes away.

A waiting request holds a thread of the HTTP pool. So that status requests and health checks are always answered, not
all threads may wait (`WaitingRoom`). A client that hangs up before it was told its statement's id can neither fetch
nor cancel it; its statement is cancelled rather than left running for nobody.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.operation import Operation

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


def wait_for_end(operation: Operation, seconds: float, client: socket.socket | None) -> bool:
    """Wait until the operation ended or `seconds` passed; False as soon as the client hangs up."""
    end = time.monotonic() + seconds
    while not operation.state.is_terminal and (left := end - time.monotonic()) > 0:
        if not operation.wait(min(left, _LOOK_EVERY_S)).is_terminal and client and _has_hung_up(client):
            return False
    return True


def _has_hung_up(client: socket.socket) -> bool:
    """Whether the client closed its side: the socket is readable and has nothing to read."""
    poll = select.poll()
    try:
        poll.register(client, select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(poll.poll(0)) and not client.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):
        return True
