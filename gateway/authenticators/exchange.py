"""The interface between front ends and mechanisms: an exchange of messages results in an identity, or an error.

A mechanism handles the whole exchange and not a user and a password, since some mechanisms lack these. The front end
names the client's mechanism, receives an :class:`Exchange`, passes each client message as bytes and sends back the
response, until the mechanism accepts or raises. SASL (Thrift over TCP) permits any number of messages; HTTP (one
`Authorization` header) and OpenSession (a user and a password in its request) permit one, by :func:`log_in`.

A mechanism's messages are the same on every front end:

    ANONYMOUS   nothing (RFC 4505): the client sends no name
    PLAIN       authzid NUL user NUL password (RFC 4616); HTTP's Basic, and OpenSession's fields, are converted to it
    BEARER      a token (RFC 6750)
    EXTERNAL    authzid (RFC 4422): the connection's certificate identifies the client
    SCRAM       the user's name NUL client-first-message, then client-final-message (RFC 7677), for PostgreSQL's clients
    SCRAM_PLUS  the same, bound to the TLS connection
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer

# The error for clients that begin with Kerberos.
KERBEROS_REFUSED = "Kerberos is not supported: log in with the password of the directory, or a token."


class Mechanism(StrEnum):
    ANONYMOUS = "ANONYMOUS"
    PLAIN = "PLAIN"
    BEARER = "BEARER"
    EXTERNAL = "EXTERNAL"
    SCRAM = "SCRAM-SHA-256"
    SCRAM_PLUS = "SCRAM-SHA-256-PLUS"


@dataclass(frozen=True, slots=True)
class Challenge:
    """The client must respond to `message`."""

    message: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The client is authenticated as `identity`; `message` is for the client, if the mechanism authenticates the server
    too.
    """

    identity: Identity
    message: bytes = b""


class Exchange(Protocol):
    """One client's authentication exchange."""

    def receive(self, message: bytes) -> Challenge | Accepted:
        """Returns the response to the client's next message. Raises :class:`AuthenticationFailed`, which ends the
        exchange.
        """
        ...


class Authenticator(Protocol):
    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Returns the supported mechanisms, preferred ones first."""
        ...

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        """Begins an exchange with one of the mechanisms."""
        ...

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        """Returns the mechanism by which `user` logs in with a client that has all of them."""
        ...

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        """Returns `user`, impersonated by `identity`. Raises an error in class 42 if that is not permitted."""
        ...

    def ensure_current(self, identity: Identity) -> None:
        """Raises :class:`AuthenticationFailed` if its login is no longer valid: it expired or was withdrawn."""
        ...


def log_in(authenticator: Authenticator, mechanism: Mechanism, message: bytes, peer: Peer) -> Identity:
    """Returns the identity for a client with one message. Raises :class:`AuthenticationFailed`."""
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
    """Returns PLAIN's message for a user without impersonation."""
    return f"\0{user}\0{password}".encode()


def parse_plain(message: bytes) -> tuple[str, str]:
    """Parses user and password from a PLAIN message. Raises :class:`AuthenticationFailed`."""
    try:
        identity, user, password = message.decode("utf-8").split("\0")
    except ValueError:  # includes decoding errors
        raise AuthenticationFailed("the credentials are no PLAIN message.") from None
    # PLAIN's authzid asks to act for another user, which has its own, checked way
    # (`act_for`).
    if identity not in ("", user):
        raise AuthenticationFailed("acting for another user is not allowed.")
    return user, password
