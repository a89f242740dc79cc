"""Server-wide table locks, for statements that would otherwise only fail each other.

An INSERT into a table with identity columns, and SYNC IDENTITY, move high-water marks, so only one of two concurrent
ones can commit (`engine.enforcement.identity`). Within this server they therefore wait for each other before they bind:
the second one sees the first one's high-water marks, and no file is written twice. It is not possible to wait for
writers on other servers; a statement that loses to them is run again (`engine.concurrency.retry`).

Statements that remove a table's files, and statements that restore removed ones, wait for each other too: no file is
removed between the check that it exists and the commit that names it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from engine.concurrency.cancel import CancelToken


def file_lock(table_root: str) -> str:
    """Returns the lock key for statements that remove a table's files or restore removed ones."""
    return f"files of {table_root}"


class TableLocks:
    """Exclusive locks by key. Other statements wait until the lock is free or they are canceled."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: set[str] = set()

    @contextmanager
    def hold(self, key: str, cancel: CancelToken, wait_s_max: float = threading.TIMEOUT_MAX) -> Iterator[bool]:
        """Holds `key` for the block. Yields True if another statement held it before.

        After `wait_s_max` seconds the block runs without the lock. Raises the reason of `cancel` if it is canceled
        while waiting.
        """
        until_s, has_waited = time.monotonic() + wait_s_max, False
        cancel.on_cancel(self._wake)
        try:
            with self._changed:
                while key in self._held and (left_s := until_s - time.monotonic()) > 0:
                    has_waited = True
                    cancel.ensure_live()
                    self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
                is_held = key not in self._held
                if is_held:
                    self._held.add(key)
        finally:
            cancel.forget(self._wake)  # otherwise a script would collect one callback for each statement
        try:
            yield has_waited
        finally:
            if is_held:
                with self._changed:
                    self._held.discard(key)
                    self._changed.notify_all()

    @contextmanager
    def hold_all(self, keys: Iterable[str], cancel: CancelToken) -> Iterator[None]:
        """Holds all keys for the block. All callers acquire them in the same order, which prevents deadlocks."""
        with ExitStack() as held:
            for key in sorted(set(keys)):
                held.enter_context(self.hold(key, cancel))
            yield

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
