"""Retired sessions: those of one statement, whose rows wait to be fetched."""

from __future__ import annotations

import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session


@dataclass(frozen=True, slots=True)
class _Retired:
    session: Session
    num_bytes: int


class RetiredSessions:
    """The retired sessions within the limits, oldest first. The caller has a lock.

    Beyond a limit the oldest is removed from the principal with the most, so that one user's requests do not remove
    another user's results. The newest result stays, whatever its size.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._retired: OrderedDict[uuid.UUID, _Retired] = OrderedDict()
        # By principal: the cost of a request must not grow with the number of retired sessions.
        self._counts, self._sizes = Counter[str](), Counter[str]()

    def __contains__(self, session_id: uuid.UUID) -> bool:
        return session_id in self._retired

    def __iter__(self) -> Iterator[Session]:
        return iter([one.session for one in self._retired.values()])

    def add(self, session: Session, operation: Operation) -> list[Session]:
        """Adds a session whose whole result is held; returns the removed ones."""
        self._retired[session.id] = _Retired(session, operation.result_bytes)
        self._counts[session.principal] += 1
        self._sizes[session.principal] += operation.result_bytes
        removed = []
        while (owner := self._owner_of_excess(session.principal)) is not None:
            oldest = next(one.session for one in self._retired.values() if one.session.principal == owner)
            self.pop(oldest.id)
            removed.append(oldest)
        return removed

    def pop(self, session_id: uuid.UUID) -> Session | None:
        """Removes a session; returns None for an unknown one."""
        found = self._retired.pop(session_id, None)
        if found is None:
            return None
        user = found.session.principal
        self._counts[user] -= 1
        self._sizes[user] -= found.num_bytes
        if not self._counts[user]:
            del self._counts[user], self._sizes[user]
        return found.session

    def _owner_of_excess(self, newest: str) -> str | None:
        """Returns the principal whose oldest session must be removed; None if there is none. `newest` is the newest
        session's principal.
        """
        limits, counts, sizes = self._limits, self._counts, self._sizes
        # The newest session's own user pays first for its size; only the server-wide limits
        # may take from others.
        if counts[newest] > 1 and sizes[newest] > limits.kept_bytes_per_user_max:
            return newest
        is_large = sizes.total() > limits.kept_bytes_max
        if not (is_large or len(self._retired) > limits.kept_max):
            return None
        movable = [user for user in counts if user != newest or counts[user] > 1]
        return max(movable, key=(sizes if is_large else counts).__getitem__, default=None)
