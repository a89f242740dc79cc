"""A client's non-blocking socket, with TLS if the client's first byte begins a handshake."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct

from gateway.process.tls import TLS_FIRST_BYTE, TlsFailed, TlsServer, TlsSession

logger = logging.getLogger(__name__)

_RECEIVE_BYTES = 64 << 10
# Portion of a response being sent that exists twice in memory.
_ENCRYPT_BYTES = 128 << 10
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class ChannelEnded(Exception):
    """The client is gone, or its bytes are invalid."""


class Channel:
    """Plaintext in both directions. Not thread-safe, except `hang_up`."""

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
        """Returns True once the client has begun TLS."""
        return self._session is not None

    @property
    def peer_names(self) -> tuple[str, ...]:
        """Returns the names in the client's certificate."""
        return self._session.peer_names if self._session else ()

    @property
    def is_shaking_hands(self) -> bool:
        """Returns True during the TLS handshake."""
        return self._session is not None and not self._session.is_established

    @property
    def unsent_bytes(self) -> int:
        """Returns the bytes that wait for the socket, before and after encryption."""
        return len(self._plain) + len(self._raw)

    def receive(self) -> bytes:
        """Returns received bytes, possibly none yet. Raises :class:`ChannelEnded`."""
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
        """Buffers content for `flush`."""
        self._plain = memoryview(content)

    def flush(self) -> bool:
        """Sends the bytes that the client accepts now; returns True if it accepted any. Raises
        :class:`ChannelEnded`.
        """
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
        """Signals the end to the client."""
        if self._has_ended_writing:
            return
        self._has_ended_writing = True
        with contextlib.suppress(OSError):
            if self._session and self._session.is_established and not self._raw:
                self._session.end()
                self._socket.send(self._session.outgoing())
            self._socket.shutdown(socket.SHUT_WR)

    def break_off(self) -> None:
        """Shows the client that the response is incomplete: resets the connection at its close, without TLS's
        close_notify.
        """
        self._has_ended_writing = True
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)

    def close(self) -> None:
        """Closes the socket, after TLS's `close_notify` if possible; unsent bytes are dropped."""
        if self._session:
            self.end_writing()
        self._plain, self._raw = memoryview(b""), memoryview(b"")
        self._socket.close()

    def hang_up(self) -> None:
        """Ends the connection from another thread: its owner finds the client disconnected."""
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
        if answer := session.outgoing():  # for the handshake; far smaller than an empty socket buffer
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
