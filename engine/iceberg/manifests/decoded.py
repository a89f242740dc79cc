"""What was decoded of immutable files, kept by path within a limit of memory.

Manifests, manifest lists and delete files never change, so a path is all that a key needs: whatever happens to a table,
an entry is right or of no use. Files of another content under a path that was there before (a table that was removed
and made again by tools that give the same names) are told apart by their length. Files that are read with credentials
of one table are kept for these credentials alone (`Decoded.apart`): who has others might not read them.
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

    def apart(self, lease: str | None) -> Decoded:
        """What was decoded of files that were read by a lease, within the same limit; None: by what the server has."""
        return self if lease is None else _Apart(self, lease)

    @property
    def num_bytes(self) -> int:
        """About what is kept."""
        with self._lock:
            return self._bytes


class _Apart(Decoded):
    def __init__(self, all: Decoded, lease: str) -> None:
        self._all, self._lease = all, lease

    def get(self, key: tuple[object, ...], make: Callable[[], T], size: Callable[[T], int]) -> T:
        return self._all.get((self._lease, *key), make, size)

    @property
    def num_bytes(self) -> int:
        return self._all.num_bytes
