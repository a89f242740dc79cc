"""The grants that a principal may know of: all on what it manages, elsewhere those to itself and its groups. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.entries import SecurableEntry
from catalog.grants.privileges import PRIVILEGES, Grant, Privilege
from catalog.grants.rights import NOBODY, Rights, kind_of
from catalog.view import CatalogView


def own_grants(view: CatalogView, entry: SecurableEntry) -> list[Grant]:
    """Those on the object itself."""
    rights = view.rights
    if rights is None or rights.manages(entry):
        return list(entry.grants)
    return [each for each in entry.grants if each.principal in rights.caller.principals]


def effective_grants(view: CatalogView, entry: SecurableEntry) -> Iterator[tuple[SecurableEntry, Grant]]:
    """Those that hold for the object, each with what it is on: the object, or what that lies in."""
    covered = PRIVILEGES[kind_of(entry)] | {Privilege.BROWSE}
    for level in Rights(view.state, NOBODY).levels(entry):
        for grant in own_grants(view, level):
            if level is entry or grant.privilege in covered:
                yield level, grant
