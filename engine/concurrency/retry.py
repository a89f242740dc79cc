"""The retry policy: what happens to a write that lost a race to another writer.

There are three answers, and this module is the only place that gives them:

1. **Rebase.** The commits that won do not concern what the transaction read and wrote: the same files are tried as the
   next version (:meth:`RetryPolicy.rebase`, called by `Transaction.commit`). Each lost attempt means that another
   writer got through, so many are allowed; after the first few, writers that keep meeting pause.
2. **Run again.** The commits that won changed what the statement was planned from: it is bound, planned and executed
   again on the newest version (:meth:`RetryPolicy.run_again`, called by the road of a statement). Nothing is visible of
   a lost run, and its files are removed, so this is what the user would have to do. No run begins after `runs_s_max`:
   a statement that takes longer than that is not repeated without its user knowing.
3. **Give up** with the conflict, when the policy allows no more attempts.

The writers of one table in this server do not race each other: they take turns (`engine.concurrency.turns`), and who
waits for a turn finds the versions of those before it when the turn comes. A lost attempt is work, and files that are
synced, for nothing. Turns only save that, and make room for writers elsewhere: nothing depends on them, so nobody waits
for long behind one whose storage or catalog does not answer.

A pause is random, and its upper bound doubles with each loss: writers that met once are not to meet again, and the more
there are, the more room they make. After a lost attempt, which costs little, it stays short. Pauses end when the
statement is cancelled.
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
from engine.concurrency.turns import Turns

T = TypeVar("T")

_PATIENT_REBASES = 10
"""Lost attempts without a pause: most races are between two writers, and the next attempt wins."""


class Loss(StrEnum):
    """What follows on a commit of another writer that came first."""

    REBASE = "rebase"
    RERUN = "rerun"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, how long, and with which pauses. Attempts to commit seal `cancel`; once thrown, it ends all of it.
    `on_loss` is told of each attempt that is made again.
    """

    rebases_max: int = 10_000
    rebase_s_max: float = 300.0
    runs_max: int = 20
    runs_s_max: float = 300.0
    pause_min_s: float = 0.02
    pause_max_s: float = 1.0
    """The longest pause after the first loss of a run, and after any."""
    rebase_pause_max_s: float = 0.02
    """The longest pause after a lost attempt. A writer of another engine that never pauses would win the next ones
    too, and who pauses for longer commits next to nothing beside it."""
    cancel: CancelToken = field(default_factory=CancelToken)
    on_loss: Callable[[Loss], None] = lambda _: None
    turns: Turns | None = None
    """Those of the server; None: nobody is waited for."""
    turn_s_max: float = 10.0
    """How long a turn is waited for; then the attempts race those of its holder."""

    def rebase(
        self,
        attempt: Callable[[], T | None],
        table_root: str,
        version_of: Callable[[T], int],
        catch_up: Callable[[], None] = lambda: None,
    ) -> tuple[T | None, int]:
        """What `attempt` returns when it is not None any more, and the number of attempts; None at the limits.

        The statement is not cancelled in the middle of an attempt, nor after one that has committed. `version_of` is
        the number of the version that an attempt made. `catch_up` takes up what others have committed, where one of
        them was waited for.
        """
        self.cancel.reopen()  # behind an earlier commit of the statement
        if self.turns is None:
            return self._rebase(attempt)
        with self.turns.hold(table_root, self.cancel, self.turn_s_max) as has_waited:
            if has_waited:
                catch_up()
            done, attempts = self._rebase(attempt)
            if done is not None:
                self.turns.committed(table_root, version_of(done))
            return done, attempts

    def _rebase(self, attempt: Callable[[], T | None]) -> tuple[T | None, int]:
        begun_s = time.monotonic()
        for number in range(1, self.rebases_max + 1):
            self.cancel.seal()
            done = attempt()
            if done is not None:
                return done, number
            self.cancel.reopen()
            self.on_loss(Loss.REBASE)
            if time.monotonic() - begun_s > self.rebase_s_max:
                return None, number
            if number >= _PATIENT_REBASES:
                self._pause(number - _PATIENT_REBASES, self.rebase_pause_max_s)
        return None, self.rebases_max

    def run_again(self, run: Callable[[], T], is_lost_race: Callable[[SqlError], bool]) -> T:
        """What `run` returns. Raises what it raises, unless that is a lost race and another run is allowed."""
        begun_s = time.monotonic()
        for lost in range(self.runs_max - 1):
            try:
                return run()
            except SqlError as error:
                if not is_lost_race(error) or time.monotonic() - begun_s > self.runs_s_max:
                    raise
            self.on_loss(Loss.RERUN)
            self._pause(lost, self.pause_max_s)
        return run()

    def _pause(self, lost: int, longest_s: float) -> None:
        self.cancel.pause(random.uniform(0, min(longest_s, self.pause_min_s * 2.0 ** min(lost, 30))))
