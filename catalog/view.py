"""The catalog as one statement sees it.

Two sources are laid over each other: the store's state holds what somebody said (CREATE SCHEMA, CREATE TABLE …
LOCATION, CREATE VIEW), the served folder what lies there. Where both know a name, the state's entry counts; a folder
that a managed table owns is known by that table's name only, so a renamed table does not come back under its old one.

The explicit entries are of one generation and do not change; folders are looked at when they are asked for, once, while
the statement is bound.

A view may be that of one principal (:meth:`CatalogView.seen_by`): then what the principal may not know of is not there,
for lookups, lists and hints alike. What decides where a table may be made looks at everything.

`own_grants` and `effective_grants` are the grants that a principal may see: all on what it manages, elsewhere those to
itself and its groups.
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
from catalog.discovery.roots import is_at_or_below, overlap
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
from catalog.state import DEFAULT_CATALOG_NAME, CatalogState
from catalog.system.audit_table import SYSTEM_CATALOG, is_audit_schema
from catalog.system.system_views import (
    SCHEMAS_OF_SYSTEM,
    is_system_catalog,
    is_system_schema,
    short_named,
    system_schema,
    system_view,
    system_views,
)
from catalog.volumes.paths import VOLUMES_FOLDER

logger = logging.getLogger(__name__)


class NameSource(Protocol):
    """Knows schemas and tables that are there without an entry: a served folder, or a catalog elsewhere."""

    def schemas(self) -> Iterable[str]: ...

    def find_schema(self, schema: str) -> str | None:
        """As it is spelled there."""
        ...

    def tables(self, schema: str) -> Iterable[TableEntry]: ...

    def find(self, schema: str, table: str) -> TableEntry | None:
        """Raises TableAmbiguous."""
        ...


class CatalogView:
    """Lookups at one generation. Those that raise say what the name may have meant."""

    def __init__(
        self,
        state: CatalogState,
        sources: Mapping[CatalogName, NameSource],
        places: Places,
        rights: Rights | None = None,
    ) -> None:
        """`sources` know the names that no entry of the state has, by catalog."""
        self.state = state
        self.sources = sources
        self._places = places
        self._served = places.served
        self.rights = rights

    def seen_by(self, caller: Caller) -> CatalogView:
        """The same generation, with what `caller` may know of alone."""
        return CatalogView(self.state, self.sources, self._places, Rights(self.state, caller))

    @cached_property
    def unrestricted(self) -> CatalogView:
        """The same generation with all that is there, for what must not be made twice."""
        return self if self.rights is None else CatalogView(self.state, self.sources, self._places)

    @cached_property
    def folders(self) -> TableFolders:
        """Where tables lie, whether or not the principal may know of them."""
        return TableFolders(self.state, self.sources, self._places)

    def tells_all(self, entry: SecurableEntry) -> bool:
        """Whether the principal may know what only those do who manage an object: where it lies, a view's text."""
        return self.rights is None or self.rights.manages(entry)

    def _shows(self, entry: SecurableEntry) -> bool:
        return self.rights is None or self.rights.is_visible(entry)

    @property
    def _shows_audit(self) -> bool:
        return self.rights is None or self.rights.caller.is_admin

    @property
    def generation(self) -> int:
        return self.state.generation

    def catalogs(self) -> list[CatalogEntry]:
        """All catalogs, by name."""
        return sorted(filter(self._shows, self.state.catalogs.values()), key=lambda entry: entry.name.key)

    def schemas(self, catalog: CatalogName, matches: Matcher = matches_all) -> list[SchemaEntry]:
        """The schemas whose names match, by name; raises CatalogNotFound."""
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
        """The tables and views whose names match, by name; raises CatalogNotFound, SchemaNotFound."""
        self.schema(schema)
        return self._relations_of(schema, matches)

    def _relations_of(self, schema: SchemaName, matches: Matcher) -> list[Relation]:
        """Returns the relations of a schema that exists."""
        if is_system_schema(schema):
            return [view for view in system_views(schema) if matches(view.name.table)]
        explicit = {entry.name: entry for entry in self.state.relations_of(schema)}
        source = self.sources.get(schema.catalog_name)
        views = source.views(schema.schema) if isinstance(source, RestNames) else []
        there: list[Relation] = [*self.discovered_in(schema), *views]
        found = [*explicit.values(), *(entry for entry in there if entry.name not in explicit)]
        matching = (entry for entry in found if matches(entry.name.table) and self._shows(entry))
        return sorted(matching, key=lambda entry: (entry.name.key, entry.name.parts))

    def find_schemas(self, catalog: str | None, matches: Matcher = matches_all) -> Iterator[SchemaEntry]:
        """Matching schemas of one catalog, or of all (None); none for a catalog that does not exist.

        Of all catalogs, one that does not answer has none, and the log says so.
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
        """Matching tables and views of matching schemas, as :meth:`find_schemas`."""
        for schema in self.find_schemas(catalog, schemas):
            try:
                yield from self._relations_of(schema.name, relations)
            except RestCatalogNotAvailable as error:
                if catalog:
                    raise
                logger.warning("%s", error)

    def has_catalog(self, catalog: CatalogName) -> bool:
        entry = self.state.catalogs.get(catalog)
        return entry is not None and self._shows(entry)

    def catalog(self, catalog: CatalogName) -> CatalogEntry:
        """Raises CatalogNotFound."""
        entry = self.state.catalogs.get(catalog)
        if entry is None or not self._shows(entry):
            raise CatalogNotFound(str(catalog), _did_you_mean(catalog.parts, self._catalog_names()))
        return entry

    def _catalog_names(self) -> Iterator[CatalogName]:
        """Of all that a name may begin with."""
        yield from (each.name for each in self.catalogs())
        yield CatalogName(SYSTEM_CATALOG)

    def schema(self, schema: SchemaName) -> SchemaEntry:
        """Raises CatalogNotFound, SchemaNotFound."""
        entry = self._find_schema(schema)
        if entry is None:
            there_are = (each.name for each in self.schemas(schema.catalog_name))
            raise SchemaNotFound(str(schema), _did_you_mean(schema.parts, there_are))
        return entry

    def described_schema(self, schema: SchemaName) -> tuple[SchemaEntry, Mapping[str, str]]:
        """The schema as :meth:`schema`, with the comment, location and other properties that a REST catalog has."""
        entry = self.schema(schema)
        source = self.sources.get(schema.catalog_name)
        if not isinstance(source, RestNames) or is_system_schema(schema):
            return entry, {}
        found = dict(source.describe_schema(entry.name.schema))
        comment, location = found.pop(COMMENT, None), found.pop(LOCATION, None)
        return replace(entry, comment=comment, location=location), found

    def finds_schema(self, schema: SchemaName) -> bool:
        return self._find_schema(schema) is not None

    def may_know(self, name: TableName) -> bool:
        """Whether the principal may be told of a table of that name, whether or not there is one. Looks into no
        folder.
        """
        return self._shows(self.state.relations.get(name) or TableEntry(name=name, location=""))

    def find(self, name: TableName) -> Relation | None:
        """The table or view, or None; raises TableAmbiguous, LakeNotAvailable."""
        if is_system_schema(name.schema_name):
            return system_view(name) if self._find_schema(name.schema_name) else None
        recorded = self.state.relations.get(name)
        if recorded is not None and not self._shows(recorded):
            return None
        if isinstance(recorded, TableEntry):
            self._ensure_there(recorded.location)
        return recorded or self.discovered(name) or self.foreign_view(name) or self._short_named(name)

    def foreign_view(self, name: TableName) -> ViewEntry | None:
        """The view that a REST catalog keeps under a name."""
        source = self.sources.get(name.schema_name.catalog_name)
        found = source.find_view(name.schema, name.table) if isinstance(source, RestNames) else None
        return found if found is not None and self._shows(found) else None

    def _short_named(self, name: TableName) -> Relation | None:
        view = short_named(name)
        return view if view is not None and self._find_schema(view.name.schema_name) else None

    def resolve(self, name: TableName) -> Relation:
        """The table or view; raises CatalogNotFound, TableNotFound, TableAmbiguous."""
        entry = self.find(name)
        if entry is None:
            raise self._not_found(name)
        return entry

    def resolve_path(self, path: str, format: str = DELTA) -> TableEntry:
        """The table at a path that a client wrote; raises PathNotAllowed. Whether one is there is the log's to say."""
        location = self.ensure_location(path)
        return TableEntry(name=TableName(DEFAULT_CATALOG, format, location), location=location, format=format)

    def tables_at(self, location: str) -> tuple[TableEntry, ...]:
        """The tables to which a canonical location belongs: it is their folder, lies in it, or holds it.

        Raises `RestCatalogNotAvailable`, `RestCatalogRefused` where that is not known.
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
        """The external location that a canonical location lies in."""
        around = (entry for entry in self.state.locations.values() if is_at_or_below(location, entry.location))
        return next(around, None)

    def functions(self, schema: SchemaName, matches: Matcher = matches_all) -> list[FunctionEntry]:
        """The functions whose names match, by name; raises CatalogNotFound, SchemaNotFound."""
        self.schema(schema)
        found = (each for each in self.state.functions_of(schema) if matches(each.name.table) and self._shows(each))
        return sorted(found, key=lambda entry: entry.name.key)

    def find_function(self, name: TableName) -> FunctionEntry | None:
        entry = self.state.functions.get(name)
        return entry if entry is not None and self._shows(entry) else None

    def external_locations(self) -> list[LocationEntry]:
        """Those that may be known, by name."""
        return sorted(filter(self._shows, self.state.locations.values()), key=lambda entry: entry.key)

    def volumes(self, schema: SchemaName, matches: Matcher = matches_all) -> list[VolumeEntry]:
        """The volumes whose names match, by name; raises CatalogNotFound, SchemaNotFound."""
        self.schema(schema)
        found = (each for each in self.state.volumes_of(schema) if matches(each.name.table) and self._shows(each))
        return sorted(found, key=lambda entry: entry.name.key)

    def volume(self, name: TableName) -> VolumeEntry:
        """Raises VolumeNotFound."""
        entry = self.state.volumes.get(name)
        if entry is None or not self._shows(entry):
            raise VolumeNotFound(str(name))
        return entry

    def new_volume_location(self, name: TableName, token: str) -> str | None:
        """Returns the place of a new managed volume: a folder of its own, which no later volume of the name has.

        None if neither the schema nor the server has a folder.
        """
        schema = self.managed_schema_location(name.schema_name)
        return None if schema is None else f"{schema}/{VOLUMES_FOLDER}/{token}"

    def _ensure_no_volume(self, path: str, location: str, *, above: bool) -> None:
        """Raises for a path in an external volume, and with `above` also for one that such a volume is in."""
        compare = overlap if above else is_at_or_below
        for entry in self.state.volumes.values():
            if not entry.managed and compare(location, entry.location):
                if self._shows(entry):
                    raise PathInVolume(path)
                raise InsufficientPermissions(Privilege.READ_FILES.value, f"Path '{location}'")

    def ensure_may_change(self, schema: SchemaName) -> None:
        """Raises ReservedName for the schema whose views are made of the catalog itself."""
        if is_system_schema(schema):
            raise ReservedName("SCHEMA", str(schema))

    def ensure_location(self, path: str) -> str:
        """The canonical location of a path that a client chose for a table; raises PathNotAllowed, LakeNotAvailable."""
        location = self._places.ensure_allowed(path)
        self._ensure_no_volume(path, location, above=False)
        self._places.ensure_there(location)
        return location

    def ensure_files(self, path: str) -> str:
        """The canonical location of files that a client means to read by themselves.

        Raises PathNotAllowed, FilesNotReadable, LakeNotAvailable.
        """
        location = self._places.ensure_allowed(path)
        self._ensure_no_volume(path, location, above=True)
        self._places.ensure_files(location)
        return location

    def is_rest(self, catalog: CatalogName) -> bool:
        """Whether the names of a catalog are those of a REST catalog."""
        return isinstance(self.sources.get(catalog), RestNames)

    def ensure_new_name(self, name: TableName) -> TableName:
        """The name of a table to be made, its schema spelled as it was. Raises InvalidName, SchemaNotFound, …"""
        self.ensure_may_change(name.schema_name)
        ensure_new_part(name.table)
        return TableName(name.catalog, self.schema(name.schema_name).name.schema, name.table)

    def rest_address(self, name: TableName) -> str | None:
        """Where a new table of a REST catalog will be; None for other catalogs."""
        source = self.sources.get(name.schema_name.catalog_name)
        if not isinstance(source, RestNames):
            return None
        namespace = source.namespace_of(name.schema)
        if namespace is None:
            raise SchemaNotFound(str(name.schema_name))
        return location_of(source.name.catalog, namespace, name.table)

    def ensure_free_location(self, location: str) -> None:
        """Raises LocationOverlap where no table may be made, LakeNotAvailable."""
        self.folders.ensure_free(location)

    def has_table_at(self, location: str) -> bool:
        """Returns whether a canonical location below an allowed root has files of a table, which may be damaged."""
        return self._places.format_at(location) is not None

    def clones_of(self, location: str) -> tuple[str, ...]:
        """The locations of the shallow clones that may name files of the table at a canonical location.

        Some may be gone, or name none of its files any more: their logs tell.
        """
        return tuple(
            sorted(
                clone.location
                for clone in self.state.clones.values()
                if clone.location != location and any(overlap(location, source) for source in clone.sources)
            )
        )

    def sources_of(self, location: str) -> tuple[str, ...]:
        """The folders of other tables below which the table at a canonical location is known to name files."""
        clone = self.state.clones.get(location)
        return () if clone is None else clone.sources

    def managed_location(self, name: TableName) -> str | None:
        """Where a table of this name goes if its statement does not say: below its schema's location, else in the
        served folder, where it would be found under the same name. None where there is neither.
        """
        schema = self.managed_schema_location(name.schema_name)
        return None if schema is None else self.ensure_location(f"{schema}/{name.table}")

    def managed_schema_location(self, name: SchemaName) -> str | None:
        """Returns the place of managed objects of a schema, without a slash at the end."""
        schema = self.schema(name)
        if schema.location is not None:
            return schema.location.rstrip("/")
        if self._served is None:
            return None
        catalog = () if name.catalog_name == DEFAULT_CATALOG_NAME else (name.catalog,)
        return "/".join((self._served.root.rstrip("/"), *catalog, schema.name.schema))

    def discovered(self, name: TableName, but: str | None = None) -> TableEntry | None:
        """Returns what the catalog's source has under `name`, unless a managed table owns it; raises TableAmbiguous.

        None if the folder of that name is `but`, which is not looked at.
        """
        source = self.sources.get(name.schema_name.catalog_name)
        if source is None:
            return None
        if self.rights is not None and not self._shows(TableEntry(name=name, location="")):
            return None  # before the folders are asked, whose answer may be an error that names tables
        if isinstance(source, ServedFolder):
            entry = source.find(name.schema, name.table, but)
        else:
            entry = source.find(name.schema, name.table)
        return None if entry is None or entry.location in self._owned else entry

    def lies_in_lake(self, location: str) -> bool:
        """Whether the served folder has a table at a location, that has a name without any record."""
        name = None if self._served is None else self._served.name_of(location)
        found = None if self._served is None or name is None else self._served.find(name.schema, name.table)
        return found is not None and found.location == location

    def discovered_in(self, schema: SchemaName) -> list[TableEntry]:
        """All tables of the schema that the source of its catalog has."""
        source = self.sources.get(schema.catalog_name)
        if source is None:
            return []
        if isinstance(source, ServedFolder):
            return source.tables(schema.schema, self._owned)
        return [entry for entry in source.tables(schema.schema) if entry.location not in self._owned]

    def discovered_schema(self, schema: SchemaName) -> SchemaName | None:
        """The schema as the source of its catalog spells it, or None where that has no such schema."""
        source = self.sources.get(schema.catalog_name)
        spelling = None if source is None else source.find_schema(schema.schema)
        return None if spelling is None else SchemaName(schema.catalog, spelling)

    def recorded_at(self, location: str) -> list[TableEntry]:
        """The tables of that location that have a record, by name; several may be external."""
        found = (entry for entry in self._recorded_tables() if entry.location == location)
        return sorted(found, key=lambda entry: entry.name.key)

    @cached_property
    def _owned(self) -> frozenset[str]:
        """Where tables lie that have no second name. One with grants or policies has none, or they would hold for one
        name only.
        """
        return frozenset(
            entry.location
            for entry in self._recorded_tables()
            if entry.managed or entry.grants or entry.policies or entry.tags or self.rights is not None
        )

    def _recorded_tables(self) -> Iterator[TableEntry]:
        return (entry for entry in self.state.relations.values() if isinstance(entry, TableEntry))

    def _ensure_there(self, location: str) -> None:
        """Of a record, which may be older than the roots that are allowed now."""
        if self._places.roots.contains(location):
            self._places.ensure_there(location)

    def _find_schema(self, schema: SchemaName) -> SchemaEntry | None:
        if is_audit_schema(schema):
            return system_schema(schema) if self._shows_audit else None
        if is_system_schema(schema):
            is_there = is_system_catalog(schema.catalog_name) or self.has_catalog(schema.catalog_name)
            return system_schema(schema) if is_there else None
        entry = self.state.schemas.get(schema)
        if entry is None and (name := self.discovered_schema(schema)) is not None:
            entry = SchemaEntry(name=name)
        return entry if entry is None or self._shows(entry) else None

    def _not_found(self, name: TableName) -> CatalogNotFound | TableNotFound:
        """The error for a name that leads nowhere, with the likeliest thing that it meant."""
        if is_system_catalog(name.schema_name.catalog_name) or fold(name.schema) == SYSTEM_CATALOG:
            views = (
                view.name for each in self.schemas(CatalogName(SYSTEM_CATALOG)) for view in system_views(each.name)
            )
            hint = _did_you_mean(name.parts, views)
            if hint or is_system_catalog(name.schema_name.catalog_name):
                return TableNotFound(str(name), hint or f" SHOW SCHEMAS IN {SYSTEM_CATALOG} lists its schemas.")
        if not self.has_catalog(name.schema_name.catalog_name):
            nested = TableName(DEFAULT_CATALOG, f"{name.catalog}.{name.schema}", name.table)
            if self.discovered(nested) is not None:
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
        """A hint at a table of that name in another schema; another server is not asked for each of its schemas."""
        if self.is_rest(name.schema_name.catalog_name):
            return ""
        for schema in self.schemas(name.schema_name.catalog_name):
            other = TableName(name.catalog, schema.name.schema, name.table)
            try:
                found = self.state.relations.get(other) or self.discovered(other)
                found = found if found is None or self._shows(found) else None
            except TableAmbiguous:
                continue
            if found is not None:
                return f" Did you mean {found.name}?"
        return ""


def _did_you_mean(parts: tuple[str, ...], there_are: Iterable[CatalogName | SchemaName | TableName]) -> str:
    """A hint at the name whose last part is the closest to that of `parts`, or nothing if none is close."""
    by_last = {fold(name.parts[-1]): name for name in there_are}
    close = difflib.get_close_matches(fold(parts[-1]), by_last, n=1)
    return f" Did you mean {by_last[close[0]]}?" if close else ""


def own_grants(view: CatalogView, entry: SecurableEntry) -> list[Grant]:
    """Those on the object itself."""
    rights = view.rights
    if rights is None or rights.manages(entry):
        return list(entry.grants)
    return [each for each in entry.grants if each.principal in rights.caller.principals]


def effective_grants(view: CatalogView, entry: SecurableEntry) -> Iterator[tuple[SecurableEntry, Grant]]:
    """Those that hold for the object, each with what it is on: the object, or what that lies in."""
    covered = PRIVILEGES[kind_of(entry)] | {Privilege.BROWSE}
    for level in Rights(view.state, NOBODY).levels(entry):
        for grant in own_grants(view, level):
            if level is entry or grant.privilege in covered:
                yield level, grant
