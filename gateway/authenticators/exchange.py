"""A front end carries the messages of an authentication exchange and gets an identity, or an error.

A mechanism sees the whole exchange and not a user and a password, since not all have these: the front end names the
mechanism that the client chose, gets an :class:`Exchange`, hands it each message of the client as bytes and sends back
what it answers, until it accepts or raises. SASL (Thrift over TCP) carries any number of messages; HTTP (one
`Authorization` header) and OpenSession (a user and a password in its request) carry one, which :func:`log_in` is for.

The messages of each mechanism are the same on every front end:

    ANONYMOUS   nothing (RFC 4505): the client names no one
    PLAIN       authzid NUL user NUL password (RFC 4616); HTTP's Basic, and the fields of OpenSession, become it
    BEARER      a token (RFC 6750)
    EXTERNAL    authzid (RFC 4422): the certificate of its connection says who the client is
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer

KERBEROS_REFUSED = "Kerberos is not supported: log in with the password of the directory, or a token."
"""For clients that begin with it."""


class Mechanism(StrEnum):
    ANONYMOUS = "ANONYMOUS"
    PLAIN = "PLAIN"
    BEARER = "BEARER"
    EXTERNAL = "EXTERNAL"


@dataclass(frozen=True, slots=True)
class Challenge:
    """The client has to answer `message` with one of its own."""

    message: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The client is `identity`; `message` is for the client, where the mechanism proves who the server is."""

    identity: Identity
    message: bytes = b""


class Exchange(Protocol):
    """One client's authentication."""

    def receive(self, message: bytes) -> Challenge | Accepted:
        """The answer to the client's next message. Raises :class:`AuthenticationFailed`, which ends the exchange."""
        ...


class Authenticator(Protocol):
    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Those that it knows, the preferred ones first."""
        ...

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        """A new exchange by one of its mechanisms."""
        ...

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        """`user`, for whom `identity` acts. Raises an error of class 42 where it may not."""
        ...

    def ensure_current(self, identity: Identity) -> None:
        """Raise :class:`AuthenticationFailed` if its log-in would not succeed any more: it expired or was withdrawn."""
        ...


def log_in(authenticator: Authenticator, mechanism: Mechanism, message: bytes, peer: Peer) -> Identity:
    """The identity of a client that has one message to send. Raises :class:`AuthenticationFailed`."""
    if mechanism not in authenticator.mechanisms:
        if mechanism is Mechanism.ANONYMOUS:
            raise AuthenticationFailed("credentials are required.")
        known = ", ".join(authenticator.mechanisms)
        raise AuthenticationFailed(f"the mechanism {mechanism} is not supported, only {known}.")
    answer = authenticator.begin(mechanism, peer).receive(message)
    if isinstance(answer, Challenge):
        raise AuthenticationFailed(
            f"the mechanism {mechanism} needs several messages, which this interface cannot carry."
        )
    return answer.identity


def plain_message(user: str, password: str) -> bytes:
    """The message of PLAIN for a user who acts as themselves."""
    return f"\0{user}\0{password}".encode()


def parse_plain(message: bytes) -> tuple[str, str]:
    """User and password of a PLAIN message. Raises :class:`AuthenticationFailed`."""
    try:
        identity, user, password = message.decode("utf-8").split("\0")
    except ValueError:  # also what a wrong encoding is
        raise AuthenticationFailed("the credentials are no PLAIN message.") from None
    if identity not in ("", user):
        raise AuthenticationFailed("acting for another user is not allowed.")
    return user, password
