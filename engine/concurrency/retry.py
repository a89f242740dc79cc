"""The retry policy: how a write continues after it lost a race to another writer.

This module is the only place that decides between three answers:

- **Rebase.** The winning commits do not conflict with the transaction's reads and writes: the same files are committed
  as the next version (:meth:`RetryPolicy.rebase`, called by `Transaction.commit`). Each lost attempt means that another
  writer succeeded, so many attempts are allowed; after the first few, the writer pauses between attempts.
- **Run again.** The winning commits changed the statement's input: it is bound, planned and executed again on the
  newest version (:meth:`RetryPolicy.run_again`, called by the statement pipeline). A lost run has no visible effect and
  its files are removed, so the user would have to do the same. No run begins after `runs_s_max`: a longer statement is
  not repeated without the user's knowledge.
- **Give up** with the conflict, if the policy allows no more attempts.

This server's writers on one table do not race each other: they take turns (`engine.concurrency.write_queue`), and a
waiting writer rebases on the earlier ones' versions when its turn comes. A lost attempt wastes work and synced files.
Turns only save this cost and leave room for writers elsewhere. Correctness does not depend on them, so no writer waits
long for one whose storage or catalog does not respond.

A pause is random, and its upper bound doubles with each loss, so that writers that collided once do not collide again,
and more writers are spread over more time. After a lost attempt, which is cheap, the pause remains short. Cancellation
ends pauses.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.concurrency.write_queue import WriteQueue

T = TypeVar("T")

# Lost attempts without a pause: most races are between two writers, and the next attempt wins.
_PATIENT_REBASES = 10


class RetryReason(StrEnum):
    """The retry reason after another writer's commit came first."""

    REBASE = "rebase"
    RERUN = "rerun"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Limits on attempts, durations and pauses. Attempts to commit seal `cancel`; cancellation ends all retries.
    `on_retry` is called for each retried attempt.
    """

    rebases_max: int = 10_000
    rebase_s_max: float = 300.0
    runs_max: int = 20
    runs_s_max: float = 300.0
    pause_min_s: float = 0.02
    # The longest pause in seconds after a run's first loss, and after any.
    pause_max_s: float = 1.0
    # The longest pause in seconds after a lost attempt. Another engine's writer that never pauses would win the next
    # races too; a writer with longer pauses hardly commits anything against it.
    rebase_pause_max_s: float = 0.02
    cancel: CancelToken = field(default_factory=CancelToken)
    on_retry: Callable[[RetryReason], None] = lambda _: None
    # The server's turns; None: do not wait for other writers.
    write_queue: WriteQueue | None = None
    # How long to wait for a turn, in seconds; afterwards the attempts race the holder's.
    queue_s_max: float = 10.0

    def rebase(
        self,
        attempt: Callable[[], T | None],
        table_root: str,
        version_of: Callable[[T], int],
        catch_up: Callable[[], None] = lambda: None,
        has_version: Callable[[int], bool] | None = None,
    ) -> tuple[T | None, int]:
        """Calls `attempt` until its result is not None.

        Returns the result, or None at the limits, and the number of attempts. The statement is not canceled during an
        attempt, nor after a successful one. `version_of` returns the version that an attempt committed. `catch_up`
        rebases on other commits after waiting for a turn. `has_version` ends a pause as soon as others have committed.
        """
        self.cancel.reopen()  # may be sealed by the statement's earlier commit
        if self.write_queue is None:
            return self._rebase(attempt)
        with self.write_queue.hold(table_root, self.cancel, self.queue_s_max, has_version) as has_waited:
            if has_waited:
                catch_up()
            done, attempts = self._rebase(attempt)
            if done is not None:
                self.write_queue.note_commit(table_root, version_of(done))
            return done, attempts

    def _rebase(self, attempt: Callable[[], T | None]) -> tuple[T | None, int]:
        begun_s = time.monotonic()
        for number in range(1, self.rebases_max + 1):
            # From here on the outcome of the commit decides, not a cancellation.
            self.cancel.seal()
            done = attempt()
            if done is not None:
                return done, number
            self.cancel.reopen()
            self.on_retry(RetryReason.REBASE)
            if time.monotonic() - begun_s > self.rebase_s_max:
                return None, number
            if number >= _PATIENT_REBASES:
                # The exponent starts at zero here: the first attempts without a pause have
                # already spread the writers.
                self._pause(number - _PATIENT_REBASES, self.rebase_pause_max_s)
        return None, self.rebases_max

    def run_again(self, run: Callable[[], T], is_lost_race: Callable[[SqlError], bool]) -> T:
        """Returns the result of `run`. Raises its error unless it is a lost race and another run is allowed."""
        begun_s = time.monotonic()
        for lost in range(self.runs_max - 1):
            try:
                return run()
            except SqlError as error:
                if not is_lost_race(error) or time.monotonic() - begun_s > self.runs_s_max:
                    raise
            self.on_retry(RetryReason.RERUN)
            self._pause(lost, self.pause_max_s)
        return run()

    def _pause(self, lost: int, longest_s: float) -> None:
        # Full jitter, from zero on: writers that collided draw independent times, and no
        # two keep step.
        self.cancel.pause(random.uniform(0, min(longest_s, self.pause_min_s * 2.0 ** min(lost, 30))))
