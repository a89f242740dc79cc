"""Changes to grants, owners, groups, external locations and functions, as a pure fold onto a state.

A change's `on` names an object at the time when the change is folded. After a lost race the name may refer to another
object; a principal's change therefore has a :class:`~catalog.grants.conditions.Condition`, which is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from catalog.conditions import (
    CatalogNotFound,
    FunctionAlreadyExists,
    FunctionNotFound,
    GroupAlreadyExists,
    GroupReserved,
    LocationAlreadyExists,
    LocationNotFound,
    LocationsOverlap,
    PrincipalAmbiguous,
    PrincipalNotFound,
    SchemaNotFound,
    TableNotFound,
    VolumeNotFound,
)
from catalog.entries import (
    CatalogEntry,
    FunctionEntry,
    GroupEntry,
    LocationEntry,
    OwnedEntry,
    SchemaEntry,
    SecurableEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.errors import SqlError
from catalog.grants.privileges import EVERYBODY, Grant, Kind, Principal, PrincipalKind, Privilege, group
from catalog.names import CatalogName, SchemaName, TableName, ensure_valid_part, fold
from catalog.roots import overlap
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class Securable:
    """A securable object in a privilege statement; TABLE includes views. `name` is None for the server."""

    kind: Kind
    name: CatalogName | SchemaName | TableName | str | None = None


@dataclass(frozen=True, slots=True)
class GrantPrivileges:
    on: Securable
    principal: Principal
    privileges: tuple[Privilege, ...]
    grantor: str | None


@dataclass(frozen=True, slots=True)
class RevokePrivileges:
    """Revokes privileges; as in Databricks, one that is not granted is no error. ALL PRIVILEGES revokes all except
    MANAGE.
    """

    on: Securable
    principal: Principal
    privileges: tuple[Privilege, ...]


@dataclass(frozen=True, slots=True)
class SetOwner:
    on: Securable
    owner: Principal


@dataclass(frozen=True, slots=True)
class CreateGroup:
    entry: GroupEntry


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    name: str
    added: tuple[Principal, ...] = ()
    removed: tuple[Principal, ...] = ()


@dataclass(frozen=True, slots=True)
class DropGroup:
    """Drops a group with all its grants, so that a new group with the same name starts without any; its objects lose
    their owner.
    """

    name: str


@dataclass(frozen=True, slots=True)
class CreateLocation:
    entry: LocationEntry


@dataclass(frozen=True, slots=True)
class DropLocation:
    name: str


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """A new function; `replace` replaces an existing one, whose grants stay. The owner is the new text's author."""

    entry: FunctionEntry
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DropFunction:
    name: TableName


RightChange = (
    GrantPrivileges
    | RevokePrivileges
    | SetOwner
    | CreateGroup
    | ChangeGroup
    | DropGroup
    | CreateLocation
    | DropLocation
    | CreateFunction
    | DropFunction
)


def apply_right(state: CatalogState, change: RightChange) -> CatalogState:
    """Returns `state` after `change`; raises the SqlError that forbids it."""
    match change:
        case GrantPrivileges(on, principal, privileges, grantor):
            _ensure_one_kind(state, principal)
            entry = entry_of(state, on)
            new = [Grant(principal, each, grantor) for each in privileges]
            remaining = [each for each in entry.grants if each not in new]
            return with_entry(state, replace(entry, grants=(*remaining, *new)))
        case RevokePrivileges(on, principal, privileges):
            entry = entry_of(state, on)
            return with_entry(state, replace(entry, grants=_without(entry.grants, principal, privileges)))
        case SetOwner(on, owner):
            _ensure_one_kind(state, owner)
            owned = entry_of(state, on)
            assert not isinstance(owned, ServerEntry)
            return with_entry(state, replace(owned, owner=owner.name, owner_kind=owner.kind))
        case CreateGroup(entry_):
            return _create_group(state, entry_)
        case ChangeGroup(name, added, removed):
            found = _group(state, name)
            members = dict.fromkeys((*found.members, *added))
            left = tuple(member for member in members if member not in removed)
            return replace(state, groups={**state.groups, found.key: replace(found, members=left)})
        case DropGroup(name):
            return _drop_group(state, _group(state, name))
        case CreateLocation(location):
            return _create_location(state, location)
        case DropLocation(name):
            gone = entry_of(state, Securable(Kind.LOCATION, name))
            assert isinstance(gone, LocationEntry)
            return replace(state, locations={key: each for key, each in state.locations.items() if key != gone.key})
        case CreateFunction(function, may_replace):
            return _create_function(state, function, may_replace)
        case DropFunction(function_name):
            entry_of(state, Securable(Kind.FUNCTION, function_name))
            left_ = {key: each for key, each in state.functions.items() if key != function_name}
            return replace(state, functions=left_)


