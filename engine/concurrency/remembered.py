"""What one server remembers of tables from one statement to the next, where forgetting costs time alone."""

from __future__ import annotations

from threading import Lock

_TABLES_MAX = 100_000


class Remembered:
    """A value for each of so many tables, by location; what comes after these is forgotten. Threads share it."""

    def __init__(self, tables_max: int = _TABLES_MAX) -> None:
        self._lock = Lock()
        self._values: dict[str, object] = {}
        self._tables_max = tables_max

    def get(self, location: str) -> object | None:
        with self._lock:
            return self._values.get(location)

    def put(self, location: str, value: object | None) -> None:
        """None forgets the table."""
        with self._lock:
            if value is None:
                self._values.pop(location, None)
            elif location in self._values or len(self._values) < self._tables_max:
                self._values[location] = value
