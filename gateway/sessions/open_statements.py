"""The number of open statements per principal, across all its sessions.

A statement counts until it is closed, even after its end, since its rows are kept. When a principal reaches the limit,
one of its statements is evicted (:func:`evictable`), in any of its sessions. Statements in retired sessions do not
count: the registry bounds them by their size.
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Collection
from typing import Protocol

from catalog.conditions import TooManyStatementsOfUser
from gateway.sessions.operation import Operation


class Holder(Protocol):
    """A session."""

    @property
    def principal(self) -> str:
        """Returns the name of the principal for whom the session's statements are counted."""
        ...

    def forget(self, operation: Operation) -> None:
        """Closes and drops one of its statements."""
        ...


def evictable(operations: Collection[Operation]) -> Operation | None:
    """Returns the statement to evict from those of a session or a principal, which are in order of age: the oldest one
    that its client has read, or else the oldest one that ended in a former process, since how much of it was read is
    not always recorded. None if there is neither.
    """
    read = (operation for operation in operations if operation.is_read)
    return next(read, None) or next((operation for operation in operations if operation.is_restored), None)


class OpenStatements:
    """Counts open statements. Thread-safe; calls no session, so that a session may call it while locked."""

    def __init__(self, per_principal_max: int) -> None:
        self._max = per_principal_max
        # By principal, oldest first.
        self._counted: defaultdict[str, dict[uuid.UUID, tuple[Operation, Holder]]] = defaultdict(dict)
        self._lock = threading.Lock()

    def add(self, operation: Operation, holder: Holder) -> tuple[Operation, Holder] | None:
        """Counts `operation`. Returns the evicted one, if any, which its holder has to forget.

        Raises `TooManyStatementsOfUser`.
        """
        with self._lock:
            counted = self._counted[holder.principal]
            done = None
            if len(counted) >= self._max:
                operation_to_evict = evictable([counted_operation for counted_operation, _ in counted.values()])
                if operation_to_evict is None:
                    raise TooManyStatementsOfUser(holder.principal, self._max)
                done = counted.pop(operation_to_evict.id)
            counted[operation.id] = operation, holder
            return done

    def remove(self, operation: Operation, principal: str) -> None:
        """Stops counting it; it need not have been counted."""
        with self._lock:
            counted = self._counted[principal]
            counted.pop(operation.id, None)
            if not counted:
                del self._counted[principal]
