"""The number of open statements per principal, across all its sessions.

A statement counts until it is closed, even after its end, since its rows are kept. When a principal reaches the limit,
its oldest fully read statement is evicted, in any of its sessions. Statements in retired sessions do not count: the
registry bounds them by their size.
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
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
                done = next((entry for entry in counted.values() if entry[0].is_read), None)
                if done is None:
                    raise TooManyStatementsOfUser(holder.principal, self._max)
                del counted[done[0].id]
            counted[operation.id] = operation, holder
            return done

    def remove(self, operation: Operation, principal: str) -> None:
        """Stops counting it; it need not have been counted."""
        with self._lock:
            counted = self._counted[principal]
            counted.pop(operation.id, None)
            if not counted:
                del self._counted[principal]
