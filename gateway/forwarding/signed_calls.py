"""Signatures of forwarded requests, with the key in the state folder.

A gateway that forwards a request has authenticated its sender. It sends the identity instead of the credentials, in one
header with the request's method, target and digest of the body, under an HMAC (SHA-256). The owner accepts exactly this
identity for exactly this request, once, for `LIFETIME_S` seconds; the clocks of the gateways may differ by less than
that.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from catalog.conditions import ForwardedRequestRefused
from gateway.state.records import SavedIdentity

HEADER = "X-Gateway-Forwarded"
LIFETIME_S = 30.0


class ForwardedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A forwarded request: who sent it, from where, and to which URL.

    `identity` is None for a link, which itself grants access; `base_url` is empty if the client's URL for the server is
    unknown.
    """

    identity: SavedIdentity | None
    peer: str
    is_encrypted: bool = False
    base_url: str = ""


class _Signed(msgspec.Struct, frozen=True, kw_only=True):
    """The header's content."""

    call: ForwardedCall
    method: str
    target: str
    body: str
    expires_ms: int
    # Makes each signature different; empty if an older release has signed the request.
    nonce: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[_Signed] = msgspec.json.Decoder(_Signed)


class _SeenSignatures:
    """The signatures of requests that have arrived, until they expire. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expiries_ms: OrderedDict[str, int] = OrderedDict()

    def add(self, signature: str, expires_ms: int, now_ms: float) -> bool:
        """Adds a signature; returns False if it is known. Expired ones are removed in the order of their arrival."""
        with self._lock:
            while self._expiries_ms and next(iter(self._expiries_ms.values())) < now_ms:
                self._expiries_ms.popitem(last=False)
            if signature in self._expiries_ms:
                return False
            self._expiries_ms[signature] = expires_ms
            return True


@dataclass(frozen=True, slots=True)
class CallSigner:
    """Signs and verifies forwarded requests; `clock` is in seconds since the epoch. Thread-safe."""

    key: bytes = field(repr=False)
    clock: Callable[[], float] = time.time
    _seen: _SeenSignatures = field(default_factory=_SeenSignatures, repr=False, compare=False)

    def sign(self, call: ForwardedCall, method: str, target: str, body: bytes) -> str:
        """Returns the header's value."""
        expires_ms = round((self.clock() + LIFETIME_S) * 1000)
        nonce = secrets.token_urlsafe(9)
        signed = _Signed(
            call=call, method=method, target=target, body=_digest(body), expires_ms=expires_ms, nonce=nonce
        )
        content = urlsafe_b64encode(_ENCODER.encode(signed)).decode("ascii")
        return f"{content}.{self._signature(content)}"

    def verify(self, header: str, method: str, target: str, body: bytes) -> ForwardedCall:
        """Returns the call; raises `ForwardedRequestRefused`."""
        content, _, signature = header.partition(".")
        if not hmac.compare_digest(self._signature(content).encode(), signature.encode()):
            raise ForwardedRequestRefused("its signature is not valid")
        try:
            signed = _DECODER.decode(urlsafe_b64decode(content))
        except (binascii.Error, msgspec.MsgspecError) as error:  # another release has signed it
            raise ForwardedRequestRefused(f"its content cannot be read ({error})") from error
        if (signed.method, signed.target, signed.body) != (method, target, _digest(body)):
            raise ForwardedRequestRefused("its signature is for another request")
        now_ms = self.clock() * 1000
        if not 0 <= signed.expires_ms - now_ms <= 2 * LIFETIME_S * 1000:
            raise ForwardedRequestRefused("it has expired, or the clocks of the two gateways differ")
        if signed.nonce and not self._seen.add(signature, signed.expires_ms, now_ms):
            raise ForwardedRequestRefused("it has arrived before")
        return signed.call

    def derived_key(self, purpose: str) -> bytes:
        """Returns a key that all gateways share for another purpose."""
        return hmac.new(self.key, purpose.encode(), hashlib.sha256).digest()

    def _signature(self, content: str) -> str:
        return hmac.new(self.key, content.encode(), hashlib.sha256).hexdigest()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
