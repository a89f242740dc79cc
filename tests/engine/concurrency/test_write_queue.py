"""Turns at a table, and pauses that give writers elsewhere an attempt, on a clock that pauses advance."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from catalog.conditions import StatementCancelled
from engine.concurrency.cancel import CancelToken
from engine.concurrency.write_queue import WriteQueue

TABLE = "t"


class Clock(CancelToken):
    """Advances by pauses instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.paused_s = 0.0

    def read(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        self.paused_s += seconds
        self.ensure_live()


def pauses_of(versions: list[int], gap_s: float = 0.0) -> list[float]:
    """Returns the seconds paused before each commit by a server that cannot look for foreign commits."""
    clock, found = Clock(), list[float]()
    write_queue = WriteQueue(clock.read)
    for version in versions:
        clock.paused_s = 0.0
        clock.now_s += gap_s
        with write_queue.hold(TABLE, clock) as has_waited:
            assert has_waited or not clock.paused_s
        found.append(round(clock.paused_s, 6))
        write_queue.note_commit(TABLE, version)
    return found


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([*range(1, 9)], [0] * 8),
        ([1, 3, 4, 6, 7, 9, 10], [0, 0, 0, 0.1, 0, 0.1, 0]),
        ([1, 3, *range(4, 19)], [0, 0, 0, 0.1, 0.2, 0.4, 0.8, 0.8] + [0] * 9),
        ([1, 3, *range(4, 8), 9, 10, 11], [0, 0, 0, 0.1, 0.2, 0.4, 0.8, 0.8, 0.8]),
        ([1, 3, 4, 5, 6, 10, 11, 15, 16, 20, 21], [0, 0, 0, 0.1, 0.2, 0.4, 0, 0.2, 0, 0.1, 0]),
        ([1, 1, 1, 1], [0] * 4),
    ],
    ids=["alone", "used", "gone", "used after some", "others commit more", "commits of nothing"],
)
def test_pauses_of_fixed_length_follow_foreign_commits(versions: list[int], expected: list[float]) -> None:
    assert pauses_of(versions) == expected


@dataclass
class Log:
    """A table's commits: who made each version, and when."""

    writers: list[str] = field(default_factory=lambda: ["ours"])
    times_s: list[float] = field(default_factory=lambda: [0.0])

    def add(self, writer: str, now_s: float) -> int:
        self.writers.append(writer)
        self.times_s.append(now_s)
        return len(self.writers) - 1

    def share(self, writer: str) -> float:
        return self.writers.count(writer) / len(self.writers)


@dataclass
class Other:
    """A writer elsewhere: it writes files, then reads the log and puts the next version until it wins.

    It commits from `begin_s` on, each time `idle_s` after its last commit.
    """

    log: Log
    write_s: float
    attempt_s: float
    idle_s: float = 0.0
    begin_s: float = 0.0
    end_s: float = 1e9
    read_s: float | None = None

    def advance(self, now_s: float) -> None:
        """Makes the commits until `now_s`."""
        if self.read_s is None:
            self.read_s = self.begin_s + self.write_s
        while (put_s := self.read_s + self.attempt_s) <= min(now_s, self.end_s):
            if self.log.times_s[-1] > self.read_s:
                self.read_s = put_s
            else:
                self.log.add("other", put_s)
                self.read_s = put_s + self.idle_s + self.write_s


class Race(Clock):
    """This server's commits, each `own_s` after the last one, beside another writer."""

    def __init__(self, own_s: float, log: Log, other: Other | None) -> None:
        super().__init__()
        self.own_s, self.log, self.other = own_s, log, other
        self.write_queue = WriteQueue(clock=self.read)

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        self._advance()

    def _advance(self) -> None:
        if self.other is not None:
            self.other.advance(self.now_s)

    def _has_version(self, version: int) -> bool:
        return version < len(self.log.writers)

    def run(self, seconds: float) -> None:
        while self.now_s < seconds:
            self.now_s += self.own_s
            self._advance()
            with self.write_queue.hold(TABLE, self, has_version=self._has_version):
                version = self.log.add("ours", self.now_s)
            self.write_queue.note_commit(TABLE, version)


def race(own_s: float, seconds: float = 60.0, **other: float) -> Race:
    log = Log()
    found = Race(own_s, log, Other(log, **other) if other else None)
    found.run(seconds)
    return found


def race_after_foreign_commit(own_s: float, seconds: float = 60.0, **other: float) -> Race:
    """Returns the race of a server that has seen a commit of the other writer before."""
    log = Log()
    found = Race(own_s, log, Other(log, **other))
    found.write_queue.note_commit(TABLE, 0)
    log.add("other", 0.0)
    found.run(seconds)
    return found


