"""What lost to another writer is run again: how often, and after which pause.

Nothing is visible of a lost attempt, and its files are removed, so running it again is what the user would have to do.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from engine.delta.commit.conflict_errors import MetadataChanged
from engine.runtime.context import CancelToken

T = TypeVar("T")


ATTEMPTS_MAX = 20


PAUSE_MIN_S, PAUSE_MAX_S = 0.02, 1.0


"""The longest pause after the first lost attempt, and after any."""


def until_it_commits(attempt: Callable[[], T], cancel: CancelToken) -> T:
    """What `attempt` returns, tried again while other writers change the table's metadata meanwhile.

    Raises what `attempt` does, `MetadataChanged` when it was tried often enough, and what `cancel` says.
    """
    for lost in range(ATTEMPTS_MAX - 1):
        try:
            return attempt()
        except MetadataChanged:
            cancel.pause(random.uniform(0, min(PAUSE_MAX_S, PAUSE_MIN_S * 2**lost)))
    return attempt()
