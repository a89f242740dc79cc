"""Pauses between this server's commits to a table, which give writers elsewhere an attempt.

A commit is a race for the next version, and a writer with faster attempts wins nearly every race: an engine that gives
up after some lost attempts then hardly commits anything. Therefore the server pauses before its next attempt:

- **Alternation.** After another writer's commit was seen, a pause follows each two commits of this server in a row, or
  each one if the others made less than a third of the recent commits. It ends with the other's commit, and takes at
  most twice as long as the other needed before. If nobody commits during a pause, the next one is twice as long. After
  a few unused pauses the other writer is assumed to be gone.
- **Check.** A writer that commits at intervals, as a stream does, needs no pauses. After some time the server makes
  none for a little longer than the other's interval, and ends the alternation if the other commits nevertheless. An
  alternation without use is not repeated until more and more foreign commits were seen.
- **Exploration.** The commits of a writer whose attempts always take longer than the time between two commits of this
  server never succeed, so they are never seen. While this server commits without a break, it pauses for a small share
  of the time: first briefly, then more rarely and for longer. A foreign commit in such a pause starts an alternation.

The time that a statement itself takes after the last commit counts as a part of the pause.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# The first pause of an alternation, and the longest one, in seconds.
PAUSE_S, PAUSE_S_MAX = 0.1, 5.0
# The ratio between the longest and the first pause if a pause does not end with the other's commit.
_RANGE = 8
# Commits in a row between two pauses of an alternation.
_LENGTH = 2
# The number of seconds for which an alternation continues after a foreign commit.
_OTHERS_S = 10.0
# The number of unused pauses in a row that end an alternation. So do two or more with this number of seconds, and this
# number of intervals of the other writer.
_UNUSED_MAX, _UNUSED_S_MAX, _UNUSED_INTERVALS = 5, 3.0, 2.5
# With more foreign commits than this between two of this server, the others commit more than this server.
_MANY = 2
# The number of recent commits after which older ones count half.
_RECENT = 64
# The time until the first check, in seconds, and in intervals of the other writer after an alternation without use.
_CHECK_AFTER_S, _CHECK_AFTER_INTERVALS = 60.0, 4
# The length of a check in intervals of the other writer.
_CHECK_INTERVALS = 1.25
# The number of alternations without use that equals a check which found that pauses are not needed.
_CHECK_FAILURES = 3
# The maximum number of foreign commits until the next alternation.
_IGNORED_MAX = 64
# Exploration: the share of the time, and the shortest and longest time between two pauses, in seconds.
_EXPLORED = 0.04
_EXPLORE_S_MIN, _EXPLORE_S_MAX = 1.0, 25.0
# A commit in such a pause counts as this many: the other writer may have none without.
_EXPLORED_WEIGHT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRun:
    """This server's commits to a table, and those of others between them. Times are in seconds, on one clock."""

    # The last commit of this server.
    version: int
    committed_s: float
    # Its commits in a row.
    length: int = 0
    # Recent commits of this server and of others; older ones count less.
    ours: float = 0.0
    others: float = 0.0
    # The last foreign commit, and the time between the last two.
    others_s: float = -math.inf
    interval_s: float = 0.0
    # The pause before the next commit, which ends at this time.
    is_pausing: bool = False
    until_s: float = 0.0
    # The end of the last pause if it would have ended with a foreign commit; None: its length was fixed.
    seen_s: float | None = None
    # Alternation: the next pause's length, and the number and the seconds of unused ones in a row.
    is_alternating: bool = False
    pause_s: float = PAUSE_S
    unused: int = 0
    unused_s: float = 0.0
    # When the next check begins, how long alternations continue without one, and the current check's end.
    check_s: float = math.inf
    check_after_s: float = _CHECK_AFTER_S
    checking_until_s: float | None = None
    # Alternations in a row without use, and the foreign commits to ignore until the next one.
    failures: int = 0
    ignored: int = 0
    # Exploration: since when this server commits without a pause, and the time until the next one.
    since_s: float = 0.0
    explore_s: float = _EXPLORE_S_MIN

    def before_commit(self, now_s: float) -> CommitRun:
        """Returns the run with the pause that is due before the next commit, if there is one."""
        run = replace(self, is_pausing=False)
        if run.is_alternating and now_s > run.others_s + _OTHERS_S:
            run = run._explore_from(now_s)
        if run.is_alternating:
            return run._alternate(now_s)
        if now_s - run.committed_s >= _EXPLORE_S_MAX * _EXPLORED:  # others had time for an attempt
            return run._explore_from(now_s)
        if now_s - run.since_s < run.explore_s:
            return run
        until_s = run.committed_s + run.explore_s * _EXPLORED
        explore_s = min(run.explore_s * 2, _EXPLORE_S_MAX)
        return replace(run, is_pausing=True, until_s=until_s, since_s=now_s, explore_s=explore_s)

    def after_commit(self, version: int, now_s: float) -> CommitRun:
        """Returns the run with this server's next commit. The versions before it came from writers elsewhere."""
        # Versions are contiguous.
        others = max(0, version - self.version - 1)
        run = self
        if others:
            run = run._with_others(others, now_s)
        elif run.is_pausing and run.is_alternating:
            run = run._with_unused_pause(now_s)
        older = 0.5 if run.ours + run.others >= _RECENT else 1.0
        return replace(
            run,
            version=version,
            committed_s=now_s,
            length=run.length + 1,
            ours=run.ours * older + 1,
            others=run.others * older + others,
            is_pausing=False,
        )

    def _alternate(self, now_s: float) -> CommitRun:
        run = self
        if run.checking_until_s is None and now_s >= run.check_s:
            run = replace(run, checking_until_s=now_s + run.interval_s * _CHECK_INTERVALS)
        if run.checking_until_s is not None:
            if now_s < run.checking_until_s:
                return run
            after_s = run.check_after_s * 2
            run = replace(run, checking_until_s=None, check_s=now_s + after_s, check_after_s=after_s, failures=0)
        length = 1 if run.others * 2 < run.ours else _LENGTH
        return replace(run, is_pausing=run.length >= length, until_s=run.committed_s + run.pause_s)

    def _with_others(self, others: int, now_s: float) -> CommitRun:
        seen_s = now_s if self.seen_s is None or not self.is_pausing else self.seen_s
        interval_s = min((seen_s - self.others_s) / others, PAUSE_S_MAX)
        run = replace(self, length=0, others_s=seen_s, interval_s=interval_s)
        if run.checking_until_s is not None:
            return run._end_alternation(now_s, _CHECK_FAILURES)
        if not run.is_alternating:
            run = replace(run, ignored=run.ignored - (_EXPLORED_WEIGHT if run.is_pausing else others))
            if run.ignored > 0:
                return run
            after_s = run.interval_s * _CHECK_AFTER_INTERVALS if run.failures else _CHECK_AFTER_S
            run = replace(run, is_alternating=True, check_s=now_s + after_s, check_after_s=after_s)
        if not run.is_pausing:
            return replace(run, pause_s=run.pause_s / 2) if others > _MANY else run
        run = replace(run, unused=0, unused_s=0.0)
        if run.seen_s is None:
            return replace(run, pause_s=run.pause_s / 2) if others > _MANY else run
        needed_s = 2 * (run.seen_s - run.committed_s)
        needed_s = needed_s if needed_s > run.pause_s else (needed_s + run.pause_s) / 2
        return replace(run, pause_s=min(needed_s, PAUSE_S_MAX))

    def _with_unused_pause(self, now_s: float) -> CommitRun:
        run = replace(self, length=0, unused=self.unused + 1, unused_s=self.unused_s + self.pause_s)
        longest_s = max(_UNUSED_S_MAX, run.interval_s * _UNUSED_INTERVALS)
        if run.unused >= _UNUSED_MAX or (run.unused >= 2 and run.unused_s > longest_s):
            return run._end_alternation(now_s, 1)
        longest_s = PAUSE_S * _RANGE if run.seen_s is None else PAUSE_S_MAX
        return replace(run, pause_s=min(run.pause_s * 2, longest_s))

    def _end_alternation(self, now_s: float, failures: int) -> CommitRun:
        failures += self.failures
        return replace(self._explore_from(now_s), failures=failures, ignored=min(2**failures, _IGNORED_MAX))

    def _explore_from(self, now_s: float) -> CommitRun:
        return replace(
            self,
            is_alternating=False,
            pause_s=PAUSE_S,
            unused=0,
            unused_s=0.0,
            checking_until_s=None,
            since_s=now_s,
            explore_s=_EXPLORE_S_MIN,
        )
