"""Rights on saved queries: an owner has all, and gives others the right to view or to edit.

Without logins, privileges do not apply, and everybody owns every query. Administrators own every query too; they find
those of others by id or by the owner's name. A query that a principal may not view does not exist for it. A right to a
text is no right to data: whoever runs it needs the privileges for its tables.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from catalog.catalog import Catalog
from catalog.conditions import (
    SavedQueryNotAllowed,
    SavedQueryNotFound,
    SavedQueryUnreadable,
    ScopeExceeded,
)
from catalog.grants.privileges import EVERYBODY, Principal, PrincipalKind, user
from catalog.grants.right_changes import known_groups, known_users
from catalog.grants.rights import caller_of
from catalog.names import fold
from catalog.queries.queries import (
    Level,
    QueriesState,
    QueryContent,
    SavedQuery,
    Share,
    ensure_version,
    is_in_folder,
    moved_path,
    with_queries,
    without_queries,
)
from catalog.queries.store import QueryStore
from catalog.store.file_store import UnreadableEntry
from engine.binding.visibility import login_of
from engine.runtime.identity import Identity, Scope
from engine.statements.grants.planning import ensure_principal_name


@dataclass(frozen=True, slots=True)
class VisibleQuery:
    """A saved query, and the right that the principal has on it."""

    query: SavedQuery
    level: Level


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with the number of queries in it, without those in folders below."""

    owner: str
    path: str
    count: int


