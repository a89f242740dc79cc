"""TLS without a socket: converts client bytes to plaintext and back, for both front ends.

A connection that begins with the byte 0x16, the type for a handshake record (RFC 8446, section 5.1), uses TLS; no other
protocol served here begins with it, so one port accepts both. The socket's owner passes received bytes to
:class:`TlsSession` and sends the bytes from :meth:`TlsSession.outgoing`, within its own deadlines; a slow handshake is
treated like any slow client.
"""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization

from catalog.conditions import TlsUnusable
from gateway.configuration.reloads import OnReload, ignore_reload

logger = logging.getLogger(__name__)

TLS_FIRST_BYTE = 0x16
# Protocols of application-layer protocol negotiation.
HTTP, HTTP2, POSTGRESQL = "http/1.1", "h2", "postgresql"
_KINDS = {"email": "email", "URI": "uri", "DNS": "dns"}
_READ_BYTES = 64 << 10


class TlsFailed(Exception):
    """The client's bytes are not TLS, or no version or cipher is shared; the text has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files; an empty `key` means that the certificate's file contains it.

    Clients may present a certificate from one of the `client_authorities`, and no other. `client_revocations` contains
    a revocation list (RFC 5280, section 5) for each authority; an expired list rejects all certificates.
    """

    certificate: str
    key: str = ""
    client_authorities: str = ""
    client_revocations: str = ""

    def stamps(self) -> list[tuple[int, int] | None]:
        """Returns values that change when a file does."""
        return [_stamp(path) for path in (self.certificate, self.key, self.client_authorities, self.client_revocations)]


class TlsServer:
    """A certificate and its key; thread-safe.

    Replaced files are reloaded at the next connection, so a renewed certificate needs no restart. If the new files are
    unusable, the previous certificate stays in use until they change again.
    """

    def __init__(self, files: TlsFiles, on_reload: OnReload = ignore_reload) -> None:
        """Loads the files; raises :class:`TlsUnusable`."""
        self._files = files
        self._on_reload = on_reload
        self._lock = threading.Lock()
        self._read = files.stamps()
        self._contexts = {HTTP: _load(files, HTTP)}
        self._expires_s = _expiry_s(files.certificate)
        self._certificate = _certificate_pem(files.certificate)
        self._end_point = end_point_of(self._certificate)
        self._key = _key_pem(files)

    @property
    def certificate(self) -> str:
        """Returns the certificate in use as PEM, with the authorities in its file and without its key."""
        return self._certificate

    def expires_s(self) -> float:
        """Returns when the certificate in use expires, in seconds since the epoch."""
        return self._expires_s

    def begin(self, protocol: str = HTTP) -> TlsSession:
        """Begins TLS on a new connection; `protocol` is the one that a client may negotiate (RFC 7301)."""
        with self._lock:
            self._renew()
            if protocol not in self._contexts:
                self._contexts[protocol] = _load(self._files, protocol)
            return TlsSession(self._contexts[protocol], self._end_point)

    def current_pem(self) -> tuple[bytes, bytes]:
        """Returns the key and the certificate chain in use, for a port with a TLS of its own."""
        with self._lock:
            self._renew()
            return self._key, self._certificate.encode("ascii")

    def _renew(self) -> None:
        if (found := self._files.stamps()) != self._read:
            self._read = found
            self._reload()

    def _reload(self) -> None:
        try:
            self._contexts = {HTTP: _load(self._files, HTTP)}
            self._expires_s = _expiry_s(self._files.certificate)
            self._certificate = _certificate_pem(self._files.certificate)
            self._end_point = end_point_of(self._certificate)
            self._key = _key_pem(self._files)
        except TlsUnusable as error:
            logger.warning("the former certificate stays in use: %s", error)
            self._on_reload(self._files.certificate, False)
        else:
            logger.info("the certificate %s was read again", self._files.certificate)
            self._on_reload(self._files.certificate, True)


def _expiry_s(certificate: str) -> float:
    """Returns the expiry of a PEM file's first certificate, which is the server's own."""
    own = x509.load_pem_x509_certificates(Path(certificate).read_bytes())[0]
    return own.not_valid_after_utc.timestamp()


