"""Folder ownership at one catalog generation: recorded tables, and tables in REST catalogs.

Two tables with overlapping folders endanger each other: an operation that removes unreferenced files would remove the
other table's files. REST catalogs choose their tables' locations without regard to ours, so these are compared when
tables are created or recorded, and before files are removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from catalog.conditions import (
    LocationOverlap,
    PathInVolume,
    RestCatalogNotAvailable,
    RestCatalogRefused,
    RestPlaceShared,
)
from catalog.discovery.places import Places
from catalog.entries import TableEntry
from catalog.names import ICEBERG, CatalogName
from catalog.rest.names import RestNames, is_rest, table_at
from catalog.rest.places import RestPlace
from catalog.roots import overlap
from catalog.state import CatalogState


class TableFolders:
    """Table folders in the state and in `sources`, which by catalog resolve names without an entry. Locations are
    canonical.
    """

    def __init__(self, state: CatalogState, sources: Mapping[CatalogName, object], places: Places) -> None:
        self._state = state
        self._sources = sources
        self._places = places

    def ensure_free(self, location: str) -> None:
        """Raises LocationOverlap if no table may be created at a location; raises PathInVolume, LakeNotAvailable."""
        recorded = (entry.location for entry in self._table_entries())
        elsewhere = (self._place_of(entry.location) for entry in self.rest_tables_at(location))
        self._places.ensure_free(location, iter((*recorded, *elsewhere)))
        for volume in self._state.volumes.values():
            if overlap(volume.location, location):
                raise PathInVolume(location)

    def ensure_free_for(self, address: str, location: str, *, may_have_metadata: bool) -> None:
        """Checks the folder for a new table in a REST catalog.

        Raises as `ensure_free` does, and LocationOverlap if another table is located there.

        `may_have_metadata`: Iceberg metadata found there belongs to the table itself, or to a dropped table, after
        which the catalog has chosen the same location again.
        """
        self.ensure_free(location)
        format = self._places.format_at(location)
        own = format is not None and not (may_have_metadata and format == ICEBERG)
        others = (entry.location for entry in (*self._table_entries(), *self.rest_tables_at(location)))
        if own or any(other != address and overlap(self._place_of(other), location) for other in others):
            raise LocationOverlap(location, "it overlaps the location of another table")

    def ensure_no_overlap_with_rest(self, table: TableEntry, location: str, *, loads_tables: bool) -> None:
        """Checks that a location overlaps that of no other table, if one of the two belongs to a REST catalog.

        Deleting unreferenced files would otherwise delete data of the other table. `location` is canonical.
        `loads_tables` requests the locations of all tables from the REST catalogs; otherwise cached ones are used.
        Raises `RestPlaceShared`, `RestCatalogNotAvailable`, `RestCatalogRefused`.
        """
        others: list[str] = []
        if is_rest(table.location):
            others += (entry.location for entry in self._table_entries() if entry.location != table.location)
            if self._places.roots.contains(location):
                others += (folder for folder in self._places.tables_around(location) if folder != location)
        if not self._places.rest.is_reserved(location):
            own = self._places.rest.of(table.location)
            for address, place in self._requested_places() if loads_tables else self._places_at(location):
                is_same = own is not None and own.uuid is not None and own.uuid == place.uuid
                if address != table.location and not is_same:
                    others.append(place.location)
        for other in others:
            if overlap(other, location):
                raise RestPlaceShared(str(table.name), location, f"the location {other} of another table")

    def learn_rest_places(self, location: str) -> None:
        """Loads the REST catalogs' table locations, before a canonical location's owner is determined.

        Raises `RestCatalogNotAvailable`, `RestCatalogRefused` for a catalog whose table locations were never loaded,
        and whose policies or grants may apply to the location.
        """
        if self._places.rest.is_reserved(location):
            return
        for name, source in self._sources.items():
            if not isinstance(source, RestNames):
                continue
            try:
                source.learn_places(sought=location, table_around=lambda: self._iceberg_around(location))
            except (RestCatalogNotAvailable, RestCatalogRefused):
                if not source.knows_places and self._is_guarded(name):
                    raise

    def _iceberg_around(self, location: str) -> str | None:
        """Returns the folder of an Iceberg table at or above a canonical location; the table may have no entry."""
        around = self._places.tables_around(location)
        return next((folder for folder in around if self._places.format_at(folder) == ICEBERG), None)

    def _is_guarded(self, catalog: CatalogName) -> bool:
        """Returns True if policies or grants on the catalog or its schemas may apply to tables without an entry."""
        levels = (self._state.catalogs.get(catalog), *self._state.schemas_of(catalog))
        return any(each.named_policies or each.grants for each in levels if each is not None)

    def rest_tables_at(self, location: str) -> list[TableEntry]:
        """Returns the REST catalogs' tables whose folder overlaps a location; each is requested again.

        If a catalog does not respond, its previously known tables count.
        """
        found = []
        for address, place in self._rest_places().items():
            entry = table_at(address)
            source = self._sources.get(entry.name.schema_name.catalog_name)
            if not isinstance(source, RestNames) or not overlap(place, location):
                continue
            try:
                now_there = source.find(entry.name.schema, entry.name.table)
                is_there = now_there is not None and now_there.location == address
            except (RestCatalogNotAvailable, RestCatalogRefused):
                is_there = True
            now = self._places.rest.of(address)
            if is_there and overlap(place if now is None else now.location, location):
                recorded = self._state.relations.get(entry.name)
                found.append(recorded if isinstance(recorded, TableEntry) else entry)
        return found

    def _table_entries(self) -> Iterator[TableEntry]:
        return (entry for entry in self._state.relations.values() if isinstance(entry, TableEntry))

    def _requested_places(self) -> Iterator[tuple[str, RestPlace]]:
        for source in self._sources.values():
            if isinstance(source, RestNames):
                yield from source.load_places()

    def _places_at(self, location: str) -> Iterator[tuple[str, RestPlace]]:
        """Yields the addresses and locations for the tables that `rest_tables_at` returns."""
        for entry in self.rest_tables_at(location):
            yield entry.location, self._places.rest.of(entry.location) or RestPlace(self._place_of(entry.location))

    def _rest_places(self) -> Mapping[str, str]:
        """Returns the known locations of REST catalogs' tables by address: recorded ones and loaded ones."""
        recorded = {entry.location: entry.place for entry in self._table_entries() if entry.place is not None}
        loaded = {
            address: place.location
            for address, place in self._places.rest.all().items()
            if table_at(address).name.schema_name.catalog_name in self._sources
        }
        return {**recorded, **loaded}

    def _place_of(self, location: str) -> str:
        return self._rest_places().get(location, location)