def entry_of(state: CatalogState, on: Securable) -> SecurableEntry:
    """Returns the object's entry; raises an error if it has none."""
    match on.name:
        case None:
            return state.server
        case CatalogName() as name:
            return _entry_or_raise(state.catalogs.get(name), CatalogNotFound(str(name)))
        case SchemaName() as name:
            return _entry_or_raise(state.schemas.get(name), SchemaNotFound(str(name)))
        case TableName() as name if on.kind is Kind.FUNCTION:
            return _entry_or_raise(state.functions.get(name), FunctionNotFound(str(name)))
        case TableName() as name if on.kind is Kind.VOLUME:
            return _entry_or_raise(state.volumes.get(name), VolumeNotFound(str(name)))
        case TableName() as name:
            return _entry_or_raise(state.relations.get(name), TableNotFound(str(name)))
        case str() as name:
            return _entry_or_raise(state.locations.get(fold(name)), LocationNotFound(name))


def _entry_or_raise(entry: SecurableEntry | None, error: SqlError) -> SecurableEntry:
    if entry is None:
        raise error
    return entry


def principal_of(state: CatalogState, name: str, kind: PrincipalKind | None = None) -> Principal:
    """Returns the principal for a name without a kind: a group in the catalog if one exists, else a user."""
    if kind is None:
        is_group = fold(name) == EVERYBODY.key or fold(name) in known_groups(state)
        kind = PrincipalKind.GROUP if is_group else PrincipalKind.USER
    return Principal(kind, name)


def known_users(state: CatalogState) -> frozenset[str]:
    """Returns the users that the catalog names as grantees, owners or group members."""
    found = {member for entry in state.groups.values() for member in entry.members}
    found |= {grant.principal for entry in _securables(state) for grant in entry.grants}
    owners = {entry.owner for entry in _owned_entries(state) if entry.owner_kind is PrincipalKind.USER and entry.owner}
    return frozenset(each.name for each in found if each.kind is PrincipalKind.USER) | owners


def known_groups(state: CatalogState) -> frozenset[str]:
    """Returns the folded names for all groups in the catalog, its own and those that logins have."""
    found = {member for entry in state.groups.values() for member in entry.members}
    found |= {grant.principal for entry in _securables(state) for grant in entry.grants}
    found |= _of_policies(state)
    owners = {
        fold(entry.owner) for entry in _owned_entries(state) if entry.owner and entry.owner_kind is PrincipalKind.GROUP
    }
    return frozenset({each.key for each in found if each.kind is PrincipalKind.GROUP} | set(state.groups) | owners)


def _of_policies(state: CatalogState) -> set[Principal]:
    """Returns the principals that policies apply to or exempt."""
    levels = (entry for entry in _owned_entries(state) if isinstance(entry, CatalogEntry | SchemaEntry | TableEntry))
    return {each for entry in levels for policy in entry.named_policies for each in (*policy.to, *policy.but)}


def _user_keys(state: CatalogState) -> frozenset[str]:
    """Returns the folded names for all users in the catalog, including policies."""
    of_policies = frozenset(each.key for each in _of_policies(state) if each.kind is PrincipalKind.USER)
    return of_policies.union(map(fold, known_users(state)))


def _ensure_one_kind(state: CatalogState, principal: Principal) -> None:
    """Raises PrincipalAmbiguous for a name that is both a user's and a group's, which a reader could not tell apart."""
    others = known_groups(state) if principal.kind is PrincipalKind.USER else _user_keys(state)
    if fold(principal.name) in others:
        raise PrincipalAmbiguous(principal.name)


def _securables(state: CatalogState) -> Iterable[SecurableEntry]:
    yield state.server
    yield from _owned_entries(state)


