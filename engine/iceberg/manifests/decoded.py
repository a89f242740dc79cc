"""A cache for decoded immutable files, by path, within a memory limit.

Manifests, manifest lists and delete files never change, so the path suffices as a key: an entry is valid or unused,
whatever happens to the table. Different content under the same path (a table that was dropped and created again by
tools that generate the same names) is detected by the length. Files that are read with one table's credentials are
cached for these credentials only (`Decoded.apart`): other credentials might not permit the read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Decoded:
    """An LRU cache. It is thread-safe; two threads may decode the same file concurrently."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = Lock()
        self._values: OrderedDict[tuple[object, ...], tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[object, ...], make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Returns the value for `key`, calling `make` if absent; `size` returns a value's size in bytes."""
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

    def apart(self, credentials_id: str | None) -> Decoded:
        """Returns the cache for files that were read by a lease, within the same limit; None: by the server's
        credentials.
        """
        return self if credentials_id is None else _Apart(self, credentials_id)

    @property
    def num_bytes(self) -> int:
        """Returns the approximate size in bytes."""
        with self._lock:
            return self._bytes


class _Apart(Decoded):
    def __init__(self, all: Decoded, credentials_id: str) -> None:
        self._all, self._credentials_id = all, credentials_id

    def get(self, key: tuple[object, ...], make: Callable[[], T], size: Callable[[T], int]) -> T:
        return self._all.get((self._credentials_id, *key), make, size)

    @property
    def num_bytes(self) -> int:
        return self._all.num_bytes
