"""Locks of this server on tables, for statements that would only fail each other.

An INSERT into a table with identity columns, and SYNC IDENTITY, move high-water marks, so that of two that run at once
only one can commit (`engine.enforce.identity`). Within this server they therefore wait for each other before they bind:
the second one sees the high-water marks that the first one left, and no file is written twice. Writers of other servers
cannot be waited for; who loses to them is run again (`engine.concurrency.retry`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.concurrency.cancel import CancelToken


class TableLocks:
    """At most one holder for each key; the others wait, until their statement is cancelled."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: set[str] = set()

    @contextmanager
    def hold(self, key: str, cancel: CancelToken) -> Iterator[None]:
        """Hold `key` for the block. Raises what `cancel` says when it is thrown while waiting."""
        cancel.on_cancel(self._wake)
        try:
            with self._changed:
                while key in self._held:
                    cancel.ensure_live()
                    self._changed.wait()
                self._held.add(key)
        finally:
            cancel.forget(self._wake)  # a script would collect one for each of its statements
        try:
            yield
        finally:
            with self._changed:
                self._held.discard(key)
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
