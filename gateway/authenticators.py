"""Who a client is. A front end takes user and password off its wire and gets a principal back, or an error.

There is one implementation so far: :class:`Anonymous` believes any name, but only from this machine.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Protocol

from catalog.errors import SqlError

ANONYMOUS = "anonymous"
"""The principal of a client that gives no name; also what JDBC drivers send for none."""


@dataclass(eq=False)
class AuthenticationFailed(SqlError, condition="AUTHENTICATION_FAILED", sqlstate="28000"):
    reason: str
    template = "The client could not be authenticated: {reason}"


class Authenticator(Protocol):
    def authenticate(self, user: str, password: str, peer: str) -> str:
        """The principal of `user`; `peer` is the client's IP address. Raises :class:`AuthenticationFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Believes every name without a password, from the loopback interface only."""

    def authenticate(self, user: str, password: str, peer: str) -> str:
        if not _is_loopback(peer):
            raise AuthenticationFailed(
                "this server has no authentication configured, so it serves clients on its own machine only."
            )
        return user or ANONYMOUS


def _is_loopback(peer: str) -> bool:
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
