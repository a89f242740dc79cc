"""A client's socket that never blocks, and TLS on it if the client's first byte begins that."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct

from gateway.process.tls import TLS_FIRST_BYTE, TlsFailed, TlsServer, TlsSession

logger = logging.getLogger(__name__)

_RECEIVE_BYTES = 64 << 10
_ENCRYPT_BYTES = 128 << 10
"""Of an answer that is being sent, so much exists twice."""
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class ChannelEnded(Exception):
    """The client is gone, or cannot be understood."""


class Channel:
    """Plaintext in both directions. Not thread-safe, but for `hang_up`."""

    def __init__(self, client: socket.socket, peer: str, tls: TlsServer | None) -> None:
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.descriptor, self.port = client.fileno(), int(client.getsockname()[1])
        self._socket, self._peer, self._tls = client, peer, tls
        self._session: TlsSession | None = None
        self._is_fresh, self._has_ended_writing = True, False
        self._plain, self._raw = memoryview(b""), memoryview(b"")

    @property
    def is_encrypted(self) -> bool:
        return self._session is not None

    @property
    def peer_names(self) -> tuple[str, ...]:
        """Those of the client's certificate."""
        return self._session.peer_names if self._session else ()

    @property
    def is_shaking_hands(self) -> bool:
        return self._session is not None and not self._session.is_established

    @property
    def unsent_bytes(self) -> int:
        return len(self._plain) + len(self._raw)

    def receive(self) -> bytes:
        """What the client sent, which may be nothing yet. Raises :class:`ChannelEnded`."""
        try:
            received = self._socket.recv(_RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError as error:
            raise ChannelEnded() from error
        if not received:
            raise ChannelEnded()
        if self._is_fresh and self._tls and received[0] == TLS_FIRST_BYTE:
            self._session = self._tls.begin()
        self._is_fresh = False
        if self._has_ended_writing:
            return b""  # nobody reads it any more
        return self._decrypt(self._session, received) if self._session else received

    def write(self, content: bytes) -> None:
        """Let `flush` send it."""
        self._plain = memoryview(content)

    def flush(self) -> bool:
        """Send what the client takes now; whether it took any. Raises :class:`ChannelEnded`."""
        has_sent = False
        try:
            while self._raw or self._plain:
                if not self._raw:
                    self._raw = self._take_plain()
                self._raw = self._raw[self._socket.send(self._raw) :]
                has_sent = True
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            raise ChannelEnded() from error
        return has_sent

    def end_writing(self) -> None:
        """Tell the client that nothing follows."""
        if self._has_ended_writing:
            return
        self._has_ended_writing = True
        with contextlib.suppress(OSError):
            if self._session and self._session.is_established and not self._raw:
                self._session.end()
                self._socket.send(self._session.outgoing())
            self._socket.shutdown(socket.SHUT_WR)

    def break_off(self) -> None:
        """Let the client see that what it got is not whole: reset the connection at its close, without TLS's end."""
        self._has_ended_writing = True
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)

    def close(self) -> None:
        if self._session:
            self.end_writing()
        self._plain, self._raw = memoryview(b""), memoryview(b"")
        self._socket.close()

    def hang_up(self) -> None:
        """End the connection from another thread: its owner finds the client gone."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _decrypt(self, session: TlsSession, received: bytes) -> bytes:
        try:
            content = session.receive(received)
        except TlsFailed as error:
            with contextlib.suppress(OSError):
                self._socket.send(session.outgoing())
            logger.info("TLS with %s failed: %s", self._peer, error)
            raise ChannelEnded() from error
        if answer := session.outgoing():  # of the handshake; far less than an empty socket takes
            self._raw = memoryview(answer)
            self.flush()
            if self._raw:
                raise ChannelEnded()
        return content

    def _take_plain(self) -> memoryview:
        if self._session is None:
            taken, self._plain = self._plain, memoryview(b"")
            return taken
        self._session.send(self._plain[:_ENCRYPT_BYTES])
        self._plain = self._plain[_ENCRYPT_BYTES:]
        return memoryview(self._session.outgoing())
