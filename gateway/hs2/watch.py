"""The thread that notices clients that die while a thread works for them, and ends that work.

A thread in a synchronous statement, a held status call or a fetch does not read from its client. So all clients that
are being answered are registered here, and what is to be done when one hangs up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gateway.sessions.hangups import hung_up

WATCH_EVERY_S = 0.2


class Watch:
    """`run` looks until `is_stopping`; thread-safe."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._busy: dict[int, Callable[[], None]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def over(self, descriptor: int, hang_up: Callable[[], None]) -> Iterator[None]:
        """While the block runs, `hang_up` is called if the client at `descriptor` hangs up.

        It is called on the watching thread, more than once where the block runs on, and must not raise.
        """
        with self._lock:
            self._busy[descriptor] = hang_up
        try:
            yield
        finally:
            with self._lock:
                self._busy.pop(descriptor, None)

    def run(self) -> None:
        while not self._stopping.wait(WATCH_EVERY_S):
            with self._lock:
                busy = dict(self._busy)
            for descriptor in hung_up(busy):
                busy[descriptor]()
