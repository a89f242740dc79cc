"""A client for one REST catalog: lists, table metadata, and commits.

Reads are retried if the catalog does not respond, or reports that it is busy. A commit is sent once: if the response
does not show its outcome, the client raises `RestOutcomeUnknown`, and the caller looks for its change.

Loaded tables are cached with their ETag, so an unchanged table costs a request but no metadata transfer.

Responses are not msgspec structs: nine lines check the fields that are read, fewer than the structs would need. A
struct would also reject a whole response for one list item that is skipped here, and for keys with null.

Source: Iceberg REST catalog (OpenAPI), "config", "namespaces", "tables".
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlencode

from catalog.conditions import RestCatalogNotAvailable, RestCatalogRefused, RestConflict, RestOutcomeUnknown
from catalog.rest.connections import is_below
from catalog.rest.options import RestOptions
from catalog.rest.transport import SILENT_S, Answer, AnswerTooLong, Json, NoAnswer, Transport
from catalog.rest.vended import GivenCredentials, given_credentials
from catalog.store.interruption import pause_for

logger = logging.getLogger(__name__)

_PAUSES_S = (0.1, 0.5)
# Maximum time in seconds that a statement waits when a catalog sends Retry-After.
_WAIT_S_MAX = 10.0
_BUSY = frozenset([429, 502, 503, 504])
_PAGES_MAX = 10_000
# Maximum total size for cached metadata texts; as values they take several times as much memory.
_CACHE_BYTES_MAX = 32 << 20
_SEPARATOR = "%1F"
_CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
_VIEWS = "GET /v1/{prefix}/namespaces/{namespace}/views"
_NEW_VIEW = "POST /v1/{prefix}/namespaces/{namespace}/views"
_NEW_VERSION = "POST /v1/{prefix}/namespaces/{namespace}/views/{view}"
# Statuses from catalogs that lack views without announcing it.
_NO_ENDPOINT = frozenset([HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED])

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestTable:
    """A table from a REST catalog. `metadata` is its metadata as JSON, and must not be modified."""

    metadata_location: str | None
    metadata: Json = field(repr=False)
    etag: str | None = None
    # Size of the metadata text, in bytes.
    size: int = 0
    given: GivenCredentials = field(default_factory=GivenCredentials, repr=False)


class RestClient:
    """A thread-safe client. It requests the catalog's configuration before its first other request."""

    def __init__(
        self,
        options: RestOptions,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = pause_for,
    ) -> None:
        self.name = options.name
        self._options, self._clock, self._sleep = options, clock, sleep
        self._silent_until, self._silence = 0.0, ""
        self._transport = Transport(options, clock)
        self._lock = threading.Lock()
        self._config: Mapping[str, str] | None = None
        self._endpoints: frozenset[str] = frozenset()
        self._tables: OrderedDict[tuple[Namespace, str], RestTable] = OrderedDict()
        self._cached_bytes = 0

    def ensure_answers(self) -> None:
        """Raises `RestCatalogNotAvailable`, `RestCatalogRefused` if the catalog cannot be used."""
        self._settings()

    # --- Names ---

    def namespaces(self, parent: Namespace = ()) -> Iterator[Namespace]:
        """Yields the namespaces directly in `parent`; nothing if it does not exist."""
        query = {"parent": self._separator.join(parent)} if parent else {}
        for found in self._pages("namespaces", "namespaces", query):
            if isinstance(found, list) and found and all(isinstance(part, str) for part in found):
                yield tuple(found)

    def has_namespace(self, namespace: Namespace) -> bool:
        """Returns True if the catalog has the namespace (GET `namespaces/{namespace}`)."""
        return self._get(f"namespaces/{self._path(namespace)}") is not None

    def namespace_properties(self, namespace: Namespace) -> Mapping[str, str] | None:
        """Returns a namespace's properties; None if it does not exist."""
        answer = self._get(f"namespaces/{self._path(namespace)}")
        if answer is None:
            return None
        found = answer.body.get("properties")
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Creates a namespace. Raises `RestConflict` if it exists, `RestOutcomeUnknown`."""
        self._change("namespaces", {"namespace": list(namespace), "properties": dict(properties)})

    def drop_namespace(self, namespace: Namespace) -> bool:
        """Drops a namespace, and returns False if it does not exist. Raises `RestConflict` if it is not empty."""
        path = f"namespaces/{self._path(namespace)}"
        return self._drop(path, lambda: self.namespace_properties(namespace) is None)

    def change_namespace(self, namespace: Namespace, updates: Mapping[str, str], removals: Sequence[str]) -> bool:
        """Sets and removes properties; returns False if the namespace does not exist."""
        request = {"updates": dict(updates), "removals": list(removals)}
        answer = self._change(f"namespaces/{self._path(namespace)}/properties", request, may_be_gone=True)
        return answer.status != HTTPStatus.NOT_FOUND

    def tables(self, namespace: Namespace) -> Iterator[str]:
        """Yields the names of the tables in a namespace, over all pages; malformed identifiers are left out."""
        for found in self._pages(f"namespaces/{self._path(namespace)}/tables", "identifiers", {}):
            if isinstance(found, dict) and isinstance(found.get("name"), str):
                yield found["name"]

    # --- Views ---

    def views(self, namespace: Namespace) -> Iterator[str]:
        """Yields the view names; nothing if the catalog lacks views."""
        if not self._has_endpoint(_VIEWS):
            return
        not_there = frozenset() if self._endpoints else _NO_ENDPOINT
        for found in self._pages(f"namespaces/{self._path(namespace)}/views", "identifiers", {}, not_there):
            if isinstance(found, dict) and isinstance(found.get("name"), str):
                yield found["name"]

    def drop_view(self, namespace: Namespace, view: str) -> bool:
        """Drops a view; returns False if it does not exist."""
        path = f"namespaces/{self._path(namespace)}/views/{quote(view, safe='')}"
        return self._drop(path, lambda: self.load_view(namespace, view) is None)

    def create_view(self, namespace: Namespace, request: Json) -> bool:
        """Creates a view; returns False if the catalog lacks views. Raises `RestConflict` if the name is taken,
        `RestOutcomeUnknown`.
        """
        return self._changed_view(_NEW_VIEW, f"namespaces/{self._path(namespace)}/views", request)

    def replace_view(self, namespace: Namespace, view: str, request: Json) -> bool:
        """Replaces an existing view's version, as `create_view` does. Raises `RestConflict` if the view has changed
        since.
        """
        path = f"namespaces/{self._path(namespace)}/views/{quote(view, safe='')}"
        return self._changed_view(_NEW_VERSION, path, request)

    def _changed_view(self, endpoint: str, path: str, request: Json) -> bool:
        self._settings()
        if self._endpoints and endpoint not in self._endpoints:
            return False
        not_there = _NO_ENDPOINT - {HTTPStatus.BAD_REQUEST}
        answer = self._change(path, request, may_be_gone=True, not_there=not_there)
        return answer.status in (HTTPStatus.OK, HTTPStatus.NO_CONTENT)

    def load_view(self, namespace: Namespace, view: str) -> Json | None:
        """Returns a view's metadata; None if it does not exist."""
        if not self._has_endpoint(_VIEWS):
            return None
        not_there = frozenset() if self._endpoints else _NO_ENDPOINT
        answer = self._get(f"namespaces/{self._path(namespace)}/views/{quote(view, safe='')}", not_there=not_there)
        found = None if answer is None else answer.body.get("metadata")
        if answer is not None and not isinstance(found, dict):
            raise RestCatalogNotAvailable(self.name, "its description of a view has no metadata")
        return found

    def _has_endpoint(self, endpoint: str) -> bool:
        """Returns True if the catalog lists the endpoint. A catalog without a list may have views."""
        self._settings()
        return endpoint in self._endpoints or (endpoint == _VIEWS and not self._endpoints)

    # --- Tables ---

    def load(self, namespace: Namespace, table: str) -> RestTable | None:
        """Loads a table; returns None if it does not exist."""
        key = (namespace, table)
        cached = self._tables.get(key)
        # Vended credentials may have expired although the table is unchanged.
        headers = {"If-None-Match": cached.etag} if cached is not None and cached.etag and not self.vends else {}
        answer = self._get(self._table_path(namespace, table), {"snapshots": "all"}, {**headers, **self._delegation})
        if answer is None:
            self._keep(key, None)
            return None
        if answer.status == HTTPStatus.NOT_MODIFIED and cached is not None:
            return cached
        return self._put_table(key, answer)

    def credentials(self, namespace: Namespace, table: str) -> GivenCredentials:
        """Requests new vended credentials. Raises `RestCatalogNotAvailable` if the table is gone."""
        path = self._table_path(namespace, table)
        # The endpoint is newer than vended credentials: other catalogs give new ones with
        # the table, of which only the references are requested.
        if self._has_endpoint(_CREDENTIALS):
            answer = self._get(f"{path}/credentials")
        else:
            answer = self._get(path, {"snapshots": "refs"}, self._delegation)
        if answer is None:
            raise RestCatalogNotAvailable(self.name, "it gives out no credentials for a table that is gone")
        return given_credentials(answer.body)

    @property
    def vends(self) -> bool:
        """Returns True if the client requests vended credentials for each table's files."""
        return self._options.vended_credentials

    def load_credentials(self, namespace: Namespace, table: str) -> GivenCredentials | None:
        """Returns the credentials from loading a table; None if it does not exist."""
        found = self.load(namespace, table)
        return None if found is None else found.given

    @property
    def _delegation(self) -> Mapping[str, str]:
        return {"X-Iceberg-Access-Delegation": "vended-credentials"} if self._options.vended_credentials else {}

    def metadata_of(self, namespace: Namespace, table: str) -> Json | None:
        """Returns a table's metadata with few snapshots; None if it does not exist."""
        answer = self._get(self._table_path(namespace, table), {"snapshots": "refs"})
        return None if answer is None else self._table(answer).metadata

    def create(self, namespace: Namespace, request: Json) -> RestTable:
        """Creates a table, or with `stage-create` one that the first commit creates. Raises `RestConflict` if it
        exists.
        """
        answer = self._change(f"namespaces/{self._path(namespace)}/tables", request, headers=self._delegation)
        if request.get("stage-create"):
            return self._table(answer)
        return self._cache_changed_table((namespace, str(request.get("name"))), answer)

    def commit(
        self, namespace: Namespace, table: str, requirements: Sequence[Json], updates: Sequence[Json]
    ) -> RestTable | None:
        """Commits updates, and returns the resulting table; None if the table is gone. Raises `RestConflict`,
        `RestOutcomeUnknown`.
        """
        identifier = {"namespace": list(namespace), "name": table}
        request = {"identifier": identifier, "requirements": list(requirements), "updates": list(updates)}
        answer = self._change(self._table_path(namespace, table), request, may_be_gone=True)
        if answer.status == HTTPStatus.NOT_FOUND:
            self._keep((namespace, table), None)
            return None
        return self._cache_changed_table((namespace, table), answer)

    def drop(self, namespace: Namespace, table: str, *, purge: bool) -> bool:
        """Drops a table; returns False if it does not exist."""
        path = f"{self._table_path(namespace, table)}?{urlencode({'purgeRequested': str(purge).lower()})}"
        was_there = self._drop(path, lambda: self.load(namespace, table) is None)
        self._keep((namespace, table), None)
        return was_there

    def rename(self, table: tuple[Namespace, str], new: tuple[Namespace, str]) -> bool:
        """Renames a table (Iceberg REST, `POST /v1/{prefix}/tables/rename`); returns False if it does not exist.

        Settles a lost response by loading both names. Raises `RestConflict` if the new name is taken, and
        `RestOutcomeUnknown` if the outcome cannot be determined.
        """
        request = {
            key: {"namespace": list(at[0]), "name": at[1]} for key, at in (("source", table), ("destination", new))
        }
        try:
            answer = self._change("tables/rename", request, may_be_gone=True)
        except RestOutcomeUnknown:
            if not self._is_renamed(table, new):
                raise
            return True
        finally:
            self._keep(table, None)
        return answer.status != HTTPStatus.NOT_FOUND

    def _is_renamed(self, table: tuple[Namespace, str], new: tuple[Namespace, str]) -> bool:
        """Returns True if, after a lost response, the table exists under its new name; False if that cannot be
        determined.
        """
        try:
            return self.load(*table) is None and self.load(*new) is not None
        except (RestCatalogNotAvailable, RestCatalogRefused):
            return False

    def _drop(self, path: str, is_gone: Callable[[], bool]) -> bool:
        """Sends a drop. After a lost response, the object's absence counts as success."""
        try:
            return self._change(path, None, may_be_gone=True, method="DELETE").status != HTTPStatus.NOT_FOUND
        except RestOutcomeUnknown:
            # The wanted state holds, whoever brought it about. A drop that was repeated
            # instead could hit a table that was created since.
            if is_gone():
                return True
            raise

    def _put_table(self, key: tuple[Namespace, str], answer: Answer) -> RestTable:
        found = self._table(answer)
        self._keep(key, found)
        return found

    def _cache_changed_table(self, key: tuple[Namespace, str], answer: Answer) -> RestTable:
        """Caches and returns the table from a change's response, as `_put_table` does. Raises `RestOutcomeUnknown`."""
        try:
            return self._put_table(key, answer)
        except RestCatalogNotAvailable as error:
            raise RestOutcomeUnknown(self.name, error.reason) from error

    def _table(self, answer: Answer) -> RestTable:
        metadata, location = answer.body.get("metadata"), answer.body.get("metadata-location")
        if not isinstance(metadata, dict) or not (location is None or isinstance(location, str)):
            raise RestCatalogNotAvailable(self.name, "its description of a table has no metadata")
        given = given_credentials(answer.body) if self._options.vended_credentials else GivenCredentials()
        return RestTable(metadata_location=location, metadata=metadata, etag=answer.etag, size=answer.size, given=given)

    def _keep(self, key: tuple[Namespace, str], table: RestTable | None) -> None:
        with self._lock:
            before = self._tables.pop(key, None)
            self._cached_bytes -= 0 if before is None else before.size
            # Without an ETag a cached table could never be confirmed.
            if table is not None and table.etag:
                self._tables[key] = table
                self._cached_bytes += table.size
            while self._cached_bytes > _CACHE_BYTES_MAX:
                self._cached_bytes -= self._tables.popitem(last=False)[1].size

    # --- Requests ---

    @property
    def _separator(self) -> str:
        return unquote(self._settings().get("namespace-separator", _SEPARATOR))

    def _path(self, namespace: Namespace) -> str:
        return quote(self._separator.join(namespace), safe="")

    def _table_path(self, namespace: Namespace, table: str) -> str:
        return f"namespaces/{self._path(namespace)}/tables/{quote(table, safe='')}"

    def _settings(self) -> Mapping[str, str]:
        """Returns the catalog's configuration; requested once."""
        if self._config is None:
            query = f"?{urlencode({'warehouse': self._options.warehouse})}" if self._options.warehouse else ""
            answer = self._read(f"v1/config{query}", {})
            if answer.status != HTTPStatus.OK:
                raise self._refusal(answer)
            defaults, overrides = answer.body.get("defaults"), answer.body.get("overrides")
            endpoints = answer.body.get("endpoints")
            self._endpoints = frozenset(map(str, endpoints)) if isinstance(endpoints, list) else frozenset()
            # REST catalog specification, "getConfig": overrides win over defaults.
            found = {**(defaults or {}), **(overrides or {})}
            self._config = {str(key): str(value) for key, value in found.items()}
        return self._config

    def _with_prefix(self, path: str) -> str:
        prefix = self._settings().get("prefix", self._options.prefix).strip("/")
        # The prefix comes from the catalog's own configuration; with ".." it would lead the
        # requests, and their token, to other paths of the host.
        if not is_below(prefix):
            raise RestCatalogNotAvailable(self.name, "its prefix has the segments '.' or '..', which lead elsewhere")
        return f"v1/{quote(prefix, safe='/')}/{path}" if prefix else f"v1/{path}"

    def _pages(
        self, path: str, key: str, query: Mapping[str, str], not_there: frozenset[int] = frozenset()
    ) -> Iterator[Any]:
        token: str | None = ""
        for _ in range(_PAGES_MAX):
            parameters = {**query, **({"pageToken": token} if token else {})}
            answer = self._get(path, parameters, not_there=not_there)
            if answer is None:
                return
            found = answer.body.get(key)
            yield from found if isinstance(found, list) else ()
            token = answer.body.get("next-page-token")
            if not token or not isinstance(token, str):
                return
        raise RestCatalogNotAvailable(self.name, f"a list has more than {_PAGES_MAX} pages")

    def _get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        not_there: frozenset[int] = frozenset(),
    ) -> Answer | None:
        """Sends a read request; returns None if the catalog reports the object as missing, by 404 or another status."""
        answer = self._read(f"{self._with_prefix(path)}{'?' + urlencode(query) if query else ''}", headers or {})
        if answer.status == HTTPStatus.NOT_FOUND or answer.status in not_there:
            return None
        if answer.status not in (HTTPStatus.OK, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            raise self._refusal(answer)
        return answer

    def _read(self, path: str, headers: Mapping[str, str]) -> Answer:
        if self._clock() < self._silent_until:
            raise RestCatalogNotAvailable(self.name, self._silence)
        begun = self._clock()
        for pause in (*_PAUSES_S, None):
            try:
                answer = self._transport.send("GET", path, headers=headers)
            except AnswerTooLong as error:
                raise RestCatalogNotAvailable(self.name, str(error)) from error
            except NoAnswer as error:
                if pause is None or self._clock() - begun > self._options.timeout_s / 2:
                    # Listing all catalogs would wait for the timeout of a dead one in every
                    # statement.
                    self._silent_until, self._silence = self._clock() + SILENT_S, str(error)
                    logger.warning("the REST catalog %s does not answer: %s", self.name, error)
                    raise RestCatalogNotAvailable(self.name, str(error)) from error
            else:
                if pause is None or answer.status not in _BUSY or answer.retry_after_s > _WAIT_S_MAX:
                    return answer
                pause = max(pause, answer.retry_after_s)
            self._sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _change(
        self,
        path: str,
        request: Json | None,
        *,
        may_be_gone: bool = False,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        not_there: frozenset[int] = frozenset(),
    ) -> Answer:
        """Sends a change. Responses with a status in `not_there` are returned like successful ones."""
        full = self._with_prefix(path)
        try:
            answer = self._transport.send(method, full, request, headers)
            # Only 429 says that the request was not processed; after 502 to 504 a change
            # may have happened.
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS and answer.retry_after_s <= _WAIT_S_MAX:
                self._sleep(max(_PAUSES_S[-1], answer.retry_after_s))  # the catalog has not processed it
                answer = self._transport.send(method, full, request, headers)
        except NoAnswer as error:
            kind = RestOutcomeUnknown if error.was_sent else RestCatalogNotAvailable
            raise kind(self.name, str(error)) from error
        fine = {HTTPStatus.OK, HTTPStatus.NO_CONTENT, *not_there, *((HTTPStatus.NOT_FOUND,) if may_be_gone else ())}
        if answer.status in fine:
            return answer
        if answer.status == HTTPStatus.CONFLICT:
            raise RestConflict(self.name, answer.reason)
        if _is_unknown(answer.status):
            raise RestOutcomeUnknown(self.name, answer.reason)
        raise self._refusal(answer)

    def _refusal(self, answer: Answer) -> RestCatalogNotAvailable | RestCatalogRefused:
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            return RestCatalogNotAvailable(self.name, answer.reason)
        return RestCatalogRefused(self.name, answer.reason)


def _is_unknown(status: int) -> bool:
    """Returns True for a status that leaves a change's outcome unknown. Proxies have their own statuses for requests
    without a response (408, 520 to 524), and also return 503 for a server that failed while it responded.
    """
    is_success = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    is_failure = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return is_success or is_failure or status == HTTPStatus.REQUEST_TIMEOUT