class SavedQueries:
    """The server's saved queries. Thread-safe. `knows_user` finds users that the catalog does not name."""

    def __init__(
        self,
        store: QueryStore,
        catalog: Catalog,
        knows_user: Callable[[str], bool] = lambda _: False,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._knows_user = knows_user
        self._now_ms = now_ms

    def create(self, identity: Identity, content: QueryContent) -> VisibleQuery:
        """Stores a new query with a random id and `identity` as its owner.

        Raises `ScopeExceeded` for a read-only login, `TooManySavedQueries`, `TooMuchInSavedQueries`.
        """
        _ensure_may_write(identity)
        now_ms = self._now_ms()
        query = SavedQuery(
            id=uuid.uuid4().hex,
            owner=identity.principal,
            content=content,
            created_ms=now_ms,
            updated_ms=now_ms,
            updated_by=identity.principal,
            size=_size_of(content),
        )
        self._store.change(lambda state: with_queries(state, query))
        return VisibleQuery(query, Level.OWNER)

    def find(self, identity: Identity, query_id: str) -> VisibleQuery:
        """Returns a query; raises SavedQueryNotFound."""
        return self._rights(identity).found(self._store.load(), query_id)

    def unreadable(self, identity: Identity) -> list[UnreadableEntry]:
        """Returns the unreadable queries of the principal; all of them for administrators."""
        rights = self._rights(identity)
        return [entry for entry in self._store.load().unreadable.values() if rights.owns_unreadable(entry)]

    def visible_queries(self, identity: Identity, owner: str | None = None) -> list[VisibleQuery]:
        """Returns the principal's queries and those shared with it, by owner, folder and name; of one `owner` if it is
        set.
        """
        rights = self._rights(identity)
        found = []
        for query in self._store.load().queries.values():
            # An administrator's list has the queries of others only if it names their owner.
            level = rights.level(query) if owner is not None else rights.shared_level(query)
            if level is not None and owner in (None, query.owner):
                found.append(VisibleQuery(query, level))
        return sorted(found, key=_order)

    def folders(self, identity: Identity) -> list[Folder]:
        """Returns the folders with queries that :meth:`visible_queries` returns, and the folders above them."""
        counts: Counter[tuple[str, str]] = Counter()
        for visible in self.visible_queries(identity):
            path = visible.query.content.parent_path
            counts[visible.query.owner, path] += 1
            while path != "/":
                path = path.rpartition("/")[0] or "/"
                counts[visible.query.owner, path] += 0
        return [Folder(owner, path, count) for (owner, path), count in sorted(counts.items())]

    def update(
        self, identity: Identity, query_id: str, changes: Mapping[str, Any], version: int | None = None
    ) -> VisibleQuery:
        """Changes fields of the content. Raises SavedQueryChanged if `version` is not the query's."""
        _ensure_may_write(identity)

        def apply(state: QueriesState) -> QueriesState:
            found = self._rights(identity).found(state, query_id)
            query, content = found.query, replace(found.query.content, **changes)
            if found.level is Level.VIEW:
                raise SavedQueryNotAllowed(query.content.display_name, "change")
            if found.level is not Level.OWNER and content.parent_path != query.content.parent_path:
                raise SavedQueryNotAllowed(query.content.display_name, "move")
            ensure_version(query, version)
            if content == query.content:
                return state
            return with_queries(state, self._changed(query, content, identity))

        return self._rights(identity).found(self._store.change(apply), query_id)

    def delete(self, identity: Identity, query_id: str) -> None:
        """Deletes a query, which may be unreadable."""
        _ensure_may_write(identity)

        def apply(state: QueriesState) -> QueriesState:
            unreadable = state.unreadable.get(query_id)
            if unreadable is None or not self._rights(identity).owns_unreadable(unreadable):
                self._owned(identity, state, query_id, "delete")
            return without_queries(state, [query_id])

        self._store.change(apply)

    def shares(self, identity: Identity, query_id: str) -> tuple[Share, ...]:
        """Returns the rights that the owner gave to others, for the owner."""
        return self._owned(identity, self._store.load(), query_id, "see the rights on").shares

    def share(self, identity: Identity, query_id: str, shares: Sequence[Share]) -> tuple[tuple[Share, ...], SavedQuery]:
        """Replaces these rights; returns the ones before, and the query.

        A user or group need not be known, as for GRANT with USER or GROUP. Raises PrincipalNameInvalid.
        """
        _ensure_may_write(identity)
        before: list[tuple[Share, ...]] = []

        def apply(state: QueriesState) -> QueriesState:
            query = self._owned(identity, state, query_id, "share")
            before[:] = [query.shares]
            for share in shares:
                ensure_principal_name(share.name)
            return with_queries(state, replace(query, shares=tuple(shares)))

        query = self._store.change(apply).get(query_id)
        return before[0], query

    def move_folder(self, identity: Identity, path: str, new_path: str) -> int:
        """Moves the principal's queries at or below a folder; returns their number."""
        _ensure_may_write(identity)
        count = 0

        def apply(state: QueriesState) -> QueriesState:
            nonlocal count
            moved = []
            for query in _owned_in(state, identity.principal, path):
                parent_path = moved_path(query.content.parent_path, path, new_path)
                moved.append(self._changed(query, replace(query.content, parent_path=parent_path), identity))
            count = len(moved)
            return with_queries(state, *moved) if moved else state

        self._store.change(apply)
        return count

    def delete_folder(self, identity: Identity, path: str) -> int:
        """Deletes the principal's queries at or below a folder; returns their number."""
        _ensure_may_write(identity)
        count = 0

        def apply(state: QueriesState) -> QueriesState:
            nonlocal count
            gone = [query.id for query in _owned_in(state, identity.principal, path)]
            count = len(gone)
            return without_queries(state, gone) if gone else state

        self._store.change(apply)
        return count

    def _rights(self, identity: Identity) -> _QueryRights:
        login = login_of(identity)
        if login is None:
            return _QueryRights(None, is_admin=False)
        state = self._catalog.view().state
        return _QueryRights(caller_of(state, login).principals, is_admin=identity.is_admin)

    def _owned(self, identity: Identity, state: QueriesState, query_id: str, action: str) -> SavedQuery:
        found = self._rights(identity).found(state, query_id)
        if found.level is not Level.OWNER:
            raise SavedQueryNotAllowed(found.query.content.display_name, action)
        return found.query

    def _changed(self, query: SavedQuery, content: QueryContent, identity: Identity) -> SavedQuery:
        return replace(
            query,
            content=content,
            updated_ms=self._now_ms(),
            updated_by=identity.principal,
            size=_size_of(content),
            version=query.version + 1,
        )

    def is_known(self, identity: Identity, principal: Principal) -> bool:
        """Returns whether the catalog, a saved query or authentication names the user or group; True without
        logins.
        """
        if login_of(identity) is None:
            return True
        state, name = self._catalog.view().state, principal.name
        if principal.kind is PrincipalKind.GROUP:
            own_groups = {fold(each) for each in identity.groups}
            return principal == EVERYBODY or principal.key in known_groups(state) | own_groups
        owners = {query.owner for query in self._store.load().queries.values()}
        return name in known_users(state) | owners | {identity.principal} or self._knows_user(name)


@dataclass(frozen=True, slots=True)
class _QueryRights:
    """A login's principals; None without logins, when everybody owns every query."""

    principals: frozenset[Principal] | None
    is_admin: bool

    def shared_level(self, query: SavedQuery) -> Level | None:
        """Returns the right as owner or by a share."""
        return Level.OWNER if self.principals is None else query.level_for(self.principals)

    def level(self, query: SavedQuery) -> Level | None:
        return Level.OWNER if self.is_admin else self.shared_level(query)

    def owns_unreadable(self, entry: UnreadableEntry) -> bool:
        """Returns whether the principal may know of the entry. If its owner is unknown, only administrators may."""
        if self.principals is None or self.is_admin:
            return True
        return entry.label is not None and user(entry.label) in self.principals

    def found(self, state: QueriesState, query_id: str) -> VisibleQuery:
        """Raises SavedQueryNotFound for a query without any right, and SavedQueryUnreadable for its owner."""
        unreadable = state.unreadable.get(query_id)
        if unreadable is not None and self.owns_unreadable(unreadable):
            raise SavedQueryUnreadable(query_id, unreadable.reason)
        query = state.get(query_id)
        level = self.level(query)
        if level is None:
            raise SavedQueryNotFound(query_id)
        return VisibleQuery(query, level)


def _ensure_may_write(identity: Identity) -> None:
    if Scope.SQL not in identity.scopes:
        raise ScopeExceeded()


def _owned_in(state: QueriesState, owner: str, folder: str) -> Iterator[SavedQuery]:
    for query in state.queries.values():
        if query.owner == owner and is_in_folder(query.content.parent_path, folder):
            yield query


def _order(visible: VisibleQuery) -> tuple[str, ...]:
    content = visible.query.content
    return visible.query.owner, content.parent_path, content.display_name.casefold(), visible.query.id


def _size_of(content: QueryContent) -> int:
    return len(msgspec.json.encode(content))