def _certificate_pem(certificate: str) -> str:
    found = x509.load_pem_x509_certificates(Path(certificate).read_bytes())
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode("ascii") for one in found)


def end_point_of(pem: str) -> bytes:
    """Returns the channel binding `tls-server-end-point` of a certificate, the first one in `pem` (RFC 5929, section
    4.1): its hash, by the function of its signature, but SHA-256 instead of MD5 and SHA-1. Returns no bytes if the
    signature has no hash function, as Ed25519: the binding is then undefined.
    """
    own = x509.load_pem_x509_certificates(pem.encode("ascii"))[0]
    try:
        function = own.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return b""
    if function is None:
        return b""
    return own.fingerprint(hashes.SHA256() if isinstance(function, hashes.MD5 | hashes.SHA1) else function)


def certificate_name(pem: str) -> str:
    """Returns the first name of the first certificate in `pem`, by which a client may verify it; empty without one."""
    own = x509.load_pem_x509_certificates(pem.encode("ascii"))[0]
    try:
        names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ""
    found = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    return found[0].replace("*", "gateway", 1) if found else ""


def _key_pem(files: TlsFiles) -> bytes:
    """Returns the private key without the certificates that its file may contain."""
    key = serialization.load_pem_private_key(Path(files.key or files.certificate).read_bytes(), password=None)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _stamp(path: str) -> tuple[int, int] | None:
    """Returns a value that changes with a file's content; None if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _load(files: TlsFiles, protocol: str) -> ssl.SSLContext:
    key, read = files.key or files.certificate, ""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols([protocol])
    try:
        # with an empty password an encrypted key fails, instead of prompting on the terminal
        context.load_cert_chain(files.certificate, key, password="")
        if files.client_authorities:
            context.load_verify_locations(read := files.client_authorities)
            context.verify_mode = ssl.CERT_OPTIONAL
            if files.client_revocations:
                context.load_verify_locations(read := files.client_revocations)
                context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        reason = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
        reason_text = str(reason or error).lower().replace("_", " ")
        raise TlsUnusable(files.certificate, key, f"{reason_text} ({read})" if read else reason_text) from error
    return context


class TlsSession:
    """TLS on one connection; `end_point` is its channel binding, or no bytes. Not thread-safe."""

    def __init__(self, context: ssl.SSLContext, end_point: bytes = b"") -> None:
        self.end_point = end_point
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.is_established = False

    def receive(self, content: bytes) -> bytes:
        """Returns the plaintext that `content` completes. Raises :class:`TlsFailed`; `outgoing` then has the alert."""
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

    @property
    def protocol(self) -> str | None:
        """Returns the negotiated protocol; None if the client has named none that is served."""
        return self._tls.selected_alpn_protocol()

    @property
    def peer_names(self) -> tuple[str, ...]:
        """Returns the names in the client's certificate: `email:`, `uri:`, `dns:` and `cn:`, in this order."""
        found: dict[str, Any] = dict(self._tls.getpeercert() or {})
        alternative = [(_KINDS[kind], name) for kind, name in found.get("subjectAltName", ()) if kind in _KINDS]
        common = [("cn", value) for part in found.get("subject", ()) for kind, value in part if kind == "commonName"]
        order = ("email", "uri", "dns", "cn")
        names = sorted((*alternative, *common), key=lambda pair: order.index(pair[0]))
        return tuple(f"{kind}:{name}" for kind, name in names)

    def send(self, content: bytes | memoryview) -> None:
        """Encrypts `content` into `outgoing`."""
        view = memoryview(content)
        while view:
            view = view[self._tls.write(view) :]

    def end(self) -> None:
        """Adds close_notify to `outgoing`."""
        with contextlib.suppress(ssl.SSLError):  # the client's own close_notify is not awaited
            self._tls.unwrap()

    def outgoing(self) -> bytes:
        """Returns the bytes to send to the client now."""
        return self._outgoing.read()
