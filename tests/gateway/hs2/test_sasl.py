"""The handshake, message by message, as clients really send it, and against arbitrary messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import AuthenticationFailed
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Accepted, Challenge, Exchange, Mechanism, parse_plain
from gateway.authenticators.peer import Peer
from gateway.hs2.sasl import Reply, SaslNegotiation, SaslState, SaslStatus

Message = tuple[int, bytes]
S = SaslStatus
PEER = Peer("192.0.2.1")


class Passwords:
    """Supports PLAIN, and a challenge-response mechanism (under the name BEARER)."""

    mechanisms = (Mechanism.PLAIN, Mechanism.BEARER)

    def ensure_current(self, identity: Identity) -> None:
        pass

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.PLAIN

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        raise AssertionError("no client impersonates")

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        assert peer == PEER
        return Password() if mechanism is Mechanism.PLAIN else Challenges()


class Password:
    def receive(self, message: bytes) -> Accepted:
        user, password = parse_plain(message)
        if password == "wrong":
            raise AuthenticationFailed("wrong password")
        return Accepted(Identity(user or "anonymous"))


class Challenges:
    def __init__(self) -> None:
        self.message_count = 0

    def receive(self, message: bytes) -> Challenge | Accepted:
        self.message_count += 1
        if message != b"answer %d" % self.message_count:
            raise AuthenticationFailed("wrong answer")
        return (
            Accepted(Identity("ada"), b"done")
            if self.message_count == 3
            else Challenge(b"question %d" % self.message_count)
        )


def play(messages: list[Message]) -> tuple[SaslNegotiation, list[Reply]]:
    negotiation = SaslNegotiation(Passwords(), PEER)
    replies = []
    for message in messages:
        if negotiation.state in (SaslState.ACCEPTED, SaslState.REFUSED):
            break
        reply = negotiation.receive(*message)
        if reply:
            replies.append(reply)
    return negotiation, replies


ACCEPTED: list[tuple[str, list[Message], str]] = [
    ("hive-jdbc", [(S.START, b"PLAIN"), (S.COMPLETE, b"\0ada\0secret")], "ada"),
    ("python", [(S.START, b"PLAIN"), (S.OK, b"\0ada\0x")], "ada"),
    ("with its own identity", [(S.START, b"PLAIN"), (S.OK, b"ada\0ada\0x")], "ada"),
    ("without a name", [(S.START, b"PLAIN"), (S.OK, b"\0\0")], "anonymous"),
    ("beyond ASCII", [(S.START, b"PLAIN"), (S.OK, "\0zoë\0ü".encode())], "zoë"),
]
REFUSED: list[tuple[str, list[Message], SaslStatus, str]] = [
    (
        "another mechanism",
        [(S.START, b"GSSAPI")],
        S.BAD,
        "only PLAIN, BEARER. Kerberos is not supported",
    ),
    ("a mechanism of bytes", [(S.START, b"\xff\0")], S.BAD, "not supported"),
    ("credentials first", [(S.OK, b"\0ada\0x")], S.BAD, "Status 2 is not expected"),
    ("START twice", [(S.START, b"PLAIN"), (S.START, b"PLAIN")], S.BAD, "Status 1 is not expected"),
    ("an unknown status", [(S.START, b"PLAIN"), (99, b"")], S.BAD, "Status 99 is not expected"),
    ("too few parts", [(S.START, b"PLAIN"), (S.OK, b"ada")], S.ERROR, "no PLAIN message"),
    ("too many parts", [(S.START, b"PLAIN"), (S.OK, b"\0a\0b\0c")], S.ERROR, "no PLAIN message"),
    ("no UTF-8", [(S.START, b"PLAIN"), (S.OK, b"\0\xff\0x")], S.ERROR, "no PLAIN message"),
    ("for another user", [(S.START, b"PLAIN"), (S.OK, b"root\0ada\0x")], S.ERROR, "another user"),
    ("a wrong password", [(S.START, b"PLAIN"), (S.OK, b"\0ada\0wrong")], S.ERROR, "[AUTHENTICATION_FAILED]"),
]


@pytest.mark.parametrize(("_", "messages", "principal"), ACCEPTED, ids=[case[0] for case in ACCEPTED])
def test_accepted(_: str, messages: list[Message], principal: str) -> None:
    negotiation, replies = play(messages)
    assert (negotiation.state, negotiation.identity) == (SaslState.ACCEPTED, Identity(principal))
    assert [reply.encode() for reply in replies] == [b"\x05\0\0\0\0"]


@pytest.mark.parametrize(("_", "messages", "status", "text"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refused(_: str, messages: list[Message], status: SaslStatus, text: str) -> None:
    negotiation, replies = play(messages)
    assert (negotiation.state, negotiation.identity) == (SaslState.REFUSED, None)
    assert [reply.status for reply in replies] == [status]
    content = replies[0].payload
    assert text in content.decode()
    assert replies[0].encode() == bytes([status]) + len(content).to_bytes(4, "big") + content


def test_a_mechanism_of_many_messages() -> None:
    answers = [(S.OK, b"answer 1"), (S.OK, b"answer 2"), (S.COMPLETE, b"answer 3")]
    negotiation, replies = play([(S.START, b"BEARER"), *answers])
    assert (negotiation.state, negotiation.identity) == (SaslState.ACCEPTED, Identity("ada"))
    assert replies == [Reply(S.OK, b"question 1"), Reply(S.OK, b"question 2"), Reply(S.COMPLETE, b"done")]
    negotiation, replies = play([(S.START, b"BEARER"), answers[0], answers[0]])
    assert (negotiation.state, negotiation.identity) == (SaslState.REFUSED, None)
    assert replies[1].status is S.ERROR


statuses = st.sampled_from(sorted(SaslStatus)) | st.integers(0, 255)
payloads = st.sampled_from([b"PLAIN", b"\0ada\0x", b"\0ada\0wrong"]) | st.binary(max_size=40)


@given(st.lists(st.tuples(statuses, payloads), max_size=4))
def test_only_a_log_in_gives_a_principal(messages: list[Message]) -> None:
    try:
        negotiation, replies = play(messages)
    except SqlError as error:
        raise AssertionError("an error left the handshake") from error
    accepted = negotiation.state is SaslState.ACCEPTED
    assert accepted == (negotiation.identity is not None) == any(reply.status is S.COMPLETE for reply in replies)
