"""A client's socket: exact reads with a deadline, writes with a time limit, and TLS; for front ends with a thread for
each connection.

A response may take any time while the client accepts a part every :data:`WRITE_S` seconds: a client that reads nothing
would occupy a thread, a connection and the response's memory. The system's buffers accept the response's begin, so it
is aborted within one and a half times that limit.

One `recv` reads a small message, one `send` responds, and no other system call is made. Python sets and polls a socket
around each call if it has a timeout, and sends a response in as many parts as the buffer permits, acquiring its
interpreter lock in between. Therefore the response timeout is the system's (SO_SNDTIMEO): a call sends everything, or
the part that the client accepted in that time. It is a fraction of :data:`WRITE_S`, since a partial call does not
report when it made progress.

The next request arrives some ten microseconds later, and an idle processor takes longer than that to wake up; so the
thread polls that long (:meth:`ByteStream.await_shortly`), one thread in the server at a time, and stops for a while
after a poll without success: on a busy machine other threads need the processor.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from gateway.process.tls import HTTP, TlsFailed, TlsServer, TlsSession

# Between two parts of a response that the client accepts.
WRITE_S = 60.0
# Number of system calls that together wait that long.
_WAITS = 6
# One `recv` allocates its maximum, which must not depend on a length that a client only claims.
_RECEIVE_BYTES, _RECEIVE_BYTES_MAX = 1 << 16, 1 << 20
# Portion of a response sent over TLS that exists twice in memory.
_ENCRYPT_BYTES = 128 << 10
# Copying this much takes less time than passing pieces to the system.
_JOINED_BYTES_MAX = 32 << 10
# Half the system's limit per call.
_PIECES_MAX = 512
_SHORTLY_S = 60e-6
# Number of messages without polling after a poll without success.
_SHORTLY_SKIPPED = 64
# Held by the thread that polls for its client's next message.
_SHORTLY = threading.Lock()
C = TypeVar("C")
_LENGTH = struct.Struct(">I")
_TIMEVAL = struct.Struct("@ll")


class Disconnected(Exception):
    """The client is gone, or exceeded a deadline."""


class DeadlineExceeded(Disconnected):
    """The client has sent nothing, or too little, until the deadline."""


class ByteStream:
    """Reads exact byte counts from a socket, with an optional deadline."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._tls: TlsSession | None = None
        self._buffer = bytearray()
        self._deadline: float | None = None
        self._timeout: float | None = None
        self._skipped = 0
        # A blocking socket: with a Python timeout the socket is non-blocking inside, and
        # each call is preceded by a poll.
        connection.settimeout(None)
        wait_us = int(WRITE_S / _WAITS * 1e6)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.pack(*divmod(wait_us, 10**6)))

    def set_deadline(self, seconds: float | None) -> None:
        """Sets a deadline for all following reads together."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    @property
    def has_bytes(self) -> bool:
        """Returns True if a byte has been received that was not taken yet."""
        return bool(self._buffer)

    def peek(self) -> int:
        """Returns the next byte without consuming it."""
        while not self._buffer:
            self._receive(_RECEIVE_BYTES)
        return self._buffer[0]

    def await_shortly(self) -> None:
        """Returns when bytes have arrived, or shortly. Raises `Disconnected`."""
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
        """Returns a frame's content if exactly one whole frame has arrived; otherwise consumes nothing and returns
        None.
        """
        buffer = self._buffer
        # The common case of one request per segment; pipelined or partial frames take the
        # general path.
        if len(buffer) < _LENGTH.size or _LENGTH.unpack_from(buffer)[0] != len(buffer) - _LENGTH.size:
            return None
        content = bytes(buffer)[_LENGTH.size :]
        buffer.clear()
        return content

    def take(self, count: int) -> bytes:
        """Returns exactly `count` bytes; waits for them. Raises `Disconnected`, `DeadlineExceeded`."""
        while len(self._buffer) < count:
            self._receive(min(max(_RECEIVE_BYTES, count - len(self._buffer)), _RECEIVE_BYTES_MAX))
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def write(self, pieces: tuple[bytes | memoryview, ...], before_last: Callable[[], None] | None = None) -> None:
        """Writes pieces; large ones are sent without copying. `before_last` is called before the last byte is sent,
        without which the client has no response.
        """
        if before_last is not None:
            # A small response goes out at once; sending a large one takes as long as its client reads.
            if sum(map(len, pieces)) > _JOINED_BYTES_MAX:
                self.write((*pieces[:-1], pieces[-1][:-1]))
                pieces = (pieces[-1][-1:],)
            before_last()
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
        """Returns the names in the client's certificate."""
        return self._tls.peer_names if self._tls else ()

    @property
    def end_point(self) -> bytes:
        """Returns the channel binding `tls-server-end-point`; no bytes if the connection has none."""
        return self._tls.end_point if self._tls else b""

    @property
    def has_received(self) -> bool:
        """Returns True if bytes have arrived that were not taken."""
        return bool(self._buffer)

    @property
    def is_encrypted(self) -> bool:
        """Returns True once TLS was established."""
        return self._tls is not None

    @property
    def tls_protocol(self) -> str | None:
        """Returns the protocol that was negotiated with TLS."""
        return self._tls.protocol if self._tls else None

    def start_tls(self, tls: TlsServer, protocol: str = HTTP) -> None:
        """Starts TLS with the received handshake bytes; returns when the handshake has ended, within the deadline."""
        self._tls = tls.begin(protocol)
        # The client sends its hello without waiting, so that its bytes were read before TLS
        # began.
        begin = bytes(self._buffer)
        self._buffer.clear()
        self._decrypt(self._tls, begin)
        while not self._tls.is_established:
            self._receive(_RECEIVE_BYTES)

    def end(self) -> None:
        """Sends close_notify over TLS without blocking; never raises."""
        if self._tls and self._tls.is_established:
            self._tls.end()
            with contextlib.suppress(OSError):
                self._socket.send(self._tls.outgoing(), socket.MSG_DONTWAIT)

    def _send_pieces(self, pieces: tuple[bytes | memoryview, ...]) -> None:
        try:
            self._wait_at_most(None)
            sent = _send_part(self._socket.sendmsg, pieces)
        except OSError as error:
            raise Disconnected() from error
        for piece in pieces:  # the system may have accepted a part of them
            if sent < len(piece):
                self._send(memoryview(piece)[sent:])
            sent = max(0, sent - len(piece))

    def _send(self, content: bytes | memoryview) -> None:
        left = memoryview(content)
        try:
            self._wait_at_most(None)
            while left:
                left = left[_send_part(self._socket.send, left) :]
        except OSError as error:  # BlockingIOError is one, after the timeout
            raise Disconnected() from error

    def _decrypt(self, tls: TlsSession, received: bytes) -> None:
        """Raises `TlsFailed`, after its alert was sent."""
        try:
            self._buffer += tls.receive(received)
        except TlsFailed:
            with contextlib.suppress(OSError):
                self._socket.send(tls.outgoing(), socket.MSG_DONTWAIT)
            raise
        if answer := tls.outgoing():
            self._send(answer)

    def _receive(self, count: int) -> None:
        try:
            self._wait_at_most(self._time_left())
            received = self._socket.recv(count)
        except TimeoutError as error:
            raise DeadlineExceeded() from error
        except OSError as error:
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
            raise DeadlineExceeded()
        return left


def _send_part(send: Callable[[C], int], content: C) -> int:
    """Returns how much the client accepted; raises BlockingIOError if it accepted nothing within the timeout."""
    for _ in range(_WAITS - 1):
        with contextlib.suppress(BlockingIOError):
            return send(content)
    return send(content)
