"""Per-table values that a server reuses between statements; losing them only costs time."""

from __future__ import annotations

from threading import Lock

_TABLES_MAX = 100_000


class TableCache:
    """A bounded map from table locations to values. When it is full, values for further tables are dropped.
    Thread-safe.
    """

    def __init__(self, tables_max: int = _TABLES_MAX) -> None:
        self._lock = Lock()
        self._values: dict[str, object] = {}
        self._tables_max = tables_max

    def get(self, location: str) -> object | None:
        """Returns the value for a table's location; None without one."""
        with self._lock:
            return self._values.get(location)

    def put(self, location: str, value: object | None) -> None:
        """Stores a table's value; None removes it."""
        with self._lock:
            if value is None:
                self._values.pop(location, None)
            elif location in self._values or len(self._values) < self._tables_max:
                self._values[location] = value
