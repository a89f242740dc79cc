"""A client's socket as a sequence of messages: which transport it speaks, its frames, and its deadlines.

One port serves two transports, told apart by the first byte: 0x01 begins a SASL handshake, after which messages are
frames of a u32 length and bytes; 0x80 begins an unframed message of the strict binary protocol (NOSASL), which has no
log-in, and is taken only where none is needed, or where the client has shown a certificate. 0x16 begins TLS, where it
is configured, and the first byte inside tells the rest. Anything else (HTTP, a framed transport) is not served here,
and the connection ends; to HTTP with a line that says so.

A connection with a session may idle between messages for as long as it likes, since clients keep them open; one without
a session for :data:`SESSIONLESS_S`. Once a message has begun, or before the client has logged in, it must arrive in
time. An answer may take as long as it likes while the client takes some of it every :data:`WRITE_S` seconds: a client
that reads nothing would keep a thread, a connection and the answer. The system's buffers take the begin of an answer
for it, so it is given up within half as long again.

hive-jdbc asks a question for every row that it reads, so what a small message costs counts: one `recv` brings it, one
`send` answers it, and no other call of the system is made. Python sets and polls a socket around each call where it has
a timeout, and sends an answer in as many parts as there is room for, with its interpreter's lock taken in between. So
the time for answers is the system's (SO_SNDTIMEO): a call sends all, or what the client took in that time. It is a
part of :data:`WRITE_S`, since a call that sent something does not say when.

The next question is there some ten microseconds later, and a processor that has gone to sleep takes longer than that to
wake up; so the thread looks for it that long (:meth:`MessageStream.await_shortly`), one thread of the server at a time,
and no more for a while once nothing came: on a busy machine the others have better use for the processor.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Authenticator, Mechanism, log_in
from gateway.authenticators.peer import Peer
from gateway.hs2.messages import FIRST_BYTE, MalformedMessage, read_message
from gateway.hs2.sasl import HEADER, MESSAGE_BYTES_MAX, SaslNegotiation, SaslState, SaslStatus
from gateway.process.tls import TLS_FIRST_BYTE, TlsFailed, TlsServer, TlsSession

HANDSHAKE_S = 10.0
"""From the connection's begin to the end of the log-in."""
SESSIONLESS_S = 300.0
"""Between the messages of a client that has no session open."""
MESSAGE_S = 120.0
"""From a message's first byte to its last."""
WRITE_S = 60.0
"""From one part of an answer that the client takes to the next."""
_WAITS = 6
"""So many calls of the system wait that long together."""
_RECEIVE_BYTES, _RECEIVE_BYTES_MAX = 1 << 16, 1 << 20
"""One `recv` takes memory for all it may bring, which is not to follow from a length that a client only claims."""
_ENCRYPT_BYTES = 128 << 10
"""Of an answer that is being sent over TLS, so much exists twice."""
_JOINED_BYTES_MAX = 32 << 10
"""Copying so much takes less time than describing pieces to the system."""
_PIECES_MAX = 512
"""Half of what the system takes at once."""
_SHORTLY_S = 60e-6
_SHORTLY_SKIPPED = 64
"""Messages for which nobody looks after a look that found nothing."""
_SHORTLY = threading.Lock()
"""Held by the thread that looks for its client's next message."""
C = TypeVar("C")
_LENGTH = struct.Struct(">I")
_TIMEVAL = struct.Struct("@ll")
_HTTP_FIRST_BYTES = b"GPHDOTC"  # GET, POST or PUT, HEAD, DELETE, OPTIONS, TRACE, CONNECT
_HTTP_ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"This port speaks HiveServer2's Thrift protocol. The HTTP interface has a port of its own.\n"
)


class Disconnected(Exception):
    """The client is gone, or did not say in time what it had to."""


