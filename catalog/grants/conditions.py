"""The required privileges for a statement: the principal's, and those that the owners of views need. Pure.

Required privileges are checked at one generation of the catalog. A statement is authorized at the generation that it
was bound to. A change to the catalog is authorized again, on the state that it is applied to: a privilege may have been
revoked meanwhile, or an object dropped and replaced by another one with the same name. The change is then rejected as a
later statement would be.
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
from catalog.grants.rights import Login, Rights, caller_of, caller_of_owner, label_of
from catalog.names import TableName
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class Definer:
    """The owner with whose rights a view's or function's text is read; the owner's login groups do
    not count.

    `label` is the view's name in messages; None during its creation, when the owner is the invoker.
    """

    owner: Principal | None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class RequiredPrivilege:
    """A privilege on an object, and USE on its containers, required for the principal or for a `definer`."""

    privilege: Privilege
    on: SecurableEntry
    definer: Definer | None = None


@dataclass(frozen=True, slots=True)
class RequiredAdmin:
    """Administration rights on the server."""


@dataclass(frozen=True, slots=True)
class RequiredOwnership:
    """A new owner for a view or function, whose text is then read with `owner`'s rights.

    Only an administrator may assign another owner, since that owner might be allowed to read more than the text's
    author.
    """

    owner: Principal


@dataclass(frozen=True, slots=True)
class RequiredVisibility:
    """MANAGE on the object that has the name when the change is applied, if there is one: it is replaced."""

    name: TableName
    is_function: bool = False


Requirement = RequiredPrivilege | RequiredAdmin | RequiredOwnership | RequiredVisibility


@dataclass(frozen=True, slots=True)
class Condition:
    """Required privileges that a login must have."""

    login: Login
    required: tuple[Requirement, ...]


def ensure_met(state: CatalogState, condition: Condition) -> None:
    """Raises the error for the first required privilege that is missing."""
    _Check(state, condition.login).ensure(condition.required)


class _Check:
    """A login's rights and the view owners' rights, each computed once."""

    def __init__(self, state: CatalogState, login: Login) -> None:
        self._state = state
        self._login = login
        self._rights = Rights(state, caller_of(state, login))
        self._definers: dict[Principal | None, Rights] = {}

    def ensure(self, required: Iterable[Requirement]) -> None:
        for requirement in required:
            failure = self._failure(requirement)
            if failure is not None:
                raise failure

    def _failure(self, requirement: Requirement) -> SqlError | None:
        match requirement:
            case RequiredAdmin():
                return None if self._login.is_admin else AdministratorNeeded()
            case RequiredOwnership(owner):
                is_allowed = self._login.is_admin or owner in self._rights.caller.principals
                return None if is_allowed else OwnerNotYours(str(owner))
            case RequiredVisibility(name, is_function):
                there = self._state.functions.get(name) if is_function else self._state.relations.get(name)
                return None if there is None else self._failure(RequiredPrivilege(Privilege.MANAGE, there))
            case RequiredPrivilege(privilege, on, definer):
                rights = self._rights if definer is None else self._definer(definer.owner)
                missing = rights.find_missing(privilege, current(self._state, on))
                if missing is None:
                    return None
                if definer is not None and definer.label is not None:
                    return ViewOwnerLacksPrivileges(definer.label)
                return InsufficientPermissions(missing.privilege.value, label_of(missing.entry))

    def _definer(self, owner: Principal | None) -> Rights:
        if owner not in self._definers:
            self._definers[owner] = Rights(self._state, caller_of_owner(self._state, owner))
        return self._definers[owner]


def current(state: CatalogState, entry: SecurableEntry) -> SecurableEntry:
    """Returns the state's entry for an object; an object without an entry has neither an owner nor grants."""
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
