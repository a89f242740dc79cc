"""Supervised threads: if one ends by itself, the whole process has to end.

A server whose accepting thread died still has its process, its port and its other front end, so it is not restarted,
and every client waits. A thread started through :func:`supervised_thread` notifies the process's owner when it ends
unexpectedly, by an exception or a return; the process then exits with an error and is restarted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)

# Receives the name of a thread that ended unexpectedly; called on that thread.
OnDeath = Callable[[str], None]


def ignore_death(name: str) -> None:
    """Ignores the end of a thread, for owners that check their threads themselves; the log has the reason."""


def supervised_thread(
    name: str, run: Callable[[], None], is_stopping: Callable[[], bool], on_death: OnDeath
) -> threading.Thread:
    """Returns a thread, not yet started, that runs `run` until `is_stopping`."""

    def run_watched() -> None:
        try:
            run()
        except BaseException:
            if not is_stopping():
                logger.critical("the thread %s failed", name, exc_info=True)
                on_death(name)
        else:
            if not is_stopping():
                logger.critical("the thread %s ended before the server did", name)
                on_death(name)

    return threading.Thread(target=run_watched, name=name, daemon=True)
