"""Locks on tables: one holder at a time, and who waits can be cancelled."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from catalog.conditions import StatementCancelled
from engine.concurrency.cancel import CancelToken
from engine.concurrency.table_locks import TableLocks


def test_key_has_one_holder_and_a_waiter_can_be_cancelled() -> None:
    locks, held = TableLocks(), threading.Event()
    cancel = CancelToken()

    def wait() -> None:
        with locks.hold("t", cancel):
            held.set()

    with ThreadPoolExecutor(1) as threads:
        with locks.hold("t", CancelToken()), locks.hold("u", CancelToken()):
            waiting = threads.submit(wait)
            cancel.cancel()
            with pytest.raises(StatementCancelled):
                waiting.result()
        assert not held.is_set()
    with locks.hold("t", CancelToken()):
        held.set()
    assert held.is_set()


def test_waiter_times_out_and_leaves_the_lock_to_its_holder() -> None:
    locks = TableLocks()
    with locks.hold("t", CancelToken()):
        with locks.hold("t", CancelToken(), 0.01) as has_waited:
            assert has_waited
        with ThreadPoolExecutor(1) as threads:
            cancel, held = CancelToken(), threading.Event()

            def wait() -> None:
                with locks.hold("t", cancel):
                    held.set()

            waiting = threads.submit(wait)
            assert not held.wait(0.1), "the first one still holds it"
            cancel.cancel()
            with pytest.raises(StatementCancelled):
                waiting.result()
    with locks.hold("t", CancelToken()) as has_waited:
        assert not has_waited


def test_a_lock_leaves_nothing_with_the_cancel_switch() -> None:
    """A script holds locks for many statements under one switch."""
    woken = []

    class Locks(TableLocks):
        def _wake(self) -> None:
            woken.append(1)

    cancel = CancelToken()
    for _ in range(3):
        with Locks().hold("t", cancel):
            pass
    cancel.cancel()
    assert woken == []
