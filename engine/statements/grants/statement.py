"""Statements about privileges, owners, groups, external locations, tags, policies by tag, and personal access tokens,
as values before name binding.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.grants.privileges import Kind, PrincipalKind, Privilege
from engine.runtime.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurableName:
    """An object's name in a statement: no `parts` for the server, and for the current catalog or schema.

    `kind` TABLE may denote a view too.
    """

    kind: Kind
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalName:
    """A name, with the principal's kind if specified."""

    name: str
    kind: PrincipalKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRights(Statement):
    """`GRANT privileges ON securable TO principal`"""

    privileges: tuple[Privilege, ...]
    securable: SecurableName
    principal: PrincipalName


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeRights(Statement):
    """`REVOKE privileges ON securable FROM principal`"""

    privileges: tuple[Privilege, ...]
    securable: SecurableName
    principal: PrincipalName


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterOwner(Statement):
    """`ALTER kind name [SET] OWNER TO principal`"""

    securable: SecurableName
    owner: PrincipalName


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowGrants(Statement):
    """`SHOW GRANTS [principal] [ON securable]`"""

    principal: PrincipalName | None = None
    securable: SecurableName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateGroup(Statement):
    """`CREATE GROUP g [WITH [USER u, …] [GROUP h, …]]`"""

    name: str
    members: tuple[PrincipalName, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterGroup(Statement):
    """`ALTER GROUP g ADD|DROP [USER u, …] [GROUP h, …]`"""

    name: str
    added: tuple[PrincipalName, ...] = ()
    removed: tuple[PrincipalName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropGroup(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowGroups(Statement):
    """`SHOW GROUPS [WITH USER u | GROUP h] [LIKE 'pattern']`"""

    member: PrincipalName | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowUsers(Statement):
    """`SHOW USERS [LIKE 'pattern']`"""

    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateLocation(Statement):
    """`CREATE EXTERNAL LOCATION [IF NOT EXISTS] name URL 'path' [COMMENT 'c']`"""

    name: str
    location: str
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropLocation(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLocations(Statement):
    """`SHOW EXTERNAL LOCATIONS [LIKE 'pattern']`"""

    pattern: str | None = None


# Statements that list grants.
GrantListing = ShowGrants | ShowGroups | ShowUsers | ShowLocations

# Statements that change grants.
RightStatement = (
    GrantRights | RevokeRights | AlterOwner | CreateGroup | AlterGroup | DropGroup | CreateLocation | DropLocation
)
