"""Clients with TLS certificates, over both ports; and secrets that come over TLS from anywhere."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TBufferedTransport

from catalog.conditions import AuthenticationIncomplete, ConfigInvalidValue, TlsUnusable
from engine.runtime.identity import Method
from gateway.authenticators.password_file import remove_user
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.certificates import Certificate, make_certificate
from tests.gateway.hs2.wire import V10, connect, execute, open_session, sasl_frame
from tests.security.secure_server import STATEMENTS, SecureServer, Stream, basic


class Authority:
    """Signs client certificates."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.file = folder, folder / f"{name}.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._build(self._name, self._key).add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        self.file.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def _build(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 1) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        built = x509.CertificateBuilder(self._name, name, key.public_key(), x509.random_serial_number())
        return built.not_valid_before(now - dt.timedelta(days=9)).not_valid_after(now + dt.timedelta(days=days))

    def revoke(self, *files: str, days: int = 1) -> Path:
        """Returns a revocation list's file for these certificates, valid for `days`."""
        now = dt.datetime.now(dt.UTC)
        built = x509.CertificateRevocationListBuilder(self._name, now - dt.timedelta(days=9), now + dt.timedelta(days))
        for file in files:
            number = x509.load_pem_x509_certificate(Path(file).read_bytes()).serial_number
            revoked = x509.RevokedCertificateBuilder(number, now)
            built = built.add_revoked_certificate(revoked.build())
        made = self.folder / "revoked.pem"
        made.write_bytes(built.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        return made

    def issue(self, *names: x509.GeneralName, common: str = "x", days: int = 1, is_server: bool = False) -> str:
        """Returns the file with a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = self._build(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)]), key, days)
        usage = ExtendedKeyUsageOID.SERVER_AUTH if is_server else ExtendedKeyUsageOID.CLIENT_AUTH
        built = built.add_extension(x509.ExtendedKeyUsage([usage]), False)
        if names:
            built = built.add_extension(x509.SubjectAlternativeName(names), False)
        file = self.folder / f"{common}{len(list(self.folder.iterdir()))}.pem"
        content = built.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        file.write_bytes(content + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return str(file)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    made = make_certificate(tmp_path_factory.mktemp("tls"))
    made.key.chmod(0o600)
    return made


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "clients")


def secured(folder: Path, tls: Certificate, authority: Authority, **flags: object) -> SecureServer:
    given = {
        "server__tls_certificate": str(tls.certificate),
        "server__tls_key": str(tls.key),
        "server__tls_client_authorities": str(authority.file),
        "authentication__methods": ["certificate", "password"],
        "authentication__certificate_names": ["email:(.+)@example[.]com", "uri:spiffe://example/(.+)", "cn:user-(.+)"],
    }
    return SecureServer(folder, **(given | flags))


@pytest.fixture
def server(folder: Path, tls: Certificate, authority: Authority) -> Iterator[SecureServer]:
    server = secured(folder, tls, authority).start()
    yield server
    server.stop()


def context(tls: Certificate, certificate: str = "") -> ssl.SSLContext:
    made = tls.client_context()
    if certificate:
        made.load_cert_chain(certificate)
    return made


def ask(server: SecureServer, tls: Certificate, certificate: str = "", **headers: str) -> tuple[int, str | None]:
    """Returns a statement's status over HTTPS, and its user."""
    before = len(server.engine.runs)
    connection = http.client.HTTPSConnection("localhost", server.ports.http, context=context(tls, certificate))
    with contextlib.closing(connection):
        body = json.dumps({"statement": "SELECT 1"})
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", STATEMENTS, body, {"Content-Type": "application/json", **names})
        status = connection.getresponse().status
    runs = server.engine.runs[before:]
    return status, runs[0].context.identity.principal if runs else None


def email(text: str) -> x509.RFC822Name:
    return x509.RFC822Name(text)


def test_the_certificate_says_who_it_is(server: SecureServer, tls: Certificate, authority: Authority) -> None:
    uri = x509.UniformResourceIdentifier("spiffe://example/bob")
    for certificate, principal in (
        (authority.issue(email("Ann@example.com")), "ann"),
        (authority.issue(uri, email("x@other.example")), "bob"),
        (authority.issue(common="user-bob"), "bob"),
        (authority.issue(uri, email("ann@example.com")), "ann"),
    ):
        assert ask(server, tls, certificate) == (200, principal)
    identity = server.engine.runs[0].context.identity
    assert (identity.method, set(identity.groups)) == (Method.CERTIFICATE, {"staff", "Ops"})


def test_rejected_logins(server: SecureServer, tls: Certificate, authority: Authority, tmp_path: Path) -> None:
    for certificate in (
        "",
        authority.issue(email("eve@example.com")),
        authority.issue(email("ann@example.com.evil")),
        authority.issue(email("ann@evil.com"), common="ann@example.com"),
        authority.issue(common="xuser-ann"),
    ):
        assert ask(server, tls, certificate) == (401, None)
    stranger = Authority(tmp_path, "clients")
    for certificate in (
        stranger.issue(email("ann@example.com")),
        authority.issue(email("ann@example.com"), days=-1),
        authority.issue(email("ann@example.com"), is_server=True),
    ):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(server, tls, certificate)


def test_a_revoked_certificate_is_refused_as_soon_as_the_list_says_so(
    folder: Path, tls: Certificate, authority: Authority
) -> None:
    ann, bob = authority.issue(email("ann@example.com")), authority.issue(email("bob@example.com"))
    server = secured(folder, tls, authority, server__tls_client_revocations=str(authority.revoke())).start()
    try:
        assert ask(server, tls, ann) == (200, "ann")
        authority.revoke(ann)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(server, tls, ann)
        assert ask(server, tls, bob) == (200, "bob")
        assert ask(server, tls, "", **basic("ann")) == (200, "ann")
        authority.revoke(ann, days=-1)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(server, tls, bob)
    finally:
        server.stop()


def test_a_list_that_is_none_is_named(folder: Path, tls: Certificate, authority: Authority) -> None:
    with pytest.raises(TlsUnusable, match=r"no such file.*nowhere\.pem"):
        secured(folder, tls, authority, server__tls_client_revocations="/nowhere.pem").start()


def test_beside_a_certificate_a_password_counts(server: SecureServer, tls: Certificate, authority: Authority) -> None:
    ann = authority.issue(email("ann@example.com"))
    assert ask(server, tls, ann, **basic("bob")) == (200, "bob")
    assert ask(server, tls, ann, **basic("ann", "wrong")) == (401, None)
    assert ask(server, tls, ann, **basic("ann", "")) == (200, "ann")
    assert ask(server, tls, ann, **basic("bob", "")) == (401, None)
    assert ask(server, tls, "", **basic("ann")) == (200, "ann")
    assert ask(server, tls, "", **basic("ann", "")) == (401, None)


def test_a_page_of_another_site_cannot_use_it(server: SecureServer, tls: Certificate, authority: Authority) -> None:
    ann = authority.issue(email("ann@example.com"))
    assert ask(server, tls, ann, Origin="https://evil.example") == (403, None)
    assert ask(server, tls, ann, Sec_Fetch_Site="cross-site") == (403, None)


def test_thrift_with_a_certificate(server: SecureServer, folder: Path, tls: Certificate, authority: Authority) -> None:
    ann = authority.issue(email("ann@example.com"))
    plain = context(tls, ann).wrap_socket(connect(server.ports.thrift), server_hostname="localhost")
    with contextlib.closing(plain):  # no SASL
        client = ThriftClient(TBinaryProtocol(TBufferedTransport(Stream(plain))))
        session = open_session(client, username="bob")
        execute(client, session, "SELECT 1")
        assert server.engine.runs[-1].context.identity.principal == "ann"
        remove_user(folder / "users", "ann")
        assert client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"
        assert client.OpenSession(t.TOpenSessionReq(client_protocol=V10)).status.sqlState == "28000"
    bob = authority.issue(email("bob@example.com"))
    for message, status in (
        (b"\0bob\0", 5),
        (b"\0\0", 5),
        (b"\0anonymous\0anonymous", 5),
        (b"\0zo\0", 4),
        (b"\0bob\0wrong", 4),
    ):
        connection = context(tls, bob).wrap_socket(connect(server.ports.thrift), server_hostname="localhost")
        with contextlib.closing(connection):
            connection.sendall(sasl_frame(1, b"PLAIN") + sasl_frame(5, message))
            assert connection.recv(1)[0] == status
    connection = context(tls, bob).wrap_socket(connect(server.ports.thrift), server_hostname="localhost")
    with contextlib.closing(connection):
        connection.sendall(sasl_frame(1, b"EXTERNAL") + sasl_frame(5, b""))
        assert connection.recv(5) == b"\x05\0\0\0\0"


@pytest.mark.parametrize("setting", ["server__tls_client_authorities", "server__tls_certificate"])
def test_certificate_method_requirements(folder: Path, tls: Certificate, authority: Authority, setting: str) -> None:
    with pytest.raises(AuthenticationIncomplete, match=setting.replace("__", ".")):
        secured(folder, tls, authority, **{setting: ""}).start()


@pytest.mark.parametrize("names", [["email:.+"], ["email:(.+"], ["(a)(b)"], []])
def test_names_that_are_no_patterns(folder: Path, tls: Certificate, authority: Authority, names: list[str]) -> None:
    with pytest.raises(ConfigInvalidValue, match="certificate_names"):
        secured(folder, tls, authority, authentication__certificate_names=names)
