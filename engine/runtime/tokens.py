"""Rights on personal access tokens: users create, list and revoke their own tokens, an administrator all tokens.

A token cannot outlive the login that created it, unless this login used a password, and cannot do more than it. Nobody
creates a token for a user for whom they act.
"""

from __future__ import annotations

from catalog.conditions import TokenNotAllowed
from catalog.grants.tokens import TokenEntry, TokenOwner, TokenRequest, TokenStore
from engine.runtime.identity import Identity, Method, Scope


def create_token(
    store: TokenStore | None,
    identity: Identity,
    *,
    comment: str = "",
    lifetime_s: float | None = None,
    is_read_only: bool = False,
) -> tuple[str, TokenEntry]:
    """Creates a token of `identity`, and returns it with its entry. By default it is valid for 90 days, or as long as
    the login.
    """
    store = ensure_tokens(store)
    if identity.real_user is not None:
        raise TokenNotAllowed(f"{identity.real_user} acts for {identity.principal}")
    if Scope.SQL not in identity.scopes:
        raise TokenNotAllowed("the token of this log-in is for reading only")
    owner = TokenOwner(
        principal=identity.principal, groups=tuple(sorted(identity.groups)), method=_method_of_owner(store, identity)
    )
    request = TokenRequest(
        owner=owner,
        comment=comment,
        lifetime_s=lifetime_s,
        is_read_only=is_read_only,
        expires_ms_max=identity.expires_ms,
    )
    return store.create(request)


def _method_of_owner(store: TokenStore, identity: Identity) -> str:
    """Returns how the owner of the first of these tokens logged in."""
    entry = store.get(identity.client_id or "") if identity.method is Method.TOKEN else None
    return entry.owner.method if entry else identity.method


def visible_tokens(store: TokenStore | None, identity: Identity) -> tuple[TokenEntry, ...]:
    """Returns the tokens of `identity`, or all for an administrator. Raises `TokenNotAllowed` without a store."""
    return ensure_tokens(store).entries(None if identity.is_admin else identity.principal)


def revoke_token(store: TokenStore | None, identity: Identity, token_id: str) -> None:
    """Revokes a token; a login by a token for reading may revoke that token alone.

    Raises `TokenNotFound`, also for a token of somebody else, and `TokenNotAllowed`.
    """
    if Scope.SQL not in identity.scopes and not (identity.method is Method.TOKEN and identity.client_id == token_id):
        raise TokenNotAllowed("the token of this login is for reading only, and can revoke no other token")
    ensure_tokens(store).revoke(token_id, None if identity.is_admin else identity.principal)


def ensure_tokens(store: TokenStore | None) -> TokenStore:
    """Returns the store. Raises `TokenNotAllowed` if the server has none: the method `token` is not configured."""
    if store is None:
        raise TokenNotAllowed("the server takes no tokens; authentication.methods has to have 'token'")
    return store
