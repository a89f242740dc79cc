"""The method `jwt`: tokens signed by an identity provider (RFC 7519, RFC 9068).

    header    a permitted algorithm, all of which use public keys; a key id; no embedded key
    signature by the provider's key with that id
    claims    iss is the provider, aud is this server, exp is in the future, nbf and iat are not; azp is a known client
    identity  the first present principal claim; the groups claim

The algorithm is checked before the key is looked up, and the key before any part of the token is trusted. Every
rejection has the same text for the client, and the log has the reason without the token.
"""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError

from catalog.conditions import CredentialsRefused, LogInEnded
from catalog.errors import SqlError
from engine.runtime.identity import Identity, Method
from gateway.authenticators.issuer import Issuer
from gateway.authenticators.names import ensure_name

logger = logging.getLogger(__name__)

_BRING_KEYS = ("jwk", "jku", "x5u", "crit")
_GROUPS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtPolicy:
    """Required token contents. `clients` are the permitted requesters; empty: any."""

    issuer: str
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    clients: tuple[str, ...] = ()
    principal_claims: tuple[str, ...] = ("preferred_username", "email", "sub")
    groups_claim: str = "groups"
    leeway_s: float = 30.0


class TokenRejected(Exception):
    """A rejection with its reason, for the log."""


# The errors for an invalid token.
INVALID_TOKEN = (TokenRejected, JoseError, SqlError, ValueError, KeyError, TypeError)


class JwtTokens:
    """Verifies tokens. Thread-safe; `clock` is in seconds since the epoch."""

    def __init__(self, policy: JwtPolicy, issuer: Issuer, clock: Callable[[], float] = time.time) -> None:
        self._policy = policy
        self._issuer = issuer
        self._clock = clock

    def log_in(self, token: str) -> Identity:
        """Verifies a token, and returns its identity; raises :class:`CredentialsRefused`."""
        try:
            return self.identity(self.verify(token))
        except INVALID_TOKEN as error:
            logger.info("a JWT was refused: %.200r", error)
            raise CredentialsRefused() from None

    def ensure_current(self, identity: Identity) -> None:
        """Checks an earlier token: it remains valid until it expires, unless the provider has changed."""
        if identity.method is not Method.JWT:
            raise LogInEnded()

    def verify(self, token: str) -> Mapping[str, Any]:
        """Returns a valid token's claims; raises one of :data:`INVALID_TOKEN`."""
        header = _header(token)
        algorithm = header.get("alg")
        # RFC 8725, section 3.1: the token must not choose how it is verified (`none`, or an
        # HMAC with the public key as its secret).
        if algorithm not in self._policy.algorithms:
            raise TokenRejected(f"the algorithm {str(algorithm)[:20]!r}")
        # A key that the token brings along, or names by a URL, proves only that its sender
        # has that key.
        if brought := [name for name in _BRING_KEYS if name in header]:
            raise TokenRejected(f"the header {brought[0]}")
        key_id = header.get("kid")
        if not isinstance(key_id, str | None):
            raise TokenRejected("the key id")
        key = self._issuer.key(key_id)
        if key is None:
            raise TokenRejected("an unknown key")
        claims = jwt.decode(token, key, algorithms=list(self._policy.algorithms)).claims
        self._ensure_valid(claims)
        return claims

    def _ensure_valid(self, claims: Mapping[str, Any]) -> None:
        now, policy = self._clock(), self._policy
        if claims.get("iss") != policy.issuer:
            raise TokenRejected("the issuer")
        # RFC 8725, section 3.9: a token for another service of the same provider must not
        # log in here.
        if not set(strings(claims.get("aud"))) & set(policy.audiences):
            raise TokenRejected("the audience")
        if now >= _seconds(claims["exp"]) + policy.leeway_s:
            raise TokenRejected("it has expired")
        for name in ("nbf", "iat"):
            if name in claims and now < _seconds(claims[name]) - policy.leeway_s:
                raise TokenRejected(f"{name} is in the future")
        if policy.clients and _client(claims) not in policy.clients:
            raise TokenRejected("the client")

    def identity(self, claims: Mapping[str, Any]) -> Identity:
        """Returns the identity for a valid token's claims; raises one of :data:`INVALID_TOKEN`."""
        return Identity(
            ensure_name(self._principal(claims)),
            self._groups(claims),
            method=Method.JWT,
            client_id=_client(claims),
            expires_ms=int((_seconds(claims["exp"]) + self._policy.leeway_s) * 1000),
        )

    def _principal(self, claims: Mapping[str, Any]) -> str:
        for name in self._policy.principal_claims:
            value = claim(claims, name)
            if value is None or (name == "email" and claims.get("email_verified") is not True):
                continue  # users can set any address in their provider profile
            if not isinstance(value, str):
                raise TokenRejected(f"the claim {name}")
            return value
        raise TokenRejected("no claim has the principal")

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str]:
        name = self._policy.groups_claim
        # Microsoft Entra ID replaces a long list of groups by a link. Groups may restrict
        # access (row filters), so that logging in without them is not safe.
        if name in (claims.get("_claim_names") or {}):
            raise TokenRejected("it has too many groups to name them")
        found = strings(claim(claims, name))
        if len(found) > _GROUPS_MAX:
            raise TokenRejected("too many groups")
        # Keycloak sends groups as paths.
        return frozenset(ensure_name(group.removeprefix("/")) for group in found)


def _header(token: str) -> Mapping[str, Any]:
    encoded = token.partition(".")[0]
    header = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    if not isinstance(header, dict):
        raise TokenRejected("the header")
    return header


def claim(claims: Mapping[str, Any], path: str) -> Any:
    """Returns a claim, also a nested one: `realm_access.roles`. A claim whose own name contains dots takes
    precedence.
    """
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def strings(value: Any) -> Sequence[str]:
    """Returns a claim that is a string or a list of strings; an empty list for a missing one.

    Raises `TokenRejected`.
    """
    found = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise TokenRejected("a list of strings is none")
    return found


# The largest time in a claim: some 34,000 years, so that milliseconds fit into 64 bits.
_SECONDS_MAX = 1 << 40


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRejected("a time is no number")
    if not abs(value) <= _SECONDS_MAX:  # also NaN
        raise TokenRejected("a time is out of range")
    return float(value)


def _client(claims: Mapping[str, Any]) -> str | None:
    found = claims.get("azp") or claims.get("client_id") or claims.get("appid")
    return found if isinstance(found, str) else None
