"""Global temporary views: `global_temp.v`, which the sessions of one user share until the server ends.

In Spark all sessions of an application see them, which trust each other. Here sessions belong to different users, and a
view without grants that is read as its creator would open the creator's tables to everybody. So a global temporary view
is visible to the sessions of the user who created it; nobody else can name it, replace it or learn that it exists. Its
text is read with the rights of the session that reads it, like that of any temporary view, under the settings that were
captured when it was created. If privileges do not count (no authentication), all sessions share the views.

They are in memory: other gateways over the same catalog have their own, and a restart ends them.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType

from catalog.conditions import TableAlreadyExists, TableNotFound, TooManyGlobalViews
from catalog.entries import ViewEntry
from catalog.names import TableName, fold
from engine.runtime.identity import Identity, Method

# The maximum number of views per user.
VIEWS_MAX = 1000

_Views = Mapping[str, ViewEntry]
_NO_VIEWS: _Views = MappingProxyType({})


class GlobalViews:
    """The global temporary views of one server, shared by threads; returned values never change."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._views: dict[str | None, _Views] = {}

    def visible_to(self, identity: Identity) -> _Views:
        """Returns the views that a session may name, by folded name."""
        with self._lock:
            return self._views.get(_sharers(identity), _NO_VIEWS)

    def create(self, identity: Identity, entry: ViewEntry, *, replace: bool) -> None:
        """Raises `TableAlreadyExists` and `TooManyGlobalViews`."""
        key = fold(entry.name.table)
        with self._lock:
            views = self._views.get(_sharers(identity), _NO_VIEWS)
            if key in views and not replace:
                raise TableAlreadyExists(str(entry.name))
            if key not in views and len(views) >= VIEWS_MAX:
                raise TooManyGlobalViews(VIEWS_MAX)
            self._put(identity, {**views, key: entry})

    def drop(self, identity: Identity, name: TableName) -> None:
        """Raises `TableNotFound` if another session was faster."""
        with self._lock:
            views = self._views.get(_sharers(identity), _NO_VIEWS)
            if fold(name.table) not in views:
                raise TableNotFound(str(name))
            self._put(identity, {key: entry for key, entry in views.items() if key != fold(name.table)})

    def rename(self, identity: Identity, name: TableName, renamed: ViewEntry) -> None:
        """Raises `TableNotFound` and `TableAlreadyExists`."""
        with self._lock:
            views = self._views.get(_sharers(identity), _NO_VIEWS)
            if fold(name.table) not in views:
                raise TableNotFound(str(name))
            if fold(renamed.name.table) in views:
                raise TableAlreadyExists(str(renamed.name))
            remaining = {key: entry for key, entry in views.items() if key != fold(name.table)}
            self._put(identity, {**remaining, fold(renamed.name.table): renamed})

    def _put(self, identity: Identity, views: dict[str, ViewEntry]) -> None:
        if views:
            self._views[_sharers(identity)] = MappingProxyType(views)
        else:
            self._views.pop(_sharers(identity), None)


def _sharers(identity: Identity) -> str | None:
    return None if identity.method is Method.ANONYMOUS else identity.principal
