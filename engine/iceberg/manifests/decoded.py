"""What was decoded of immutable files, kept by path within a limit of memory.

Manifests, manifest lists and delete files never change, so a path is all that a key needs: whatever happens to a table,
an entry is right or of no use. Files of another content under a path that was there before (a table that was removed
and made again by tools that give the same names) are told apart by their length.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Decoded:
    """Values by key, the least recently used ones dropped first. Threads share it; two may decode one file at once."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = Lock()
        self._values: OrderedDict[tuple[object, ...], tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[object, ...], make: Callable[[], T], size: Callable[[T], int]) -> T:
        """The value of `key`, made where it is not there; `size` says how many bytes one takes."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                value: T = found[0]
                return value
        value = make()
        taken = size(value)
        with self._lock:
            if key not in self._values and taken <= self._bytes_max:
                self._values[key] = (value, taken)
                self._bytes += taken
                while self._bytes > self._bytes_max:
                    _, (_, freed) = self._values.popitem(last=False)
                    self._bytes -= freed
        return value

    @property
    def num_bytes(self) -> int:
        """About what is kept."""
        with self._lock:
            return self._bytes
