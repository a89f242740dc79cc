"""Detection of disconnected clients, by polling the sockets of waiting clients."""

from __future__ import annotations

import select
from collections.abc import Iterable

_DISCONNECTED = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


def find_disconnected(descriptors: Iterable[int]) -> list[int]:
    """Returns the descriptors whose client closed its side, or whose socket is closed here (-1 is none), without
    blocking.
    """
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, _DISCONNECTED)
    return [descriptor for descriptor, _ in poll.poll(0)]
