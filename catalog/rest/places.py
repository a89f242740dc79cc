"""Where the tables of REST catalogs lie, as far as it is known here, and where they may not lie.

A table has one name and one set of policies. The served folder finds tables by themselves, so a table of a REST catalog
that lies there is refused: it would be read by its other name. Elsewhere a path leads to whatever lies there, and is
looked up here to find the table whose grants and policies count.

A place is learned whenever a table is loaded by its name. The record of a table that has grants or policies of its own
keeps it as well. Those of other tables may count by their schema or catalog, so that before a path is looked up each
catalog is asked for all of its tables, once in a while (`RestNames.learn_places`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from catalog.conditions import PathNotAllowed, RestTableInLake
from catalog.discovery.roots import canonical_location, is_at_or_below, overlap


@dataclass(frozen=True, slots=True)
class RestPlace:
    """`location` is canonical. Two catalogs may have the same table, whose `uuid` is one then."""

    location: str
    uuid: str | None = None


class RestPlaces:
    """The places of tables by their addresses. Thread-safe. `reserved` are folders of this server."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = tuple(reserved)
        self._known: dict[str, RestPlace] = {}
        self._lock = Lock()

    def learn(self, address: str, metadata: Mapping[str, Any]) -> None:
        """What a catalog says of a table."""
        found = place_in(metadata)
        if found is None:
            self.forget(address)
            return
        self.put(address, found)

    def put(self, address: str, place: RestPlace) -> None:
        with self._lock:
            self._known[address] = place

    def forget(self, address: str) -> None:
        """The table is gone."""
        with self._lock:
            self._known.pop(address, None)

    def move(self, address: str, new: str) -> None:
        """The table has another address."""
        with self._lock:
            place = self._known.pop(address, None)
            if place is not None:
                self._known[new] = place

    def of(self, address: str) -> RestPlace | None:
        return self._known.get(address)

    def all(self) -> dict[str, RestPlace]:
        with self._lock:
            return dict(self._known)

    def is_reserved(self, location: str) -> bool:
        """Whether a canonical location is a folder of this server, where no table of a REST catalog is served."""
        return any(is_at_or_below(location, folder) for folder in self._reserved)

    def ensure_allowed(self, table: str, location: str) -> None:
        """Raises `RestTableInLake` for a canonical location in a folder of this server, or around one."""
        for folder in self._reserved:
            if overlap(location, folder):
                raise RestTableInLake(table, location, folder)


def place_in(metadata: Mapping[str, Any]) -> RestPlace | None:
    """What metadata says of a table's place; None for one that no path can name."""
    location, uuid = metadata.get("location"), metadata.get("table-uuid")
    try:
        return RestPlace(canonical_location(str(location)), uuid if isinstance(uuid, str) else None)
    except PathNotAllowed:
        return None
