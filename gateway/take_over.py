"""The thread that takes over sessions of gateways whose process has ended, or whose lease has expired, and that
exchanges with the others what they must know.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from gateway.process.supervision import OnDeath, supervised_thread
from gateway.recovery import Recovery

logger = logging.getLogger(__name__)


class TakeOver:
    """Looks every `beat_s` seconds, from `start` until `stop`."""

    def __init__(self, recovery: Recovery, exchange: Callable[[], None], beat_s: float, on_death: OnDeath) -> None:
        """Prepares the thread; `exchange` writes and reads this gateway's and the others' addresses and counts."""
        self._recovery = recovery
        self._exchange = exchange
        self._beat_s = beat_s
        self._stopping = threading.Event()
        self._thread = supervised_thread("state-take-over", self._run, self._stopping.is_set, on_death)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after its current round: the next process continues with what it leaves."""
        self._stopping.set()
        if self._thread.ident:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._beat_s):
            try:
                self._exchange()
                self._recovery.take_over()
            except Exception:  # the next round repeats what it has left
                logger.exception("the sessions of other gateways could not be taken over")
