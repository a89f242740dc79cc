"""SCRAM-SHA-256: the exchange of RFC 7677, section 3, and malformed messages."""

from __future__ import annotations

import base64
import random

import pytest

from gateway.authenticators.scram import MalformedExchange, ScramExchange, make_verifier, parse_verifier

_SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
_NONCE = b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
_FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


def _exchange(password: str = "pencil") -> ScramExchange:
    exchange = ScramExchange(make_verifier(password, _SALT, 4096))
    exchange._nonce = _NONCE
    return exchange


def test_messages_are_those_of_the_rfc() -> None:
    exchange = _exchange()
    challenge = exchange.begin(_FIRST)
    assert challenge == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert exchange.finish(_FINAL) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_wrong_password_is_refused() -> None:
    exchange = _exchange("pen")
    exchange.begin(_FIRST)
    assert exchange.finish(_FINAL) is None


def test_verifier_is_read_as_it_was_written() -> None:
    verifier = make_verifier("pencil", _SALT, 4096)
    assert verifier.format().startswith("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$")
    assert parse_verifier(verifier.format()) == verifier
    assert parse_verifier(verifier.format()[:-2]) is None


@pytest.mark.parametrize(
    "first", [b"", b"p=tls-server-end-point,,n=,r=a", b"n,a=x,n=,r=a", b"n,,n=,r=", b"n,,n=,r=" + b"a" * 3000]
)
def test_malformed_first_message_is_rejected(first: bytes) -> None:
    with pytest.raises(MalformedExchange):
        _exchange().begin(first)


def test_final_message_of_another_exchange_is_rejected() -> None:
    exchange = _exchange()
    exchange.begin(_FIRST.replace(b"rOpr", b"sOpr"))
    with pytest.raises(MalformedExchange, match="does not belong"):
        exchange.finish(_FINAL)


def _bound_final(header: bytes, end_point: bytes) -> bytes:
    """Returns a final message with a channel binding; its proof is wrong."""
    return _FINAL.replace(b"biws", base64.b64encode(header + end_point))


def test_bound_exchange_takes_its_own_channel_alone() -> None:
    header = b"p=tls-server-end-point,,"
    for end_point, is_own in ((b"ours", True), (b"theirs", False), (b"", False)):
        exchange = ScramExchange(make_verifier("pencil", _SALT, 4096), b"ours", is_bound=True)
        exchange._nonce = _NONCE
        exchange.begin(_FIRST.replace(b"n,,", header))
        if is_own:
            assert exchange.finish(_bound_final(header, end_point)) is None
            continue
        with pytest.raises(MalformedExchange, match="channel binding"):
            exchange.finish(_bound_final(header, end_point))


@pytest.mark.parametrize(
    ("flag", "end_point", "is_bound"),
    [
        ("y", b"ours", False),  # the list of mechanisms was changed on the way
        ("p=tls-server-end-point", b"ours", False),
        ("p=tls-unique", b"ours", True),
        ("p=tls-server-end-point", b"", True),
        ("n", b"ours", True),
        ("y", b"ours", True),
    ],
)
def test_flag_of_another_mechanism_is_rejected(flag: str, end_point: bytes, is_bound: bool) -> None:
    exchange = ScramExchange(make_verifier("pencil", _SALT, 4096), end_point, is_bound=is_bound)
    with pytest.raises(MalformedExchange):
        exchange.begin(_FIRST.replace(b"n,,", flag.encode() + b",,"))


def test_client_that_could_bind_is_accepted_where_the_server_cannot() -> None:
    exchange = _exchange()
    assert exchange.begin(_FIRST.replace(b"n,,", b"y,,"))


def test_random_messages_are_rejected() -> None:
    chance = random.Random(1)
    for _ in range(2000):
        exchange = _exchange()
        exchange.begin(_FIRST)
        final = bytearray(_FINAL)
        final[chance.randrange(len(final))] = chance.randrange(256)
        try:
            assert exchange.finish(bytes(final)) is None or bytes(final) == _FINAL
        except MalformedExchange:
            pass
