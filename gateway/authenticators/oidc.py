"""The console's login at the identity provider: OpenID Connect Core 1.0, authorization code flow with PKCE (RFC 7636).

    begin     → the provider's URL to redirect to, and a secret for the browser's cookie
    finish    the parameters of the redirect back, and the secret → the identity

`state`, `nonce` and the code verifier are derived from the secret, so that the server stores nothing about users who
have not logged in, and a response counts only in the browser that began the login. The ID token is verified as other
tokens are (`jwt.py`), and in addition for this client and this login. The code, the tokens and the client's secret are
never logged.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote_plus, urlencode

from catalog.conditions import (
    IssuerUnusable,
    LogInNotAllowed,
    LogInNotStarted,
    ProviderRefused,
    ProviderUnavailable,
    TooManyLogIns,
)
from engine.runtime.identity import Identity
from gateway.authenticators.chain import Chain
from gateway.authenticators.issuer import Issuer
from gateway.authenticators.jwt import INVALID_TOKEN, JwtPolicy, JwtTokens, TokenRejected, claim, strings
from gateway.authenticators.names import fold_name
from gateway.authenticators.peer import Peer

logger = logging.getLogger(__name__)

_REASON_MAX = 200
# Each occupies a thread while the provider responds, and anybody can send an invalid code.
_CONCURRENT_MAX = 16
# A longer ID token does not fit into the URL of a logout.
_HINT_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcPolicy:
    """The registered client, and the users who may log in; `tokens` applies to ID tokens.

    `allowed_groups` are folded names; empty: everybody. A login is valid for `lifetime_s`.
    """

    client_id: str
    tokens: JwtPolicy
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid",)
    allowed_groups: frozenset[str] = frozenset()
    lifetime_s: int = 43_200
    label: str = "Log in"


@dataclass(frozen=True, slots=True)
class ProviderLogIn:
    """A completed login; `id_token` is for the logout at the provider."""

    identity: Identity
    id_token: str = field(repr=False)


class Oidc:
    """Logs in users at the provider. Thread-safe; `clock` is in seconds since the epoch."""

    def __init__(
        self, policy: OidcPolicy, issuer: Issuer, chain: Chain, clock: Callable[[], float] = time.time
    ) -> None:
        self.policy = policy
        self._issuer = issuer
        self._chain = chain
        self._clock = clock
        self._tokens = JwtTokens(policy.tokens, issuer, clock)
        self._free = threading.BoundedSemaphore(_CONCURRENT_MAX)

    @property
    def has_passwords(self) -> bool:
        """Returns whether users can also log in with a password."""
        return self._chain.methods.password is not None

    def begin(self, redirect_uri: str, peer: Peer, *, is_other_user: bool = False) -> tuple[str, str]:
        """Returns the provider's URL and the login's secret; raises :class:`ProviderUnavailable`, and
        :class:`PlaintextRefused`. With `is_other_user` the provider does not use the login that it already has.
        """
        self._chain.ensure_encrypted(peer)
        try:
            self._issuer.refresh_metadata()  # the browser's own error page would not name the reason
            url = self._endpoint("authorization_endpoint")
        except IssuerUnusable as error:
            raise _unavailable(error) from error
        secret = secrets.token_urlsafe(32)
        challenge = hashlib.sha256(_derive(secret, "code_verifier").encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": self.policy.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self.policy.scopes),
            "state": _derive(secret, "state"),
            "nonce": _derive(secret, "nonce"),
            "code_challenge": _base64url(challenge),
            "code_challenge_method": "S256",
        }
        if is_other_user:
            parameters["prompt"] = "login"
        return _with_parameters(url, parameters), secret

    def finish(self, parameters: Mapping[str, str], secret: str, redirect_uri: str, peer: Peer) -> ProviderLogIn:
        """Returns the login that `parameters` complete. Raises :class:`LogInNotStarted` without the matching secret,
        and :class:`ProviderRefused`, :class:`ProviderUnavailable`, :class:`LogInNotAllowed`, :class:`TooManyLogIns`,
        :class:`PlaintextRefused`.
        """
        self._chain.ensure_encrypted(peer)
        # First, because anybody can send a browser here: no other parameter is used, or shown, without it.
        if not secret or not _is_equal(parameters.get("state", ""), _derive(secret, "state")):
            raise LogInNotStarted()
        # RFC 9207: a response of another provider would send it this one's code.
        if parameters.get("iss", self.policy.tokens.issuer) != self.policy.tokens.issuer:
            raise ProviderRefused("the response is from another provider")
        if "error" in parameters or not parameters.get("code"):
            raise ProviderRefused(_reason(parameters))
        if not self._free.acquire(blocking=False):
            raise TooManyLogIns()
        try:
            identity, id_token = self._redeem(parameters["code"], secret, redirect_uri)
        finally:
            self._free.release()
        allowed = self.policy.allowed_groups
        if allowed and allowed.isdisjoint(map(fold_name, identity.groups)):
            raise LogInNotAllowed(identity.principal)
        return ProviderLogIn(self._chain.with_rights(identity), id_token)

    def log_out_url(self, id_token: str, return_to: str) -> str:
        """Returns the URL that ends the user's login at the provider (RP-Initiated Logout 1.0), or an empty text."""
        try:
            url = self._issuer.endpoint("end_session_endpoint")
        except IssuerUnusable as error:
            logger.warning("users are not logged out at the provider: %s", error)
            return ""
        hint = {"id_token_hint": id_token} if len(id_token) <= _HINT_MAX else {}
        parameters = {"client_id": self.policy.client_id, "post_logout_redirect_uri": return_to}
        return _with_parameters(url, parameters | hint) if url else ""

    def _redeem(self, code: str, secret: str, redirect_uri: str) -> tuple[Identity, str]:
        """Returns the identity for a code, and the ID token."""
        try:
            answer = self._request_tokens(code, _derive(secret, "code_verifier"), redirect_uri)
            id_token = answer.get("id_token")
            if not isinstance(id_token, str):
                raise ProviderRefused("the provider sent no ID token")
            return self._identity(id_token, answer.get("access_token"), _derive(secret, "nonce")), id_token
        except IssuerUnusable as error:
            raise _unavailable(error) from error
        except ProviderRefused:
            raise
        except INVALID_TOKEN as error:
            logger.warning("an ID token was refused: %.200r", error)
            raise ProviderRefused("its ID token is not valid, for a reason in the server's log") from None

    def _request_tokens(self, code: str, verifier: str, redirect_uri: str) -> Mapping[str, Any]:
        """Returns the token endpoint's response (RFC 6749, section 4.1.3)."""
        client_id, client_secret = self.policy.client_id, self.policy.client_secret
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {}
        supported = self._issuer.metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if client_secret and "client_secret_basic" in supported:
            pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": client_id} | ({"client_secret": client_secret} if client_secret else {})
        status, answer = self._issuer.request(self._endpoint("token_endpoint"), form, headers)
        if status != HTTPStatus.OK:
            reason = _reason(answer)
            logger.warning("the identity provider refused a code: %s", reason)
            raise ProviderRefused(reason)
        return answer

    def _identity(self, id_token: str, access_token: object, nonce: str) -> Identity:
        claims = self._tokens.verify(id_token)
        client_id = self.policy.client_id
        # OpenID Connect Core, section 3.1.3.7: a token that was issued for this login, to this client.
        if not _is_equal(str(claims.get("nonce", "")), nonce):
            raise TokenRejected("the nonce")
        if claims.get("azp", client_id) != client_id or (len(strings(claims["aud"])) > 1 and "azp" not in claims):
            raise TokenRejected("the authorized party")
        wanted = (*self.policy.tokens.principal_claims[:1], self.policy.tokens.groups_claim)
        if isinstance(access_token, str) and any(claim(claims, name) is None for name in wanted):
            claims = {**claims, **self._user_info(access_token, claims.get("sub")), "exp": claims["exp"]}
        ends = self._clock() + self.policy.lifetime_s
        return replace(self._tokens.identity(claims), client_id=client_id, expires_ms=int(ends * 1000))

    def _user_info(self, access_token: str, subject: object) -> Mapping[str, Any]:
        """Returns further claims; many providers have some at this endpoint only (section 5.3)."""
        url = self._issuer.endpoint("userinfo_endpoint")
        if not url:
            return {}
        _, found = self._issuer.request(url, headers={"Authorization": f"Bearer {access_token}"})
        if found.get("sub") != subject:
            raise TokenRejected("the userinfo endpoint describes another subject")
        return found

    def _endpoint(self, name: str) -> str:
        url = self._issuer.endpoint(name)
        if not url:
            raise IssuerUnusable(self.policy.tokens.issuer, f"its metadata has no {name}")
        return url


def _derive(secret: str, purpose: str) -> str:
    return _base64url(hmac.digest(secret.encode(), purpose.encode(), hashlib.sha256))


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _is_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def _reason(answer: Mapping[str, Any]) -> str:
    """Returns the provider's error code and description (RFC 6749, section 4.1.2.1), as one line of limited length."""
    error, text = (str(answer.get(name) or "")[:_REASON_MAX] for name in ("error", "error_description"))
    reason = f"{text.rstrip('.')} ({error})" if text and error else text or error or "the provider sent no code"
    return "".join(character if character.isprintable() else " " for character in reason)


def _unavailable(error: IssuerUnusable) -> ProviderUnavailable:
    logger.warning("users cannot log in at the identity provider: %s", error)
    return ProviderUnavailable(error.reason)
