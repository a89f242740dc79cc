"""The principal that a session acts for. It is made once, at login, and never taken from SQL, a setting or a handle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Method(StrEnum):
    """How a client authenticated."""

    ANONYMOUS = "anonymous"
    PASSWORD = "password"
    LDAP = "ldap"
    TOKEN = "token"
    JWT = "jwt"
    CERTIFICATE = "certificate"


class Scope(StrEnum):
    """An operation that a token allows."""

    SQL = "sql"
    READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated principal.

    `groups` come from the login, without the catalog's groups. `is_admin`: it administers the server. `real_user` is
    the user who logged in, if this is another user who acts for the principal. `client_id` names the token or the
    program that was used, or distinguishes one password from the next. `scopes` limit what the session may do. After
    `expires_ms` (milliseconds since the epoch) it starts no more statements; None: as long as its session lives.
    """

    principal: str
    groups: frozenset[str] = frozenset()
    is_admin: bool = False
    method: Method = Method.ANONYMOUS
    real_user: str | None = None
    client_id: str | None = None
    scopes: frozenset[Scope] = frozenset({Scope.SQL})
    expires_ms: int | None = None

    @property
    def owner(self) -> tuple[str, str | None, frozenset[Scope], bool]:
        """Returns the values that two identities have in common if they may use each other's sessions, statements and
        results.

        The scopes are included, so that a read-only token cannot write through a session that was opened without it,
        and so is `is_admin`, so that a user with the same name from another provider does not become the administrator
        through a session.
        """
        return self.principal, self.real_user, self.scopes, self.is_admin

    @property
    def reading(self) -> Identity:
        """Returns the same principal with the scope of a read-only token."""
        return replace(self, scopes=frozenset({Scope.READ_ONLY}))

    def admits(self, other: Identity) -> bool:
        """Returns True if `other` may use the objects of this identity: its owner, the program that acts for it, or its
        owner with more scopes.

        A session keeps its scopes whoever uses it: an owner may see and end the statements of a read-only login.
        """
        if other.owner == self.owner:
            return True
        if (other.principal, other.real_user, other.scopes) == (self.real_user, None, self.scopes):
            return True
        return Scope.SQL in other.scopes and other.reading.owner == self.owner
