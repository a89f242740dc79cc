"""A statement's view of the catalog.

Two sources are overlaid: the store's state contains explicit objects (CREATE SCHEMA, CREATE TABLE … LOCATION, CREATE
VIEW), the served folder contains discovered tables. If both have a name, the state's entry wins. A folder that a
managed table owns is visible under that table's name only, so a renamed table does not reappear under its old name.

The explicit entries are from one generation and do not change. Folders are listed on demand, once, while the statement
is bound.

A view may be restricted to one principal (:meth:`CatalogView.visible_to`): objects that are not visible to the
principal are absent from lookups, lists and hints alike. Checks on new table locations use all objects.

`grants_on` and `effective_grants` return the grants that a principal may see: all grants on objects that it manages,
elsewhere the grants to itself and its groups.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from catalog.conditions import (
    CatalogNotFound,
    InsufficientPermissions,
    PathInVolume,
    ReservedName,
    RestCatalogNotAvailable,
    SchemaNotFound,
    TableAmbiguous,
    TableNotFound,
    VolumeNotFound,
)
from catalog.discovery.discovery import ServedFolder
from catalog.discovery.places import Places
from catalog.discovery.table_folders import TableFolders
from catalog.entries import (
    CatalogEntry,
    FunctionEntry,
    LocationEntry,
    Relation,
    SchemaEntry,
    SecurableEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.grants.privileges import PRIVILEGES, Grant, Privilege
from catalog.grants.rights import NOBODY, Caller, Rights, kind_of
from catalog.names import (
    DEFAULT_CATALOG,
    DELTA,
    CatalogName,
    Matcher,
    SchemaName,
    TableName,
    ensure_new_part,
    fold,
    matches_all,
)
from catalog.rest.changes import COMMENT, LOCATION
from catalog.rest.names import RestNames, location_of
from catalog.roots import is_at_or_below, overlap
from catalog.state import DEFAULT_CATALOG_NAME, CatalogState
from catalog.system.audit_table import AUDIT_TABLE, SYSTEM_CATALOG
from catalog.system.system_views import (
    SCHEMAS_OF_SYSTEM,
    find_by_short_name,
    is_system_catalog,
    is_system_schema,
    system_schema,
    system_view,
    system_views,
)
from catalog.volumes.paths import VOLUMES_FOLDER

logger = logging.getLogger(__name__)


class NameSource(Protocol):
    """A source for schemas and tables without an entry: a served folder, or a REST catalog."""

    def schemas(self) -> Iterable[str]:
        """Returns the names of the schemas, unqualified."""
        ...

    def find_schema(self, schema: str) -> str | None:
        """Returns the schema name as the source spells it."""
        ...

    def tables(self, schema: str) -> Iterable[TableEntry]:
        """Returns entries for the tables of a schema, by its unqualified name; none if the schema does not exist."""
        ...

    def find(self, schema: str, table: str) -> TableEntry | None:
        """Returns the table; raises TableAmbiguous."""
        ...


class CatalogView:
    """Lookups at one generation. Errors for missing names suggest similar names."""

    def __init__(
        self,
        state: CatalogState,
        sources: Mapping[CatalogName, NameSource],
        places: Places,
        rights: Rights | None = None,
    ) -> None:
        """Creates a view; `sources` by catalog resolve names without an entry in the state."""
        self.state = state
        self.sources = sources
        self._places = places
        self._served = places.served
        self.rights = rights

    def visible_to(self, caller: Caller) -> CatalogView:
        """Returns the same generation, restricted to objects that are visible to `caller`."""
        return CatalogView(self.state, self.sources, self._places, Rights(self.state, caller))

    @cached_property
    def unrestricted(self) -> CatalogView:
        """Returns the same generation without restriction, for uniqueness checks."""
        return self if self.rights is None else CatalogView(self.state, self.sources, self._places)

    @cached_property
    def folders(self) -> TableFolders:
        """Returns all table folders, including tables that are not visible to the principal."""
        return TableFolders(self.state, self.sources, self._places)

    def tells_all(self, entry: SecurableEntry) -> bool:
        """Returns True if the principal may see details that only an object's managers see: its location, a view's
        text.
        """
        return self.rights is None or self.rights.manages(entry)

    def _shows(self, entry: SecurableEntry) -> bool:
        return self.rights is None or self.rights.is_visible(entry)

    def _shows_system_view(self, name: TableName) -> bool:
        return name != AUDIT_TABLE or self.rights is None or self.rights.caller.is_admin

    @property
    def generation(self) -> int:
        """Returns the number of the catalog's state that this view shows."""
        return self.state.generation

    def catalogs(self) -> list[CatalogEntry]:
        """Returns all catalogs, by name."""
        return sorted(filter(self._shows, self.state.catalogs.values()), key=lambda entry: entry.name.key)

    def schemas(self, catalog: CatalogName, matches: Matcher = matches_all) -> list[SchemaEntry]:
        """Returns the schemas with matching names, by name; raises CatalogNotFound."""
        if is_system_catalog(catalog):
            seen = map(self._find_schema, SCHEMAS_OF_SYSTEM)
            return [entry for entry in seen if entry is not None and matches(entry.name.schema)]
        self.catalog(catalog)
        found = {entry.name: entry for entry in self.state.schemas_of(catalog)}
        source = self.sources.get(catalog)
        for schema in self._schemas_of(source):
            name = SchemaName(catalog.catalog, schema)
            found.setdefault(name, SchemaEntry(name=name))
        return sorted(
            (entry for entry in found.values() if matches(entry.name.schema) and self._shows(entry)),
            key=lambda entry: entry.name.key,
        )

    def _schemas_of(self, source: NameSource | None) -> Iterable[str]:
        if isinstance(source, ServedFolder):
            return source.schemas({entry.location for entry in self._recorded_tables()})
        return source.schemas() if source is not None else ()

    def relations(self, schema: SchemaName, matches: Matcher = matches_all) -> list[Relation]:
        """Returns the tables and views with matching names, by name; raises CatalogNotFound, SchemaNotFound."""
        self.schema(schema)
        return self._relations_of(schema, matches)

    def _relations_of(self, schema: SchemaName, matches: Matcher) -> list[Relation]:
        """Returns the relations in an existing schema."""
        if is_system_schema(schema):
            return [each for each in self._system_views(schema) if matches(each.name.table)]
        explicit = {entry.name: entry for entry in self.state.relations_of(schema)}
        source = self.sources.get(schema.catalog_name)
        views = source.views(schema.schema) if isinstance(source, RestNames) else []
        there: list[Relation] = [*self.discovered_in(schema), *views]
        found = [*explicit.values(), *(entry for entry in there if entry.name not in explicit)]
        matching = (entry for entry in found if matches(entry.name.table) and self._shows(entry))
        return sorted(matching, key=lambda entry: (entry.name.key, entry.name.parts))

    def _system_views(self, schema: SchemaName) -> list[ViewEntry]:
        return [each for each in system_views(schema) if self._shows_system_view(each.name)]

    def find_schemas(self, catalog: str | None, matches: Matcher = matches_all) -> Iterator[SchemaEntry]:
        """Yields matching schemas in one catalog, or in all (None); yields nothing for a catalog that does not exist.

        With None, a catalog that does not respond is skipped with a log message.
        """
        if catalog:
            name = CatalogName(catalog)
            yield from self.schemas(name, matches) if self.has_catalog(name) or is_system_catalog(name) else ()
            return
        for entry in self.catalogs():
            try:
                yield from self.schemas(entry.name, matches)
            except RestCatalogNotAvailable as error:
                logger.warning("%s", error)

    def find_relations(self, catalog: str | None, schemas: Matcher, relations: Matcher) -> Iterator[Relation]:
        """Yields matching tables and views in matching schemas, as :meth:`find_schemas` does."""
        for schema in self.find_schemas(catalog, schemas):
            try:
                yield from self._relations_of(schema.name, relations)
            except RestCatalogNotAvailable as error:
                if catalog:
                    raise
                logger.warning("%s", error)

    def has_catalog(self, catalog: CatalogName) -> bool:
        """Returns True if the catalog exists and is visible to the principal."""
        entry = self.state.catalogs.get(catalog)
        return entry is not None and self._shows(entry)

    def catalog(self, catalog: CatalogName) -> CatalogEntry:
        """Returns a catalog; raises CatalogNotFound."""
        entry = self.state.catalogs.get(catalog)
        if entry is None or not self._shows(entry):
            raise CatalogNotFound(str(catalog), _did_you_mean(catalog.parts, self._catalog_names()))
        return entry

    def _catalog_names(self) -> Iterator[CatalogName]:
        """Yields all names that may be the first part."""
        yield from (each.name for each in self.catalogs())
        yield CatalogName(SYSTEM_CATALOG)

    def schema(self, schema: SchemaName) -> SchemaEntry:
        """Returns a schema; raises CatalogNotFound, SchemaNotFound."""
        entry = self._find_schema(schema)
        if entry is None:
            there_are = (each.name for each in self.schemas(schema.catalog_name))
            raise SchemaNotFound(str(schema), _did_you_mean(schema.parts, there_are))
        return entry

    def described_schema(self, schema: SchemaName) -> tuple[SchemaEntry, Mapping[str, str]]:
        """Returns the schema as :meth:`schema` does, with a REST catalog's comment, location and other properties."""
        entry = self.schema(schema)
        source = self.sources.get(schema.catalog_name)
        if not isinstance(source, RestNames) or is_system_schema(schema):
            return entry, {}
        found = dict(source.describe_schema(entry.name.schema))
        comment, location = found.pop(COMMENT, None), found.pop(LOCATION, None)
        return replace(entry, comment=comment, location=location), found

    def finds_schema(self, schema: SchemaName) -> bool:
        """Returns True if the schema exists, explicitly or in a source, and is visible to the principal."""
        return self._find_schema(schema) is not None

    def may_know(self, name: TableName) -> bool:
        """Returns True if a table with that name, existing or not, would be visible to the principal. Reads no
        folder.
        """
        return self._shows(self.state.relations.get(name) or TableEntry(name=name, location=""))

    def find(self, name: TableName) -> Relation | None:
        """Returns the table or view, or None; raises TableAmbiguous, LakeNotAvailable."""
        if is_system_schema(name.schema_name):
            is_there = self._shows_system_view(name) and self._find_schema(name.schema_name) is not None
            return system_view(name) if is_there else None
        recorded = self.state.relations.get(name)
        if recorded is not None and not self._shows(recorded):
            return None
        if isinstance(recorded, TableEntry):
            self._ensure_there(recorded.location)
        return recorded or self.find_discovered(name) or self.foreign_view(name) or self._find_by_short_name(name)

    def foreign_view(self, name: TableName) -> ViewEntry | None:
        """Returns the view that a REST catalog stores under a name."""
        source = self.sources.get(name.schema_name.catalog_name)
        found = source.find_view(name.schema, name.table) if isinstance(source, RestNames) else None
        return found if found is not None and self._shows(found) else None

    def _find_by_short_name(self, name: TableName) -> Relation | None:
        view = find_by_short_name(name)
        return view if view is not None and self.find(view.name) is not None else None

    def resolve(self, name: TableName) -> Relation:
        """Returns the table or view; raises CatalogNotFound, TableNotFound, TableAmbiguous."""
        entry = self.find(name)
        if entry is None:
            raise self._not_found(name)
        return entry

    def resolve_path(self, path: str, format: str = DELTA) -> TableEntry:
        """Returns an entry for a path from a client; raises PathNotAllowed. Only the log shows if the table exists."""
        location = self.ensure_location(path)
        return TableEntry(name=TableName(DEFAULT_CATALOG, format, location), location=location, format=format)

    def tables_at(self, location: str) -> tuple[TableEntry, ...]:
        """Returns the tables that a canonical location belongs to: it equals, is inside, or contains their folder.

        Raises `RestCatalogNotAvailable`, `RestCatalogRefused` if that cannot be determined.
        """
        self.folders.learn_rest_places(location)
        recorded = [entry for entry in self._recorded_tables() if overlap(entry.location, location)]
        recorded += self.folders.rest_tables_at(location)
        known = {entry.location for entry in recorded}
        if self._served is None:
            return tuple(recorded)
        folders = [folder for folder in self._places.tables_around(location) if folder not in known]
        names = {folder: self._served.name_of(folder) for folder in folders}
        return (*recorded, *(TableEntry(name=name, location=folder) for folder, name in names.items() if name))

    def external_location(self, location: str) -> LocationEntry | None:
        """Returns the external location that contains a canonical location."""
        around = (entry for entry in self.state.locations.values() if is_at_or_below(location, entry.location))
        return next(around, None)

    def functions(self, schema: SchemaName, matches: Matcher = matches_all) -> list[FunctionEntry]:
        """Returns the functions with matching names, by name; raises CatalogNotFound, SchemaNotFound."""
        self.schema(schema)
        found = (each for each in self.state.functions_of(schema) if matches(each.name.table) and self._shows(each))
        return sorted(found, key=lambda entry: entry.name.key)

    def find_function(self, name: TableName) -> FunctionEntry | None:
        """Returns a function's entry; None if it does not exist or is not visible to the principal."""
        entry = self.state.functions.get(name)
        return entry if entry is not None and self._shows(entry) else None

    def external_locations(self) -> list[LocationEntry]:
        """Returns the visible external locations, by name."""
        return sorted(filter(self._shows, self.state.locations.values()), key=lambda entry: entry.key)

    def volumes(self, schema: SchemaName, matches: Matcher = matches_all) -> list[VolumeEntry]:
        """Returns the volumes with matching names, by name; raises CatalogNotFound, SchemaNotFound."""
        self.schema(schema)
        found = (each for each in self.state.volumes_of(schema) if matches(each.name.table) and self._shows(each))
        return sorted(found, key=lambda entry: entry.name.key)

    def volume(self, name: TableName) -> VolumeEntry:
        """Returns a volume; raises VolumeNotFound."""
        entry = self.state.volumes.get(name)
        if entry is None or not self._shows(entry):
            raise VolumeNotFound(str(name))
        return entry

    def new_volume_location(self, name: TableName, token: str) -> str | None:
        """Returns the location for a new managed volume: a unique folder, which no later volume with the same name
        reuses.

        Returns None if neither the schema nor the server has a folder.
        """
        schema = self.managed_schema_location(name.schema_name)
        return None if schema is None else f"{schema}/{VOLUMES_FOLDER}/{token}"

    def _ensure_no_volume(self, path: str, location: str, *, above: bool) -> None:
        """Raises for a path inside an external volume, and with `above` also for a path that contains one."""
        compare = overlap if above else is_at_or_below
        for entry in self.state.volumes.values():
            if not entry.managed and compare(location, entry.location):
                if self._shows(entry):
                    raise PathInVolume(path)
                raise InsufficientPermissions(Privilege.READ_FILES.value, f"Path '{location}'")

    def ensure_may_change(self, schema: SchemaName) -> None:
        """Raises ReservedName for system schemas, whose views are generated from the catalog itself."""
        if is_system_schema(schema):
            raise ReservedName("SCHEMA", str(schema))

    def ensure_location(self, path: str) -> str:
        """Returns the canonical location for a client's table path; raises PathNotAllowed, LakeNotAvailable."""
        location = self._places.ensure_allowed(path)
        self._ensure_no_volume(path, location, above=False)
        self._places.ensure_there(location)
        return location

    def ensure_files(self, path: str) -> str:
        """Returns the canonical location for files that a client reads by path.

        Raises PathNotAllowed, FilesNotReadable, LakeNotAvailable.
        """
        location = self._places.ensure_allowed(path)
        self._ensure_no_volume(path, location, above=True)
        self._places.ensure_files(location)
        return location

    def is_rest(self, catalog: CatalogName) -> bool:
        """Returns True if a catalog is a REST catalog."""
        return isinstance(self.sources.get(catalog), RestNames)

    def ensure_new_name(self, name: TableName) -> TableName:
        """Returns the name for a new table, with its schema's existing spelling. Raises InvalidName,
        SchemaNotFound, …
        """
        self.ensure_may_change(name.schema_name)
        ensure_new_part(name.table)
        return TableName(name.catalog, self.schema(name.schema_name).name.schema, name.table)

    def rest_address(self, name: TableName) -> str | None:
        """Returns the address for a new table in a REST catalog; None for other catalogs."""
        source = self.sources.get(name.schema_name.catalog_name)
        if not isinstance(source, RestNames):
            return None
        namespace = source.namespace_of(name.schema)
        if namespace is None:
            raise SchemaNotFound(str(name.schema_name))
        return location_of(source.name.catalog, namespace, name.table)

    def ensure_free_location(self, location: str) -> None:
        """Raises LocationOverlap if no table may be created at a location; raises LakeNotAvailable."""
        self.folders.ensure_free(location)

    def has_table_at(self, location: str) -> bool:
        """Returns True if a canonical location below an allowed root has table files, possibly damaged ones."""
        return self._places.format_at(location) is not None

    def clones_of(self, location: str) -> tuple[str, ...]:
        """Returns the locations for shallow clones that may name files from the table at a canonical location.

        Some may be gone, or no longer name any of its files; only their logs show that.
        """
        return tuple(
            sorted(
                clone.location
                for clone in self.state.clones.values()
                if clone.location != location and any(overlap(location, source) for source in clone.sources)
            )
        )

    def sources_of(self, location: str) -> tuple[str, ...]:
        """Returns the other tables' folders in which the table at a canonical location may name files."""
        clone = self.state.clones.get(location)
        return () if clone is None else clone.sources

    def table_type(self, entry: TableEntry) -> str:
        """Returns the type under Databricks' name. A shallow clone stays one as long as a version of it may name files
        of other tables.
        """
        kind = "MANAGED" if entry.managed else "EXTERNAL"
        is_clone = entry.format == DELTA and bool(self.sources_of(entry.location))
        return f"{kind}_SHALLOW_CLONE" if is_clone else kind

    def managed_location(self, name: TableName) -> str | None:
        """Returns the default location for a new table: below its schema's location, else in the served folder, in
        which discovery would find it under the same name. Returns None if there is neither.
        """
        schema = self.managed_schema_location(name.schema_name)
        return None if schema is None else self.ensure_location(f"{schema}/{name.table}")

    def managed_schema_location(self, name: SchemaName) -> str | None:
        """Returns the folder for a schema's managed objects, without a trailing slash."""
        schema = self.schema(name)
        if schema.location is not None:
            return schema.location.rstrip("/")
        if self._served is None:
            return None
        catalog = () if name.catalog_name == DEFAULT_CATALOG_NAME else (name.catalog,)
        return "/".join((self._served.root.rstrip("/"), *catalog, schema.name.schema))

    def find_discovered(self, name: TableName, but: str | None = None) -> TableEntry | None:
        """Returns the discovered table called `name`, unless a managed table owns its folder; raises TableAmbiguous.

        Returns None if the name's folder is `but`, which is not read.
        """
        source = self.sources.get(name.schema_name.catalog_name)
        if source is None:
            return None
        if self.rights is not None and not self._shows(TableEntry(name=name, location="")):
            return None  # before the folders are read, because an error could reveal table names
        if isinstance(source, ServedFolder):
            entry = source.find(name.schema, name.table, but)
        else:
            entry = source.find(name.schema, name.table)
        return None if entry is None or entry.location in self._single_name_locations else entry

    def lies_in_lake(self, location: str) -> bool:
        """Returns True if the served folder has a table at a location, with a name that needs no entry."""
        name = None if self._served is None else self._served.name_of(location)
        found = None if self._served is None or name is None else self._served.find(name.schema, name.table)
        return found is not None and found.location == location

    def discovered_in(self, schema: SchemaName) -> list[TableEntry]:
        """Returns all tables in the schema that its catalog's source has."""
        source = self.sources.get(schema.catalog_name)
        if source is None:
            return []
        if isinstance(source, ServedFolder):
            return source.tables(schema.schema, self._single_name_locations)
        return [entry for entry in source.tables(schema.schema) if entry.location not in self._single_name_locations]

    def discovered_schema(self, schema: SchemaName) -> SchemaName | None:
        """Returns the schema name as its catalog's source spells it, or None if the source lacks the schema."""
        source = self.sources.get(schema.catalog_name)
        spelling = None if source is None else source.find_schema(schema.schema)
        return None if spelling is None else SchemaName(schema.catalog, spelling)

    def recorded_at(self, location: str) -> list[TableEntry]:
        """Returns the recorded tables at that location, by name; several may be external."""
        found = (entry for entry in self._recorded_tables() if entry.location == location)
        return sorted(found, key=lambda entry: entry.name.key)

    @cached_property
    def _single_name_locations(self) -> frozenset[str]:
        """Returns the locations whose tables have exactly one name. A table with grants or policies has no second name,
        because they would hold for one name only.
        """
        return frozenset(
            entry.location
            for entry in self._recorded_tables()
            if entry.managed or entry.grants or entry.policies or entry.tags or self.rights is not None
        )

    def _recorded_tables(self) -> Iterator[TableEntry]:
        return (entry for entry in self.state.relations.values() if isinstance(entry, TableEntry))

    def _ensure_there(self, location: str) -> None:
        """Checks that a recorded location's root is available; the entry may be older than the current allowed
        roots.
        """
        if self._places.roots.contains(location):
            self._places.ensure_there(location)

    def _find_schema(self, schema: SchemaName) -> SchemaEntry | None:
        if is_system_schema(schema):
            is_there = is_system_catalog(schema.catalog_name) or self.has_catalog(schema.catalog_name)
            return system_schema(schema) if is_there else None
        entry = self.state.schemas.get(schema)
        if entry is None and (name := self.discovered_schema(schema)) is not None:
            entry = SchemaEntry(name=name)
        return entry if entry is None or self._shows(entry) else None

    def _not_found(self, name: TableName) -> CatalogNotFound | TableNotFound:
        """Returns the error for an unknown name, with the most likely intended name."""
        if is_system_catalog(name.schema_name.catalog_name) or fold(name.schema) == SYSTEM_CATALOG:
            views = (
                view.name
                for each in self.schemas(CatalogName(SYSTEM_CATALOG))
                for view in self._system_views(each.name)
            )
            hint = _did_you_mean(name.parts, views)
            if hint or is_system_catalog(name.schema_name.catalog_name):
                return TableNotFound(str(name), hint or f" SHOW SCHEMAS IN {SYSTEM_CATALOG} lists its schemas.")
        if not self.has_catalog(name.schema_name.catalog_name):
            nested = TableName(DEFAULT_CATALOG, f"{name.catalog}.{name.schema}", name.table)
            if self.find_discovered(nested) is not None:
                return CatalogNotFound(str(CatalogName(name.catalog)), f" Did you mean {nested}?")
            return CatalogNotFound(
                str(CatalogName(name.catalog)), _did_you_mean((name.catalog,), self._catalog_names())
            )
        if self._find_schema(name.schema_name) is None:
            schemas = (each.name for each in self.schemas(name.schema_name.catalog_name))
            hint = _did_you_mean(name.schema_name.parts, schemas)
            return TableNotFound(str(name), f" There is no schema {name.schema_name}.{hint}")
        tables = (each.name for each in self.relations(name.schema_name))
        return TableNotFound(str(name), self._elsewhere(name) or _did_you_mean(name.parts, tables))

    def _elsewhere(self, name: TableName) -> str:
        """Returns a hint at a table with that name in another schema; a REST catalog is not searched schema by
        schema.
        """
        if self.is_rest(name.schema_name.catalog_name):
            return ""
        for schema in self.schemas(name.schema_name.catalog_name):
            other = TableName(name.catalog, schema.name.schema, name.table)
            try:
                found = self.state.relations.get(other) or self.find_discovered(other)
                found = found if found is None or self._shows(found) else None
            except TableAmbiguous:
                continue
            if found is not None:
                return f" Did you mean {found.name}?"
        return ""


def _did_you_mean(parts: tuple[str, ...], there_are: Iterable[CatalogName | SchemaName | TableName]) -> str:
    """Returns a hint at the name whose last part is closest to the last in `parts`, or an empty text if none is
    close.
    """
    by_last = {fold(name.parts[-1]): name for name in there_are}
    close = difflib.get_close_matches(fold(parts[-1]), by_last, n=1)
    return f" Did you mean {by_last[close[0]]}?" if close else ""


def grants_on(view: CatalogView, entry: SecurableEntry) -> list[Grant]:
    """Returns the visible grants on the object itself."""
    rights = view.rights
    if rights is None or rights.manages(entry):
        return list(entry.grants)
    return [each for each in entry.grants if each.principal in rights.caller.principals]


def effective_grants(view: CatalogView, entry: SecurableEntry) -> Iterator[tuple[SecurableEntry, Grant]]:
    """Yields the visible grants that hold for the object, each with the object or container that it is granted on."""
    covered = PRIVILEGES[kind_of(entry)] | {Privilege.BROWSE}
    for level in Rights(view.state, NOBODY).levels(entry):
        for grant in grants_on(view, level):
            if level is entry or grant.privilege in covered:
                yield level, grant
