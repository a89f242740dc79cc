"""Parses GRANT, REVOKE, owners, groups and external locations, in Databricks' syntax; and personal access tokens.

Roles are not supported: groups serve the same purpose, and a session with a role set has privileges that no listing
shows. Privileges that are not granted are denied, so there is no DENY. No other system has tokens in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import assert_never

from catalog.conditions import PrivilegeUnknown, UnsupportedClause
from catalog.grants.privileges import Kind, PrincipalKind, Privilege
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import read_catalog, read_schema, read_table, take_pattern
from engine.statements.create_table.grammar_clauses import take_if_exists, take_if_not_exists
from engine.statements.grants.statement import (
    AlterGroup,
    CreateGroup,
    CreateLocation,
    DropGroup,
    DropLocation,
    GrantRights,
    PrincipalName,
    RevokeRights,
    SecurableName,
    ShowGrants,
    ShowGroups,
    ShowLocations,
    ShowUsers,
)

_ROLE_ADVICE = "There are no roles: make a group with CREATE GROUP, grant to it, and add its users with ALTER GROUP."

_KINDS = {
    ("CATALOG",): Kind.CATALOG,
    ("DATABASE",): Kind.SCHEMA,
    ("EXTERNAL", "LOCATION"): Kind.LOCATION,
    ("FUNCTION",): Kind.FUNCTION,
    ("METASTORE",): Kind.SERVER,
    ("NAMESPACE",): Kind.SCHEMA,
    ("SCHEMA",): Kind.SCHEMA,
    ("SERVER",): Kind.SERVER,
    ("TABLE",): Kind.TABLE,
    ("VIEW",): Kind.VIEW,
    ("VOLUME",): Kind.VOLUME,
}
_MAY_BE_CURRENT = frozenset({Kind.CATALOG, Kind.SCHEMA})
_OPTIONAL_WORDS = {"ALL": Privilege.ALL, "ALL PRIVILEGES": Privilege.ALL, "USE DATABASE": Privilege.USE_SCHEMA}


def parse_grant(cursor: Cursor) -> GrantRights:
    """Parses the text after GRANT."""
    privileges = _read_privileges(cursor)
    securable = read_securable(cursor, "TO")
    cursor.read("TO")
    principal = read_principal(cursor)
    if cursor.take("WITH", "GRANT", "OPTION"):
        raise UnsupportedClause("WITH GRANT OPTION", "Owners of an object grant privileges on it, and who has MANAGE.")
    return GrantRights(privileges=privileges, securable=securable, principal=principal)


def parse_revoke(cursor: Cursor) -> RevokeRights:
    """Parses the text after REVOKE."""
    if cursor.take("GRANT", "OPTION", "FOR"):
        raise UnsupportedClause("GRANT OPTION FOR", "There is no grant option to take away.")
    privileges = _read_privileges(cursor)
    securable = read_securable(cursor, "FROM")
    cursor.read("FROM")
    return RevokeRights(privileges=privileges, securable=securable, principal=read_principal(cursor))


def parse_deny(cursor: Cursor) -> GrantRights:
    """Rejects DENY."""
    raise UnsupportedClause("DENY", "What is not granted is denied: REVOKE what was granted.")


def parse_role(cursor: Cursor) -> CreateGroup:
    """Rejects CREATE ROLE and similar statements."""
    raise UnsupportedClause("ROLE", _ROLE_ADVICE)


def show_grants(cursor: Cursor) -> ShowGrants:
    """Parses the text after SHOW GRANTS: `[principal] [ON securable]`."""
    principal = None
    if not cursor.is_done and cursor.words(1) != ["ON"]:
        principal = read_principal(cursor)
    securable = read_securable(cursor, "") if cursor.words(1) == ["ON"] else None
    return ShowGrants(principal=principal, securable=securable)


def show_groups(cursor: Cursor) -> ShowGroups:
    """Parses the text after SHOW GROUPS."""
    member = None
    if cursor.take("WITH"):
        kind = PrincipalKind.GROUP if cursor.take("GROUP") else PrincipalKind.USER
        cursor.take("USER")
        member = PrincipalName(name=cursor.read_name(), kind=kind)
    return ShowGroups(member=member, pattern=take_pattern(cursor))


def show_users(cursor: Cursor) -> ShowUsers:
    """Parses the text after SHOW USERS: `[[LIKE] 'pattern']`."""
    return ShowUsers(pattern=take_pattern(cursor))


def show_locations(cursor: Cursor) -> ShowLocations:
    """Parses the text after SHOW EXTERNAL LOCATIONS: `[[LIKE] 'pattern']`."""
    return ShowLocations(pattern=take_pattern(cursor))


def read_parts(cursor: Cursor, kind: Kind) -> tuple[str, ...]:
    """Reads an object's name."""
    match kind:
        case Kind.CATALOG:
            return (read_catalog(cursor),)
        case Kind.SCHEMA:
            return read_schema(cursor)
        case Kind.LOCATION:
            return (cursor.read_name(),)
        case Kind.SERVER | Kind.TABLE | Kind.VIEW | Kind.FUNCTION | Kind.VOLUME:
            return read_table(cursor)
        case _:
            assert_never(kind)


