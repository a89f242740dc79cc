"""Saved queries as values, and their changes as a pure fold onto a state.

A folder is a path, as in `/reports/daily`; it exists as long as a query is in it. Each owner has folders of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from catalog.conditions import SavedQueryChanged, SavedQueryNotFound, TooManySavedQueries, TooMuchInSavedQueries
from catalog.grants.privileges import Principal, PrincipalKind
from catalog.store.file_store import UnreadableEntry

QUERIES_PER_OWNER_MAX = 1000
BYTES_PER_OWNER_MAX = 16 << 20


class Level(StrEnum):
    """A principal's right to a query. The first two have Databricks' names."""

    VIEW = "CAN_VIEW"
    EDIT = "CAN_EDIT"
    OWNER = "OWNER"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryParameter:
    """A named parameter of the text with its default; `value` None is NULL."""

    name: str
    type: str = "STRING"
    value: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A right that the owner gave to a user or a group."""

    kind: PrincipalKind
    name: str
    level: Level

    @property
    def principal(self) -> Principal:
        """Returns the user or group that has the right."""
        return Principal(self.kind, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContent:
    """The fields that an editor changes. `chart` is the JSON of an object that only the page interprets."""

    display_name: str
    query_text: str = ""
    description: str = ""
    parent_path: str = "/"
    catalog: str | None = None
    schema: str | None = None
    parameters: tuple[QueryParameter, ...] = ()
    chart: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery:
    """A saved query. Times are in milliseconds since the epoch; `version` counts the changes of the content."""

    id: str
    owner: str
    content: QueryContent
    created_ms: int
    updated_ms: int
    updated_by: str
    # The content's bytes as JSON.
    size: int
    version: int = 1
    shares: tuple[Share, ...] = ()

    def level_for(self, principals: Iterable[Principal]) -> Level | None:
        """Returns the highest right of these principals, which are a user and its groups."""
        found = set(principals)
        if Principal(PrincipalKind.USER, self.owner) in found:
            return Level.OWNER
        levels = {share.level for share in self.shares if share.principal in found}
        return Level.EDIT if Level.EDIT in levels else Level.VIEW if levels else None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesState:
    """All saved queries by id; an unreadable one has its owner as label, if that is known."""

    generation: int
    queries: Mapping[str, SavedQuery]
    unreadable: Mapping[str, UnreadableEntry] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def entries(self) -> tuple[SavedQuery | UnreadableEntry, ...]:
        """Returns all queries, the unreadable ones last."""
        return (*self.queries.values(), *self.unreadable.values())

    def get(self, query_id: str) -> SavedQuery:
        """Returns a query; raises SavedQueryNotFound."""
        found = self.queries.get(query_id)
        if found is None:
            raise SavedQueryNotFound(query_id)
        return found


INITIAL_QUERIES = QueriesState(generation=0, queries={})


def queries_of(generation: int, entries: Iterable[SavedQuery | UnreadableEntry]) -> QueriesState:
    """Returns the state at `generation` with these entries: queries by id, unreadable ones by path."""
    queries: dict[str, SavedQuery] = {}
    unreadable: dict[str, UnreadableEntry] = {}
    for entry in entries:
        if isinstance(entry, UnreadableEntry):
            unreadable[entry.path] = entry
        else:
            queries[entry.id] = entry
    return QueriesState(generation=generation, queries=queries, unreadable=unreadable)


def with_queries(state: QueriesState, *changed: SavedQuery) -> QueriesState:
    """Returns the next state with new or changed queries; raises an error if an owner has too many."""
    new = queries_of(state.generation + 1, (*state.entries, *changed))
    for owner in {query.owner for query in changed}:
        owned = [query for query in new.queries.values() if query.owner == owner]
        before = [query for query in state.queries.values() if query.owner == owner]
        # An owner who is beyond a limit may still make texts shorter.
        if len(owned) > max(QUERIES_PER_OWNER_MAX, len(before)):
            raise TooManySavedQueries(owner, QUERIES_PER_OWNER_MAX)
        if _size(owned) > max(BYTES_PER_OWNER_MAX, _size(before)):
            raise TooMuchInSavedQueries(owner, BYTES_PER_OWNER_MAX >> 20)
    return new


def without_queries(state: QueriesState, removed: Iterable[str]) -> QueriesState:
    """Returns the next generation of a state without the queries with these ids, or paths of unreadable ones."""
    gone = set(removed)
    left = (
        entry for entry in state.entries if (entry.path if isinstance(entry, UnreadableEntry) else entry.id) not in gone
    )
    return queries_of(state.generation + 1, left)


def without_group(state: QueriesState, group: Principal) -> QueriesState:
    """Returns the state after a group was dropped: a new group with its name has no rights."""
    changed = [
        replace(query, shares=tuple(share for share in query.shares if share.principal != group))
        for query in state.queries.values()
        if any(share.principal == group for share in query.shares)
    ]
    return with_queries(state, *changed) if changed else state


def ensure_version(query: SavedQuery, version: int | None) -> None:
    """Raises SavedQueryChanged if the query is no longer at the version that an editor has read."""
    if version is not None and version != query.version:
        raise SavedQueryChanged(query.content.display_name, query.updated_by)


def is_in_folder(path: str, folder: str) -> bool:
    """Returns True if a folder equals or is below `folder`."""
    return folder == "/" or path == folder or path.startswith(f"{folder}/")


def moved_path(path: str, folder: str, new_folder: str) -> str:
    """Returns the path at or below `folder` after this folder was moved to `new_folder`."""
    rest = path if folder == "/" else path[len(folder) :]
    return f"{new_folder.rstrip('/')}/{rest.lstrip('/')}".rstrip("/") or "/"


def _size(queries: Iterable[SavedQuery]) -> int:
    return sum(query.size for query in queries)
