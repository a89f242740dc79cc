"""Reads untrusted JSON: each value's type is checked on access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from catalog.conditions import MalformedIcebergFile

T = TypeVar("T")
_YEAR_1_MS = -62_135_596_800_000
_YEAR_10000_MS = 253_402_300_800_000


class JsonObject:
    """A metadata file's JSON object; missing or mistyped values raise `MalformedIcebergFile`."""

    __slots__ = ("_source", "_values", "_what")

    def __init__(self, value: Any, what: str, source: str) -> None:
        if not isinstance(value, dict):
            raise MalformedIcebergFile(source, f"{what} is no object")
        self._values: Mapping[str, Any] = value
        self._what = what
        self._source = source

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def get(self, key: str) -> Any:
        """Returns the value without a check of its type; None if it is missing."""
        return self._values.get(key)

    def error(self, detail: str) -> MalformedIcebergFile:
        """Returns the error that names the file, the object in it, and the detail."""
        return MalformedIcebergFile(self._source, f"{self._what} {detail}")

    def integer(self, key: str, default: int | None = None) -> int:
        """Returns a 64-bit integer, signed or unsigned (some writers have unsigned snapshot ids)."""
        found = self._take(key, int, default)
        if isinstance(found, bool) or not -(1 << 63) <= found < 1 << 64:
            raise self.error(f"has {found!r} for {key}")
        return found

    def time_ms(self, key: str) -> int:
        """Returns milliseconds since 1970, within the calendar's range; this rejects writers that count in
        microseconds.
        """
        found = self.integer(key)
        if not _YEAR_1_MS <= found < _YEAR_10000_MS:
            raise self.error(f"has {found} for {key}, which are no milliseconds of a date")
        return found

    def optional_integer(self, key: str) -> int | None:
        """Returns an integer; None if it is missing or null."""
        return self.integer(key) if key in self else None

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a string; `default` if it is missing or null. Without a default, that is an error."""
        return self._take(key, str, default)

    def flag(self, key: str) -> bool:
        """Returns a boolean, False if missing."""
        return self._take(key, bool, False)

    def objects(self, key: str) -> list[JsonObject]:
        """Returns a list's objects; empty if missing."""
        found: list[Any] = self._take(key, list, [])
        return [JsonObject(value, f"{self._what}.{key}", self._source) for value in found]

    def child(self, key: str) -> JsonObject:
        """Returns the object at the key, which has to be present."""
        return JsonObject(self._values.get(key), f"{self._what}.{key}", self._source)

    def named_objects(self, key: str) -> dict[str, JsonObject]:
        """Returns an object's objects, by key; empty if missing."""
        found: dict[str, Any] = self._take(key, dict, {})
        return {name: JsonObject(value, f"{self._what}.{key}", self._source) for name, value in found.items()}

    def texts(self, key: str) -> dict[str, str]:
        """Returns an object with text values; empty if missing. Other values become their JSON."""
        found: dict[str, Any] = self._take(key, dict, {})
        return {name: value if isinstance(value, str) else str(value) for name, value in found.items()}

    def integers(self, key: str) -> tuple[int, ...]:
        """Returns a list of integers; an empty tuple if it is missing or null. Booleans are rejected."""
        found: list[Any] = self._take(key, list, [])
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in found):
            raise self.error(f"has {found!r} for {key}")
        return tuple(found)

    def _take(self, key: str, kind: type[T], default: T | None) -> T:
        value = self._values.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            raise self.error(f"has no {key}")
        if not isinstance(value, kind):
            raise self.error(f"has {str(value)[:80]!r} for {key}")
        return value
