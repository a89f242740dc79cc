"""A certificate for this machine, trusted only by tests."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from cryptography.x509.oid import NameOID

STORE_PASSWORD = "changeit"


@dataclass(frozen=True)
class Certificate:
    """PEM files, and the certificate as Java's clients trust it (PKCS #12)."""

    certificate: Path
    key: Path
    trust_store: Path

    def client_context(self) -> ssl.SSLContext:
        """Trusts this certificate and no other."""
        return ssl.create_default_context(cafile=str(self.certificate))


def make_certificate(folder: Path, ends_in_days: float = 30, *hosts: str) -> Certificate:
    """Creates a certificate for localhost, 127.0.0.1 and `hosts`; also `encrypted.pem`, the key with a password."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [*map(x509.DNSName, ("localhost", *hosts)), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=ends_in_days))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Certificate(folder / "certificate.pem", folder / "key.pem", folder / "trust.p12")
    made.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (folder / "encrypted.pem").write_bytes(encrypted)
    store = serialize_java_truststore(
        [PKCS12Certificate(certificate, b"gateway")], BestAvailableEncryption(STORE_PASSWORD.encode())
    )
    made.trust_store.write_bytes(store)
    return made
