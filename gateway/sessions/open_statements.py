"""How many statements each principal has open, in all its sessions.

A statement counts until it is closed, ended ones included, since their rows are kept. Where a principal has as many as
may be, the oldest one that its client has read to the end makes room, whichever of the principal's sessions has it.
Those of retired sessions do not count: the registry bounds them by what they keep.
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
    def principal(self) -> str: ...

    def forget(self, operation: Operation) -> None:
        """Close and drop one of its statements."""
        ...


class OpenStatements:
    """Thread-safe; calls no session, so that a session may call it while it is locked."""

    def __init__(self, per_principal_max: int) -> None:
        self._max = per_principal_max
        self._counted: defaultdict[str, dict[uuid.UUID, tuple[Operation, Holder]]] = defaultdict(dict)
        """By principal, the oldest first."""
        self._lock = threading.Lock()

    def add(self, operation: Operation, holder: Holder) -> tuple[Operation, Holder] | None:
        """Count `operation`. Answers the one that makes room for it, which its holder has to forget.

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
        """Count it no longer; it need not have been counted."""
        with self._lock:
            counted = self._counted[principal]
            counted.pop(operation.id, None)
            if not counted:
                del self._counted[principal]
