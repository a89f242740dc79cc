"""Turns for this server's writers on a table.

A commit is a race for the next version. One server's writers would cost each other attempts, so they take turns. It is
not possible to wait for writers elsewhere; instead, the holder of a turn pauses if it is due (`commit_run`).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from engine.concurrency.cancel import CancelToken
from engine.concurrency.commit_run import CommitRun
from engine.concurrency.table_locks import TableLocks

# Maximum number of tables with state; the least recently written one is evicted.
_TABLES_MAX = 1_000
# Parts of a pause after which the server looks for a foreign commit, and the shortest part, in seconds.
_PARTS, _PART_S_MIN = 10, 0.01


class WriteQueue:
    """A server's turns on all tables, by location."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates turns. `clock` returns seconds."""
        self._locks = TableLocks()
        self._guard = threading.Lock()
        self._clock = clock
        self._runs: OrderedDict[str, CommitRun] = OrderedDict()

    @contextmanager
    def hold(
        self,
        table_root: str,
        cancel: CancelToken,
        wait_s_max: float = threading.TIMEOUT_MAX,
        has_version: Callable[[int], bool] | None = None,
    ) -> Iterator[bool]:
        """Holds the table's turn for the block. Yields True if others may have committed in the meantime.

        After `wait_s_max` seconds the block runs without the turn. `has_version` returns whether a version is
        committed; a pause ends early if so. Raises the reason of `cancel` if it is canceled while waiting.
        """
        with self._locks.hold(table_root, cancel, wait_s_max) as has_waited:
            run = self._begin(table_root)
            if run is not None and run.is_pausing:
                self._pause(run, cancel, has_version)
                self._note_end(table_root, self._clock() if has_version else None)
                has_waited = True
            yield has_waited

    def note_commit(self, table_root: str, version: int) -> None:
        """Records this server's commit."""
        now_s = self._clock()
        with self._guard:
            run = self._runs.get(table_root)
            first = CommitRun(version=version, committed_s=now_s, length=1, since_s=now_s)
            self._runs[table_root] = first if run is None else run.after_commit(version, now_s)
            self._runs.move_to_end(table_root)
            while len(self._runs) > _TABLES_MAX:
                self._runs.popitem(last=False)

    def _begin(self, table_root: str) -> CommitRun | None:
        with self._guard:
            run = self._runs.get(table_root)
            if run is not None:
                self._runs[table_root] = run = run.before_commit(self._clock())
            return run

    def _pause(self, run: CommitRun, cancel: CancelToken, has_version: Callable[[int], bool] | None) -> None:
        part_s = max((run.until_s - run.committed_s) / _PARTS, _PART_S_MIN) if has_version else threading.TIMEOUT_MAX
        while (left_s := run.until_s - self._clock()) > 0:
            cancel.pause(min(left_s, part_s))
            if has_version and has_version(run.version + 1):
                return

    def _note_end(self, table_root: str, seen_s: float | None) -> None:
        with self._guard:
            run = self._runs.get(table_root)
            if run is not None:  # one that ran without a turn may have committed in the meantime
                self._runs[table_root] = replace(run, seen_s=seen_s)
