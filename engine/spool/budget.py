"""How many bytes of temporary files there may be: in all, and of one owner.

Bytes are taken before they are written and given back when their file is gone. Files also go when Python forgets their
handles, at any point of any thread, in which no lock may be taken: what is given back waits in a queue, and counts at
the next look.
"""

from __future__ import annotations

import threading
from collections import Counter, deque

from catalog.conditions import SpoolFull, SpoolFullOfOwner
from catalog.errors import SqlError

_SHARE = 8
"""Of the bytes that are left, who is to write an unknown number gets one in so many ahead of need."""


class SpoolBudget:
    """Thread-safe. `setting` and `owner_setting` name in errors what bounds it."""

    def __init__(
        self, bytes_max: int, owner_bytes_max: int | None = None, *, setting: str = "", owner_setting: str = ""
    ) -> None:
        """`owner_bytes_max` None: an owner may have all."""
        self._max = bytes_max
        self._owner_max = bytes_max if owner_bytes_max is None else owner_bytes_max
        self._setting = setting
        self._owner_setting = owner_setting
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        """By owner."""
        self._returned: deque[tuple[str, int]] = deque()

    def take(self, owner: str, count: int) -> None:
        """Take `count` bytes for `owner`; raises `SpoolFull` or `SpoolFullOfOwner`, and takes nothing then."""
        with self._lock:
            self._settle()
            if count > self._left(owner):
                raise self._refusal(owner)
            self._held[owner] += count

    def give_back(self, owner: str, count: int) -> None:
        """Takes no lock."""
        self._returned.append((owner, count))

    def take_some(self, owner: str, wanted: int, needed: int) -> int:
        """Take `wanted` bytes, but of what is left no more than a part, or as many as are `needed`.

        Others would be refused for bytes that nobody uses. Raises what :meth:`take` does.
        """
        with self._lock:
            self._settle()
            left = self._left(owner)
            if needed > left:
                raise self._refusal(owner)
            count = max(needed, min(wanted, left // _SHARE))
            self._held[owner] += count
            return count

    def held_bytes(self) -> int:
        with self._lock:
            self._settle()
            return self._held.total()

    def _left(self, owner: str) -> int:
        return min(self._max - self._held.total(), self._owner_max - self._held[owner])

    def _refusal(self, owner: str) -> SqlError:
        owner_left, left = self._owner_max - self._held[owner], self._max - self._held.total()
        if self._owner_max < self._max and owner_left <= left:
            return SpoolFullOfOwner(owner, self._owner_max, self._owner_setting)
        return SpoolFull(self._max, self._setting)

    def _settle(self) -> None:
        while self._returned:
            owner, count = self._returned.popleft()
            self._held[owner] -= count
            if not self._held[owner]:
                del self._held[owner]


class Reservation:
    """Bytes that were taken for files which another program writes, until these are whole. Thread-safe."""

    def __init__(self, budget: SpoolBudget | None, owner: str) -> None:
        """Without a budget all may be taken."""
        self._budget = budget
        self._owner = owner
        self._lock = threading.Lock()
        self._count = 0
        self._is_over = False

    def take(self, wanted: int, needed: int) -> int:
        """How many more were taken; see `SpoolBudget.take_some`. After :meth:`release` none are."""
        with self._lock:
            if self._is_over:
                return 0
            count = wanted if self._budget is None else self._budget.take_some(self._owner, wanted, needed)
            self._count += count
            return count

    def release(self) -> None:
        """Give all of them back; releasing twice does nothing."""
        with self._lock:
            self._is_over = True
            count, self._count = self._count, 0
        if self._budget is not None and count:
            self._budget.give_back(self._owner, count)
