"""What a statement takes of its principal, and of the owners of the views that it reads. Pure.

Needs are met or not at one generation of the catalog. A statement is authorized for the generation that it was bound
on; a change of the catalog looks again, on the state that it is made on. Until then others may have revoked a
privilege, or dropped an object and made another one of the same name, and the change is refused like a statement that
came later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from catalog.conditions import AdministratorNeeded, InsufficientPermissions, OwnerNotYours, ViewOwnerLacksPrivileges
from catalog.entries import (
    CatalogEntry,
    FunctionEntry,
    LocationEntry,
    SchemaEntry,
    SecurableEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.errors import SqlError
from catalog.grants.privileges import Principal, PrincipalKind, Privilege
from catalog.grants.rights import Login, Rights, caller_of, label_of, owning
from catalog.names import TableName
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class Definer:
    """The owner of a view or function, as which its text is read; only what the catalog knows of it counts.

    `label` is how messages call the view; None while it is made, when its owner is the one who asks.
    """

    owner: Principal | None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """A privilege on an object, with USE on what it lies in: of the principal, or of a `definer`."""

    privilege: Privilege
    on: SecurableEntry
    definer: Definer | None = None


@dataclass(frozen=True, slots=True)
class AdminNeed:
    """Something of the whole server."""


@dataclass(frozen=True, slots=True)
class OwnerNeed:
    """A new owner of a view or function, whose text is then read as `owner`.

    Nobody gives it to somebody else, who might be allowed to read more than who wrote the text; administrators may.
    """

    owner: Principal


@dataclass(frozen=True, slots=True)
class NameNeed:
    """MANAGE on what has a name when the change is made, if anything has: it is replaced."""

    name: TableName
    is_function: bool = False


AnyNeed = Need | AdminNeed | OwnerNeed | NameNeed


@dataclass(frozen=True, slots=True)
class Condition:
    """That a log-in has all that a statement needs."""

    login: Login
    needs: tuple[AnyNeed, ...]


def ensure_met(state: CatalogState, condition: Condition) -> None:
    """Raises what says which need is not met: the first one."""
    _Check(state, condition.login).ensure(condition.needs)


class _Check:
    """The rights of one log-in and of the owners of views, each worked out once."""

    def __init__(self, state: CatalogState, login: Login) -> None:
        self._state = state
        self._login = login
        self._rights = Rights(state, caller_of(state, login))
        self._definers: dict[Principal | None, Rights] = {}

    def ensure(self, needs: Iterable[AnyNeed]) -> None:
        for need in needs:
            failure = self._failure(need)
            if failure is not None:
                raise failure

    def _failure(self, need: AnyNeed) -> SqlError | None:
        match need:
            case AdminNeed():
                return None if self._login.is_admin else AdministratorNeeded()
            case OwnerNeed(owner):
                is_allowed = self._login.is_admin or owner in self._rights.caller.principals
                return None if is_allowed else OwnerNotYours(str(owner))
            case NameNeed(name, is_function):
                there = self._state.functions.get(name) if is_function else self._state.relations.get(name)
                return None if there is None else self._failure(Need(Privilege.MANAGE, there))
            case Need(privilege, on, definer):
                rights = self._rights if definer is None else self._definer(definer.owner)
                missing = rights.missing(privilege, current(self._state, on))
                if missing is None:
                    return None
                if definer is not None and definer.label is not None:
                    return ViewOwnerLacksPrivileges(definer.label)
                return InsufficientPermissions(missing.privilege.value, label_of(missing.entry))

    def _definer(self, owner: Principal | None) -> Rights:
        if owner not in self._definers:
            self._definers[owner] = Rights(self._state, owning(self._state, owner))
        return self._definers[owner]


def current(state: CatalogState, entry: SecurableEntry) -> SecurableEntry:
    """What a state says of an object; without a record nobody owns it and nothing is granted on it itself."""
    found: SecurableEntry | None
    match entry:
        case ServerEntry():
            return state.server
        case CatalogEntry():
            found = state.catalogs.get(entry.name)
        case SchemaEntry():
            found = state.schemas.get(entry.name)
        case TableEntry() | ViewEntry():
            found = state.relations.get(entry.name)
        case FunctionEntry():
            found = state.functions.get(entry.name)
        case VolumeEntry():
            found = state.volumes.get(entry.name)
        case LocationEntry():
            found = state.locations.get(entry.key)
    return found or replace(entry, owner=None, owner_kind=PrincipalKind.USER, grants=())