class ByteStream:
    """Reads exact counts of bytes from a socket, with a deadline where one is set."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._tls: TlsSession | None = None
        self._buffer = bytearray()
        self._deadline: float | None = None
        self._timeout: float | None = None
        self._skipped = 0
        connection.settimeout(None)
        wait_us = int(WRITE_S / _WAITS * 1e6)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.pack(*divmod(wait_us, 10**6)))

    def set_deadline(self, seconds: float | None) -> None:
        """All reads from now on end within `seconds` together."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def peek(self) -> int:
        """The next byte, which stays."""
        while not self._buffer:
            self._receive(_RECEIVE_BYTES)
        return self._buffer[0]

    def await_shortly(self) -> None:
        """Return when bytes have come, or soon. Raises `Disconnected`."""
        if self._skipped:
            self._skipped -= 1
            return
        if self._tls or self._buffer or not _SHORTLY.acquire(blocking=False):
            return
        try:
            self._wait_at_most(None)
            end = time.perf_counter() + _SHORTLY_S
            while not self._buffer and time.perf_counter() < end:
                with contextlib.suppress(BlockingIOError):
                    self._take_in(self._socket.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT))
            if not self._buffer:
                self._skipped = _SHORTLY_SKIPPED
        except OSError as error:
            raise Disconnected() from error
        finally:
            _SHORTLY.release()

    def take_frame(self) -> bytes | None:
        """The content of a frame that has arrived, all of it and nothing else; None, and nothing taken, if not so."""
        buffer = self._buffer
        if len(buffer) < _LENGTH.size or _LENGTH.unpack_from(buffer)[0] != len(buffer) - _LENGTH.size:
            return None
        content = bytes(buffer)[_LENGTH.size :]
        buffer.clear()
        return content

    def take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._receive(min(max(_RECEIVE_BYTES, count - len(self._buffer)), _RECEIVE_BYTES_MAX))
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def write(self, pieces: tuple[bytes, ...]) -> None:
        """Large ones are sent from where they are."""
        if self._tls is None and len(pieces) <= _PIECES_MAX and sum(map(len, pieces)) > _JOINED_BYTES_MAX:
            self._send_pieces(pieces)
            return
        content = b"".join(pieces)
        if self._tls is None:
            self._send(content)
            return
        for start in range(0, len(content), _ENCRYPT_BYTES):
            self._tls.send(memoryview(content)[start : start + _ENCRYPT_BYTES])
            self._send(self._tls.outgoing())

    @property
    def peer_names(self) -> tuple[str, ...]:
        """Those of the client's certificate."""
        return self._tls.peer_names if self._tls else ()

    def start_tls(self, tls: TlsServer) -> None:
        """Read the bytes that have come of a handshake; returns when it has ended, within the deadline."""
        self._tls = tls.begin()
        begin = bytes(self._buffer)
        self._buffer.clear()
        self._decrypt(self._tls, begin)
        while not self._tls.is_established:
            self._receive(_RECEIVE_BYTES)

    def end(self) -> None:
        """Tell a client that speaks TLS that nothing follows, if it takes that at once; never raises."""
        if self._tls and self._tls.is_established:
            self._tls.end()
            with contextlib.suppress(OSError):
                self._socket.send(self._tls.outgoing(), socket.MSG_DONTWAIT)

    def _send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        try:
            self._wait_at_most(None)
            sent = _taken(self._socket.sendmsg, pieces)
        except OSError as error:
            raise Disconnected() from error
        for piece in pieces:  # the system may have taken a part of them
            if sent < len(piece):
                self._send(memoryview(piece)[sent:])
            sent = max(0, sent - len(piece))

    def _send(self, content: bytes | memoryview) -> None:
        left = memoryview(content)
        try:
            self._wait_at_most(None)
            while left:
                left = left[_taken(self._socket.send, left) :]
        except OSError as error:  # BlockingIOError is one, when the time is over
            raise Disconnected() from error

    def _decrypt(self, tls: TlsSession, received: bytes) -> None:
        try:
            self._buffer += tls.receive(received)
        except TlsFailed as error:
            with contextlib.suppress(OSError):
                self._socket.send(tls.outgoing(), socket.MSG_DONTWAIT)
            raise MalformedMessage(f"TLS failed: {error}") from error
        if answer := tls.outgoing():
            self._send(answer)

    def _receive(self, count: int) -> None:
        try:
            self._wait_at_most(self._time_left())
            received = self._socket.recv(count)
        except OSError as error:  # TimeoutError is one
            raise Disconnected() from error
        self._take_in(received)

    def _take_in(self, received: bytes) -> None:
        if not received:
            raise Disconnected()
        if self._tls:
            self._decrypt(self._tls, received)
        else:
            self._buffer += received

    def _wait_at_most(self, seconds: float | None) -> None:
        if seconds != self._timeout:  # each change is a system call
            self._timeout = seconds
            self._socket.settimeout(seconds)

    def _time_left(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Disconnected()
        return left


def _taken(send: Callable[[C], int], content: C) -> int:
    """How much of it the client took; raises BlockingIOError where that is nothing in all of the time."""
    for _ in range(_WAITS - 1):
        with contextlib.suppress(BlockingIOError):
            return send(content)
    return send(content)


class MessageStream:
    """Whole messages of a client whose transport is known."""

    def __init__(self, stream: ByteStream, *, framed: bool, bytes_max: int) -> None:
        self._stream = stream
        self._framed = framed
        self._bytes_max = bytes_max

    def read(self, begin_s: float | None = None) -> bytes:
        """The next message, however long it takes to begin, or within `begin_s`."""
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

    def write(self, pieces: tuple[bytes, ...]) -> None:
        """One message."""
        self._stream.write((_LENGTH.pack(sum(map(len, pieces))), *pieces) if self._framed else pieces)

    def await_shortly(self) -> None:
        """Look for the next message for a moment, where it is about to come."""
        self._stream.await_shortly()

    def _ensure_short(self, length: int) -> None:
        if length > self._bytes_max:
            raise MalformedMessage(f"a message of {length} bytes is longer than the server takes")


def open_transport(
    stream: ByteStream, authenticator: Authenticator, address: str, bytes_max: int, tls: TlsServer | None
) -> tuple[MessageStream, Peer, Identity | None]:
    """Find out what the client speaks and log it in.

    The messages, who is there, and the identity of a transport that has a log-in. Raises :class:`Disconnected` where
    the client is refused (it was told), gone or too slow.
    """
    stream.set_deadline(HANDSHAKE_S)
    first = stream.peek()
    peer = Peer(address)
    if first == TLS_FIRST_BYTE and tls:
        stream.start_tls(tls)
        first = stream.peek()  # what follows the handshake
        peer = Peer(address, is_encrypted=True, certificate_names=stream.peer_names)
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
    """A transport without messages for that ends."""
    try:
        yield
    except SqlError as error:
        raise Disconnected() from error


def _negotiate(stream: ByteStream, negotiation: SaslNegotiation) -> Identity:
    while negotiation.identity is None:
        status, length = HEADER.unpack(stream.take(HEADER.size))
        if length > MESSAGE_BYTES_MAX:
            raise Disconnected()
        reply = negotiation.receive(status, stream.take(length))
        if reply:
            stream.write((reply.encode(),))
        if negotiation.state is SaslState.REFUSED:
            raise Disconnected()
    return negotiation.identity
