"""The thread that detects disconnected clients while other threads work for them, and ends that work.

A thread in a synchronous statement, a delayed status call or a fetch does not read from its client. All clients with a
call in progress are therefore registered here, with a callback for their disconnection.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

WATCH_EVERY_S = 0.2


class Watch:
    """Watches clients. `run` polls until `is_stopping`; thread-safe."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._busy: dict[int, Callable[[], None]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def over(self, descriptor: int, hang_up: Callable[[], None]) -> Iterator[None]:
        """Calls `hang_up` within the block if the client at `descriptor` disconnects.

        It is called on the watching thread, possibly repeatedly while the block runs, and must not raise.
        """
        with self._lock:
            self._busy[descriptor] = hang_up
        try:
            yield
        finally:
            with self._lock:
                self._busy.pop(descriptor, None)

    def run(self) -> None:
        """Polls the sockets of busy clients until the end, and ends the work for disconnected ones."""
        while not self._stopping.wait(WATCH_EVERY_S):
            with self._lock:
                # Copied, because `poll` must not hold the lock that each call takes twice.
                busy = dict(self._busy)
            for descriptor in find_disconnected(busy):
                busy[descriptor]()


_DISCONNECTED = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


def find_disconnected(descriptors: Iterable[int]) -> list[int]:
    """Returns the descriptors whose client closed its side, or whose socket is closed here (-1 is none), without
    blocking.
    """
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, _DISCONNECTED)
    return [descriptor for descriptor, _ in poll.poll(0)]
