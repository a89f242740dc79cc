"""One REST catalog: what it lists, tables as it describes them, and commits.

Reads are tried again where the catalog does not answer, or says that it is busy. A commit is sent once: where the
answer does not tell whether it was carried out, that is `RestOutcomeUnknown`, and the caller looks for its change.

What was loaded is kept with its ETag, so that a table that did not change costs a question and no metadata.

Answers are no structs of msgspec: nine lines check what is read of them, which is less than the structs would be. A
struct would also reject an answer for one item of a list that is passed over here, and for keys with null.

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
_WAIT_S_MAX = 10.0
"""How long a statement waits for a catalog that says when it is to be asked again."""
_BUSY = frozenset([429, 502, 503, 504])
_PAGES_MAX = 10_000
_KEPT_BYTES_MAX = 32 << 20
"""Of the texts of metadata that are kept, which take some times as much as values."""
_SEPARATOR = "%1F"
_CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
_VIEWS = "GET /v1/{prefix}/namespaces/{namespace}/views"
_NEW_VIEW = "POST /v1/{prefix}/namespaces/{namespace}/views"
_NEW_VERSION = "POST /v1/{prefix}/namespaces/{namespace}/views/{view}"
_NO_ENDPOINT = frozenset([HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED])
"""What catalogs answer that have no views, and do not say so."""

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestTable:
    """A table as the catalog describes it. `metadata` is the JSON of its metadata, and must not be changed."""

    metadata_location: str | None
    metadata: Json = field(repr=False)
    etag: str | None = None
    size: int = 0
    """Of its text, in bytes."""
    given: GivenCredentials = field(default_factory=GivenCredentials, repr=False)


class RestClient:
    """Thread-safe. The catalog is first asked for its configuration when something is asked of it."""

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
        self._kept: OrderedDict[tuple[Namespace, str], RestTable] = OrderedDict()
        self._kept_bytes = 0

    def ensure_answers(self) -> None:
        """Raises `RestCatalogNotAvailable`, `RestCatalogRefused`."""
        self._settings()

    # --- Names ---

    def namespaces(self, parent: Namespace = ()) -> Iterator[Namespace]:
        """Those directly in `parent`; none where that is not there."""
        query = {"parent": self._separator.join(parent)} if parent else {}
        for found in self._pages("namespaces", "namespaces", query):
            if isinstance(found, list) and found and all(isinstance(part, str) for part in found):
                yield tuple(found)

    def has_namespace(self, namespace: Namespace) -> bool:
        return self._get(f"namespaces/{self._path(namespace)}") is not None

    def namespace_properties(self, namespace: Namespace) -> Mapping[str, str] | None:
        """None where there is no such namespace."""
        answer = self._get(f"namespaces/{self._path(namespace)}")
        if answer is None:
            return None
        found = answer.body.get("properties")
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises `RestConflict` where it is there, `RestOutcomeUnknown`."""
        self._change("namespaces", {"namespace": list(namespace), "properties": dict(properties)})

    def drop_namespace(self, namespace: Namespace) -> bool:
        """Whether there was one. Raises `RestConflict` where it is not empty."""
        path = f"namespaces/{self._path(namespace)}"
        return self._dropped(path, lambda: self.namespace_properties(namespace) is None)

    def change_namespace(self, namespace: Namespace, updates: Mapping[str, str], removals: Sequence[str]) -> bool:
        """Sets and removes properties; False where there is no such namespace."""
        request = {"updates": dict(updates), "removals": list(removals)}
        answer = self._change(f"namespaces/{self._path(namespace)}/properties", request, may_be_gone=True)
        return answer.status != HTTPStatus.NOT_FOUND

    def tables(self, namespace: Namespace) -> Iterator[str]:
        for found in self._pages(f"namespaces/{self._path(namespace)}/tables", "identifiers", {}):
            if isinstance(found, dict) and isinstance(found.get("name"), str):
                yield found["name"]

    # --- Views ---

    def views(self, namespace: Namespace) -> Iterator[str]:
        """None where the catalog has no views."""
        if not self._has_endpoint(_VIEWS):
            return
        not_there = frozenset() if self._endpoints else _NO_ENDPOINT
        for found in self._pages(f"namespaces/{self._path(namespace)}/views", "identifiers", {}, not_there):
            if isinstance(found, dict) and isinstance(found.get("name"), str):
                yield found["name"]

    def drop_view(self, namespace: Namespace, view: str) -> bool:
        """Whether there was one."""
        path = f"namespaces/{self._path(namespace)}/views/{quote(view, safe='')}"
        return self._dropped(path, lambda: self.load_view(namespace, view) is None)

    def create_view(self, namespace: Namespace, request: Json) -> bool:
        """Whether the catalog has views. Raises `RestConflict` where the name is taken, `RestOutcomeUnknown`."""
        return self._changed_view(_NEW_VIEW, f"namespaces/{self._path(namespace)}/views", request)

    def replace_view(self, namespace: Namespace, view: str, request: Json) -> bool:
        """As `create_view`, of a version of a view that is there. Raises `RestConflict` where it is another by now."""
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
        """The metadata of a view; None where there is no such view."""
        if not self._has_endpoint(_VIEWS):
            return None
        not_there = frozenset() if self._endpoints else _NO_ENDPOINT
        answer = self._get(f"namespaces/{self._path(namespace)}/views/{quote(view, safe='')}", not_there=not_there)
        found = None if answer is None else answer.body.get("metadata")
        if answer is not None and not isinstance(found, dict):
            raise RestCatalogNotAvailable(self.name, "its description of a view has no metadata")
        return found

    def _has_endpoint(self, endpoint: str) -> bool:
        """Whether the catalog says so. One that says nothing of what it has may have views."""
        self._settings()
        return endpoint in self._endpoints or (endpoint == _VIEWS and not self._endpoints)

    # --- Tables ---

    def load(self, namespace: Namespace, table: str) -> RestTable | None:
        """None where there is no such table."""
        key = (namespace, table)
        kept = self._kept.get(key)
        # What is given out with a table may have ended since, though the table is the same.
        headers = {"If-None-Match": kept.etag} if kept is not None and kept.etag and not self.vends else {}
        answer = self._get(self._table_path(namespace, table), {"snapshots": "all"}, {**headers, **self._delegation})
        if answer is None:
            self._keep(key, None)
            return None
        if answer.status == HTTPStatus.NOT_MODIFIED and kept is not None:
            return kept
        return self._loaded(key, answer)

    def credentials(self, namespace: Namespace, table: str) -> GivenCredentials:
        """New ones. Raises `RestCatalogNotAvailable` where the table is gone."""
        path = self._table_path(namespace, table)
        if self._has_endpoint(_CREDENTIALS):
            answer = self._get(f"{path}/credentials")
        else:
            answer = self._get(path, {"snapshots": "refs"}, self._delegation)
        if answer is None:
            raise RestCatalogNotAvailable(self.name, "it gives out no credentials for a table that is gone")
        return given_credentials(answer.body)

    @property
    def vends(self) -> bool:
        """Whether it is asked for credentials for the files of each table."""
        return self._options.vended_credentials

    def given(self, namespace: Namespace, table: str) -> GivenCredentials | None:
        """Those that came with a table; None where it is not there."""
        found = self.load(namespace, table)
        return None if found is None else found.given

    @property
    def _delegation(self) -> Mapping[str, str]:
        return {"X-Iceberg-Access-Delegation": "vended-credentials"} if self._options.vended_credentials else {}

    def metadata_of(self, namespace: Namespace, table: str) -> Json | None:
        """The metadata of a table with few of its snapshots; None where there is no such table."""
        answer = self._get(self._table_path(namespace, table), {"snapshots": "refs"})
        return None if answer is None else self._table(answer).metadata

    def create(self, namespace: Namespace, request: Json) -> RestTable:
        """A table, or with `stage-create` one that the first commit makes. Raises `RestConflict` where it is there."""
        answer = self._change(f"namespaces/{self._path(namespace)}/tables", request, headers=self._delegation)
        if request.get("stage-create"):
            return self._table(answer)
        return self._changed((namespace, str(request.get("name"))), answer)

    def commit(
        self, namespace: Namespace, table: str, requirements: Sequence[Json], updates: Sequence[Json]
    ) -> RestTable | None:
        """The table after the updates; None where the table is gone. Raises `RestConflict`, `RestOutcomeUnknown`."""
        identifier = {"namespace": list(namespace), "name": table}
        request = {"identifier": identifier, "requirements": list(requirements), "updates": list(updates)}
        answer = self._change(self._table_path(namespace, table), request, may_be_gone=True)
        if answer.status == HTTPStatus.NOT_FOUND:
            self._keep((namespace, table), None)
            return None
        return self._changed((namespace, table), answer)

    def drop(self, namespace: Namespace, table: str, *, purge: bool) -> bool:
        """Whether there was one."""
        path = f"{self._table_path(namespace, table)}?{urlencode({'purgeRequested': str(purge).lower()})}"
        was_there = self._dropped(path, lambda: self.load(namespace, table) is None)
        self._keep((namespace, table), None)
        return was_there

    def rename(self, table: tuple[Namespace, str], new: tuple[Namespace, str]) -> bool:
        """False where there is no such table. Raises `RestConflict` where the new name is taken."""
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
        """Where the answer is lost, it is enough that the table is where it should be. False where nobody says it."""
        try:
            return self.load(*table) is None and self.load(*new) is not None
        except (RestCatalogNotAvailable, RestCatalogRefused):
            return False

    def _dropped(self, path: str, is_gone: Callable[[], bool]) -> bool:
        """Where the answer is lost, it is enough that it is gone."""
        try:
            return self._change(path, None, may_be_gone=True, method="DELETE").status != HTTPStatus.NOT_FOUND
        except RestOutcomeUnknown:
            if is_gone():
                return True
            raise

    def _loaded(self, key: tuple[Namespace, str], answer: Answer) -> RestTable:
        found = self._table(answer)
        self._keep(key, found)
        return found

    def _changed(self, key: tuple[Namespace, str], answer: Answer) -> RestTable:
        """As `_loaded`, of a change that was answered. Raises `RestOutcomeUnknown`."""
        try:
            return self._loaded(key, answer)
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
            before = self._kept.pop(key, None)
            self._kept_bytes -= 0 if before is None else before.size
            if table is not None and table.etag:
                self._kept[key] = table
                self._kept_bytes += table.size
            while self._kept_bytes > _KEPT_BYTES_MAX:
                self._kept_bytes -= self._kept.popitem(last=False)[1].size

    # --- Requests ---

    @property
    def _separator(self) -> str:
        return unquote(self._settings().get("namespace-separator", _SEPARATOR))

    def _path(self, namespace: Namespace) -> str:
        return quote(self._separator.join(namespace), safe="")

    def _table_path(self, namespace: Namespace, table: str) -> str:
        return f"namespaces/{self._path(namespace)}/tables/{quote(table, safe='')}"

    def _settings(self) -> Mapping[str, str]:
        """What the catalog says of itself; asked for once."""
        if self._config is None:
            query = f"?{urlencode({'warehouse': self._options.warehouse})}" if self._options.warehouse else ""
            answer = self._read(f"v1/config{query}", {})
            if answer.status != HTTPStatus.OK:
                raise self._refusal(answer)
            defaults, overrides = answer.body.get("defaults"), answer.body.get("overrides")
            endpoints = answer.body.get("endpoints")
            self._endpoints = frozenset(map(str, endpoints)) if isinstance(endpoints, list) else frozenset()
            found = {**(defaults or {}), **(overrides or {})}
            self._config = {str(key): str(value) for key, value in found.items()}
        return self._config

    def _prefixed(self, path: str) -> str:
        prefix = self._settings().get("prefix", self._options.prefix).strip("/")
        if not is_below(prefix):
            raise RestCatalogNotAvailable(self.name, "its prefix has the segments '.' or '..', which lead elsewhere")
        return f"v1/{quote(prefix, safe='/')}/{path}" if prefix else f"v1/{path}"

    def _pages(
        self, path: str, key: str, query: Mapping[str, str], not_there: frozenset[int] = frozenset()
    ) -> Iterator[Any]:
        token: str | None = ""
        for _ in range(_PAGES_MAX):
            asked = {**query, **({"pageToken": token} if token else {})}
            answer = self._get(path, asked, not_there=not_there)
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
        """None where the catalog says that it is not there, by 404 or another status."""
        answer = self._read(f"{self._prefixed(path)}{'?' + urlencode(query) if query else ''}", headers or {})
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
        """Answers of a status in `not_there` are given as those of success are."""
        full = self._prefixed(path)
        try:
            answer = self._transport.send(method, full, request, headers)
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS and answer.retry_after_s <= _WAIT_S_MAX:
                self._sleep(max(_PAUSES_S[-1], answer.retry_after_s))  # it was not looked at
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
    """Whether nobody knows after this status if a change was made. Proxies have statuses of their own for requests
    whose answer they did not get (408, 520 to 524), and give 503 too for a server that failed while it answered.
    """
    is_success = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    is_failure = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return is_success or is_failure or status == HTTPStatus.REQUEST_TIMEOUT
