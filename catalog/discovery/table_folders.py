"""Which folders are whose, at one generation of the catalog: of tables that are recorded, and of REST catalogs' tables.

Two tables whose folders overlap are a danger to each other: what removes files that a table does not name would take
the other one's. Tables of REST catalogs are placed by others, who know nothing of ours, so they are compared where they
are made or recorded, and before files are removed.
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
from catalog.discovery.roots import overlap
from catalog.entries import TableEntry
from catalog.names import ICEBERG, CatalogName
from catalog.rest.names import RestNames, is_rest, table_at
from catalog.rest.places import RestPlace
from catalog.state import CatalogState


class TableFolders:
    """`sources` know the names that no entry of the state has, by catalog. Locations are canonical."""

    def __init__(self, state: CatalogState, sources: Mapping[CatalogName, object], places: Places) -> None:
        self._state = state
        self._sources = sources
        self._places = places

    def ensure_free(self, location: str) -> None:
        """Raises LocationOverlap where no table may be made, PathInVolume, LakeNotAvailable."""
        recorded = (entry.location for entry in self._recorded())
        elsewhere = (self._place_of(entry.location) for entry in self.rest_tables_at(location))
        self._places.ensure_free(location, iter((*recorded, *elsewhere)))
        for volume in self._state.volumes.values():
            if overlap(volume.location, location):
                raise PathInVolume(location)

    def ensure_free_for(self, address: str, location: str, *, may_have_metadata: bool) -> None:
        """For the folder of a new table of a REST catalog.

        Raises as `ensure_free`, and LocationOverlap where another table lies.

        `may_have_metadata`: Iceberg's metadata there is that of the table itself, or of one that was dropped from a
        catalog that has chosen the same place again.
        """
        self.ensure_free(location)
        format = self._places.format_at(location)
        own = format is not None and not (may_have_metadata and format == ICEBERG)
        others = (entry.location for entry in (*self._recorded(), *self.rest_tables_at(location)))
        if own or any(other != address and overlap(self._place_of(other), location) for other in others):
            raise LocationOverlap(location, "another table lies there")

    def ensure_alone(self, table: TableEntry, location: str, *, asks: bool) -> None:
        """Whether a table of a REST catalog shares its folder with no other table, and any other table with none of a
        REST catalog.

        Where it `asks`, REST catalogs are asked for all of their tables. Raises `RestPlaceShared`,
        `RestCatalogNotAvailable`, `RestCatalogRefused`.
        """
        others: list[str] = []
        if is_rest(table.location):
            others += (entry.location for entry in self._recorded() if entry.location != table.location)
            if self._places.roots.contains(location):
                others += (folder for folder in self._places.tables_around(location) if folder != location)
        if not self._places.rest.is_reserved(location):
            own = self._places.rest.of(table.location)
            for address, place in self._asked_places() if asks else self._places_at(location):
                is_same = own is not None and own.uuid is not None and own.uuid == place.uuid
                if address != table.location and not is_same:
                    others.append(place.location)
        for other in others:
            if overlap(other, location):
                raise RestPlaceShared(str(table.name), location, f"that of another table, {other}")

    def learn_rest_places(self, location: str) -> None:
        """Before it is said whose a canonical location is.

        Raises `RestCatalogNotAvailable`, `RestCatalogRefused` for a catalog that never told where its tables lie, and
        whose policies or grants may be those of the location.
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
        """The folder of a table at a canonical location, or around it, that no record has to know of."""
        around = self._places.tables_around(location)
        return next((folder for folder in around if self._places.format_at(folder) == ICEBERG), None)

    def _is_guarded(self, catalog: CatalogName) -> bool:
        """Whether tables without a record of their own may have policies or grants."""
        levels = (self._state.catalogs.get(catalog), *self._state.schemas_of(catalog))
        return any(each.named_policies or each.grants for each in levels if each is not None)

    def rest_tables_at(self, location: str) -> list[TableEntry]:
        """The tables of REST catalogs whose folder overlaps a location; each of them is asked for again.

        Those of a catalog that does not answer count as they were.
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

    def _recorded(self) -> Iterator[TableEntry]:
        return (entry for entry in self._state.relations.values() if isinstance(entry, TableEntry))

    def _asked_places(self) -> Iterator[tuple[str, RestPlace]]:
        for source in self._sources.values():
            if isinstance(source, RestNames):
                yield from source.all_places()

    def _places_at(self, location: str) -> Iterator[tuple[str, RestPlace]]:
        """As `rest_tables_at`, with their places."""
        for entry in self.rest_tables_at(location):
            yield entry.location, self._places.rest.of(entry.location) or RestPlace(self._place_of(entry.location))

    def _rest_places(self) -> Mapping[str, str]:
        """Where tables of REST catalogs lie, by their addresses: those that are recorded, or were loaded."""
        recorded = {entry.location: entry.place for entry in self._recorded() if entry.place is not None}
        loaded = {
            address: place.location
            for address, place in self._places.rest.all().items()
            if table_at(address).name.schema_name.catalog_name in self._sources
        }
        return {**recorded, **loaded}

    def _place_of(self, location: str) -> str:
        return self._rest_places().get(location, location)
