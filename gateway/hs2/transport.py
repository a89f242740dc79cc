"""A client's socket as a sequence of messages: transport detection, frames, and deadlines.

One port serves two transports, distinguished by the first byte: 0x01 begins a SASL handshake, after which messages are
frames with a u32 length and bytes; 0x80 begins an unframed message in the strict binary protocol (NOSASL), which has no
login, and is accepted only if none is required, or if the client has presented a certificate. 0x16 begins TLS, if it is
configured, and the first byte inside determines the rest. Anything else (HTTP, a framed transport) is not served, and
the connection ends; for HTTP with a line that reports that.

A connection with a session may idle between messages indefinitely, since clients keep them open; one without a session
for :data:`SESSIONLESS_S`. Once a message has begun, or before the client has logged in, it must arrive in time.
hive-jdbc sends a request for every row that it reads, so a small message's cost matters; see
`gateway/process/byte_stream.py`.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator

from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Authenticator, Mechanism, log_in
from gateway.authenticators.peer import Peer
from gateway.hs2.messages import FIRST_BYTE, MalformedMessage, read_message
from gateway.hs2.sasl import HEADER, MESSAGE_BYTES_MAX, SaslNegotiation, SaslState, SaslStatus
from gateway.process.byte_stream import ByteStream, Disconnected
from gateway.process.tls import TLS_FIRST_BYTE, TlsServer

# From the connection's begin to the login's end.
HANDSHAKE_S = 10.0
# Between messages from a client without an open session.
SESSIONLESS_S = 300.0
# From a message's first byte to its last.
MESSAGE_S = 120.0
_LENGTH = struct.Struct(">I")
_HTTP_FIRST_BYTES = b"GPHDOTC"  # GET, POST or PUT, HEAD, DELETE, OPTIONS, TRACE, CONNECT
_HTTP_ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"This port speaks HiveServer2's Thrift protocol. The HTTP interface has a port of its own.\n"
)


class MessageStream:
    """A client's whole messages, after its transport is known."""

    def __init__(self, stream: ByteStream, *, framed: bool, bytes_max: int) -> None:
        self._stream = stream
        self._framed = framed
        self._bytes_max = bytes_max

    def read(self, begin_s: float | None = None) -> bytes:
        """Returns the next message, without a limit until it begins, or within `begin_s`."""
        self._stream.set_deadline(begin_s)
        self._stream.peek()
        if self._framed and (message := self._stream.take_frame()) is not None:
            self._ensure_short(len(message))
            return message
        self._stream.set_deadline(MESSAGE_S)
        if not self._framed:
            return read_message(self._stream.take, self._bytes_max)
        (length,) = _LENGTH.unpack(self._stream.take(_LENGTH.size))
        self._ensure_short(length)
        return self._stream.take(length)

    def write(self, pieces: tuple[bytes, ...], before_last: Callable[[], None] | None = None) -> None:
        """Writes one message; see :meth:`ByteStream.write`."""
        framed = (_LENGTH.pack(sum(map(len, pieces))), *pieces) if self._framed else pieces
        self._stream.write(framed, before_last)

    def await_shortly(self) -> None:
        """Polls briefly for the next message, if it is expected."""
        self._stream.await_shortly()

    def _ensure_short(self, length: int) -> None:
        if length > self._bytes_max:
            raise MalformedMessage(f"a message of {length} bytes is longer than the server takes")


def open_transport(
    stream: ByteStream, authenticator: Authenticator, address: str, bytes_max: int, tls: TlsServer | None
) -> tuple[MessageStream, Peer, Identity | None]:
    """Detects the client's transport and authenticates it.

    Returns the messages, the peer, and the identity if the transport has a login. Raises :class:`Disconnected` if the
    client is rejected (it was notified), gone or too slow.
    """
    stream.set_deadline(HANDSHAKE_S)
    first = stream.peek()
    peer = Peer(address)
    if first == TLS_FIRST_BYTE and tls:
        stream.start_tls(tls)
        first = stream.peek()  # the first byte after the handshake
        peer = Peer(address, is_encrypted=True, certificate_names=stream.peer_names)
    # NOSASL has no place for a login; it is served only if no login is needed.
    if first == FIRST_BYTE and Mechanism.ANONYMOUS in authenticator.mechanisms:
        return MessageStream(stream, framed=False, bytes_max=bytes_max), peer, None
    if first == FIRST_BYTE and peer.certificate_names:
        with _refusals():
            identity = log_in(authenticator, Mechanism.EXTERNAL, b"", peer)
        return MessageStream(stream, framed=False, bytes_max=bytes_max), peer, identity
    if first == SaslStatus.START:
        identity = _negotiate(stream, SaslNegotiation(authenticator, peer))
        return MessageStream(stream, framed=True, bytes_max=bytes_max), peer, identity
    if first in _HTTP_FIRST_BYTES:
        stream.write((_HTTP_ANSWER,))
    raise Disconnected()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Ends a transport that has no messages for rejections."""
    try:
        yield
    except SqlError as error:
        raise Disconnected() from error


def _negotiate(stream: ByteStream, negotiation: SaslNegotiation) -> Identity:
    while negotiation.identity is None:
        status, length = HEADER.unpack(stream.take(HEADER.size))
        # Before the login: a stranger must not make the server allocate memory.
        if length > MESSAGE_BYTES_MAX:
            raise Disconnected()
        reply = negotiation.receive(status, stream.take(length))
        if reply:
            stream.write((reply.encode(),))
        if negotiation.state is SaslState.REFUSED:
            raise Disconnected()
    return negotiation.identity
