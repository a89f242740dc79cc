"""Plans of GRANT, REVOKE, owners, groups and external locations: each is one change of the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from catalog.entries import GroupEntry, LocationEntry, SecurableEntry, ServerEntry
from catalog.privileges import PRIVILEGES, Principal, Privilege
from catalog.right_changes import (
    ChangeGroup,
    GrantPrivileges,
    RevokePrivileges,
    RightChange,
    Securable,
    SetOwner,
    principal_of,
)
from catalog.right_changes import CreateGroup as CreateGroupChange
from catalog.right_changes import CreateLocation as CreateLocationChange
from catalog.right_changes import DropGroup as DropGroupChange
from catalog.right_changes import DropLocation as DropLocationChange
from catalog.right_errors import (
    GroupAlreadyExists,
    LocationAlreadyExists,
    LocationNotFound,
    PrincipalNotFound,
    PrivilegeNotOfKind,
)
from catalog.rights import kind_of
from engine.bind.bound import BoundStatement
from engine.plan.ddl.tags import plan_tags
from engine.plans.ddl import CatalogPlan
from engine.statements.rights import (
    AlterGroup,
    AlterOwner,
    AlterTags,
    CreateGroup,
    CreateLocation,
    CreatePolicy,
    DropGroup,
    DropLocation,
    DropPolicy,
    GrantRights,
    PrincipalName,
    RevokeRights,
    RightStatement,
)


def plan_rights(bound: BoundStatement, statement: RightStatement) -> CatalogPlan:
    """Raises `PrivilegeNotOfKind`; what else must be so is checked where it is changed."""
    match statement:
        case GrantRights(privileges=privileges, principal=principal):
            on = _applicable(bound.securable, privileges)
            grantor = bound.state.principal
            return _plan(bound, GrantPrivileges(on, _principal(bound, principal), privileges, grantor))
        case RevokeRights(privileges=privileges, principal=principal):
            on = _applicable(bound.securable, privileges)
            return _plan(bound, RevokePrivileges(on, _principal(bound, principal), privileges))
        case AlterOwner(owner=owner):
            return _plan(bound, SetOwner(_named(bound.securable), _principal(bound, owner)))
        case CreateGroup(name=name, members=members):
            group_entry = GroupEntry(name=name, members=_principals(bound, members))
            tolerated = (GroupAlreadyExists,) if statement.if_not_exists else ()
            return CatalogPlan(change=CreateGroupChange(group_entry), tolerated=tolerated, condition=bound.condition)
        case AlterGroup(name=name, added=added, removed=removed):
            return _plan(bound, ChangeGroup(name, _principals(bound, added), _principals(bound, removed)))
        case DropGroup(name=name):
            missing = (PrincipalNotFound,) if statement.if_exists else ()
            return CatalogPlan(change=DropGroupChange(name), tolerated=missing, condition=bound.condition)
        case CreateLocation(name=name, location=location, comment=comment):
            location_entry = LocationEntry(name=name, location=location, owner=bound.state.principal, comment=comment)
            exists = (LocationAlreadyExists,) if statement.if_not_exists else ()
            return CatalogPlan(change=CreateLocationChange(location_entry), tolerated=exists, condition=bound.condition)
        case DropLocation(name=name):
            gone = (LocationNotFound,) if statement.if_exists else ()
            change = None if bound.securable is None else DropLocationChange(name)
            return CatalogPlan(change=change, tolerated=gone, condition=bound.condition)
        case AlterTags() | CreatePolicy() | DropPolicy():
            return plan_tags(bound, statement)
        case _:
            assert_never(statement)


def _plan(bound: BoundStatement, change: RightChange) -> CatalogPlan:
    return CatalogPlan(change=change, condition=bound.condition)


def _principal(bound: BoundStatement, name: PrincipalName) -> Principal:
    return principal_of(bound.view.state, name.name, name.kind)


def _principals(bound: BoundStatement, names: Iterable[PrincipalName]) -> tuple[Principal, ...]:
    return tuple(_principal(bound, name) for name in names)


def _named(entry: SecurableEntry | None) -> Securable:
    assert entry is not None
    return Securable(kind_of(entry), None if isinstance(entry, ServerEntry) else entry.name)


def _applicable(entry: SecurableEntry | None, privileges: Iterable[Privilege]) -> Securable:
    on = _named(entry)
    for privilege in privileges:
        if privilege not in PRIVILEGES[on.kind]:
            raise PrivilegeNotOfKind(privilege.value, on.kind.value, ", ".join(sorted(PRIVILEGES[on.kind])))
    return on
