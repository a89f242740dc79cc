"""Turns for this server's writers on a table, and pauses for writers elsewhere.

A commit is a race for the next version. One server's writers would cost each other attempts, so they take turns. It is
not possible to wait for writers elsewhere, and a writer with faster attempts wins nearly every race: an engine that
gives up after some lost attempts then hardly commits anything. Therefore a server that has seen other writers' commits
pauses before its next attempt after two commits in a row. The duration of the other writer's attempts is unknown: if
nobody commits during a pause, the next one is twice as long, and if several do, half as long. After a few unused pauses
the other writer is assumed to be gone, and the server continues without pauses until it sees another foreign commit. So
an occasional writer elsewhere costs little.
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

# Maximum number of tables with state; the least recently written one is evicted.
_TABLES_MAX = 1_000
# Commits in a row between two pauses.
_RUN = 2
# Maximum number of unused pauses in a row.
_PAUSES_MAX = 5
# Maximum ratio, in both directions, between a pause and the first one.
_RANGE = 8
# With more foreign commits than this between two of this server, the others commit more than this server.
_MANY = 2


class WriteQueue:
    """A server's turns on all tables, by location."""

    def __init__(self, yield_s: float = 0.1, others_s: float = 10.0) -> None:
        """Creates turns. `yield_s` is the first pause's length in seconds.

        `others_s` is the number of seconds for which pauses continue after a foreign commit.
        """
        self._locks = TableLocks()
        self._guard = threading.Lock()
        self._yield_s = yield_s
        self._others_s = others_s
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    @contextmanager
    def hold(self, table_root: str, cancel: CancelToken, wait_s_max: float = threading.TIMEOUT_MAX) -> Iterator[bool]:
        """Holds the table's turn for the block. Yields True if others may have committed in the meantime.

        After `wait_s_max` seconds the block runs without the turn. Raises the reason of `cancel` if it is canceled
        while waiting.
        """
        with self._locks.hold(table_root, cancel, wait_s_max) as has_waited:
            pause_s = self._next_pause_s(table_root)
            if pause_s is not None:
                cancel.pause(pause_s)
            yield has_waited or pause_s is not None

    def note_commit(self, table_root: str, version: int) -> None:
        """Records this server's commit. Versions between it and the previous one came from writers elsewhere."""
        with self._guard:
            run = self._runs.get(table_root) or _Run(pause_s=self._yield_s)
            # Versions are contiguous, so each one that this server did not write came from
            # another writer.
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
        """Returns the next pause in seconds, or None if no pause is due."""
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
    """This server's consecutive commits to a table."""

    # The last commit's version.
    version: int | None = None
    length: int = 0
    # The next pause's length in seconds.
    pause_s: float
    # Pauses since the last foreign commit.
    unused: int = 0
    is_pausing: bool = False
    # Time of the last foreign commit, on the monotonic clock.
    others_s: float = -math.inf