def take_owner(cursor: Cursor) -> PrincipalName | None:
    """Reads `[SET] OWNER TO principal`, or Hive's `SET OWNER USER principal`."""
    if cursor.take("OWNER", "TO") or cursor.take("SET", "OWNER", "TO") or cursor.take("SET", "OWNER"):
        return read_principal(cursor)
    return None


def parse_create_group(cursor: Cursor) -> CreateGroup:
    """Parses the text after CREATE GROUP: `[IF NOT EXISTS] g [WITH members]`."""
    if_not_exists = take_if_not_exists(cursor)
    name = cursor.read_name()
    members = _read_members(cursor) if cursor.take("WITH") else ()
    return CreateGroup(name=name, members=members, if_not_exists=if_not_exists)


def parse_alter_group(cursor: Cursor) -> AlterGroup:
    """Parses the text after ALTER GROUP: `g ADD members`, or `g DROP | REMOVE members`."""
    name = cursor.read_name()
    if cursor.take_any("ADD"):
        return AlterGroup(name=name, added=_read_members(cursor))
    if cursor.take_any("DROP", "REMOVE"):
        return AlterGroup(name=name, removed=_read_members(cursor))
    raise cursor.fail("ADD or DROP is expected")


def parse_drop_group(cursor: Cursor) -> DropGroup:
    """Parses the text after DROP GROUP: `[IF EXISTS] g`."""
    if_exists = take_if_exists(cursor)
    return DropGroup(name=cursor.read_name(), if_exists=if_exists)


def parse_create_location(cursor: Cursor) -> CreateLocation:
    """Parses the text after CREATE EXTERNAL LOCATION."""
    if_not_exists = take_if_not_exists(cursor)
    name = cursor.read_name()
    cursor.read("URL")
    location = cursor.read_string()
    if cursor.take("WITH"):
        raise UnsupportedClause("WITH (STORAGE CREDENTIAL …)", "The server's configuration has the credentials.")
    comment = cursor.read_string() if cursor.take("COMMENT") else None
    return CreateLocation(name=name, location=location, comment=comment, if_not_exists=if_not_exists)


def parse_drop_location(cursor: Cursor) -> DropLocation:
    """Parses the text after DROP EXTERNAL LOCATION: `[IF EXISTS] l [FORCE]`; FORCE has no effect."""
    if_exists = take_if_exists(cursor)
    name = cursor.read_name()
    cursor.take("FORCE")
    return DropLocation(name=name, if_exists=if_exists)


