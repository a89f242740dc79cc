"""Locks of this server on tables, for statements that would only fail each other.

An INSERT into a table with identity columns, and SYNC IDENTITY, move high-water marks, so that of two that run at once
only one can commit (`engine.enforcement.identity`). Within this server they therefore wait for each other before they
bind: the second one sees the high-water marks that the first one left, and no file is written twice. Writers of other
servers cannot be waited for; who loses to them is run again (`engine.concurrency.retry`).

Those that remove files of a table, and those that bring removed ones back into one, wait for each other too: no file
goes between the look for it and the commit that names it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from engine.concurrency.cancel import CancelToken


def file_lock(table_root: str) -> str:
    """What those hold who remove files of a table, or bring removed ones back."""
    return f"files of {table_root}"


class TableLocks:
    """At most one holder for each key; the others wait, until their statement is cancelled."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: set[str] = set()

    @contextmanager
    def hold(self, key: str, cancel: CancelToken, wait_s_max: float = threading.TIMEOUT_MAX) -> Iterator[bool]:
        """Hold `key` for the block, and say whether another one held it before; after `wait_s_max` the block runs
        without. Raises what `cancel` says when it is thrown while waiting.
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
            cancel.forget(self._wake)  # a script would collect one for each of its statements
        try:
            yield has_waited
        finally:
            if is_held:
                with self._changed:
                    self._held.discard(key)
                    self._changed.notify_all()

    @contextmanager
    def hold_all(self, keys: Iterable[str], cancel: CancelToken) -> Iterator[None]:
        """Hold all of them for the block, taken in one order by everyone."""
        with ExitStack() as held:
            for key in sorted(set(keys)):
                held.enter_context(self.hold(key, cancel))
            yield

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
