"""SHOW GRANTS, GROUPS, USERS and EXTERNAL LOCATIONS.

A principal with MANAGE on an object sees all grants on it; others see grants to themselves and their groups. Grants on
an object's parents apply to the object, and are listed with the parent's kind and name.
"""

from __future__ import annotations

from typing import assert_never

from catalog.entries import SecurableEntry, ServerEntry
from catalog.grants.privileges import Kind, Principal, PrincipalKind, group
from catalog.grants.right_changes import known_users, principal_of
from catalog.grants.rights import kind_of
from catalog.names import like_matcher
from catalog.view import effective_grants, grants_on
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import string_rows
from engine.statements.grants.statement import GrantListing, ShowGrants, ShowGroups, ShowLocations, ShowUsers

# Databricks' columns.
GRANT_COLUMNS = ("Principal", "ActionType", "ObjectType", "ObjectKey")


def answer_rights(bound: BoundStatement, statement: GrantListing) -> Outcome:
    """Returns one statement's rows."""
    match statement:
        case ShowGrants():
            return Outcome(result=string_rows(GRANT_COLUMNS, _grants(bound, statement)))
        case ShowGroups(pattern=pattern):
            matches = like_matcher(pattern)
            return Outcome(result=string_rows(("name",), [(n,) for n in _groups(bound, statement) if matches(n)]))
        case ShowUsers(pattern=pattern):
            matches = like_matcher(pattern)
            return Outcome(result=string_rows(("name",), [(name,) for name in _users(bound) if matches(name)]))
        case ShowLocations(pattern=pattern):
            matches = like_matcher(pattern)
            rows = [
                (entry.name, entry.location if bound.view.tells_all(entry) else None, entry.comment)
                for entry in bound.view.external_locations()
                if matches(entry.name)
            ]
            return Outcome(result=string_rows(("name", "url", "comment"), rows))
        case _:
            assert_never(statement)


def _grants(bound: BoundStatement, statement: ShowGrants) -> list[tuple[str, str, str, str]]:
    state = bound.view.state
    of_principal = statement.principal
    principal = None if of_principal is None else principal_of(state, of_principal.name, of_principal.kind)
    if statement.securable is None:
        entries: list[SecurableEntry] = [state.server, *bound.view.catalogs(), *bound.view.find_schemas(None)]
        entries += [*state.relations.values(), *state.functions.values(), *bound.view.external_locations()]
        found = [(entry, grant) for entry in entries for grant in grants_on(bound.view, entry)]
    else:
        assert bound.securable is not None
        found = list(effective_grants(bound.view, bound.securable))
    return [
        (str(grant.principal), grant.privilege.value, _object_type(entry), key_of(entry))
        for entry, grant in found
        if principal is None or grant.principal == principal
    ]


def _object_type(entry: SecurableEntry) -> str:
    """Returns the kind; Databricks reports a view as TABLE, and dbt ignores rows with any other kind."""
    kind = kind_of(entry)
    return (Kind.TABLE if kind is Kind.VIEW else kind).value


def key_of(entry: SecurableEntry) -> str:
    """Returns an object's full name, without quotes."""
    if isinstance(entry, ServerEntry):
        return ""
    return entry.name if isinstance(entry.name, str) else ".".join(entry.name.parts)


def _groups(bound: BoundStatement, statement: ShowGroups) -> list[str]:
    """Returns the catalog's groups: all for administrators, else the principal's own."""
    rights, of_member = bound.view.rights, statement.member
    groups = sorted(bound.view.state.groups.values(), key=lambda entry: entry.key)
    if rights is not None and not rights.caller.is_admin:
        groups = [entry for entry in groups if group(entry.name) in rights.caller.principals]
    if of_member is not None:
        member = Principal(of_member.kind or PrincipalKind.USER, of_member.name)
        groups = [entry for entry in groups if member in entry.members]
    return [entry.name for entry in groups]


def _users(bound: BoundStatement) -> list[str]:
    """Returns the users in the catalog: all for administrators, else the principal alone."""
    rights = bound.view.rights
    if rights is None or rights.caller.is_admin:
        return sorted(known_users(bound.view.state))
    return [bound.state.principal]
