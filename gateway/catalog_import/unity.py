"""Reads a Unity Catalog by its REST API (`/api/2.1/unity-catalog`), of Databricks or of the open-source server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from gateway.catalog_import.objects import (
    ImportedCatalog,
    ImportedGrant,
    ImportedObject,
    ImportedSchema,
    ImportedTable,
    ImportedView,
    ObjectName,
    Skipped,
    grantee_kind,
)

_API = "/api/2.1/unity-catalog"
_TIMEOUT_S = 60.0
_PAGE_ROWS = 100
_PAGES_MAX = 100_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Made by the server itself in each catalog.
_SYSTEM_SCHEMA = "information_schema"
_VIEWS = ("VIEW", "METRIC_VIEW", "MATERIALIZED_VIEW", "STREAMING_TABLE")

Item = Mapping[str, Any]


class UnityError(Exception):
    """The catalog could not be read; the text is for people and has no token."""


class UnityCatalog:
    """A client; `catalogs` are the catalogs to read, all if empty. Raises UnityError for a token without https."""

    def __init__(self, url: str, token: str = "", catalogs: tuple[str, ...] = ()) -> None:
        parts = urlsplit(url)
        if token and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise UnityError(f"{url} is not an https URL, so that the token would cross the network unencrypted")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=_TIMEOUT_S)
        self._catalogs = catalogs

    def objects(self) -> Iterator[ImportedObject]:
        """Yields catalogs, schemas, tables and views with their grants."""
        with self._client:
            for item in self._items("catalogs", "catalogs"):
                if not self._catalogs or item["name"] in self._catalogs:
                    name = ObjectName((item["name"],))
                    yield ImportedCatalog(name, item.get("comment") or "")
                    yield from self._grants("CATALOG", name)
                    yield from self._schemas(name)

    def _schemas(self, catalog: ObjectName) -> Iterator[ImportedObject]:
        for item in self._items("schemas", "schemas", catalog_name=str(catalog)):
            if item["name"] == _SYSTEM_SCHEMA:
                continue
            name = ObjectName((*catalog.parts, item["name"]))
            yield ImportedSchema(name, item.get("comment") or "")
            yield from self._grants("SCHEMA", name)
            for table in self._items("tables", "tables", catalog_name=str(catalog), schema_name=item["name"]):
                full = ObjectName((*name.parts, table["name"]))
                yield _table_object(full, table)
                yield from self._grants("TABLE", full)

    def _grants(self, kind: str, name: ObjectName) -> Iterator[ImportedObject]:
        answer = self._get(f"permissions/{kind.lower()}/{quote(str(name), safe='')}")
        for assignment in answer.get("privilege_assignments") or ():
            principal = assignment["principal"]
            for privilege in assignment.get("privileges") or ():
                yield ImportedGrant(privilege.replace("_", " "), kind, name, grantee_kind(principal), principal)

    def _items(self, path: str, key: str, **parameters: str) -> Iterator[Item]:
        """Yields the items of all pages. A page may be empty although others follow."""
        page: str | None = None
        for _ in range(_PAGES_MAX):
            sent = {**parameters, "max_results": str(_PAGE_ROWS), **({"page_token": page} if page else {})}
            answer = self._get(path, **sent)
            yield from answer.get(key) or ()
            page = answer.get("next_page_token") or None
            if page is None:
                return
        raise UnityError(f"{path} has more than {_PAGES_MAX} pages")

    def _get(self, path: str, **parameters: str) -> Item:
        try:
            response = self._client.get(f"{_API}/{path}", params=parameters)
            response.raise_for_status()
            answer = response.json()
        except httpx.HTTPStatusError as error:
            raise UnityError(f"GET {path} answers {error.response.status_code}: {error.response.text[:200]}") from error
        except (httpx.HTTPError, ValueError) as error:
            raise UnityError(f"GET {path} failed: {error}") from error
        if not isinstance(answer, dict):
            raise UnityError(f"GET {path} does not answer with a JSON object")
        return answer


def _table_object(name: ObjectName, table: Item) -> ImportedObject:
    kind = table.get("table_type") or ""
    if kind == "VIEW" and table.get("view_definition"):
        current = ObjectName(name.parts[:-1])
        return ImportedView(name, table["view_definition"], current, table.get("comment") or "")
    if kind in _VIEWS:
        return Skipped(name, f"it is a {kind.replace('_', ' ').lower()} without a definition that can be imported")
    location = table.get("storage_location")
    if not location:
        return Skipped(name, "it has no storage location")
    return ImportedTable(name, (table.get("data_source_format") or "unknown").lower(), location)
