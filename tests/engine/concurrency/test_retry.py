"""The retry policy: rebases, runs and pauses are counted, bounded and can be cut short."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.conditions import MetadataChanged, StatementCancelled, StatementNotSupported
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.concurrency.retry import RetryPolicy

RUNS_MAX = RetryPolicy().runs_max


def is_lost(error: SqlError) -> bool:
    return isinstance(error, MetadataChanged)


def losing(times: int, won: Callable[[], str] = lambda: "done") -> Callable[[], str]:
    """Loses so often, then wins."""
    left = [times]

    def attempt() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise MetadataChanged("t", 1, "WRITE")
        return won()

    return attempt


class Pauses(CancelToken):
    """Notes how long it should wait, and does not."""

    def __init__(self, seconds: list[float]) -> None:
        super().__init__()
        self._seconds = seconds

    def pause(self, seconds: float) -> None:
        self._seconds.append(seconds)


@pytest.mark.parametrize("lost", [0, 1, 5, RUNS_MAX - 1])
def test_a_lost_run_is_made_again_after_a_pause(lost: int) -> None:
    pauses: list[float] = []
    policy = RetryPolicy(cancel=Pauses(pauses))
    assert policy.run_again(losing(lost), is_lost) == "done"
    assert len(pauses) == lost and all(0 <= pause <= policy.pause_max_s for pause in pauses)


def test_pauses_differ_so_that_two_losers_part() -> None:
    one: list[float] = []
    other: list[float] = []
    for pauses in (one, other):
        RetryPolicy(cancel=Pauses(pauses)).run_again(losing(10), is_lost)
    assert one != other and len(set(one)) == 10


def test_retries_end_with_the_conflict() -> None:
    with pytest.raises(MetadataChanged):
        RetryPolicy(cancel=Pauses([])).run_again(losing(RUNS_MAX), is_lost)


def test_no_run_begins_when_the_time_is_over() -> None:
    pauses: list[float] = []
    with pytest.raises(MetadataChanged):
        RetryPolicy(cancel=Pauses(pauses), runs_s_max=-1).run_again(losing(1), is_lost)
    assert not pauses


def test_other_errors_are_not_tried_again() -> None:
    def fail() -> str:
        raise StatementNotSupported("this")

    pauses: list[float] = []
    with pytest.raises(StatementNotSupported):
        RetryPolicy(cancel=Pauses(pauses)).run_again(losing(2, won=fail), is_lost)
    assert len(pauses) == 2


def test_a_cancelled_statement_is_not_run_again() -> None:
    cancel = CancelToken()
    runs = []

    def run() -> str:
        runs.append(1)
        cancel.cancel()
        raise MetadataChanged("t", 1, "WRITE")

    with pytest.raises(StatementCancelled):
        RetryPolicy(cancel=cancel).run_again(run, is_lost)
    assert len(runs) == 1


@pytest.mark.parametrize(("lost", "pauses_expected"), [(0, 0), (9, 0), (10, 1), (15, 6)])
def test_rebases_pause_after_the_first_few(lost: int, pauses_expected: int) -> None:
    left, pauses = [lost], list[float]()

    def attempt() -> str | None:
        left[0] -= 1
        return "done" if left[0] < 0 else None

    assert RetryPolicy(cancel=Pauses(pauses)).rebase(attempt, "t", len) == ("done", lost + 1)
    assert len(pauses) == pauses_expected


@pytest.mark.parametrize(
    ("policy", "attempts"),
    [(RetryPolicy(rebases_max=4), 4), (RetryPolicy(rebase_s_max=-1), 1)],
    ids=["times", "seconds"],
)
def test_rebases_end_at_the_limits(policy: RetryPolicy, attempts: int) -> None:
    assert policy.rebase(lambda: None, "t", len) == (None, attempts)


@pytest.mark.parametrize("is_won", [True, False])
def test_a_statement_is_cancelled_between_attempts_to_commit_alone(is_won: bool) -> None:
    cancel, attempts = CancelToken(), list[str]()

    def attempt() -> str | None:
        assert not cancel.cancel()
        cancel.ensure_live()
        attempts.append("put")
        return "done" if is_won else None

    if is_won:
        assert RetryPolicy(cancel=cancel).rebase(attempt, "t", len) == ("done", 1)
        assert cancel.reason is None
    for _ in range(2):  # the first one too if the attempt was lost: another commit by a statement is another attempt
        with pytest.raises(StatementCancelled):
            RetryPolicy(cancel=cancel).rebase(attempt, "t", len)
    assert attempts == ["put"]
