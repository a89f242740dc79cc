"""Signatures of forwarded requests, with the key in the state folder.

A gateway that forwards a request has authenticated its sender. It sends the identity instead of the credentials, in one
header with the request's method, target and digest of the body, under an HMAC (SHA-256). The owner accepts exactly this
identity for exactly this request, for `LIFETIME_S` seconds; the clocks of the gateways may differ by less than that.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
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


_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[_Signed] = msgspec.json.Decoder(_Signed)


@dataclass(frozen=True, slots=True)
class CallSigner:
    """Signs and verifies forwarded requests; `clock` is in seconds since the epoch."""

    key: bytes = field(repr=False)
    clock: Callable[[], float] = time.time

    def sign(self, call: ForwardedCall, method: str, target: str, body: bytes) -> str:
        """Returns the header's value."""
        expires_ms = round((self.clock() + LIFETIME_S) * 1000)
        signed = _Signed(call=call, method=method, target=target, body=_digest(body), expires_ms=expires_ms)
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
        if not 0 <= signed.expires_ms - self.clock() * 1000 <= 2 * LIFETIME_S * 1000:
            raise ForwardedRequestRefused("it has expired, or the clocks of the two gateways differ")
        return signed.call

    def derived_key(self, purpose: str) -> bytes:
        """Returns a key that all gateways share for another purpose."""
        return hmac.new(self.key, purpose.encode(), hashlib.sha256).digest()

    def _signature(self, content: str) -> str:
        return hmac.new(self.key, content.encode(), hashlib.sha256).hexdigest()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
