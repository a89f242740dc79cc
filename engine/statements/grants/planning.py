"""Plans GRANT, REVOKE, owners, groups and external locations: each is one catalog change."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from catalog.conditions import (
    GroupAlreadyExists,
    LocationAlreadyExists,
    LocationNotFound,
    PrincipalNameInvalid,
    PrincipalNotFound,
    PrincipalUnclear,
    PrivilegeNotOfKind,
)
from catalog.entries import GroupEntry, LocationEntry, SecurableEntry, ServerEntry
from catalog.grants.privileges import PRIVILEGES, Principal, PrincipalKind, Privilege
from catalog.grants.right_changes import (
    ChangeGroup,
    GrantPrivileges,
    RevokePrivileges,
    RightChange,
    Securable,
    SetOwner,
    known_users,
    principal_of,
)
from catalog.grants.right_changes import CreateGroup as CreateGroupChange
from catalog.grants.right_changes import CreateLocation as CreateLocationChange
from catalog.grants.right_changes import DropGroup as DropGroupChange
from catalog.grants.right_changes import DropLocation as DropLocationChange
from catalog.grants.rights import kind_of
from engine.binding.bound import BoundStatement
from engine.planning.plans.ddl import CatalogPlan
from engine.statements.grants.statement import (
    AlterGroup,
    AlterOwner,
    CreateGroup,
    CreateLocation,
    DropGroup,
    DropLocation,
    GrantRights,
    PrincipalName,
    RevokeRights,
    RightStatement,
)

_NOT_IN_FORCE = (
    "Warning: this server authenticates nobody (authentication.methods is anonymous), so privileges and owners do not "
    "restrict anybody. They are recorded, and count once authentication is configured."
)


def plan_rights(bound: BoundStatement, statement: RightStatement) -> CatalogPlan:
    """Plans a statement. Raises `PrivilegeNotOfKind`; other preconditions are checked when the change is made."""
    match statement:
        case GrantRights(privileges=privileges, principal=principal):
            on = _applicable(bound.securable, privileges)
            grantor = bound.state.principal
            granted = GrantPrivileges(on, named_principal(bound, principal), privileges, grantor)
            return _with_warning(bound, _plan(bound, granted))
        case RevokeRights(privileges=privileges, principal=principal):
            on = _applicable(bound.securable, privileges)
            revoked = RevokePrivileges(on, principal_of(bound.view.state, principal.name, principal.kind), privileges)
            return _with_warning(bound, _plan(bound, revoked))
        case AlterOwner(owner=owner):
            return _with_warning(
                bound, _plan(bound, SetOwner(_securable_of(bound.securable), named_principal(bound, owner)))
            )
        case CreateGroup(name=name, members=members):
            group_entry = GroupEntry(name=name, members=_principals(bound, members))
            tolerated = (GroupAlreadyExists,) if statement.if_not_exists else ()
            return CatalogPlan(change=CreateGroupChange(group_entry), tolerated=tolerated, condition=bound.condition)
        case AlterGroup(name=name, added=added, removed=removed):
            gone = tuple(principal_of(bound.view.state, each.name, each.kind) for each in removed)
            return _plan(bound, ChangeGroup(name, _principals(bound, added), gone))
        case DropGroup(name=name):
            missing = (PrincipalNotFound,) if statement.if_exists else ()
            return CatalogPlan(change=DropGroupChange(name), tolerated=missing, condition=bound.condition)
        case CreateLocation(name=name, location=location, comment=comment):
            location_entry = LocationEntry(name=name, location=location, owner=bound.state.principal, comment=comment)
            exists = (LocationAlreadyExists,) if statement.if_not_exists else ()
            return CatalogPlan(change=CreateLocationChange(location_entry), tolerated=exists, condition=bound.condition)
        case DropLocation(name=name):
            without = (LocationNotFound,) if statement.if_exists else ()
            change = None if bound.securable is None else DropLocationChange(name)
            return CatalogPlan(change=change, tolerated=without, condition=bound.condition)
        case _:
            assert_never(statement)


def _plan(bound: BoundStatement, change: RightChange) -> CatalogPlan:
    return CatalogPlan(change=change, condition=bound.condition)


def _with_warning(bound: BoundStatement, plan: CatalogPlan) -> CatalogPlan:
    """Returns `plan` with a warning if the server has no authentication, so that privileges have no effect."""
    return plan if bound.view.rights is not None else replace(plan, warning=_NOT_IN_FORCE)


def _principals(bound: BoundStatement, names: Iterable[PrincipalName]) -> tuple[Principal, ...]:
    return tuple(named_principal(bound, name) for name in names)


def _securable_of(entry: SecurableEntry | None) -> Securable:
    assert entry is not None
    return Securable(kind_of(entry), None if isinstance(entry, ServerEntry) else entry.name)


def _applicable(entry: SecurableEntry | None, privileges: Iterable[Privilege]) -> Securable:
    on = _securable_of(entry)
    for privilege in privileges:
        if privilege not in PRIVILEGES[on.kind]:
            raise PrivilegeNotOfKind(privilege.value, on.kind.value, ", ".join(sorted(PRIVILEGES[on.kind])))
    return on


# The limit for login names (`gateway/authenticators/names.py`).
NAME_BYTES_MAX = 256


def named_principal(bound: BoundStatement, name: PrincipalName) -> Principal:
    """Returns the principal for a name without USER or GROUP if the name is known.

    Privileges granted to a misspelled name would apply to whoever first logs in with it. A server without
    authentication accepts every name. Raises `PrincipalUnclear` for an unknown name, and `PrincipalNameInvalid` for a
    name that cannot log in.
    """
    ensure_principal_name(name.name)
    state = bound.view.state
    principal = principal_of(state, name.name, name.kind)
    if name.kind is not None or principal.kind is PrincipalKind.GROUP or bound.view.rights is None:
        return principal
    if name.name not in known_users(state) | {bound.state.identity.principal} and not bound.knows_user(name.name):
        raise PrincipalUnclear(name.name)
    return principal


def ensure_principal_name(name: str) -> None:
    """Raises PrincipalNameInvalid for a name that cannot log in."""
    if not name or name != name.strip():
        raise PrincipalNameInvalid(name, "it is empty, or begins or ends with a blank")
    if len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
        raise PrincipalNameInvalid(f"{name[:40]}…", f"it has more than {NAME_BYTES_MAX} bytes")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise PrincipalNameInvalid(name, "it has control characters, such as line breaks")
