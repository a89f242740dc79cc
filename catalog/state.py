"""The catalog at one generation: an immutable value with lookups. Pure.

A generation is the number of changes that led to the state. A statement binds against one state and therefore sees one
generation, despite concurrent changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from catalog.entries import (
    CatalogEntry,
    CloneEntry,
    Entry,
    FunctionEntry,
    GroupEntry,
    LocationEntry,
    Relation,
    SchemaEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA, CatalogName, SchemaName, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogState:
    """All explicit objects by name. Each schema's catalog and each relation's schema has an entry too."""

    generation: int
    catalogs: Mapping[CatalogName, CatalogEntry]
    schemas: Mapping[SchemaName, SchemaEntry]
    relations: Mapping[TableName, Relation]
    # Shallow clones, by location.
    clones: Mapping[str, CloneEntry] = field(default_factory=lambda: MappingProxyType({}))
    server: ServerEntry = ServerEntry()
    functions: Mapping[TableName, FunctionEntry] = field(default_factory=lambda: MappingProxyType({}))
    volumes: Mapping[TableName, VolumeEntry] = field(default_factory=lambda: MappingProxyType({}))
    # External locations, by folded name.
    locations: Mapping[str, LocationEntry] = field(default_factory=lambda: MappingProxyType({}))
    # Groups, by folded name.
    groups: Mapping[str, GroupEntry] = field(default_factory=lambda: MappingProxyType({}))

    def schemas_of(self, catalog: CatalogName) -> Iterator[SchemaEntry]:
        """Returns the explicit schemas in a catalog; a served folder and a REST catalog have more."""
        return (entry for name, entry in self.schemas.items() if name.catalog_name == catalog)

    def relations_of(self, schema: SchemaName) -> Iterator[Relation]:
        """Returns the explicit tables and views in a schema."""
        return (entry for name, entry in self.relations.items() if name.key[:2] == schema.key)

    def entries(self) -> Iterator[Entry]:
        """Yields all objects, each after its container."""
        yield from self.catalogs.values()
        yield from self.schemas.values()
        yield from self.relations.values()
        yield from self.functions.values()
        yield from self.volumes.values()
        yield from self.clones.values()
        yield self.server
        yield from self.locations.values()
        yield from self.groups.values()

    def functions_of(self, schema: SchemaName) -> Iterator[FunctionEntry]:
        """Returns the functions in a schema."""
        return (entry for name, entry in self.functions.items() if name.key[:2] == schema.key)

    def volumes_of(self, schema: SchemaName) -> Iterator[VolumeEntry]:
        """Returns the volumes in a schema."""
        return (entry for name, entry in self.volumes.items() if name.key[:2] == schema.key)


DEFAULT_CATALOG_NAME = CatalogName(DEFAULT_CATALOG)
DEFAULT_SCHEMA_NAME = SchemaName(DEFAULT_CATALOG, DEFAULT_SCHEMA)

# The contents for a new store: the default catalog and schema.
INITIAL_STATE = CatalogState(
    generation=0,
    catalogs={DEFAULT_CATALOG_NAME: CatalogEntry(name=DEFAULT_CATALOG_NAME)},
    schemas={DEFAULT_SCHEMA_NAME: SchemaEntry(name=DEFAULT_SCHEMA_NAME)},
    relations={},
)


def state_of(generation: int, entries: Iterable[Entry]) -> CatalogState:
    """Returns the state with these entries; for entries with the same name, the last one counts."""
    catalogs: dict[CatalogName, CatalogEntry] = {}
    schemas: dict[SchemaName, SchemaEntry] = {}
    relations: dict[TableName, Relation] = {}
    clones: dict[str, CloneEntry] = {}
    functions: dict[TableName, FunctionEntry] = {}
    volumes: dict[TableName, VolumeEntry] = {}
    locations: dict[str, LocationEntry] = {}
    groups: dict[str, GroupEntry] = {}
    server = INITIAL_STATE.server
    for entry in entries:
        match entry:
            case CatalogEntry():
                catalogs[entry.name] = entry
            case SchemaEntry():
                schemas[entry.name] = entry
            case TableEntry() | ViewEntry():
                relations[entry.name] = entry
            case CloneEntry():
                clones[entry.location] = entry
            case FunctionEntry():
                functions[entry.name] = entry
            case VolumeEntry():
                volumes[entry.name] = entry
            case LocationEntry():
                locations[entry.key] = entry
            case GroupEntry():
                groups[entry.key] = entry
            case ServerEntry():
                server = entry
            case _:
                assert_never(entry)
    return CatalogState(
        generation=generation,
        catalogs=catalogs,
        schemas=schemas,
        relations=relations,
        clones=clones,
        server=server,
        functions=functions,
        volumes=volumes,
        locations=locations,
        groups=groups,
    )
