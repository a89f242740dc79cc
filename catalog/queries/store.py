"""The store for saved queries: a folder `queries` in the catalog's folder, in the form of the catalog's own state.

Writers of several servers, crashes and lost answers are handled as for the catalog, see
:mod:`catalog.store.file_store`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from catalog.conditions import BackupUnreadable, CatalogBusy, CatalogNotWritable, RestoreNotEmpty, SavedQueryUnreadable
from catalog.grants.privileges import group
from catalog.queries.queries import INITIAL_QUERIES, QueriesState, SavedQuery, queries_of, without_group
from catalog.store.entry_json import MalformedEntry
from catalog.store.file_store import QUERIES_FOLDER, QUERIES_SUFFIX, GenerationStore, StoredForm
from catalog.store.files import Files
from catalog.store.remote import open_files

CHANGE_ATTEMPTS_MAX = 50
_BACKOFF_S = 0.02


def query_to_json(query: SavedQuery) -> Mapping[str, object]:
    """Returns the content of a query's file as built-in types; `from_json` of the store's form reads it."""
    fields: Mapping[str, object] = msgspec.to_builtins(query)
    return fields


def query_from_json(value: object) -> SavedQuery:
    """Parses a query; raises MalformedEntry, also for a right that this release does not have."""
    try:
        return msgspec.convert(value, SavedQuery)
    except msgspec.ValidationError as error:
        raise MalformedEntry(str(error)) from error


QUERIES: StoredForm[QueriesState, SavedQuery] = StoredForm(
    initial=INITIAL_QUERIES,
    entries=lambda state: state.entries,
    state_of=queries_of,
    path=lambda query: query.id,
    to_json=query_to_json,
    from_json=query_from_json,
    suffix=QUERIES_SUFFIX,
    label=lambda query: query.owner,
)


def open_queries(catalog_folder: str | None) -> QueryStore:
    """Opens the saved queries of a catalog."""
    return QueryStore(open_files(f"{catalog_folder.rstrip('/')}/{QUERIES_FOLDER}") if catalog_folder else None)


class QueryStore:
    """Saved queries. Thread-safe, and safe among processes if they share the files; without files, in memory."""

    def __init__(self, files: Files | None) -> None:
        self._store = None if files is None else GenerationStore(files, QUERIES)
        self._state = INITIAL_QUERIES
        self._lock = threading.Lock()

    def load(self) -> QueriesState:
        """Returns the newest state."""
        return self._state if self._store is None else self._store.load()

    def change(self, fold: Callable[[QueriesState], QueriesState]) -> QueriesState:
        """Commits the state that `fold` returns for the newest one, and returns it. The same state is not committed.

        `fold` runs again after a concurrent commit. Raises its errors, `CatalogBusy` after `CHANGE_ATTEMPTS_MAX`
        attempts, and `CatalogNotWritable`.
        """
        with self._lock:  # threads of one server wait here instead of racing each other
            for attempt in range(CHANGE_ATTEMPTS_MAX):
                base = self.load()
                new = fold(base)
                if new is base or self._swap(base, new):
                    return new
                time.sleep(random.uniform(0, _BACKOFF_S * min(attempt + 1, 10)))
        raise CatalogBusy(CHANGE_ATTEMPTS_MAX)

    def forget_group(self, name: str) -> None:
        """Removes the rights of a group that was dropped."""
        self.change(lambda state: without_group(state, group(name)))

    def _swap(self, base: QueriesState, new: QueriesState) -> bool:
        if self._store is None:
            self._state = new
            return True
        try:
            return self._store.swap(base, new)
        except OSError as error:
            raise CatalogNotWritable(error.strerror or str(error)) from error


def dump_queries(state: QueriesState) -> bytes:
    """Returns the queries as JSON lines, for a backup. Raises SavedQueryUnreadable, since it would lack a query."""
    for entry in state.unreadable.values():
        raise SavedQueryUnreadable(entry.path, entry.reason)
    return b"".join(msgspec.json.encode(query) + b"\n" for query in state.queries.values())


def parse_queries(lines: bytes, source: str) -> tuple[SavedQuery, ...]:
    """Returns the queries that `dump_queries` wrote. Raises BackupUnreadable with the line's number in `source`."""
    queries = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            queries.append(msgspec.json.decode(line, type=SavedQuery))
        except msgspec.DecodeError as error:  # ValidationError is one
            raise BackupUnreadable(source, f"line {number} of the saved queries: {error}") from error
    return tuple(queries)


def restore_queries(store: QueryStore, queries: Iterable[SavedQuery], *, replaces: bool) -> None:
    """Commits `queries` as the only ones. Raises RestoreNotEmpty if there are others, unless it `replaces` them."""

    def fold(state: QueriesState) -> QueriesState:
        if not replaces:
            ensure_no_queries(state)
        return queries_of(state.generation + 1, queries)

    store.change(fold)


def ensure_no_queries(state: QueriesState) -> None:
    """Raises RestoreNotEmpty if there is a query."""
    if state.entries:
        raise RestoreNotEmpty(len(state.entries))
