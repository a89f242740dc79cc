"""Turns: one holder at a time, and what lost to another writer is run again, with pauses that can be cut short."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.delta.commit.conflict_errors import MetadataChanged
from engine.errors.statement_errors import StatementCancelled, StatementNotSupported
from engine.runtime.context import CancelToken
from engine.runtime.retry import ATTEMPTS_MAX, PAUSE_MAX_S, until_it_commits
from engine.runtime.table_locks import Turns


class Clock(CancelToken):
    """Notes the pauses instead of making them."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def losing(times: int, won: Callable[[], str] = lambda: "done") -> Callable[[], str]:
    """Loses so often, then wins."""
    left = [times]

    def attempt() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise MetadataChanged("t", 1, "WRITE")
        return won()

    return attempt


@pytest.mark.parametrize("lost", [0, 1, 5, ATTEMPTS_MAX - 1])
def test_a_lost_attempt_is_made_again_after_a_pause(lost: int) -> None:
    clock = Clock()
    assert until_it_commits(losing(lost), clock) == "done"
    assert len(clock.pauses) == lost and all(0 <= pause <= PAUSE_MAX_S for pause in clock.pauses)


def test_pauses_differ_so_that_two_losers_part() -> None:
    one, other = Clock(), Clock()
    for clock in (one, other):
        until_it_commits(losing(10), clock)
    assert one.pauses != other.pauses and len(set(one.pauses)) == 10


def test_it_gives_up() -> None:
    with pytest.raises(MetadataChanged):
        until_it_commits(losing(ATTEMPTS_MAX), Clock())


def test_other_errors_are_not_tried_again() -> None:
    def fail() -> str:
        raise StatementNotSupported("this")

    clock = Clock()
    with pytest.raises(StatementNotSupported):
        until_it_commits(losing(2, won=fail), clock)
    assert len(clock.pauses) == 2


def test_cancelling_ends_a_pause() -> None:
    """The pause alone would outlast the test."""
    cancel = CancelToken()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(cancel.pause, 3600.0)
        cancel.cancel()
        with pytest.raises(StatementCancelled):
            waiting.result()
    with pytest.raises(StatementCancelled):
        cancel.pause(3600.0)


def test_one_holds_a_key_at_a_time_and_who_waits_can_be_cancelled() -> None:
    turns, held = Turns(), threading.Event()
    cancel = CancelToken()

    def wait() -> None:
        with turns.take("t", cancel):
            held.set()

    with ThreadPoolExecutor(1) as threads:
        with turns.take("t", CancelToken()), turns.take("u", CancelToken()):
            waiting = threads.submit(wait)
            cancel.cancel()
            with pytest.raises(StatementCancelled):
                waiting.result()
        assert not held.is_set()
    with turns.take("t", CancelToken()):
        held.set()
    assert held.is_set()
