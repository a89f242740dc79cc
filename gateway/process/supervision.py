"""Threads that the server cannot do without: when one of them ends by itself, the whole process has to.

A server whose accepting thread died still has its process, its port and its other front end, so nobody restarts it,
and every client waits. Such a thread is started through :func:`supervised`, which tells the owner of the process when
it ends unasked, whether it raised or returned; the process then ends with an error and is started again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)

OnDeath = Callable[[str], None]
"""Told the name of a thread that ended unasked; called on that thread."""


def ignore_death(name: str) -> None:
    """For owners who look at their threads themselves; the log has the reason."""


def supervised(
    name: str, run: Callable[[], None], is_stopping: Callable[[], bool], on_death: OnDeath
) -> threading.Thread:
    """A thread, not yet started, that runs `run` until `is_stopping`."""

    def watched() -> None:
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

    return threading.Thread(target=watched, name=name, daemon=True)
