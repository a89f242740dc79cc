"""The method `token`: personal access tokens (`catalog/grants/tokens.py`).

A token acts as its owner with the owner's current groups, so it ends with its owner. If users have no password here
(they log in at an identity provider), they cannot be looked up, and the groups are from the login that created the
token.
"""

from __future__ import annotations

from catalog.conditions import CredentialsRefused, LogInEnded
from catalog.grants.tokens import TokenEntry, TokenStore
from engine.runtime.identity import Identity, Method, Scope
from gateway.authenticators.names import UserDirectory

_IN_DIRECTORY = (Method.PASSWORD, Method.LDAP)


class Tokens:
    """Authenticates by token. Thread-safe."""

    def __init__(self, store: TokenStore, users: UserDirectory | None) -> None:
        self._store = store
        self._users = users

    def log_in(self, token: str) -> Identity:
        entry = self._store.find(token)
        groups = self._groups(entry) if entry else None
        if entry is None or groups is None:
            raise CredentialsRefused()
        return Identity(
            entry.owner.principal,
            groups,
            method=Method.TOKEN,
            client_id=entry.token_id,
            scopes=frozenset({Scope.READ_ONLY if entry.is_read_only else Scope.SQL}),
            expires_ms=entry.expires_ms,
        )

    def owner_method(self, identity: Identity) -> str:
        """Returns the method by which the token's owner had logged in; empty for a token from the command line."""
        entry = self._store.get(identity.client_id or "")
        return entry.owner.method if entry else ""

    def ensure_current(self, identity: Identity) -> None:
        """Raises :class:`LogInEnded` if the token was revoked, or its owner is gone or has other groups."""
        entry = self._store.get(identity.client_id or "")
        groups = self._groups(entry) if entry else None
        if entry is None or groups is None or entry.owner.principal != (identity.real_user or identity.principal):
            raise LogInEnded()
        # With impersonation the groups are the other user's.
        if identity.real_user is None and groups != identity.groups:
            raise LogInEnded()

    def _groups(self, entry: TokenEntry) -> frozenset[str] | None:
        """Returns the owner's groups; None if the user no longer exists."""
        if entry.owner.method not in _IN_DIRECTORY:
            return frozenset(entry.owner.groups)
        found = self._users.find(entry.owner.principal) if self._users else None
        return found.groups if found and found.principal == entry.owner.principal else None
