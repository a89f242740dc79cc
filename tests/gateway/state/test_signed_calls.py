"""Signatures of forwarded requests: only the signed request is accepted, and only for a short time."""

from __future__ import annotations

import pytest

from catalog.conditions import ForwardedRequestRefused
from engine.runtime.identity import Identity
from gateway.forwarding.signed_calls import LIFETIME_S, CallSigner, ForwardedCall
from gateway.state.records import restored_identity, saved_identity

CALL = ForwardedCall(identity=saved_identity(Identity("ada", groups=frozenset(("a", "b")))), peer="10.0.0.1")
SENT = ("POST", "/api/2.0/sql/statements?a=1", b'{"statement": "SELECT 1"}')
NOW_S = 1_000_000.0


def signer(seconds: float = 0.0, key: bytes = b"key") -> CallSigner:
    return CallSigner(key, lambda: NOW_S + seconds)


def test_signed_call_is_accepted_with_its_identity() -> None:
    found = signer(LIFETIME_S - 1).verify(signer().sign(CALL, *SENT), *SENT)
    assert found == CALL and found.identity is not None
    assert restored_identity(found.identity) == Identity("ada", groups=frozenset(("a", "b")))


@pytest.mark.parametrize(
    "received",
    [
        ("GET", *SENT[1:]),
        (SENT[0], "/api/2.0/sql/statements?a=2", SENT[2]),
        (*SENT[:2], b'{"statement": "SELECT 2"}'),
        (*SENT[:2], b""),
    ],
)
def test_another_request_with_the_signature_is_rejected(received: tuple[str, str, bytes]) -> None:
    header = signer().sign(CALL, *SENT)
    assert signer().verify(header, *SENT) == CALL
    with pytest.raises(ForwardedRequestRefused, match="for another request"):
        signer().verify(header, *received)


def test_request_that_arrives_again_is_rejected() -> None:
    receiver = signer()
    header = signer().sign(CALL, *SENT)
    assert receiver.verify(header, *SENT) == CALL
    with pytest.raises(ForwardedRequestRefused, match="has arrived before"):
        receiver.verify(header, *SENT)
    assert receiver.verify(signer().sign(CALL, *SENT), *SENT) == CALL  # an equal request, at the same time


def test_rejected_request_does_not_count_as_arrived() -> None:
    receiver = signer()
    header = signer().sign(CALL, *SENT)
    with pytest.raises(ForwardedRequestRefused, match="for another request"):
        receiver.verify(header, "GET", *SENT[1:])
    assert receiver.verify(header, *SENT) == CALL


def test_expired_signatures_are_forgotten() -> None:
    now = [NOW_S]
    receiver = CallSigner(b"key", lambda: now[0])
    for _ in range(100):
        receiver.verify(receiver.sign(CALL, *SENT), *SENT)
        now[0] += 1
    assert len(receiver._seen._expiries_ms) == LIFETIME_S + 1


def test_requests_of_a_release_without_nonces_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.forwarding.signed_calls.secrets.token_urlsafe", lambda _: "")
    receiver = signer()
    header = signer().sign(CALL, *SENT)
    assert [receiver.verify(header, *SENT) for _ in range(2)] == [CALL, CALL]


@pytest.mark.parametrize("seconds", [LIFETIME_S + 1, -LIFETIME_S - 1])
def test_call_is_rejected_after_its_lifetime_and_with_a_clock_that_differs(seconds: float) -> None:
    with pytest.raises(ForwardedRequestRefused, match="has expired"):
        signer(seconds).verify(signer().sign(CALL, *SENT), *SENT)


@pytest.mark.parametrize("change", ["key", "content", "signature", "empty"])
def test_changed_header_is_rejected(change: str) -> None:
    header = signer(key=b"other" if change == "key" else b"key").sign(CALL, *SENT)
    content, _, signature = header.partition(".")
    changed = {"key": header, "content": f"A{content}.{signature}", "signature": f"{content}.0", "empty": ""}[change]
    with pytest.raises(ForwardedRequestRefused, match="signature is not valid"):
        signer().verify(changed, *SENT)
