"""Prefetch of the next FetchResults response, while its client reads the preceding one.

Clients request a result's pages one after the other, with the same limits, and process each for longer than it takes to
create. So the next page is created in advance, from available rows; it is used if the next call requests exactly that
page, and discarded otherwise. All prefetched pages together are bounded; the oldest are evicted first.
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
# A page's rows and bytes, and True if it includes the result's metadata.
Limits = tuple[int, int, bool]
Pieces = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _EncodedPage:
    page: Page
    pieces: Pieces
    size: int


class NextPages:
    """Prefetched pages. Thread-safe; holds at most about `bytes_max`."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._threads = ThreadPoolExecutor(_THREADS, "next-page")
        self._lock = threading.Lock()
        self._pages: WeakKeyDictionary[Operation, tuple[Limits, Future[_EncodedPage | None]]] = WeakKeyDictionary()

    def take(self, operation: Operation, limits: Limits) -> tuple[Page, Pieces] | None:
        """Returns the operation's prefetched page with these limits, if there is one, and advances the operation."""
        with self._lock:
            window, future = self._pages.pop(operation, (None, None))
        # A task that has not started is cancelled: creating the page here takes no longer
        # than waiting for it.
        if future is None or window != limits or future.cancel():
            return None
        made = future.result()
        # The position advances only now, since a client that fetches from the start must
        # not skip the prefetched rows.
        return (made.page, made.pieces) if made is not None and operation.skip(made.page) else None

    def make(self, operation: Operation, limits: Limits, encode: Callable[[Page], Pieces]) -> None:
        """Starts creating the operation's next page."""
        rows_max, bytes_max, _ = limits

        def run() -> _EncodedPage | None:
            page = operation.next_page(rows_max, bytes_max)
            if page is None:
                return None
            content = b"".join(encode(page))
            return _EncodedPage(page, (content,), len(content))

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


def _size(future: Future[_EncodedPage | None]) -> int:
    if not future.done() or future.cancelled() or future.exception() is not None:
        return 0
    made = future.result()
    return made.size if made else 0
