"""The users and groups that statements about rights name."""

from __future__ import annotations

import unicodedata

from catalog.conditions import PrincipalNameInvalid, PrincipalUnclear
from catalog.grants.privileges import Principal, PrincipalKind
from catalog.grants.right_changes import known_users, principal_of
from engine.binding.bound import BoundStatement
from engine.statements.grants.statement import PrincipalName

NAME_BYTES_MAX = 256
"""The limit of names that can log in (`gateway/authenticators/names.py`)."""


def named_principal(bound: BoundStatement, name: PrincipalName) -> Principal:
    """Returns the principal of a name without USER or GROUP if somebody is known to have the name.

    Rights of a misspelled name would be nobody's until somebody logs in by it. A server without authentication believes
    every name. Raises `PrincipalUnclear` for an unknown name, and `PrincipalNameInvalid` for a name that nobody can log
    in by.
    """
    _ensure_name(name.name)
    state = bound.view.state
    principal = principal_of(state, name.name, name.kind)
    if name.kind is not None or principal.kind is PrincipalKind.GROUP or bound.view.rights is None:
        return principal
    if name.name not in known_users(state) | {bound.state.identity.principal} and not bound.knows_user(name.name):
        raise PrincipalUnclear(name.name)
    return principal


def _ensure_name(name: str) -> None:
    if not name or name != name.strip():
        raise PrincipalNameInvalid(name, "it is empty, or begins or ends with a blank")
    if len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
        raise PrincipalNameInvalid(f"{name[:40]}…", f"it has more than {NAME_BYTES_MAX} bytes")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise PrincipalNameInvalid(name, "it has control characters, such as line breaks")
