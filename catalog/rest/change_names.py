"""Requests to REST catalogs that a change to our catalog needs: sent once, before the catalog's lock is taken.

Otherwise a REST catalog that responds slowly, or not at all, would block all other changes.
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


class AnswerMissing(Exception):
    """A required response has not been requested yet."""


class ChangeNames(RestNames):
    """A REST catalog's names for one change. If it `may_ask`, responses are cached; otherwise only cached ones are
    used.
    """

    def __init__(self, names: RestNames) -> None:
        super().__init__(names.client, names.places, is_nested=names.is_nested)
        self.may_ask = False
        self._answers: dict[Hashable, Any] = {}

    def schemas(self) -> list[str]:
        return self._once("schemas", super().schemas)

    def find_schema(self, schema: str) -> str | None:
        return self._once(("schema", schema), lambda: super(ChangeNames, self).find_schema(schema))

    def tables(self, schema: str) -> list[TableEntry]:
        return self._once(("tables", schema), lambda: super(ChangeNames, self).tables(schema))

    def find(self, schema: str, table: str) -> TableEntry | None:
        return self._once(("table", schema, table), lambda: super(ChangeNames, self).find(schema, table))

    def find_view(self, schema: str, view: str) -> ViewEntry | None:
        return self._once(("view", schema, view), lambda: super(ChangeNames, self).find_view(schema, view))

    def _once(self, key: Hashable, ask: Callable[[], _T]) -> _T:
        if key not in self._answers:
            if not self.may_ask:
                raise AnswerMissing()
            try:
                self._answers[key] = ask()
            except (RestCatalogNotAvailable, RestCatalogRefused) as error:  # the caller decides if this is an error
                self._answers[key] = error
        found: _T | Exception = self._answers[key]
        if isinstance(found, Exception):
            raise found
        return found


class ChangeSources:
    """The REST catalogs for one change. For a single thread."""

    def __init__(self) -> None:
        self._change_names: dict[RestNames, ChangeNames] = {}
        self._may_ask = False

    def of(self, sources: Mapping[CatalogName, RestNames]) -> Mapping[CatalogName, RestNames]:
        """Returns each catalog's names for this change, the same objects on each call.

        Outside `allow_requests`, they raise `AnswerMissing` instead of sending requests.
        """
        found = {name: self._change_names.setdefault(names, ChangeNames(names)) for name, names in sources.items()}
        for names in found.values():
            names.may_ask = self._may_ask
        return found

    @contextmanager
    def allow_requests(self) -> Iterator[None]:
        """Allows requests within the block; outside it, a lookup without a cached response raises `AnswerMissing`."""
        self._may_ask = True
        try:
            yield
        finally:
            self._may_ask = False
