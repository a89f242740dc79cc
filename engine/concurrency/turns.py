"""Turns of this server's writers at a table, and room for writers elsewhere.

A commit is a race for the next version. Writers of one server would lose attempts to each other, so they take turns.
Writers elsewhere cannot be waited for, and a writer whose attempts are quicker than another's wins nearly every race:
an engine that gives up after some lost attempts then commits next to nothing. A server that has seen commits of others
therefore pauses before its next attempt, once it has made a few commits in a row. A pause ends after `yield_s`; where
nobody commits in it, twice as many commits are made before the next one, so that a writer elsewhere that commits only
now and then costs next to nothing.
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
_RUN_MIN, _RUN_MAX = 2, 64
"""Commits in a row between two pauses: at first, and where nobody has used the last pauses."""


class Turns:
    """The turns at all tables of a server, by location."""

    def __init__(self, yield_s: float = 0.1, others_s: float = 10.0) -> None:
        """`yield_s` is the length of a pause; `others_s` is how long pauses are made after a commit of a writer
        elsewhere.
        """
        self._locks, self._guard = TableLocks(), threading.Lock()
        self._yield_s, self._others_s = yield_s, others_s
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    @contextmanager
    def hold(self, table_root: str, cancel: CancelToken, wait_s_max: float = threading.TIMEOUT_MAX) -> Iterator[bool]:
        """Hold the turn at a table for the block, and say whether others may have committed while it was waited for;
        after `wait_s_max` the block runs without. Raises what `cancel` says when it is thrown while waiting.
        """
        with self._locks.hold(table_root, cancel, wait_s_max) as has_waited:
            is_pausing = self._is_pausing(table_root)
            if is_pausing:
                cancel.pause(self._yield_s)
            yield has_waited or is_pausing

    def committed(self, table_root: str, version: int) -> None:
        """Count a commit of this server. Versions between it and the last one are those of writers elsewhere."""
        with self._guard:
            run = self._runs.get(table_root, _Run())
            now_s = time.monotonic()
            if run.version is not None and version > run.version + 1:
                run = _Run(others_s=now_s, length_max=_RUN_MIN)
            elif run.is_pausing:
                run = _Run(others_s=run.others_s, length_max=min(run.length_max * 2, _RUN_MAX))
            self._runs[table_root] = replace(run, version=version, length=run.length + 1)
            self._runs.move_to_end(table_root)
            while len(self._runs) > _TABLES_MAX:
                self._runs.popitem(last=False)

    def _is_pausing(self, table_root: str) -> bool:
        with self._guard:
            run = self._runs.get(table_root)
            if run is None or run.length < run.length_max or time.monotonic() > run.others_s + self._others_s:
                return False
            self._runs[table_root] = replace(run, is_pausing=True)
            return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Commits of this server in a row."""

    version: int | None = None
    """The last one's."""
    length: int = 0
    length_max: int = _RUN_MIN
    """After so many a pause is made."""
    is_pausing: bool = False
    others_s: float = -math.inf
    """When the last commit of a writer elsewhere was seen."""
