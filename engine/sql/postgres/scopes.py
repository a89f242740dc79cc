"""Relations and columns that a query's expressions may name, with PostgreSQL's types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# A column's name and the internal name of its type.
Columns = Mapping[str, str]


@dataclass(slots=True)
class Scope:
    """The relations of one SELECT by alias, and the scope around it; `oids` are those of catalog relations."""

    parent: Scope | None = None
    sources: dict[str, Columns] = field(default_factory=dict)
    oids: dict[str, int] = field(default_factory=dict)

    def source(self, alias: str) -> Columns | None:
        """Returns a relation's columns, from here or from a query around this one."""
        if alias in self.sources:
            return self.sources[alias]
        return None if self.parent is None else self.parent.source(alias)

    def oid(self, alias: str) -> int:
        """Returns a catalog relation's oid; 0 for any other relation."""
        if alias in self.sources:
            return self.oids.get(alias, 0)
        return 0 if self.parent is None else self.parent.oid(alias)

    def column(self, name: str) -> tuple[str, str] | None:
        """Returns the alias of the first relation that has a column, and the column's type."""
        for alias, columns in self.sources.items():
            if name in columns:
                return alias, columns[name]
        return None if self.parent is None else self.parent.column(name)


@dataclass(frozen=True, slots=True)
class CatalogFunction:
    """A function of catalog queries.

    `returns` is a type's name, or `same`, `element` or `array` of the first argument's type. The function `target` of
    the database runs it.
    """

    returns: str
    target: str


@dataclass(frozen=True, slots=True)
class CatalogNames:
    """Names for catalog queries: relations `schema.name` with their columns and oids, and functions.

    `tables` are the functions that return rows, with their columns.
    """

    relations: Mapping[str, Columns]
    oids: Mapping[str, int]
    functions: Mapping[str, CatalogFunction]
    tables: Mapping[str, Columns]


@dataclass(frozen=True, slots=True)
class CatalogSession:
    """Values of the session that a catalog query may read; the names of `settings` are in lower case."""

    user: str
    database: str
    schema: str
    settings: Mapping[str, str]
