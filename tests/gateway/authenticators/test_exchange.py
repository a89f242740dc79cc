"""Anonymous access: any name is accepted, from this machine only."""

from __future__ import annotations

import pytest

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Accepted, Challenge, Exchange, Mechanism, log_in, parse_plain, plain_message
from gateway.authenticators.peer import Peer


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_any_name_is_accepted_from_the_local_machine(peer: str) -> None:
    assert log_in(Anonymous(), Mechanism.PLAIN, b"\0ada\0whatever", Peer(peer)).principal == "ada"
    assert log_in(Anonymous(), Mechanism.PLAIN, b"\0\0", Peer(peer)).principal == "anonymous"
    assert log_in(Anonymous(), Mechanism.BEARER, b"token", Peer(peer)).principal == "anonymous"
    assert log_in(Anonymous(), Mechanism.ANONYMOUS, b"", Peer(peer)).principal == "anonymous"


@pytest.mark.parametrize("mechanism", Anonymous().mechanisms)
@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "localhost", "", "0.0.0.0"])
def test_foreign_realm_is_rejected(peer: str, mechanism: Mechanism) -> None:
    assert log_in(Anonymous(is_open=True), mechanism, b"\0ada\0x", Peer(peer)).is_admin
    with pytest.raises(AuthenticationFailed, match="no authentication configured"):
        log_in(Anonymous(), mechanism, b"\0ada\0whatever", Peer(peer))


@pytest.mark.parametrize("user", ["ada", "zoë", ""])
def test_a_plain_message_and_back(user: str) -> None:
    assert parse_plain(plain_message(user, "pass:word")) == (user, "pass:word")


@pytest.mark.parametrize("message", [b"", b"ada", b"\0a\0b\0c", b"\0\xff\0x", plain_message("a\0b", "c")])
def test_malformed_plain_messages(message: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="no PLAIN message"):
        parse_plain(message)


class Asking:
    """Has a question about every message."""

    mechanisms = (Mechanism.BEARER,)

    def ensure_current(self, identity: Identity) -> None:
        pass

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.PLAIN

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        raise AssertionError("no client impersonates")

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        return self

    def receive(self, message: bytes) -> Challenge | Accepted:
        return Challenge(b"and?")


def test_single_message_client_cannot_answer_challenge() -> None:
    with pytest.raises(AuthenticationFailed, match="several messages"):
        log_in(Asking(), Mechanism.BEARER, b"token", Peer("127.0.0.1"))
    with pytest.raises(AuthenticationFailed, match="PLAIN is not supported, only BEARER"):
        log_in(Asking(), Mechanism.PLAIN, b"\0ada\0x", Peer("127.0.0.1"))