def _owned_entries(state: CatalogState) -> Iterable[OwnedEntry]:
    yield from state.catalogs.values()
    yield from state.schemas.values()
    yield from state.relations.values()
    yield from state.functions.values()
    yield from state.volumes.values()
    yield from state.locations.values()


def with_entry(state: CatalogState, entry: SecurableEntry) -> CatalogState:
    """Returns the state with the entry of a recorded securable replaced by `entry`, which has its name or key."""
    match entry:
        case ServerEntry():
            return replace(state, server=entry)
        case CatalogEntry():
            return replace(state, catalogs={**state.catalogs, entry.name: entry})
        case SchemaEntry():
            return replace(state, schemas={**state.schemas, entry.name: entry})
        case TableEntry() | ViewEntry():
            return replace(state, relations={**state.relations, entry.name: entry})
        case FunctionEntry():
            return replace(state, functions={**state.functions, entry.name: entry})
        case VolumeEntry():
            return replace(state, volumes={**state.volumes, entry.name: entry})
        case LocationEntry():
            return replace(state, locations={**state.locations, entry.key: entry})


def _without(grants: Iterable[Grant], principal: Principal, privileges: tuple[Privilege, ...]) -> tuple[Grant, ...]:
    is_all = Privilege.ALL in privileges
    return tuple(
        each
        for each in grants
        if each.principal != principal
        or not (each.privilege in privileges or (is_all and each.privilege is not Privilege.MANAGE))
    )


def _create_group(state: CatalogState, entry: GroupEntry) -> CatalogState:
    if entry.key == EVERYBODY.key:
        raise GroupReserved(entry.name)
    ensure_valid_part(entry.name)
    if entry.key in state.groups:
        raise GroupAlreadyExists(entry.name)
    if entry.key in known_groups(state) or entry.key in _user_keys(state):
        # Grants to a login group, or to a user, would become the new group's, and a policy for the
        # login group would apply to nobody.
        raise PrincipalAmbiguous(entry.name)
    return replace(state, groups={**state.groups, entry.key: entry})


def _group(state: CatalogState, name: str) -> GroupEntry:
    if fold(name) == EVERYBODY.key:
        raise GroupReserved(name)
    found = state.groups.get(fold(name))
    if found is None:
        raise PrincipalNotFound("group", name)
    return found


def _drop_group(state: CatalogState, gone: GroupEntry) -> CatalogState:
    principal = group(gone.name)
    for entry in _securables(state):
        remaining = tuple(each for each in entry.grants if each.principal != principal)
        changed: SecurableEntry = entry if len(remaining) == len(entry.grants) else replace(entry, grants=remaining)
        if not isinstance(changed, ServerEntry) and changed.owner_kind is PrincipalKind.GROUP:
            if changed.owner is not None and fold(changed.owner) == gone.key:
                changed = replace(changed, owner=None, owner_kind=PrincipalKind.USER)
        if changed is not entry:
            state = with_entry(state, changed)
    groups = {
        key: replace(entry, members=tuple(each for each in entry.members if each != principal))
        if principal in entry.members
        else entry
        for key, entry in state.groups.items()
        if key != gone.key
    }
    return replace(state, groups=groups)


def _create_location(state: CatalogState, entry: LocationEntry) -> CatalogState:
    ensure_valid_part(entry.name)
    if entry.key in state.locations:
        raise LocationAlreadyExists(entry.name)
    for other in state.locations.values():
        one, two = entry.location, other.location
        if overlap(one, two):
            raise LocationsOverlap(entry.location, other.name)
    return replace(state, locations={**state.locations, entry.key: entry})


def _create_function(state: CatalogState, entry: FunctionEntry, may_replace: bool) -> CatalogState:
    ensure_valid_part(entry.name.table)
    if entry.name.schema_name not in state.schemas:
        raise SchemaNotFound(str(entry.name.schema_name))
    present = state.functions.get(entry.name)
    if present is not None and not may_replace:
        raise FunctionAlreadyExists(str(entry.name))
    # As in Databricks, CREATE OR REPLACE keeps the grants: callers depend on the name, not
    # on the text.
    if present is not None:
        entry = replace(entry, grants=present.grants)
    return replace(state, functions={**state.functions, entry.name: entry})
