"""What a change of our own record asks of REST catalogs: before it takes the lock of the catalog, and once.

A catalog that answers slowly, or not at all, would otherwise hold up all other changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from catalog.conditions import RestCatalogNotAvailable, RestCatalogRefused
from catalog.entries import TableEntry, ViewEntry
from catalog.names import CatalogName
from catalog.rest.names import RestNames

_T = TypeVar("_T")


class NotAsked(Exception):
    """An answer is needed that nobody has asked for yet."""


class AskedNames(RestNames):
    """The names of a catalog for one change. Where it `may_ask`, what is asked is kept; else only that is known."""

    def __init__(self, names: RestNames) -> None:
        super().__init__(names.client, names.places, is_nested=names.is_nested)
        self.may_ask = False
        self._answers: dict[Hashable, Any] = {}

    def schemas(self) -> list[str]:
        return self._once("schemas", super().schemas)

    def find_schema(self, schema: str) -> str | None:
        return self._once(("schema", schema), lambda: super(AskedNames, self).find_schema(schema))

    def tables(self, schema: str) -> list[TableEntry]:
        return self._once(("tables", schema), lambda: super(AskedNames, self).tables(schema))

    def find(self, schema: str, table: str) -> TableEntry | None:
        return self._once(("table", schema, table), lambda: super(AskedNames, self).find(schema, table))

    def find_view(self, schema: str, view: str) -> ViewEntry | None:
        return self._once(("view", schema, view), lambda: super(AskedNames, self).find_view(schema, view))

    def _once(self, key: Hashable, ask: Callable[[], _T]) -> _T:
        if key not in self._answers:
            if not self.may_ask:
                raise NotAsked()
            try:
                self._answers[key] = ask()
            except (RestCatalogNotAvailable, RestCatalogRefused) as error:  # which may be no error to who asks
                self._answers[key] = error
        found: _T | Exception = self._answers[key]
        if isinstance(found, Exception):
            raise found
        return found


class AskedSources:
    """The REST catalogs of one change. For one thread."""

    def __init__(self) -> None:
        self._asked: dict[RestNames, AskedNames] = {}
        self._may_ask = False

    def of(self, sources: Mapping[CatalogName, RestNames]) -> Mapping[CatalogName, RestNames]:
        found = {name: self._asked.setdefault(names, AskedNames(names)) for name, names in sources.items()}
        for names in found.values():
            names.may_ask = self._may_ask
        return found

    @contextmanager
    def asking(self) -> Iterator[None]:
        """What is looked for inside is asked; outside of it, what was not asked raises `NotAsked`."""
        self._may_ask = True
        try:
            yield
        finally:
            self._may_ask = False
