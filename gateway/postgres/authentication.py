"""The authentication messages: the exchange of the user's mechanism.

SCRAM-SHA-256 for users whose password has a verifier, over TLS also SCRAM-SHA-256-PLUS, which is bound to the server's
certificate; the password in clear text, which may also be a token, for others. Clear text is only requested on a
connection that takes secrets (TLS, or this machine). The name in the exchange is ignored: the user is the one of the
startup packet.
"""

from __future__ import annotations

from typing import assert_never

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Accepted, Authenticator, Challenge, Mechanism, log_in, plain_message
from gateway.authenticators.peer import Peer
from gateway.postgres.messages import MalformedMessage, Reader, authentication, string
from gateway.process.byte_stream import ByteStream

_OK, _CLEAR_TEXT, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 3, 10, 11, 12
_PASSWORD = ord("p")
# An encoded token has some kilobytes.
_MESSAGE_BYTES_MAX = 64 << 10


def authenticate(stream: ByteStream, authenticator: Authenticator, user: str, peer: Peer) -> Identity:
    """Returns the identity of a client that begins as `user`. Raises `AuthenticationFailed`, `MalformedMessage`."""
    mechanism = authenticator.mechanism_for(user, peer)
    match mechanism:
        case Mechanism.ANONYMOUS:
            identity = log_in(authenticator, Mechanism.PLAIN, plain_message(user, ""), peer)
        case Mechanism.EXTERNAL:
            identity = log_in(authenticator, Mechanism.EXTERNAL, user.encode(), peer)
        case Mechanism.PLAIN | Mechanism.BEARER:
            stream.write((authentication(_CLEAR_TEXT),))
            password = Reader(_read(stream)).text()
            identity = log_in(authenticator, Mechanism.PLAIN, plain_message(user, password), peer)
        case Mechanism.SCRAM | Mechanism.SCRAM_PLUS:
            identity = _scram(stream, authenticator, user, peer)
        case _:
            assert_never(mechanism)
    stream.write((authentication(_OK),))
    return identity


def _scram(stream: ByteStream, authenticator: Authenticator, user: str, peer: Peer) -> Identity:
    offered = [Mechanism.SCRAM_PLUS, Mechanism.SCRAM] if peer.end_point else [Mechanism.SCRAM]
    stream.write((authentication(_SASL, b"".join(map(string, offered)) + b"\0"),))
    reader = Reader(_read(stream))
    chosen = reader.text()
    if chosen not in offered:
        raise AuthenticationFailed(f"the client has chosen another mechanism than {' or '.join(offered)}.")
    length = reader.int32()
    first = reader.take(length) if length >= 0 else b""
    exchange = authenticator.begin(Mechanism(chosen), peer)
    answer = exchange.receive(user.encode() + b"\0" + first)
    if not isinstance(answer, Challenge):
        raise AuthenticationFailed("the exchange ended too early.")
    stream.write((authentication(_SASL_CONTINUE, answer.message),))
    accepted = exchange.receive(_read(stream))
    if not isinstance(accepted, Accepted):
        raise AuthenticationFailed("the exchange did not end.")
    stream.write((authentication(_SASL_FINAL, accepted.message),))
    return accepted.identity


def _read(stream: ByteStream) -> bytes:
    """Returns the content of a client's authentication message."""
    kind, length = stream.take(1)[0], Reader(stream.take(4)).int32()
    if kind != _PASSWORD or not 4 <= length <= _MESSAGE_BYTES_MAX:
        raise MalformedMessage("an authentication message is expected")
    return stream.take(length - 4)
