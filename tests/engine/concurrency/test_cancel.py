"""Cancellation: interrupted work, and cancellation deferred during a commit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from catalog.conditions import StatementCancelled, StatementTimedOut
from engine.concurrency.cancel import CancelToken


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


def test_cancel_while_sealed_takes_effect_when_reopened() -> None:
    cancel, reported = CancelToken(), list[str]()
    cancel.on_cancel(lambda: reported.append("told"))
    cancel.seal()
    assert not cancel.cancel(StatementTimedOut(1)) and not cancel.cancel()
    cancel.ensure_live()
    assert cancel.reason is None and reported == []
    with pytest.raises(StatementTimedOut):  # the first reason
        cancel.reopen()
    assert reported == ["told"]
    assert cancel.cancel()  # thrown already


def test_cancelled_token_cannot_be_sealed() -> None:
    cancel = CancelToken()
    cancel.seal()
    cancel.reopen()
    assert cancel.cancel()
    for refused in (cancel.seal, cancel.reopen):
        with pytest.raises(StatementCancelled):
            refused()


@pytest.mark.parametrize("is_early", [True, False])
def test_work_behind_a_commit_is_cancelled_without_the_statement(is_early: bool) -> None:
    cancel = CancelToken()
    cancel.seal()
    if is_early:
        cancel.cancel()
    follower = cancel.follower()
    cancel.cancel()
    assert isinstance(follower.reason, StatementCancelled) and cancel.reason is None
