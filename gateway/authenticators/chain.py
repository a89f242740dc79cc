"""Which method checks which credentials.

The shape of a secret decides, and one method alone sees it:

    dgp_…                                   a personal access token
    eyJ…, three parts with dots             a JWT
    anything else                           a password

Tokens come as HTTP's Bearer, or where a client only has a user and a password (Basic, SASL PLAIN, OpenSession): as the
password of the user `token`, or of the one that they belong to. Secrets are taken over TLS, or from this machine.

Guesses of passwords are slowed down; there is nothing to guess about a token. A method that is not configured refuses
like one that is. Who was refused goes to the log, without the secret.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass, field, replace
from typing import Protocol, assert_never

from catalog.tokens import TOKEN_PREFIX
from engine.runtime.identity import Identity, Method, Scope
from gateway.authenticators.errors import CredentialsRefused, PlaintextRefused
from gateway.authenticators.exchange import Accepted, Exchange, Mechanism, parse_plain
from gateway.authenticators.names import NAME_BYTES_MAX, fold_name
from gateway.authenticators.passwords import PASSWORD_BYTES_MAX
from gateway.authenticators.peer import Peer
from gateway.authenticators.recent import RecentLogIns
from gateway.authenticators.throttle import Throttle
from gateway.errors import LogInEnded

logger = logging.getLogger(__name__)

TOKEN_USER = "token"
"""Whom clients name that have a token and must name somebody."""
_SECRET_BYTES_MAX = 16 << 10
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


class PasswordMethod(Protocol):
    """Knows users by name; raises :class:`CredentialsRefused` and :class:`LogInEnded`.

    When `generation` changes, passwords that were right may be wrong now.
    """

    @property
    def generation(self) -> int: ...

    def log_in(self, user: str, password: str) -> Identity: ...

    def find(self, user: str) -> Identity | None: ...

    def ensure_current(self, identity: Identity) -> None: ...


class TokenMethod(Protocol):
    """Knows users by a token; raises :class:`CredentialsRefused` and :class:`LogInEnded`."""

    def log_in(self, token: str) -> Identity: ...

    def ensure_current(self, identity: Identity) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """Those that the server has."""

    password: PasswordMethod | None = None
    token: TokenMethod | None = None
    jwt: TokenMethod | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`admins` and `admin_groups` are folded names; `takes_plaintext` allows secrets in the clear from elsewhere."""

    admins: frozenset[str] = frozenset()
    admin_groups: frozenset[str] = frozenset()
    takes_plaintext: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """The authenticator of a server that has methods; see the module. Thread-safe."""

    methods: Methods
    rules: Rules = Rules()
    throttle: Throttle = field(default_factory=Throttle)
    recent: RecentLogIns = field(default_factory=RecentLogIns)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        has_tokens = self.methods.token or self.methods.jwt
        return (Mechanism.PLAIN, *([Mechanism.BEARER] if has_tokens else []))

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        return _OneMessage(self, mechanism, peer)

    def authenticate(self, user: str | None, secret: str, peer: Peer) -> Identity:
        """Who has this secret; `user` is None for a token that comes alone. Raises an error of class 28 or 53."""
        if not (peer.is_encrypted or peer.is_loopback or self.rules.takes_plaintext):
            raise PlaintextRefused()
        if not secret or len(secret) > _SECRET_BYTES_MAX:
            raise CredentialsRefused()
        try:
            identity = self._by_shape(user, secret, peer)
        except CredentialsRefused:
            logger.info("a log-in of %.80r from %s was refused", user, peer.address)
            raise
        return replace(identity, is_admin=self._is_admin(identity))

    def ensure_current(self, identity: Identity) -> None:
        if identity.expires_ms is not None and time.time() * 1000 >= identity.expires_ms:
            raise LogInEnded()
        method = self._method(identity.method)
        if method is None:
            raise LogInEnded()
        method.ensure_current(identity)

    def _by_shape(self, user: str | None, secret: str, peer: Peer) -> Identity:
        if secret.startswith(TOKEN_PREFIX):
            return self._by_token(self.methods.token, user, secret)
        if _JWT.fullmatch(secret) and (user is None or self.methods.jwt):
            return self._by_token(self.methods.jwt, user, secret)
        if user is None:
            raise CredentialsRefused()
        return self._by_password(user, secret, peer)

    def _by_token(self, method: TokenMethod | None, user: str | None, token: str) -> Identity:
        if method is None:
            raise CredentialsRefused()
        identity = method.log_in(token)
        if user and user != TOKEN_USER and fold_name(user) != fold_name(identity.principal):
            raise CredentialsRefused()
        return identity

    def _by_password(self, user: str, password: str, peer: Peer) -> Identity:
        method, sizes = self.methods.password, (len(user.encode("utf-8", "replace")), len(password.encode()))
        if method is None or not user or sizes[0] > NAME_BYTES_MAX or sizes[1] > PASSWORD_BYTES_MAX:
            raise CredentialsRefused()
        generation = method.generation
        if identity := self.recent.find(user, password, generation):
            return identity
        with self.throttle.attempt(fold_name(user), peer):
            identity = method.log_in(user, password)
        self.recent.add(user, password, generation, identity)
        return identity

    def _method(self, method: Method) -> PasswordMethod | TokenMethod | None:
        match method:
            case Method.PASSWORD | Method.LDAP:
                return self.methods.password
            case Method.TOKEN:
                return self.methods.token
            case Method.JWT:
                return self.methods.jwt
            case Method.CERTIFICATE | Method.ANONYMOUS:
                return None
            case _:
                assert_never(method)

    def _is_admin(self, identity: Identity) -> bool:
        is_named = fold_name(identity.principal) in self.rules.admins
        is_member = not self.rules.admin_groups.isdisjoint(map(fold_name, identity.groups))
        return (is_named or is_member) and Scope.SQL in identity.scopes


@dataclass(frozen=True, slots=True)
class _OneMessage:
    chain: Chain
    mechanism: Mechanism
    peer: Peer

    def receive(self, message: bytes) -> Accepted:
        match self.mechanism:
            case Mechanism.PLAIN:
                return Accepted(self.chain.authenticate(*parse_plain(message), self.peer))
            case Mechanism.BEARER:
                return Accepted(self.chain.authenticate(None, message.decode("latin-1"), self.peer))
            case Mechanism.ANONYMOUS:
                raise CredentialsRefused()
            case _:
                assert_never(self.mechanism)
