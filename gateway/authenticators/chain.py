"""The choice of the authentication method for given credentials.

The format of a secret decides, and only one method receives it:

    dgp_…                                   a personal access token
    eyJ…, three parts with dots             a JWT
    anything else                           a password
    none, over TLS with a certificate       the certificate

Tokens are sent as HTTP's Bearer, or, by a client that has only a user and a password (Basic, SASL PLAIN, OpenSession),
as the password for the user `token`, or for the token's owner. Secrets are accepted over TLS, or from this machine.

Password guessing is throttled; tokens cannot be guessed. An unconfigured method rejects credentials exactly as a
configured one. Rejected logins are logged, without the secret.

A recently verified password is not verified again: HTTP clients send it with every request, and drivers open many
connections concurrently, while a verification takes about 30 ms of CPU time, or a directory request. The table has an
HMAC over user and password with a key of this process, and nothing from which a password could be derived.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, assert_never, runtime_checkable

from catalog.conditions import (
    AuthenticationFailed,
    CredentialsRefused,
    DirectoryUnavailable,
    LogInEnded,
    PlaintextRefused,
    ProxyUserNotAllowed,
)
from catalog.grants.tokens import TOKEN_PREFIX
from engine.runtime.identity import Identity, Method, Scope
from gateway.authenticators.acting import Acting
from gateway.authenticators.certificates import Certificates
from gateway.authenticators.exchange import Accepted, Challenge, Exchange, Mechanism, parse_plain
from gateway.authenticators.names import NAME_BYTES_MAX, fold_name
from gateway.authenticators.passwords import PASSWORD_BYTES_MAX
from gateway.authenticators.peer import Peer
from gateway.authenticators.scram import MalformedExchange, ScramExchange, Verifier
from gateway.authenticators.throttle import Throttle

GOOD_FOR_S = 60.0
_ENTRIES_MAX = 10_000


class RecentLogIns:
    """Recently verified passwords. Thread-safe; `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, tuple[Identity, float]] = OrderedDict()

    def find(self, user: str, password: str, generation: int) -> Identity | None:
        """Returns the identity that these credentials recently verified, in the same user generation."""
        with self._lock:
            identity, until = self._entries.get(self._digest(user, password, generation), (None, 0.0))
        return identity if self._clock() < until else None

    def add(self, user: str, password: str, generation: int, identity: Identity) -> None:
        """Records a verified password, by its digest, for `GOOD_FOR_S` seconds; drops the oldest entries if full."""
        with self._lock:
            digest = self._digest(user, password, generation)
            self._entries[digest] = identity, self._clock() + GOOD_FOR_S
            self._entries.move_to_end(digest)
            while len(self._entries) > _ENTRIES_MAX:
                self._entries.popitem(last=False)

    def _digest(self, user: str, password: str, generation: int) -> bytes:
        # The length separates user and password: ("ab", "c") and ("a", "bc") must differ.
        message = f"{generation} {len(user)} {user}{password}".encode("utf-8", "replace")
        return hmac.digest(self._key, message, hashlib.sha256)


logger = logging.getLogger(__name__)

# The user name for clients that have a token but must send a user name.
TOKEN_USER = "token"
_SECRET_BYTES_MAX = 16 << 10
# User and password that JDBC drivers send if none were given.
_NOBODY = ("anonymous", "anonymous")
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


class PasswordMethod(Protocol):
    """A method with named users; raises :class:`CredentialsRefused` and :class:`LogInEnded`.

    A change of `generation` invalidates verified passwords.
    """

    @property
    def generation(self) -> int:
        """Returns a number that changes with the users; passwords verified under an earlier one are checked again."""
        ...

    def log_in(self, user: str, password: str) -> Identity:
        """Returns the identity of the user.

        Raises `CredentialsRefused` for an unknown user and for a wrong password alike.
        """
        ...

    def find(self, user: str) -> Identity | None:
        """Returns the user without a login, for impersonation; None for an unknown one."""
        ...

    def ensure_current(self, identity: Identity) -> None:
        """Raises `LogInEnded` if the login no longer holds: the user, the groups or the password changed."""
        ...


@runtime_checkable
class VerifierMethod(Protocol):
    """A method with verifiers of SCRAM-SHA-256."""

    def has_verifier(self, user: str) -> bool:
        """Returns True if the user logs in by SCRAM-SHA-256; also for a user who does not exist."""
        ...

    def verifier(self, user: str) -> Verifier:
        """Returns the user's verifier; for a user without one, a verifier that no password matches."""
        ...

    def verified(self, user: str, verifier: Verifier) -> Identity:
        """Returns the user who has proved the password of `verifier`.

        Raises `CredentialsRefused` if it is no longer the user's.
        """
        ...


class TokenMethod(Protocol):
    """A method with tokens; raises :class:`CredentialsRefused` and :class:`LogInEnded`."""

    def log_in(self, token: str) -> Identity:
        """Returns the identity of the token's owner. Raises `CredentialsRefused`."""
        ...

    def ensure_current(self, identity: Identity) -> None:
        """Raises `LogInEnded` if the token was revoked or expired, or its owner changed."""
        ...


class PersonalTokenMethod(TokenMethod, Protocol):
    """A method with tokens that users created after a login by another method."""

    def owner_method(self, identity: Identity) -> str:
        """Returns the method by which the token's owner had logged in, or an empty text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """The configured methods."""

    password: PasswordMethod | None = None
    token: PersonalTokenMethod | None = None
    jwt: TokenMethod | None = None
    certificate: Certificates | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPolicy:
    """Administrators and transport rules. `admins` are principals, some with their method (`jwt:ann`), `admin_groups`
    are folded names; with `takes_plaintext` secrets may be sent unencrypted.
    """

    admins: frozenset[str] = frozenset()
    admin_groups: frozenset[str] = frozenset()
    takes_plaintext: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """The authenticator for a server with methods; see the module. Thread-safe."""

    methods: Methods
    policy: ChainPolicy = ChainPolicy()
    acting: Acting = Acting()
    throttle: Throttle = field(default_factory=Throttle)
    recent: RecentLogIns = field(default_factory=RecentLogIns)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        has_tokens = self.methods.token or self.methods.jwt
        by_certificate = [Mechanism.EXTERNAL] if self.methods.certificate else []
        return (Mechanism.PLAIN, *([Mechanism.BEARER] if has_tokens else []), *by_certificate)

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        if mechanism in (Mechanism.SCRAM, Mechanism.SCRAM_PLUS):
            return _Scram(self, peer, is_bound=mechanism is Mechanism.SCRAM_PLUS)
        return _OneMessage(self, mechanism, peer)

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        """Returns SCRAM for users with a verifier, and for unknown ones, which cannot be told apart; PLAIN for other
        methods than the password file, for tokens of the user `token`, and for older entries of the file.

        Raises :class:`PlaintextRefused` before the client sends a secret.
        """
        self.ensure_encrypted(peer)
        if peer.certificate_names and self.methods.certificate is not None:
            return Mechanism.EXTERNAL
        users = self.methods.password
        has_verifier = isinstance(users, VerifierMethod) and users.has_verifier(user)
        return Mechanism.SCRAM if has_verifier and user != TOKEN_USER else Mechanism.PLAIN

    def authenticate(self, user: str | None, secret: str, peer: Peer) -> Identity:
        """Returns the identity for a secret; `user` is None for a token without a user name. Raises an error in class
        28 or 53.
        """
        # Before any check: a password that was sent in plain text is known to the network,
        # right or wrong.
        self.ensure_encrypted(peer)
        try:
            if peer.certificate_names and (user, secret) in ((user, ""), _NOBODY):
                identity = self._by_certificate(user, peer)
            else:
                identity = self._by_shape(user, secret, peer)
        except CredentialsRefused:
            logger.info("a log-in of %.80r from %s was refused", user, peer.address)
            raise
        return self.with_rights(identity)

    def ensure_encrypted(self, peer: Peer) -> None:
        """Raises :class:`PlaintextRefused` for a connection on which secrets are not accepted."""
        if not (peer.is_encrypted or peer.is_loopback or self.policy.takes_plaintext):
            raise PlaintextRefused()

    def with_rights(self, identity: Identity) -> Identity:
        """Returns an authenticated identity with the rights of an administrator, if it is one."""
        return replace(identity, is_admin=self._is_admin(identity))

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        found = self.acting.identity(identity, user, peer)
        is_named = any(name.rpartition(":")[2] == found.principal for name in self.policy.admins)
        # Impersonation must not raise rights: whoever may act for users does not thereby
        # become an administrator.
        if is_named or self._is_admin(found):
            raise ProxyUserNotAllowed(identity.principal, user)
        return found

    def knows_user(self, name: str) -> bool:
        """Returns True if the password file or the directory has a user with exactly this name."""
        try:
            found = self.methods.password.find(name) if self.methods.password else None
        except DirectoryUnavailable as error:
            logger.warning("%.80r could not be looked up: %s", name, error.reason)
            return False
        return found is not None and found.principal == name

    def ensure_current(self, identity: Identity) -> None:
        if identity.expires_ms is not None and time.time() * 1000 >= identity.expires_ms:
            raise LogInEnded()
        try:
            self._ensure_known(identity)
        except DirectoryUnavailable as error:  # a change cannot be determined
            logger.warning("%.80r goes on unchecked: %s", identity.principal, error.reason)

    def _ensure_known(self, identity: Identity) -> None:
        method = self._method(identity.method)
        users = self.methods.password
        if method is None:
            raise LogInEnded()
        if identity.real_user is None:
            method.ensure_current(identity)
            return
        if users:  # both must exist
            users.ensure_current(replace(identity, client_id=None))
            if users.find(identity.real_user) is None:
                raise LogInEnded()
        if method is not users:
            method.ensure_current(identity)

    def _by_certificate(self, user: str | None, peer: Peer) -> Identity:
        """Returns the certificate's user; the client may omit the user name."""
        if self.methods.certificate is None:
            raise CredentialsRefused()
        identity = self.methods.certificate.log_in(peer.certificate_names)
        if user not in (None, "", _NOBODY[0]) and fold_name(user) != fold_name(identity.principal):
            raise CredentialsRefused()
        return identity

    def _by_shape(self, user: str | None, secret: str, peer: Peer) -> Identity:
        if not secret or len(secret) > _SECRET_BYTES_MAX:
            raise CredentialsRefused()
        if secret.startswith(TOKEN_PREFIX):
            return self._by_token(self.methods.token, user, secret)
        # A password may look like a JWT. Without the method it is checked as a password;
        # nobody else gets it.
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
        method = self.methods.password
        sizes = (len(user.encode("utf-8", "replace")), len(password.encode()))
        if method is None or not user or sizes[0] > NAME_BYTES_MAX or sizes[1] > PASSWORD_BYTES_MAX:
            raise CredentialsRefused()
        # Read before the check: if the users change while it runs, its result is stored
        # under the old generation and never found again.
        generation = method.generation
        if identity := self.recent.find(user, password, generation):
            return identity
        with self.throttle.attempt(fold_name(user), peer):
            identity = self.recent.find(user, password, generation)  # found by an attempt that this one waited for
            identity = identity or method.log_in(user, password)
        self.recent.add(user, password, generation, identity)
        return identity

    def _method(self, method: Method) -> PasswordMethod | TokenMethod | Certificates | None:
        match method:
            case Method.PASSWORD | Method.LDAP:
                return self.methods.password
            case Method.TOKEN:
                return self.methods.token
            case Method.JWT:
                return self.methods.jwt
            case Method.CERTIFICATE:
                return self.methods.certificate
            case Method.ANONYMOUS:
                return None
            case _:
                assert_never(method)

    def _is_admin(self, identity: Identity) -> bool:
        name, source = identity.principal, self._source(identity)
        # compared as spelled: a provider may have another principal with that name
        is_named = f"{source}:{name}" in self.policy.admins or (source is self._home and name in self.policy.admins)
        is_member = not self.policy.admin_groups.isdisjoint(map(fold_name, identity.groups))
        # A read-only token of an administrator has no administrator's rights.
        return (is_named or is_member) and Scope.SQL in identity.scopes

    @property
    def _home(self) -> Method:
        """Returns the method whose users are named without a method: the one with passwords, or the first of the
        others.
        """
        if self.methods.password is not None:
            return Method.PASSWORD
        return Method.JWT if self.methods.jwt is not None else Method.CERTIFICATE

    def _source(self, identity: Identity) -> Method:
        """Returns the method that the principal comes from; `password` also for a directory."""
        match identity.method:
            case Method.JWT:
                return Method.JWT
            case Method.CERTIFICATE:
                is_looked_up = self.methods.certificate is not None and self.methods.certificate.users is not None
                return Method.PASSWORD if is_looked_up else Method.CERTIFICATE
            case Method.TOKEN:
                made_by = self.methods.token.owner_method(identity) if self.methods.token else ""
                is_foreign = made_by in (Method.JWT, Method.CERTIFICATE)
                return self._source(replace(identity, method=Method(made_by))) if is_foreign else self._home
            case Method.PASSWORD | Method.LDAP | Method.ANONYMOUS:
                return Method.PASSWORD
            case _:
                assert_never(identity.method)


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
            case Mechanism.EXTERNAL:
                return Accepted(self.chain.authenticate(message.decode("utf-8", "replace"), "", self.peer))
            case Mechanism.ANONYMOUS | Mechanism.SCRAM | Mechanism.SCRAM_PLUS:
                raise CredentialsRefused()
            case _:
                assert_never(self.mechanism)


@dataclass(slots=True)
class _Scram:
    """An exchange of SCRAM-SHA-256; the front end sends the user's name before the client's first message."""

    chain: Chain
    peer: Peer
    is_bound: bool = False
    _user: str | None = None
    _verifier: Verifier | None = None
    _exchange: ScramExchange | None = None

    def receive(self, message: bytes) -> Challenge | Accepted:
        self.chain.ensure_encrypted(self.peer)
        try:
            if self._exchange is None:
                return Challenge(self._begin(*message.split(b"\0", 1)))
            return self._finish(message)
        except (MalformedExchange, TypeError) as error:
            raise AuthenticationFailed(f"the client does not follow SCRAM-SHA-256: {error}.") from None

    def _begin(self, user: bytes, first: bytes) -> bytes:
        users = self.chain.methods.password
        if not isinstance(users, VerifierMethod):
            raise CredentialsRefused()
        self._user = user.decode("utf-8", "replace")
        self._verifier = users.verifier(self._user)
        self._exchange = ScramExchange(self._verifier, self.peer.end_point, is_bound=self.is_bound)
        return self._exchange.begin(first)

    def _finish(self, message: bytes) -> Accepted:
        users, user, verifier, exchange = self.chain.methods.password, self._user, self._verifier, self._exchange
        if not isinstance(users, VerifierMethod) or user is None or verifier is None or exchange is None:
            raise CredentialsRefused()
        try:
            with self.chain.throttle.attempt(fold_name(user), self.peer):
                answer = exchange.finish(message)
                if answer is None:
                    raise CredentialsRefused()
                identity = users.verified(user, verifier)
        except CredentialsRefused:
            logger.info("a log-in of %.80r from %s was refused", user, self.peer.address)
            raise
        return Accepted(self.chain.with_rights(identity), answer)