def read_principal(cursor: Cursor) -> PrincipalName:
    """Reads `[USER|GROUP] name`; a final single word is the name."""
    word = cursor.words(1)
    if word == ["ROLE"] and cursor.count > 1:
        raise UnsupportedClause("ROLE", _ROLE_ADVICE)
    kind = None
    if word in (["USER"], ["GROUP"]) and cursor.count > 1 and not _ends_principal(cursor):
        kind = PrincipalKind(word[0].lower())
        cursor.read(word[0])
    if cursor.take_strings():
        raise UnsupportedClause("A principal in quotes", "Write it in backticks.")
    return PrincipalName(name=cursor.read_name(), kind=kind)


def _ends_principal(cursor: Cursor) -> bool:
    return cursor.words(2)[1:] in (["ON"], ["WITH"])


def _read_members(cursor: Cursor) -> tuple[PrincipalName, ...]:
    """Reads `[USER u, …] [GROUP h, …]`, at least one."""
    members: list[PrincipalName] = []
    for kind in PrincipalKind:
        if cursor.take(kind.value.upper()):
            members.append(PrincipalName(name=cursor.read_name(), kind=kind))
            while cursor.take(","):
                members.append(PrincipalName(name=cursor.read_name(), kind=kind))
    if not members:
        raise cursor.fail("USER or GROUP is expected")
    return tuple(members)


def _read_privileges(cursor: Cursor) -> tuple[Privilege, ...]:
    """Reads a list with privilege names, which may have several words, up to ON."""
    if cursor.take("ROLE"):
        raise UnsupportedClause("ROLE", _ROLE_ADVICE)
    found = [_read_privilege(cursor)]
    while cursor.take(","):
        found.append(_read_privilege(cursor))
    return tuple(dict.fromkeys(found))


def _read_privilege(cursor: Cursor) -> Privilege:
    words: list[str] = []
    while cursor.is_name() and cursor.words(1) not in (["ON"], ["TO"], ["FROM"]):
        words.append(cursor.read_name().upper())
    if not words:
        raise cursor.fail("a privilege is expected")
    if cursor.words(1) in (["TO"], ["FROM"]):
        raise UnsupportedClause(f"{' '.join(words)} without ON", _ROLE_ADVICE)
    text = " ".join(words)
    if text in _OPTIONAL_WORDS:
        return _OPTIONAL_WORDS[text]
    if text not in set(Privilege):
        raise PrivilegeUnknown(text, ", ".join(Privilege))
    return Privilege(text)


def read_securable(cursor: Cursor, follower: str) -> SecurableName:
    """Reads `ON [kind] name`; without a name, the current catalog or schema. `follower` is the word after it."""
    cursor.read("ON")
    for words, kind in _KINDS.items():
        if cursor.words(len(words)) != list(words) or cursor.words(len(words) + 1)[len(words) :] == ["."]:
            continue
        ends = cursor.count == len(words) or cursor.words(len(words) + 1)[len(words) :] == [follower]
        if ends and kind not in _MAY_BE_CURRENT | {Kind.SERVER}:
            continue  # a table with that name
        cursor.read(*words)
        return SecurableName(kind=kind, parts=() if ends or kind is Kind.SERVER else read_parts(cursor, kind))
    return SecurableName(kind=Kind.TABLE, parts=read_table(cursor))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("ALTER", "GROUP"): parse_alter_group,
        ("CREATE", "EXTERNAL", "LOCATION"): parse_create_location,
        ("CREATE", "GROUP"): parse_create_group,
        ("CREATE", "ROLE"): parse_role,
        ("DENY",): parse_deny,
        ("DROP", "EXTERNAL", "LOCATION"): parse_drop_location,
        ("DROP", "GROUP"): parse_drop_group,
        ("DROP", "ROLE"): parse_role,
        ("GRANT",): parse_grant,
        ("REVOKE",): parse_revoke,
        ("SHOW", "EXTERNAL", "LOCATIONS"): show_locations,
        ("SHOW", "GRANT"): show_grants,
        ("SHOW", "GRANTS"): show_grants,
        ("SHOW", "GROUPS"): show_groups,
        ("SHOW", "USERS"): show_users,
    }
)
