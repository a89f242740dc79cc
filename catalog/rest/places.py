"""Known file locations for tables in REST catalogs, and forbidden ones.

A table has one name and one set of policies. The served folder discovers tables itself, so a REST catalog's table in it
is rejected: it could be read under its other name. Elsewhere a path may lead to any table, and is looked up here to
find the table whose grants and policies apply.

A location is learned whenever a table is loaded by name. The entry for a table with its own grants or policies stores
it as well. Other tables may be protected by their schema or catalog; therefore, before a path is looked up, each
catalog is periodically asked for all its tables (`RestNames.learn_places`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from catalog.conditions import PathNotAllowed, RestTableInLake
from catalog.roots import canonical_location, is_at_or_below, overlap


@dataclass(frozen=True, slots=True)
class RestPlace:
    """A table's canonical `location`. Two catalogs may have the same table, recognized by its `uuid`."""

    location: str
    uuid: str | None = None


class RestPlaces:
    """Tables' file locations by address. Thread-safe. `reserved` are this server's folders."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = tuple(reserved)
        self._known: dict[str, RestPlace] = {}
        self._lock = Lock()

    def learn(self, address: str, metadata: Mapping[str, Any]) -> None:
        """Records a table's location from its metadata."""
        found = place_in(metadata)
        if found is None:
            self.forget(address)
            return
        self.put(address, found)

    def put(self, address: str, place: RestPlace) -> None:
        """Records the place of the table with this address; replaces an earlier one."""
        with self._lock:
            self._known[address] = place

    def forget(self, address: str) -> None:
        """Removes a dropped table."""
        with self._lock:
            self._known.pop(address, None)

    def move(self, address: str, new: str) -> None:
        """Moves a renamed table to its new address."""
        with self._lock:
            place = self._known.pop(address, None)
            if place is not None:
                self._known[new] = place

    def of(self, address: str) -> RestPlace | None:
        """Returns the recorded place of the table with this address; None for an unknown table."""
        return self._known.get(address)

    def all(self) -> dict[str, RestPlace]:
        """Returns a copy of all recorded places by address."""
        with self._lock:
            return dict(self._known)

    def is_reserved(self, location: str) -> bool:
        """Returns True if a canonical location is in a folder of this server, in which no REST catalog's table is
        served.
        """
        return any(is_at_or_below(location, folder) for folder in self._reserved)

    def ensure_allowed(self, table: str, location: str) -> None:
        """Raises `RestTableInLake` for a canonical location in a folder of this server, or above one."""
        for folder in self._reserved:
            if overlap(location, folder):
                raise RestTableInLake(table, location, folder)


def place_in(metadata: Mapping[str, Any]) -> RestPlace | None:
    """Returns the location in a table's metadata; None for one that cannot be named by path."""
    location, uuid = metadata.get("location"), metadata.get("table-uuid")
    try:
        return RestPlace(canonical_location(str(location)), uuid if isinstance(uuid, str) else None)
    except PathNotAllowed:
        return None
