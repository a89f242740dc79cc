"""TLS without a socket: bytes of a client in, plaintext out, and the other way, for both front ends.

A connection that begins with the byte 0x16, the type of a handshake record (RFC 8446, section 5.1), speaks TLS; the
first bytes of no other protocol that is served here are like it, so one port takes both. Whoever owns the socket feeds
what it received to :class:`TlsSession` and sends what :meth:`TlsSession.outgoing` has, within its own deadlines; a slow
handshake is to it a slow client like any other.
"""

from __future__ import annotations

import contextlib
import ssl

from gateway.start_errors import TlsUnusable

TLS_FIRST_BYTE = 0x16
_READ_BYTES = 64 << 10


class TlsFailed(Exception):
    """The client's bytes are no TLS, or it and the server have no version or cipher in common; the text says it."""


class TlsServer:
    """A certificate and its key, which may be in one file."""

    def __init__(self, certificate: str, key: str = "") -> None:
        """Read both files, in PEM; an empty `key` is in the certificate's. Raises :class:`TlsUnusable`."""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.options |= ssl.OP_NO_RENEGOTIATION
        self._context.set_alpn_protocols(["http/1.1"])
        try:
            # an encrypted key fails rather than asking the terminal for its password
            self._context.load_cert_chain(certificate, key or None, password="")
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            reason = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
            raise TlsUnusable(
                certificate, key or certificate, str(reason or error).lower().replace("_", " ")
            ) from error

    def begin(self) -> TlsSession:
        """For a new connection."""
        return TlsSession(self._context)


class TlsSession:
    """One connection. Not thread-safe."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.is_established = False

    def receive(self, content: bytes) -> bytes:
        """The plaintext that `content` completes. Raises :class:`TlsFailed`; `outgoing` then has the alert."""
        self._incoming.write(content)
        pieces: list[bytes] = []
        try:
            if not self.is_established:
                self._tls.do_handshake()
                self.is_established = True
            while piece := self._tls.read(_READ_BYTES):  # nothing after the client's close_notify
                pieces.append(piece)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise TlsFailed((error.reason or str(error)).lower().replace("_", " ")) from error
        return b"".join(pieces)

    def send(self, content: bytes | memoryview) -> None:
        """Encrypt `content` into `outgoing`."""
        view = memoryview(content)
        while view:
            view = view[self._tls.write(view) :]

    def end(self) -> None:
        """Say in `outgoing` that nothing follows."""
        with contextlib.suppress(ssl.SSLError):  # the client has not said so yet, which is not waited for
            self._tls.unwrap()

    def outgoing(self) -> bytes:
        """What is to be sent to the client now."""
        return self._outgoing.read()
