"""No authentication: any name is accepted, without restrictions."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.conditions import AuthenticationFailed, ProxyUserNotAllowed
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Accepted, Exchange, Mechanism, parse_plain
from gateway.authenticators.peer import Peer

# The principal for a client without a name; JDBC drivers also send it for a missing name.
ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Accepts every name without a password; from other machines only if `is_open`."""

    is_open: bool = False
    mechanisms: tuple[Mechanism, ...] = (Mechanism.PLAIN, Mechanism.BEARER, Mechanism.ANONYMOUS)

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        return _Believing(mechanism, peer.is_loopback or self.is_open)

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.ANONYMOUS

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        """Always rejects impersonation: a client can log in under the other name."""
        raise ProxyUserNotAllowed(identity.principal, user)

    def ensure_current(self, identity: Identity) -> None:
        """Does nothing: an unauthenticated identity does not expire."""


@dataclass(frozen=True, slots=True)
class _Believing:
    mechanism: Mechanism
    may_enter: bool

    def receive(self, message: bytes) -> Accepted:
        user = parse_plain(message)[0] if self.mechanism is Mechanism.PLAIN else ""
        if not self.may_enter:
            raise AuthenticationFailed(
                "this server has no authentication configured, so it serves clients on its own machine only."
            )
        return Accepted(Identity(user or ANONYMOUS, is_admin=True))
