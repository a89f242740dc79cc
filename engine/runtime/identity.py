"""Who a session acts for. Made once, when a client logs in, and never taken from SQL, a setting or a handle."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """How a client showed who it is."""

    ANONYMOUS = "anonymous"
    PASSWORD = "password"
    LDAP = "ldap"
    TOKEN = "token"
    JWT = "jwt"
    CERTIFICATE = "certificate"


class Scope(StrEnum):
    """What a token may be used for."""

    SQL = "sql"
    READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True)
class Identity:
    """A principal that a client showed to be.

    `groups` are those of the log-in, without groups of the catalog. `is_admin` says that it administers the server.
    `real_user` is who logged in, where that is somebody else who acts for the principal. `client_id` names the token or
    the program that was used, or tells one password from the next. `scopes` limit what it may do. From `expires_ms`
    (milliseconds since the epoch) on it starts no more statements; None: as long as its session lives.
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
        """What identities have in common that may use each other's sessions, statements and results.

        The scopes are part of it, so that a token for reading cannot write by a session that was opened without it, and
        so is `is_admin`, so that no user of that name of another provider becomes the administrator by a session.
        """
        return self.principal, self.real_user, self.scopes, self.is_admin

    def admits(self, other: Identity) -> bool:
        """Whether `other` may use what is of this identity: its owner, or the program that acts for it."""
        acts = (other.principal, other.real_user, other.scopes) == (self.real_user, None, self.scopes)
        return other.owner == self.owner or acts