@pytest.mark.parametrize("own_s", [0.008, 0.1, 0.2])
@pytest.mark.parametrize(
    ("write_s", "attempt_s"), [(0.02, 0.01), (0.02, 0.04), (0.1, 0.05), (0.5, 0.05), (0.6, 0.1), (1.0, 0.4), (1.5, 0.8)]
)
def test_each_of_two_writers_that_never_pause_makes_a_quarter_of_the_commits(
    own_s: float, write_s: float, attempt_s: float
) -> None:
    found = race_after_foreign_commit(own_s, write_s=write_s, attempt_s=attempt_s)
    assert found.log.share("other") >= 0.25
    if write_s + attempt_s > own_s:  # else the other makes more commits by itself
        assert found.log.share("ours") >= 0.25


@pytest.mark.parametrize("own_s", [0.008, 0.025, 0.1])
@pytest.mark.parametrize("attempt_s", [0.02, 0.05, 0.1])
def test_writer_that_never_won_an_attempt_is_found(own_s: float, attempt_s: float) -> None:
    found = race(own_s, seconds=60, write_s=0.3, attempt_s=attempt_s)
    assert found.log.writers[-200:].count("other") >= 50


@pytest.mark.parametrize("own_s", [0.008, 0.05, 0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("seconds", [3, 10, 60])
def test_writer_without_others_pauses_for_less_than_a_twentieth_of_the_time(own_s: float, seconds: int) -> None:
    found = race(own_s, seconds)
    assert found.paused_s <= seconds / 20
    assert own_s >= 0.4 or seconds < 60 or found.paused_s, "which would find another writer"


@pytest.mark.parametrize("idle_s", [6, 10, 60])
def test_writer_that_commits_at_intervals_costs_a_tenth_of_the_time(idle_s: int) -> None:
    found = race_after_foreign_commit(0.05, 300, write_s=0.3, attempt_s=0.02, idle_s=idle_s)
    assert found.paused_s < 30
    assert found.log.writers.count("other") >= 0.95 * 300 / (idle_s + 0.32)


def test_alternation_ends_with_check_if_other_writer_commits_without_pauses() -> None:
    found = race_after_foreign_commit(0.025, 60, write_s=0.3, attempt_s=0.02, idle_s=2)
    before_s = found.paused_s
    found.run(120)
    assert before_s > 50
    assert found.paused_s - before_s < 20


def test_alternation_continues_after_check_without_foreign_commit() -> None:
    found = race_after_foreign_commit(0.025, 120, write_s=0.6, attempt_s=0.1)
    assert found.log.writers[-30:].count("other") == 10


def test_writer_that_is_gone_costs_some_seconds() -> None:
    found = race_after_foreign_commit(0.025, 20, write_s=0.5, attempt_s=0.1, end_s=20)
    before_s = found.paused_s
    found.run(80)
    assert found.paused_s - before_s < 6 + 60 / 20


def test_pause_ends_with_the_foreign_commit() -> None:
    found = race_after_foreign_commit(0.025, 30, write_s=0.2, attempt_s=0.05)
    foreign_s = [at for who, at in zip(found.log.writers, found.log.times_s, strict=True) if who == "other"][-10:]
    next_s = [min(at for at in found.log.times_s if at > foreign) for foreign in foreign_s]
    assert all(later - foreign < 0.1 for foreign, later in zip(foreign_s, next_s, strict=True))


def test_gap_between_two_statements_is_part_of_the_pause() -> None:
    assert pauses_of([1, 3, 4, 6, 7, 9, 10], gap_s=0.06) == [0, 0, 0, 0.04, 0, 0.04, 0]
    assert pauses_of([1, 3, 4, 6, 7, 9, 10], gap_s=0.2) == [0] * 7


def test_foreign_commit_of_long_ago_causes_no_pause() -> None:
    clock = Clock()
    write_queue = WriteQueue(clock.read)
    for version, at_s in ((1, 0.0), (3, 1.0), (4, 12.0), (5, 12.1), (6, 12.2)):
        clock.now_s = at_s
        with write_queue.hold(TABLE, clock):
            assert not clock.paused_s
        write_queue.note_commit(TABLE, version)


def test_tables_are_counted_apart() -> None:
    clock = Clock()
    write_queue = WriteQueue(clock.read)
    for table, version in (("t", 1), ("t", 3), ("t", 4), ("u", 7), ("u", 8), ("u", 9)):
        with write_queue.hold(table, clock):
            assert not clock.paused_s
        write_queue.note_commit(table, version)
    with write_queue.hold("t", clock):
        assert clock.paused_s == pytest.approx(0.1)


def test_cancellation_ends_the_pause() -> None:
    clock = Clock()
    write_queue = WriteQueue(clock.read)
    for version in (1, 3, 4):
        write_queue.note_commit(TABLE, version)
    clock.cancel()
    with pytest.raises(StatementCancelled), write_queue.hold(TABLE, clock):
        raise AssertionError
    with write_queue.hold(TABLE, Clock()) as has_waited:
        assert has_waited
