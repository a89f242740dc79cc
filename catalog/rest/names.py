"""Mapping between a REST catalog's names and our own.

A namespace is a schema; a nested namespace is one schema with dots, as deeper folders are
(`catalog.discovery.discovery`). A namespace with a dot in one of its parts has no name here. Names are
case-insensitive: an exact spelling wins, and otherwise the match must be unique.

A table's location is an internal address, `iceberg-rest://<catalog>/<namespace>/<table>`: the actual file location is
in its metadata, which the catalog returns (`RestCatalogs.load`). The address for a table that is being created may have
its file location, `?location=<URL>`, and the id that the catalog has assigned, `&uuid=<id>`.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from urllib.parse import parse_qs, quote, unquote, urlencode

from catalog.conditions import RestCatalogNotAvailable, RestCatalogRefused, RestOptionInvalid, TableAmbiguous
from catalog.entries import CatalogEntry, TableEntry, ViewEntry
from catalog.names import ICEBERG, CatalogName, SchemaName, TableName, fold
from catalog.rest.client import Namespace, RestClient, RestTable
from catalog.rest.connections import RestPolicy, options_of
from catalog.rest.options import RestOptions
from catalog.rest.places import RestPlace, RestPlaces, place_in
from catalog.rest.vended import StorageOptions, VendedOptions, now_ms, storage_options
from catalog.rest.views import listed_view, view_entry
from catalog.roots import overlap
from catalog.store.credentials import options_for
from catalog.store.interruption import hold_lock

logger = logging.getLogger(__name__)

SCHEME = "iceberg-rest://"
_SEPARATOR = "\x1f"
_LEVELS_MAX = 8
_VENDED_MAX = 1000
# Minimum time in seconds between searches for new tables in a whole catalog, to find the table at a path.
_LISTED_S = 60.0
# Time in seconds for which table locations are valid there before each table is requested again.
_PLACES_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestAddress:
    """A parsed address; `location` is the file location for a new table, if known; `uuid` the catalog's id for it."""

    client: RestClient
    namespace: Namespace
    table: str
    location: str | None = None
    uuid: str | None = None


