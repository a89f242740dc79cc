"""Cancelling ends a pause."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.concurrency.cancel import CancelToken
from engine.errors.statement_errors import StatementCancelled


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
