"""The next answer to FetchResults, made while its client reads the one before.

Clients ask for a result's pages one after the other, with the same limits, and are busy with each for longer than it
takes to make. So a page is made ahead, of rows that are there; it is given out if the next call asks for just that, and
else forgotten. Pages that nobody asked for yet are bounded together, the oldest go first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from gateway.results.result_buffer import Page
from gateway.sessions.operation import Operation

_THREADS = 2
Limits = tuple[int, int, bool]
"""Rows and bytes of a page, and whether the result's metadata goes with it."""
Pieces = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    page: Page
    pieces: Pieces
    size: int


class NextPages:
    """Thread-safe; holds at most about `bytes_max`."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._threads = ThreadPoolExecutor(_THREADS, "next-page")
        self._lock = threading.Lock()
        self._pages: WeakKeyDictionary[Operation, tuple[Limits, Future[_Made | None]]] = WeakKeyDictionary()

    def take(self, operation: Operation, limits: Limits) -> tuple[Page, Pieces] | None:
        """The operation's next page with these limits, if it was made ahead; the operation moves on behind it."""
        with self._lock:
            asked, future = self._pages.pop(operation, (None, None))
        if future is None or asked != limits or future.cancel():
            return None
        made = future.result()
        return (made.page, made.pieces) if made is not None and operation.skip(made.page) else None

    def make(self, operation: Operation, limits: Limits, encode: Callable[[Page], Pieces]) -> None:
        """Begin to make the operation's next page."""
        rows_max, bytes_max, _ = limits

        def run() -> _Made | None:
            page = operation.next_page(rows_max, bytes_max)
            if page is None:
                return None
            content = b"".join(encode(page))
            return _Made(page, (content,), len(content))

        future = self._threads.submit(run)
        with self._lock:
            self._pages.pop(operation, None)
            self._pages[operation] = limits, future
        future.add_done_callback(lambda _: self._keep_within_limit())

    def _keep_within_limit(self) -> None:
        with self._lock:
            sizes = {operation: _size(future) for operation, (_, future) in self._pages.items()}
            excess = sum(sizes.values()) - self._bytes_max
            for operation, size in sizes.items():
                if excess <= 0:
                    break
                del self._pages[operation]
                excess -= size


def _size(future: Future[_Made | None]) -> int:
    if not future.done() or future.cancelled() or future.exception() is not None:
        return 0
    made = future.result()
    return made.size if made else 0
