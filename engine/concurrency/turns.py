"""Turns of this server's writers at a table, and room for writers elsewhere.

A commit is a race for the next version. Writers of one server would lose attempts to each other, so they take turns.
Writers elsewhere cannot be waited for, and a writer whose attempts are quicker than another's wins nearly every race:
an engine that gives up after some lost attempts then commits next to nothing. A server that has seen commits of others
therefore pauses before its next attempt, once it has made two commits in a row. How long an attempt of the other takes
is not known: where nobody commits in a pause, the next one takes twice as long, and where several do, half as long.
After a few pauses that nobody has used the other has gone, and the server goes on without until it sees a commit of
others again, so that a writer elsewhere that commits only now and then costs little.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from engine.concurrency.cancel import CancelToken
from engine.concurrency.table_locks import TableLocks

_TABLES_MAX = 1_000
"""Tables that are remembered; the one that was written longest ago is forgotten first."""
_RUN = 2
"""Commits in a row between two pauses."""
_PAUSES_MAX = 5
"""Pauses in a row that nobody has used."""
_RANGE = 8
"""A pause is at most so many times as long, or as short, as the first one."""
_MANY = 2
"""Commits of others between two of this server that are more than its own."""


class Turns:
    """The turns at all tables of a server, by location."""

    def __init__(self, yield_s: float = 0.1, others_s: float = 10.0) -> None:
        """`yield_s` is the length of the first pause; `others_s` is how long pauses are made after a commit of a writer
        elsewhere.
        """
        self._locks = TableLocks()
        self._guard = threading.Lock()
        self._yield_s = yield_s
        self._others_s = others_s
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    @contextmanager
    def hold(self, table_root: str, cancel: CancelToken, wait_s_max: float = threading.TIMEOUT_MAX) -> Iterator[bool]:
        """Hold the turn at a table for the block, and say whether others may have committed while it was waited for;
        after `wait_s_max` the block runs without. Raises what `cancel` says when it is thrown while waiting.
        """
        with self._locks.hold(table_root, cancel, wait_s_max) as has_waited:
            pause_s = self._next_pause_s(table_root)
            if pause_s is not None:
                cancel.pause(pause_s)
            yield has_waited or pause_s is not None

    def committed(self, table_root: str, version: int) -> None:
        """Count a commit of this server. Versions between it and the last one are those of writers elsewhere."""
        with self._guard:
            run = self._runs.get(table_root) or _Run(pause_s=self._yield_s)
            others = 0 if run.version is None else max(0, version - run.version - 1)
            if others:
                pause_s = run.pause_s / 2 if others > _MANY else run.pause_s
                run = _Run(others_s=time.monotonic(), pause_s=max(pause_s, self._yield_s / _RANGE))
            elif run.is_pausing:
                pause_s = min(run.pause_s * 2, self._yield_s * _RANGE)
                run = replace(run, length=0, pause_s=pause_s, unused=run.unused + 1, is_pausing=False)
            self._runs[table_root] = replace(run, version=version, length=run.length + 1)
            self._runs.move_to_end(table_root)
            while len(self._runs) > _TABLES_MAX:
                self._runs.popitem(last=False)

    def _next_pause_s(self, table_root: str) -> float | None:
        """None: there is none now."""
        with self._guard:
            run = self._runs.get(table_root)
            if run is None or run.length < _RUN or run.unused >= _PAUSES_MAX:
                return None
            if time.monotonic() > run.others_s + self._others_s:
                return None
            self._runs[table_root] = replace(run, is_pausing=True)
            return run.pause_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Commits of this server in a row."""

    version: int | None = None
    """The last one's."""
    length: int = 0
    pause_s: float
    """The length of the next pause."""
    unused: int = 0
    """Pauses since the last commit of others."""
    is_pausing: bool = False
    others_s: float = -math.inf
    """When the last commit of a writer elsewhere was seen."""
