"""Statements that would fail each other take turns, and what lost to another writer is run again.

An INSERT into a table with identity columns, and SYNC IDENTITY, move high-water marks, so that of two that run at once
only one can commit (`engine.enforce.identity`). Within this server they therefore wait for each other before they bind:
the one behind sees the marks that the one before it left, and no file is written twice. Writers elsewhere cannot be
waited for. Whoever loses to them is run again from binding on, on the table as it is then, so that it gives out other
values; a statement that loses `ATTEMPTS_MAX` times fails with the conflict. Before it is run again it waits for a
random time, which may be twice as long after each loss: those who met once are not to meet again, and the more there
are, the more room they make.

Nothing is visible of a lost attempt, and its files are removed, so running it again is what the user would have to do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.runtime.context import CancelToken


class Turns:
    """At most one holder for each key; the others wait, until their statement is cancelled."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: set[str] = set()

    @contextmanager
    def take(self, key: str, cancel: CancelToken) -> Iterator[None]:
        """Hold `key` for the block. Raises what `cancel` says when it is thrown while waiting."""
        cancel.on_cancel(self._wake)
        with self._changed:
            while key in self._held:
                cancel.ensure_live()
                self._changed.wait()
            self._held.add(key)
        try:
            yield
        finally:
            with self._changed:
                self._held.discard(key)
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