class RestNames:
    """The schemas and tables in one catalog, requested on demand. Thread-safe."""

    def __init__(self, client: RestClient, places: RestPlaces | None = None, *, is_nested: bool = False) -> None:
        """Wraps a client. `is_nested`: lists include nested namespaces, which lookups by name find in any case."""
        self.name = CatalogName(client.name)
        self.client = client
        self.is_nested = is_nested
        self.places = places or RestPlaces()
        self._listed_until = self._known_until = -math.inf
        self._looked_for: dict[str, float] = {}
        self._listing = Lock()

    def schemas(self) -> list[str]:
        """Returns all schemas. Raises `RestCatalogNotAvailable`, `RestCatalogRefused`, as the other methods do."""
        return sorted(_schema(namespace) for namespace in self._namespaces() if _has_name(namespace))

    def find_schema(self, schema: str) -> str | None:
        """Returns the schema as the catalog spells it."""
        namespace = self._namespace(schema)
        return None if namespace is None else _schema(namespace)

    def describe_schema(self, schema: str) -> Mapping[str, str]:
        """Returns a namespace's properties; empty if it does not exist."""
        namespace = self._namespace(schema)
        return {} if namespace is None else self.client.namespace_properties(namespace) or {}

    def namespace_of(self, schema: str) -> Namespace | None:
        """Returns the namespace for a schema; None if it does not exist."""
        return self._namespace(schema)

    def tables(self, schema: str) -> list[TableEntry]:
        namespace = self._namespace(schema)
        if namespace is None:
            return []
        return [self._entry(namespace, table) for table in sorted(self.client.tables(namespace))]

    def find(self, schema: str, table: str) -> TableEntry | None:
        """Returns a table; raises TableAmbiguous."""
        exact = _parts(schema)
        if exact is not None and (entry := self._load_entry(exact, table)) is not None:
            return entry
        namespace = self._namespace(schema)
        if namespace is None:
            return None
        found = [each for each in self.client.tables(namespace) if fold(each) == fold(table)]
        if len(found) > 1 and table not in found:
            candidates = ", ".join(f"{_schema(namespace)}.{each}" for each in sorted(found))
            raise TableAmbiguous(str(TableName(self.name.catalog, schema, table)), candidates)
        spelled = table if table in found else next(iter(found), None)
        return None if spelled is None else self._load_entry(namespace, spelled)

    def views(self, schema: str) -> list[ViewEntry]:
        """Returns the views' names only; empty if the catalog denies this server access to views."""
        namespace = self._namespace(schema)
        try:
            found = [] if namespace is None else sorted(self.client.views(namespace))
        except RestCatalogRefused:
            return []
        return [listed_view(TableName(self.name.catalog, schema, each)) for each in found]

    def find_view(self, schema: str, view: str) -> ViewEntry | None:
        """Returns a view; None also if the catalog denies this server access to views."""
        namespace = self._namespace(schema)
        if namespace is None:
            return None
        try:
            metadata = self.client.load_view(namespace, view)
            spelled = view
            if metadata is None:
                spelled = next((each for each in self.client.views(namespace) if fold(each) == fold(view)), view)
                metadata = None if spelled == view else self.client.load_view(namespace, spelled)
        except RestCatalogRefused:
            return None
        name = TableName(self.name.catalog, _schema(namespace), spelled)
        return None if metadata is None else view_entry(name, metadata)

    def load_places(self, known: Collection[str] = ()) -> Iterator[tuple[str, RestPlace]]:
        """Yields each table's address and file location, by one request per table except for the `known` addresses."""
        for namespace in self._namespaces(is_nested=True):
            for table in self.client.tables(namespace):
                address = location_of(self.client.name, namespace, table)
                metadata = None if address in known else self.client.metadata_of(namespace, table)
                place = None if metadata is None else place_in(metadata)
                if place is not None:
                    yield address, place

    @property
    def knows_places(self) -> bool:
        """Returns True if all table locations have been loaded since startup."""
        return self._known_until > -math.inf

    def learn_places(
        self,
        clock: Callable[[], float] = time.monotonic,
        sought: str | None = None,
        table_around: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Loads all table locations, unless they were loaded a short time ago. Raises as `load_places` does.

        `sought` is a canonical location. If no known table is there, a table at or above it, in the folder that
        `table_around` returns, may have been recreated at a new location under its old name. All tables are then
        requested once more, but only once per folder and not for each path in it.
        """
        with hold_lock(self._listing):
            now, folder = clock(), None
            if sought is not None and self._is_new(sought):
                folder = table_around()
            is_old = now >= self._known_until or (folder is not None and self._looked_for.get(folder, now) <= now)
            if not is_old and now < self._listed_until:
                return
            for address, place in self.load_places(() if is_old else self.places.all()):
                self.places.put(address, place)
            self._listed_until = now + _LISTED_S
            if is_old:
                self._known_until = now + _PLACES_S
                self._looked_for = {place: until for place, until in self._looked_for.items() if until > now}
                if folder is not None:
                    self._looked_for[folder] = now + _PLACES_S

    def _is_new(self, location: str) -> bool:
        """Returns True if no known table in this catalog overlaps a location."""
        start = f"{SCHEME}{quote(self.client.name, safe='')}/"
        known = self.places.all().items()
        return not any(address.startswith(start) and overlap(place.location, location) for address, place in known)

    def drop(self, namespace: Namespace, table: str, *, purge: bool = False) -> None:
        """Drops a table; raises as `RestClient.drop` does."""
        self.client.drop(namespace, table, purge=purge)
        self.places.forget(location_of(self.client.name, namespace, table))

    def rename(self, old: tuple[Namespace, str], new: tuple[Namespace, str]) -> bool:
        """Renames a table as `RestClient.rename` does. Its known location moves to the new address."""
        if not self.client.rename(old, new):
            return False
        self.places.move(location_of(self.client.name, *old), location_of(self.client.name, *new))
        return True

    def _load_entry(self, namespace: Namespace, table: str) -> TableEntry | None:
        entry = self._entry(namespace, table)
        found = self.client.load(namespace, table)
        if found is None:
            self.places.forget(entry.location)
            return None
        self.places.learn(entry.location, found.metadata)
        return entry

    def _namespace(self, schema: str) -> Namespace | None:
        exact = _parts(schema)
        if exact is not None and self.client.has_namespace(exact):
            return exact
        found = [each for each in self._namespaces() if _has_name(each) and fold(_schema(each)) == fold(schema)]
        if len(found) > 1:
            raise TableAmbiguous(str(SchemaName(self.name.catalog, schema)), ", ".join(sorted(map(_schema, found))))
        return found[0] if found else None

    def _namespaces(self, *, is_nested: bool = False) -> Iterator[Namespace]:
        """Yields namespaces top down."""
        level = list(self.client.namespaces())
        for _ in range(_LEVELS_MAX):
            yield from level
            if not (is_nested or self.is_nested):
                return
            level = [inner for each in level for inner in self.client.namespaces(each) if len(inner) > len(each)]

    def _entry(self, namespace: Namespace, table: str) -> TableEntry:
        name = TableName(self.name.catalog, _schema(namespace), table)
        return TableEntry(name=name, location=location_of(self.client.name, namespace, table), format=ICEBERG)


class RestCatalogs:
    """All REST catalogs on a server: configured ones, and those created by statements. Thread-safe."""

    def __init__(
        self,
        options: Iterable[RestOptions] = (),
        policy: RestPolicy | None = None,
        places: RestPlaces | None = None,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """Opens the configured catalogs. `policy` limits the connections from statements; `clock` is in milliseconds
        since the epoch.
        """
        self.places = places or RestPlaces()
        self._clock = clock
        found = map(self._connect, options)
        self.configured: Mapping[CatalogName, RestNames] = {each.name: each for each in found}
        self._policy = policy or RestPolicy()
        self._recorded: Mapping[CatalogName, tuple[CatalogEntry, RestNames]] = {}
        # Keyed by client too: another catalog may have the same name and tables as an earlier one that vended
        # credentials.
        self._vended: OrderedDict[tuple[RestClient, str, str], VendedOptions] = OrderedDict()
        self._lock = Lock()

    @property
    def names(self) -> Mapping[CatalogName, RestNames]:
        """Returns the catalogs at the newest generation that was read."""
        return {**{name: names for name, (_, names) in self._recorded.items()}, **self.configured}

    def of(self, catalogs: Iterable[CatalogEntry]) -> Mapping[CatalogName, RestNames]:
        """Returns the catalogs at one generation."""
        wanted = {each.name: each for each in catalogs if each.rest is not None}
        with self._lock:
            known = self._recorded
            if {name: each.rest for name, each in wanted.items()} != {
                name: rest[0].rest for name, rest in known.items()
            }:
                self._recorded = {
                    name: known[name]
                    if name in known and known[name][0].rest == each.rest
                    else (each, self._open(each))
                    for name, each in wanted.items()
                }
                clients = {each.client for each in self.names.values()}
                self._vended = OrderedDict((key, vended) for key, vended in self._vended.items() if key[0] in clients)
            return self.names

    def ensure_answers(self, entry: CatalogEntry) -> None:
        """Connects to a catalog before it is created; raises `RestOptionInvalid`, `RestCatalogNotAvailable`,
        `RestCatalogRefused`.
        """
        options = options_of(entry.name.catalog, entry.rest or (), self._policy)
        try:
            client = RestClient(options)
        except OSError as error:
            raise RestCatalogNotAvailable(entry.name.catalog, _unreadable(error)) from error
        client.ensure_answers()

    def _open(self, entry: CatalogEntry) -> RestNames:
        """Opens a recorded catalog. If the configuration no longer permits it, only statements that use the catalog
        fail.
        """
        try:
            options = options_of(entry.name.catalog, entry.rest or (), self._policy)
        except RestOptionInvalid as error:
            return self._unusable_catalog(entry.name.catalog, f"{error.option}: {error.reason}")
        return self._connect(options)

    def _connect(self, options: RestOptions) -> RestNames:
        """Creates the client without sending a request."""
        try:
            return RestNames(RestClient(options), self.places, is_nested=options.nested)
        except OSError as error:  # from reading certificates; `ssl.SSLError` is one
            return self._unusable_catalog(options.name, _unreadable(error))

    def _unusable_catalog(self, name: str, problem: str) -> RestNames:
        """Returns a catalog for which each use raises an error."""
        logger.warning("the REST catalog %s cannot be used: %s", name, problem)
        return RestNames(RestClient(RestOptions(name=name, uri="", problem=problem)), self.places)

    def load(self, location: str) -> RestTable | None:
        """Loads the table at an address (`location_of`); None if it does not exist."""
        at = self.place(location)
        found = at.client.load(at.namespace, at.table)
        if found is None:
            self.places.forget(location)
        else:
            self.places.learn(location, found.metadata)
            self._replace_credentials(at.client, location, found)
        return found

    def _replace_credentials(self, client: RestClient, address: str, table: RestTable) -> None:
        """Replaces the cached credentials for a table by the newer ones from loading it."""
        place = self.places.of(address)
        if place is None:
            return
        with self._lock:
            vended = self._vended.get((client, without_place(address), place.location))
        if vended is None:
            return
        newest = storage_options(str(table_at(address).name), place.location, table.given)
        if newest is not None:
            vended.take(newest)

    def vended_options(self, address: str, location: str) -> VendedOptions | None:
        """Returns the vended credentials for the table at an address, with its files at a location, unless the server
        has its own credentials for that location. Raises `RestSigningNotSupported`.
        """
        at = self.place(address)
        if not at.client.vends or options_for(location):
            return None
        label = str(table_at(address).name)
        key = (at.client, without_place(address), location)
        with self._lock:
            if key in self._vended:
                self._vended.move_to_end(key)
                return self._vended[key]
        given = at.client.load_credentials(at.namespace, at.table)
        first = None if given is None else storage_options(label, location, given)
        if first is None:
            return None
        with self._lock:
            vended = self._vended.setdefault(key, VendedOptions(first, _asker(at, label, location), self._clock))
            while len(self._vended) > _VENDED_MAX:
                self._vended.popitem(last=False)
            return vended

    def cache_staged_credentials(self, address: str, location: str, staged: RestTable) -> None:
        """Caches the credentials vended for a staged table, for its files at a location; they cannot be requested again
        before the table is created. Raises `RestSigningNotSupported`.
        """
        at = self.place(address)
        label = str(table_at(address).name)
        given = storage_options(label, location, staged.given)
        if not at.client.vends or options_for(location) or given is None:
            return
        with self._lock:
            self._vended[at.client, without_place(address), location] = VendedOptions(
                given, _asker(at, label, location), self._clock
            )

    def place(self, location: str) -> RestAddress:
        """Parses an address. Raises `RestCatalogNotAvailable` for a catalog that is no longer configured."""
        name, _, query = location.removeprefix(SCHEME).partition("?")
        catalog, _, rest = name.partition("/")
        namespace, _, table = rest.rpartition("/")
        found = self.names.get(CatalogName(unquote(catalog)))
        if found is None:
            raise RestCatalogNotAvailable(unquote(catalog), "it is not configured")
        said = {key: values[0] for key, values in parse_qs(query).items()}
        return RestAddress(
            client=found.client,
            namespace=tuple(unquote(namespace).split(_SEPARATOR)),
            table=unquote(table),
            location=said.get("location"),
            uuid=said.get("uuid"),
        )


def _asker(at: RestAddress, label: str, location: str) -> Callable[[], StorageOptions]:
    def ask() -> StorageOptions:
        found = storage_options(label, location, at.client.credentials(at.namespace, at.table))
        if found is None:
            raise RestCatalogNotAvailable(at.client.name, f"it gives out no credentials for {label} any more")
        return found

    return ask


def _unreadable(error: OSError) -> str:
    return f"its ca_file cannot be read, {type(error).__name__}: {error.strerror or error}"


def location_of(catalog: str, namespace: Namespace, table: str) -> str:
    """Returns a table's address, `iceberg-rest://catalog/namespace/table`, with percent-encoded parts."""
    return f"{SCHEME}{quote(catalog, safe='')}/{quote(_SEPARATOR.join(namespace), safe='')}/{quote(table, safe='')}"


def table_at(address: str) -> TableEntry:
    """Returns an entry for the table at an address."""
    catalog, namespace, table = map(unquote, without_place(address).removeprefix(SCHEME).split("/"))
    name = TableName(catalog, _schema(tuple(namespace.split(_SEPARATOR))), table)
    return TableEntry(name=name, location=without_place(address), format=ICEBERG)


def with_place(address: str, location: str | None, uuid: str | None = None) -> str:
    """Returns the address for a new table whose files are written to `location`, a path or a URL."""
    is_path = location is not None and "://" not in location
    said = {"location": f"file://{location}" if is_path else location, "uuid": uuid}
    query = urlencode({key: value for key, value in said.items() if value is not None})
    return f"{without_place(address)}?{query}" if query else without_place(address)


def without_place(address: str) -> str:
    """Returns the address without parameters, as for an existing table; other locations are unchanged."""
    return address.partition("?")[0] if is_rest(address) else address


def is_rest(location: str) -> bool:
    """Returns True for an address made by `location_of`."""
    return location.startswith(SCHEME)


def _schema(namespace: Namespace) -> str:
    return ".".join(namespace)


def _parts(schema: str) -> Namespace | None:
    parts = tuple(schema.split("."))
    return parts if all(parts) else None


def _has_name(namespace: Namespace) -> bool:
    return all(part and "." not in part for part in namespace)
