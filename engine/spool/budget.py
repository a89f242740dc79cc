"""Limits the bytes in temporary files, in total and per owner.

Bytes are taken before they are written and returned when their file is removed. Files are also removed when Python's
garbage collector finalizes their handles, at any point in any thread, when no lock may be taken. Therefore returned
bytes are put into a queue and counted at the next access.
"""

from __future__ import annotations

import threading
from collections import Counter, deque

from catalog.conditions import SpoolFull, SpoolFullOfOwner
from catalog.errors import SqlError

# A writer with an unknown size gets one part in this many of the remaining bytes in advance.
_SHARE = 8


class SpoolBudget:
    """A byte budget. Thread-safe. Errors name `setting` and `owner_setting` as the limits."""

    def __init__(
        self, bytes_max: int, owner_bytes_max: int | None = None, *, setting: str = "", owner_setting: str = ""
    ) -> None:
        """Creates a budget; `owner_bytes_max` None: an owner may take all bytes."""
        self.bytes_max = bytes_max
        # Bytes that other processes have taken from the same limit.
        self.elsewhere = 0
        self._owner_max = bytes_max if owner_bytes_max is None else owner_bytes_max
        self._setting = setting
        self._owner_setting = owner_setting
        self._lock = threading.Lock()
        # Bytes by owner.
        self._held: Counter[str] = Counter()
        self._total = 0
        self._returned: deque[tuple[str, int]] = deque()

    def take(self, owner: str, count: int) -> None:
        """Takes `count` bytes for `owner`. Raises `SpoolFull` or `SpoolFullOfOwner`, and then takes nothing."""
        with self._lock:
            if self._returned:
                self._settle()
            held, total = self._held.get(owner, 0) + count, self._total + count
            if held > self._owner_max or total > self.bytes_max - self.elsewhere:
                raise self._refusal(owner)
            self._held[owner], self._total = held, total

    def count(self, owner: str, count: int) -> None:
        """Counts bytes that are in files already, also beyond the limits."""
        with self._lock:
            self._settle()
            self._held[owner] += count
            self._total += count

    def give_back(self, owner: str, count: int) -> None:
        """Returns bytes to the budget. Takes no lock."""
        self._returned.append((owner, count))

    def take_some(self, owner: str, wanted: int, needed: int) -> int:
        """Takes `wanted` bytes, limited to a part of the remaining bytes, but at least `needed`; returns the number.

        Otherwise other owners would be rejected because of unused bytes. Raises the errors of :meth:`take`.
        """
        with self._lock:
            self._settle()
            left = self._free_bytes(owner)
            if needed > left:
                raise self._refusal(owner)
            # A share of the rest rather than all that is wanted: concurrent writers then
            # approach the limit together, and none of them starves.
            count = max(needed, min(wanted, left // _SHARE))
            self._held[owner] += count
            self._total += count
            return count

    def held_bytes(self) -> int:
        """Returns the bytes that all owners hold now, released files not included."""
        with self._lock:
            self._settle()
            return self._total

    def _free_bytes(self, owner: str) -> int:
        return min(self._left(), self._owner_max - self._held[owner])

    def _left(self) -> int:
        return self.bytes_max - self.elsewhere - self._total

    def _refusal(self, owner: str) -> SqlError:
        owner_left, left = self._owner_max - self._held[owner], self._left()
        # The smaller limit is the one that the user can do something about.
        if self._owner_max < self.bytes_max and owner_left <= left:
            return SpoolFullOfOwner(owner, self._owner_max, self._owner_setting)
        return SpoolFull(self.bytes_max, self._setting)

    def _settle(self) -> None:
        while self._returned:
            owner, count = self._returned.popleft()
            self._held[owner] -= count
            self._total -= count
            if not self._held[owner]:
                del self._held[owner]


class Reservation:
    """Bytes taken for files that another program is writing, until they are complete. Thread-safe."""

    def __init__(self, budget: SpoolBudget | None, owner: str) -> None:
        """Creates a reservation; without a budget there is no limit."""
        self._budget = budget
        self._owner = owner
        self._lock = threading.Lock()
        self._count = 0
        self._is_over = False

    def take(self, wanted: int, needed: int) -> int:
        """Takes more bytes and returns their number; see `SpoolBudget.take_some`. After :meth:`release` returns 0."""
        with self._lock:
            if self._is_over:
                return 0
            count = wanted if self._budget is None else self._budget.take_some(self._owner, wanted, needed)
            self._count += count
            return count

    def release(self) -> None:
        """Returns all bytes to the budget; a second call does nothing."""
        with self._lock:
            self._is_over = True
            count, self._count = self._count, 0
        if self._budget is not None and count:
            self._budget.give_back(self._owner, count)
