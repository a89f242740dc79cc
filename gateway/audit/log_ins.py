"""An authenticator that records logins, for all front ends and mechanisms."""

from __future__ import annotations

from dataclasses import dataclass, field

from catalog.conditions import AuthenticationFailed
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.audit.auditor import Auditor
from gateway.authenticators.exchange import Accepted, Authenticator, Challenge, Exchange, Mechanism, parse_plain
from gateway.authenticators.peer import Peer
from gateway.observability.traffic import Traffic
from gateway.sessions.session import Origin


@dataclass(frozen=True, slots=True)
class RecordedLogIns:
    """Records `inner`'s logins; an identity that cannot be recorded is rejected."""

    inner: Authenticator
    auditor: Auditor
    traffic: Traffic

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return self.inner.mechanisms

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        return _Recorded(self.inner.begin(mechanism, peer), self, mechanism, Origin(peer=peer.address))

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return self.inner.mechanism_for(user, peer)

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        found = self.inner.act_for(identity, user, peer)
        self.auditor.logged_in(found, Origin(peer=peer.address))
        return found

    def ensure_current(self, identity: Identity) -> None:
        self.inner.ensure_current(identity)


@dataclass(slots=True)
class _Recorded:
    exchange: Exchange
    records: RecordedLogIns
    mechanism: Mechanism
    origin: Origin
    _user: str | None = field(default=None)

    def receive(self, message: bytes) -> Challenge | Accepted:
        if self.mechanism is Mechanism.PLAIN:
            self._user = _user_of(message)
        elif self.mechanism in (Mechanism.SCRAM, Mechanism.SCRAM_PLUS) and self._user is None:
            self._user = message.partition(b"\0")[0].decode("utf-8", "replace")
        try:
            answer = self.exchange.receive(message)
        except SqlError as error:
            self.records.traffic.add_failed_log_in()
            self.records.auditor.record_refusal(self._user, self.origin, error)
            raise
        if isinstance(answer, Accepted):
            self.records.auditor.logged_in(answer.identity, self.origin)
        return answer


def _user_of(message: bytes) -> str | None:
    try:
        return parse_plain(message)[0]
    except AuthenticationFailed:
        return None
