"""The catalog at one generation: an immutable value with its lookups. Pure.

A generation is the count of changes that made the state; a statement binds against one state and so sees one
generation, whatever others change concurrently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

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
    VolumeEntry,
)
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA, CatalogName, SchemaName, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogState:
    """Every explicit object by its name. Every schema's catalog and every relation's schema is there too."""

    generation: int
    catalogs: Mapping[CatalogName, CatalogEntry]
    schemas: Mapping[SchemaName, SchemaEntry]
    relations: Mapping[TableName, Relation]
    clones: Mapping[str, CloneEntry] = field(default_factory=lambda: MappingProxyType({}))
    """Shallow clones, by location."""
    server: ServerEntry = ServerEntry()
    functions: Mapping[TableName, FunctionEntry] = field(default_factory=lambda: MappingProxyType({}))
    volumes: Mapping[TableName, VolumeEntry] = field(default_factory=lambda: MappingProxyType({}))
    locations: Mapping[str, LocationEntry] = field(default_factory=lambda: MappingProxyType({}))
    """External locations, by folded name."""
    groups: Mapping[str, GroupEntry] = field(default_factory=lambda: MappingProxyType({}))
    """By folded name."""

    def schemas_of(self, catalog: CatalogName) -> Iterator[SchemaEntry]:
        return (entry for name, entry in self.schemas.items() if name.catalog_name == catalog)

    def relations_of(self, schema: SchemaName) -> Iterator[Relation]:
        return (entry for name, entry in self.relations.items() if name.key[:2] == schema.key)

    def entries(self) -> Iterator[Entry]:
        """All objects, each after the one that it lies in."""
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
        return (entry for name, entry in self.functions.items() if name.key[:2] == schema.key)

    def volumes_of(self, schema: SchemaName) -> Iterator[VolumeEntry]:
        return (entry for name, entry in self.volumes.items() if name.key[:2] == schema.key)


DEFAULT_CATALOG_NAME = CatalogName(DEFAULT_CATALOG)
DEFAULT_SCHEMA_NAME = SchemaName(DEFAULT_CATALOG, DEFAULT_SCHEMA)

INITIAL_STATE = CatalogState(
    generation=0,
    catalogs={DEFAULT_CATALOG_NAME: CatalogEntry(name=DEFAULT_CATALOG_NAME)},
    schemas={DEFAULT_SCHEMA_NAME: SchemaEntry(name=DEFAULT_SCHEMA_NAME)},
    relations={},
)
"""What a new store holds: the catalog and schema that are always there."""
