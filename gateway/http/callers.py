"""The sender of an HTTP request: by its `Authorization` header, or by a page login's cookie.

A browser sends a cookie also with requests triggered by other sites. A request that changes something is therefore
accepted only if the browser reports that a page on this server sent it (Sec-Fetch-Site, or Origin in older ones). In
addition, the cookie is SameSite=Strict, no response has a CORS header, and the API accepts only JSON.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import g, request

from catalog.conditions import CookieRefused, ForwardedRequestRefused, UnsupportedMediaType
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.audit.auditor import Auditor, NoAudit
from gateway.authenticators.exchange import Authenticator, Mechanism, log_in, plain_message
from gateway.authenticators.oidc import ProviderLogIn
from gateway.authenticators.peer import Peer
from gateway.forwarding.signed_calls import ForwardedCall
from gateway.http.authentication import authenticate
from gateway.http.cookies import Cookies
from gateway.http.hosts import ensure_own_page
from gateway.sessions.call_context import note_user
from gateway.sessions.session import HTTP_WIRE, Origin
from gateway.state.log_ins import LogIns
from gateway.state.records import restored_identity

# The WSGI environment key for the client's :class:`~gateway.authenticators.peer.Peer`.
PEER = "gateway.peer"
# The key for the client socket's file descriptor.
CLIENT_DESCRIPTOR = "gateway.client_descriptor"
# The key for the `ForwardedCall` of a request that another gateway has forwarded, or for the error that rejects it.
FORWARDED = "gateway.forwarded_call"
_NAME, _SECURE_NAME = "dgw", "__Host-dgw"
_LIFETIME_S, _IDLE_S = 12 * 3600, 3600.0
_USER_AGENT_MAX = 200
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class Callers:
    """Authenticates the current request. Thread-safe."""

    def __init__(
        self,
        authenticator: Authenticator,
        public_host: str = "",
        auditor: Auditor | None = None,
        log_ins: LogIns | None = None,
    ) -> None:
        """Creates the authentication; `public_host` is the pages' host behind a proxy, in addition to the requested
        one, and `log_ins` has the cookies of all gateways.
        """
        self._authenticator = authenticator
        self._public_host = public_host
        self.auditor = auditor or NoAudit()
        self._cookies = {name: Cookies(name, lifetime_s=_LIFETIME_S, idle_s=_IDLE_S) for name in (_NAME, _SECURE_NAME)}
        for cookies in self._cookies.values():
            cookies.log_ins = log_ins

    def identity(self) -> Identity:
        """Returns the request's identity; raises an error in class 28 for an unknown client, and
        :class:`ForeignPage`.
        """
        identity = self._identity()
        note_user(identity.principal)
        return identity

    @property
    def has_logins(self) -> bool:
        """Returns whether clients send credentials."""
        return Mechanism.ANONYMOUS not in self._authenticator.mechanisms

    def ensure_current(self, identity: Identity) -> None:
        """Raises an error in class 28 for a login that is no longer valid."""
        self._authenticator.ensure_current(identity)
        note_user(identity.principal)

    def _identity(self) -> Identity:
        if (forwarded := request.environ.get(FORWARDED)) is not None:
            return _forwarded_identity(forwarded)
        header, cookie = request.headers.get("Authorization"), request.cookies.get(self._name)
        if header is not None or cookie is None:
            if header is None and request.method not in _SAFE_METHODS:
                # browsers send certificates, and unauthenticated requests, as automatically as cookies
                self.ensure_own_page(must_be_said=False)
            return authenticate(self._authenticator, header, peer_of_request())
        if request.method not in _SAFE_METHODS:
            self.ensure_own_page(must_be_said=True)
        identity = self._cookies[self._name].identity(cookie, peer_of_request().address)
        if identity is None:
            raise CookieRefused()
        self._authenticator.ensure_current(identity)
        return identity

    def log_in(self, user: str, password: str) -> str:
        """Returns the Set-Cookie header for a user with a password, or a token."""
        self.ensure_own_page(must_be_said=False)
        identity = log_in(self._authenticator, Mechanism.PLAIN, plain_message(user, password), peer_of_request())
        cookies = self._cookies[self._name]
        return cookies.format(cookies.make(identity, peer_of_request().address), is_secure=request.is_secure)

    def log_in_by(self, finish: Callable[[Peer], ProviderLogIn]) -> str:
        """Returns the Set-Cookie header for the user that `finish` logs in at the identity provider; records the login,
        or its error.
        """
        peer = peer_of_request()
        try:
            found = finish(peer)
        except SqlError as error:
            self.auditor.record_refusal(None, origin_of_request(), error)
            raise
        self.auditor.logged_in(found.identity, origin_of_request())
        cookies = self._cookies[self._name]
        value = cookies.make(found.identity, peer.address, found.id_token)
        return cookies.format(value, is_secure=request.is_secure)

    def log_out(self) -> tuple[str, str | None]:
        """Revokes the request's cookie; returns the Set-Cookie header that deletes it in the browser, and the ID token
        of a login at the identity provider.
        """
        self.ensure_own_page(must_be_said=True)
        cookie = request.cookies.get(self._name, "")
        cookies = self._cookies[self._name]
        if identity := cookies.identity(cookie, peer_of_request().address):
            self.auditor.logged_out(identity, origin_of_request())
        id_token = cookies.withdraw(cookie)
        secure = "; Secure" if request.is_secure else ""
        return f"{self._name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{secure}", id_token

    def ensure_own_page(self, *, must_be_said: bool) -> None:
        """Raises :class:`ForeignPage` for a request that another site made the browser send."""
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        ensure_own_page(site, origin, (request.host, self._public_host), must_be_said=must_be_said)

    @property
    def _name(self) -> str:
        """Returns the cookie's name; browsers accept the prefix only over TLS."""
        return _SECURE_NAME if request.is_secure else _NAME


def _forwarded_identity(found: object) -> Identity:
    """Returns the identity that another gateway has authenticated."""
    if isinstance(found, SqlError):
        raise found
    if not isinstance(found, ForwardedCall) or found.identity is None:
        raise ForwardedRequestRefused("it has no identity")
    return restored_identity(found.identity)


def json_content() -> bytes:
    """Returns the request's body, which must be declared as JSON: another site's form cannot do that."""
    if not request.is_json:
        raise UnsupportedMediaType(request.mimetype or "of no stated type")
    return request.get_data()


def origin_of_request() -> Origin:
    """Returns the request's origin; `g.wire` is the front end of routes with one of their own."""
    user_agent = request.user_agent.string[:_USER_AGENT_MAX] or None
    return Origin(g.get("wire", HTTP_WIRE), request.remote_addr or "", user_agent)


def peer_of_request() -> Peer:
    """Returns the address and TLS state of the request's client, which the server puts into the WSGI environment."""
    peer = request.environ[PEER]
    assert isinstance(peer, Peer)
    return peer
