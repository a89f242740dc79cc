"""TLS on both ports, in addition to plaintext: sessions in bytes, unusable certificates, slow handshakes."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import http.client
import json
import random
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient

from catalog.conditions import HostNotLoopback, TlsUnusable
from gateway.hs2 import transport
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.process.tls import TlsFailed, TlsFiles, TlsServer, TlsSession, end_point_of
from tests.certificates import Certificate, make_certificate
from tests.gateway.arrow_engine import rows
from tests.gateway.fuzz import Fuzzer
from tests.gateway.hs2.test_server import OPEN, call, framed
from tests.gateway.hs2.wire import log_in, open_session, sasl_frame
from tests.gateway.http.conftest import STATEMENTS, Live, eventually, serving_http
from tests.gateway.test_server import SmallServer
from tests.paths import ROOT

# A handshake's beginning.
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 32
TYPE = {"Content-Type": "application/x-thrift"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls(certificate: Certificate) -> TlsServer:
    return TlsServer(TlsFiles(certificate=str(certificate.certificate), key=str(certificate.key)))


@pytest.fixture
def live(tls: TlsServer) -> Iterator[Live]:
    with serving_http(tls=tls) as live:
        yield live


class Pair:
    """A server session and one in OpenSSL's client, whose bytes the test passes on."""

    def __init__(self, tls: TlsServer, context: ssl.SSLContext) -> None:
        self.server = tls.begin()
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = context.wrap_bio(self._in, self._out, server_hostname="localhost")

    def to_server(self, cut: Callable[[bytes], list[bytes]] = lambda content: [content]) -> bytes:
        received = b"".join(self.server.receive(piece) for piece in cut(self._out.read()))
        self._in.write(self.server.outgoing())
        return received

    def to_client(self) -> bytes:
        received = b""
        self._in.write(self.server.outgoing())
        with contextlib.suppress(ssl.SSLWantReadError):
            while piece := self.client.read(1 << 16):
                received += piece
        return received

    def shake_hands(self, cut: Callable[[bytes], list[bytes]] = lambda content: [content]) -> None:
        for _ in range(4):
            with contextlib.suppress(ssl.SSLWantReadError):
                self.client.do_handshake()
            self.to_server(cut)
        assert self.server.is_established


def bytewise(content: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in content]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("cut", [lambda content: [content], bytewise], ids=["whole", "bytewise"])
def test_a_session_in_bytes(
    tls: TlsServer, certificate: Certificate, version: ssl.TLSVersion, cut: Callable[[bytes], list[bytes]]
) -> None:
    context = certificate.client_context()
    context.maximum_version = version
    pair = Pair(tls, context)
    pair.shake_hands(cut)
    pair.client.write(b"question")
    assert pair.to_server(cut) == b"question"
    content = random.Random(1).randbytes(300_000)
    pair.server.send(content)
    assert pair.to_client() == content
    pair.client.write(b"last")
    with contextlib.suppress(ssl.SSLWantReadError):
        pair.client.unwrap()
    assert pair.to_server(cut) == b"last"
    pair.server.end()


def test_invalid_handshake_fails_with_an_alert(tls: TlsServer) -> None:
    session = tls.begin()
    with pytest.raises(TlsFailed):
        session.receive(HELLO + b"\0" * 600)
    assert session.outgoing()[0] == 0x15


@pytest.mark.parametrize(
    ("certificate_file", "key_file", "said"),
    [
        ("missing.pem", "key.pem", "no such file"),
        ("certificate.pem", "missing.pem", "no such file"),
        ("certificate.pem", "", "pem lib"),
        ("key.pem", "key.pem", "no start line|pem lib"),
        ("certificate.pem", "encrypted.pem", "bad decrypt|password|pem lib"),
        ("certificate.pem", "other.pem", "key values mismatch"),
        ("trust.p12", "key.pem", "no start line|pem lib"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_found_before_anything_starts(
    certificate: Certificate, certificate_file: str, key_file: str, said: str
) -> None:
    folder = certificate.certificate.parent
    if key_file == "other.pem":
        (other := folder / "other").mkdir()
        make_certificate(other).key.rename(folder / "other.pem")
    given = {"server__tls_certificate": str(folder / certificate_file)}
    server = SmallServer(**given, **({"server__tls_key": str(folder / key_file)} if key_file else {}))
    with pytest.raises(TlsUnusable, match=f"(?i){said}"):
        server.server.start()
    assert server.steps == []


def test_certificate_and_key_may_share_a_file(certificate: Certificate, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.certificate.read_bytes() + certificate.key.read_bytes())
    assert isinstance(TlsServer(TlsFiles(certificate=str(both))).begin(), TlsSession)


def test_a_renewed_certificate_is_used_from_the_next_client_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Replaced file by file, so that the two do not fit for a moment."""
    (renewed := tmp_path / "renewed").mkdir()
    used, new = make_certificate(tmp_path), make_certificate(renewed)
    tls, before = TlsServer(TlsFiles(certificate=str(used.certificate), key=str(used.key))), used.client_context()
    Pair(tls, before).shake_hands()
    new.certificate.replace(used.certificate)
    Pair(tls, before).shake_hands()
    Pair(tls, before).shake_hands()
    assert caplog.text.count("the former certificate stays in use") == 1
    new.key.replace(used.key)
    Pair(tls, used.client_context()).shake_hands()
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(tls, before).shake_hands()


def test_tls_opens_the_server_to_nobody_else(certificate: Certificate) -> None:
    server = SmallServer(server__host="0.0.0.0", server__tls_certificate=str(certificate.certificate))
    with pytest.raises(HostNotLoopback):
        server.server.start()


def test_a_server_takes_both_on_both_ports(certificate: Certificate) -> None:
    server = SmallServer(server__tls_certificate=str(certificate.certificate), server__tls_key=str(certificate.key))
    ports = server.server.start()
    context = certificate.client_context()
    for connection in (
        http.client.HTTPConnection("127.0.0.1", ports.http, timeout=60),
        http.client.HTTPSConnection("localhost", ports.http, timeout=60, context=context),
    ):
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()
    for is_encrypted in (False, True):
        with plain_to(ports.thrift) as connected:
            client = context.wrap_socket(connected, server_hostname="localhost") if is_encrypted else connected
            log_in(client)
            client.sendall(framed(OPEN))
            assert int.from_bytes(client.recv(4), "big") > 50
            client.close()
        with plain_to(ports.thrift) as connected:
            client = context.wrap_socket(connected, server_hostname="localhost") if is_encrypted else connected
            client.sendall(OPEN)
            assert client.recv(4) == b"\x80\x01\x00\x02"
            client.close()
    server.server.drain()


# -------------------------------------------------------------------------------------------------------- the ports


def plain_to(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


@contextlib.contextmanager
def https_to(live: Live, certificate: Certificate) -> Iterator[http.client.HTTPSConnection]:
    connection = http.client.HTTPSConnection("localhost", live.port, timeout=60, context=certificate.client_context())
    yield connection
    connection.close()


def ask(connection: http.client.HTTPConnection, text: str) -> dict[str, object]:
    body = json.dumps({"statement": text, "wait_timeout": "50s"})
    connection.request("POST", STATEMENTS, body, {"Content-Type": "application/json"})
    answer: dict[str, object] = json.loads(connection.getresponse().read())
    return answer


def test_answers_and_requests_of_many_records(live: Live, certificate: Certificate) -> None:
    live.engine.answers["SELECT wide"] = rows(pa.table({"s": ["x" * (12 << 20)]}))
    with https_to(live, certificate) as connection:
        assert ask(connection, "SELECT wide")["result"]["data_array"] == [["x" * (12 << 20)]]  # type: ignore[index]
        own = connection.sock
        assert ask(connection, "SELECT 1 " + " " * (9 << 20))["status"] and connection.sock is own
    assert eventually(lambda: live.server.connection_count() == 0) and live.server.held_bytes() == 0


def test_links_and_cookies_know_that_the_request_was_encrypted(live: Live, certificate: Certificate) -> None:
    with https_to(live, certificate) as connection:
        body = json.dumps({"statement": "SELECT 1", "disposition": "EXTERNAL_LINKS", "wait_timeout": "50s"})
        connection.request("POST", STATEMENTS, body, {"Content-Type": "application/json"})
        (link,) = json.loads(connection.getresponse().read())["result"]["external_links"]
        assert link["external_link"].startswith(f"https://localhost:{live.port}/")
        headers = TYPE | {"Authorization": "Basic YWRhOng="}
        connection.request("POST", "/cliservice", OPEN, headers)
        response = connection.getresponse()
        assert response.status == 200 and "; Secure" in response.headers["Set-Cookie"]


def test_a_client_that_hangs_up_ends_what_only_it_could_end(live: Live, certificate: Certificate) -> None:
    """Waiting in either interface."""
    with plain_client(live) as client, https_to(live, certificate) as asking, https_to(live, certificate) as calling:
        session = open_session(client)
        body = json.dumps({"statement": "SLEEP 61", "wait_timeout": "50s"})
        asking.request("POST", STATEMENTS, body, {"Content-Type": "application/json"})
        calling.request(
            "POST", "/cliservice", call("ExecuteStatement", t.TExecuteStatementReq(session, "SLEEP 62")), TYPE
        )
        assert eventually(lambda: len(live.engine.runs) == 2)
    assert eventually(lambda: all(run.context.cancel.reason for run in live.engine.runs))


def test_handshakes_that_dawdle_hold_up_nobody_and_end(
    tls: TlsServer, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred handshakes with six workers."""
    monkeypatch.setattr(transport, "HANDSHAKE_S", 3.0)
    with serving_http(tls=tls, handshake_s=3.0) as live:
        dawdlers = [plain_to(port) for port in (live.port, live.thrift_port) for _ in range(50)]
        for position, dawdler in enumerate(dawdlers):
            dawdler.sendall((b"\x16", HELLO, HELLO + b"\0" * 300)[position % 3])
        with https_to(live, certificate) as connection:
            assert ask(connection, "SELECT 1")["status"] == {"state": "SUCCEEDED"}
        for dawdler in dawdlers:
            with contextlib.suppress(ConnectionResetError):
                while dawdler.recv(4096):  # at most an alert
                    pass
            dawdler.close()


def test_invalid_handshake_ends_with_an_alert(live: Live) -> None:
    for port in (live.port, live.thrift_port):
        with plain_to(port) as connection:
            connection.sendall(b"\x16\x03\x01\x00\x05hello" + b"\0" * 100)
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
            assert answer == b"" or answer[0] == 0x15
    assert eventually(lambda: live.server.connection_count() == live.thrift.connection_count() == 0)
    assert live.deaths == []


def test_without_a_certificate_a_handshake_ends() -> None:
    with serving_http() as live:
        for port in (live.port, live.thrift_port):
            with plain_to(port) as connection:
                connection.sendall(HELLO + b"\r\n\r\n")
                connection.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
                assert answer[:12] in (b"", b"HTTP/1.1 400")


@contextlib.contextmanager
def plain_client(live: Live) -> Iterator[ThriftClient]:
    """Over HTTP without TLS and without a name."""
    yield ThriftClient(TBinaryProtocol(THttpClient(live.url + "/cliservice")))


SAMPLES = [
    HELLO,
    HELLO + b"\0" * 600,
    b"\x16\x03\x03\x00\x10" + b"\1" * 16,
    b"\x17\x03\x03\x00\x20" + b"\2" * 32,
    b"\x15\x03\x03\x00\x02\x01\x00",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    sasl_frame(1, b"PLAIN") + sasl_frame(5, b"\0ada\0x") + framed(OPEN),
    call("GetInfo", t.TGetInfoReq(None, 13)),
]


def test_damaged_tls_handshakes_leave_http_and_thrift_serving(
    live: Live, certificate: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    for port in (live.port, live.thrift_port):
        Fuzzer(port, SAMPLES, 20251).run(400)
    with https_to(live, certificate) as connection:
        assert ask(connection, "SELECT 1")["status"] == {"state": "SUCCEEDED"}
    assert live.deaths == [] and [r.getMessage() for r in caplog.records if r.levelname in ("ERROR", "CRITICAL")] == []
    assert eventually(lambda: live.server.connection_count() == live.thrift.connection_count() == 0)


IDLE_CLIENTS = """
import socket, ssl, sys
from tests.gateway.hs2.wire import log_in
port, authority, connections = int(sys.argv[1]), sys.argv[2], []
context = ssl.create_default_context(cafile=authority or None)
for _ in range(1000):
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    if authority:
        connection = context.wrap_socket(connection, server_hostname="localhost")
    log_in(connection)
    connections.append(connection)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "tls"])
def test_a_thousand_idle_connections_take_less_than_a_hundred_megabytes(
    live: Live, certificate: Certificate, is_encrypted: bool
) -> None:
    before = resident_bytes()
    authority = str(certificate.certificate) if is_encrypted else ""
    clients = subprocess.Popen(
        [sys.executable, "-c", IDLE_CLIENTS, str(live.thrift_port), authority],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert clients.stdout and clients.stdout.readline() == b"ready\n"
    assert live.thrift.connection_count() == 1000
    assert resident_bytes() - before < 100 << 20
    with plain_to(live.thrift_port) as late:  # beyond them, and served
        log_in(late)
        late.sendall(framed(OPEN))
        assert late.recv(4)
    clients.communicate()
    assert eventually(lambda: live.thrift.connection_count() == 0)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


_KEYS: dict[str, Callable[[], object]] = {
    "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


@pytest.mark.parametrize(
    ("key", "signed", "bound"),
    [
        ("ec", hashes.SHA256(), "sha256"),
        ("ec", hashes.SHA384(), "sha384"),
        ("rsa", hashes.SHA512(), "sha512"),
        ("ed25519", None, None),
    ],
)
def test_channel_binding_is_the_hash_of_the_signature(
    key: str, signed: hashes.HashAlgorithm | None, bound: str | None
) -> None:
    private: Any = _KEYS[key]()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(name, name, private.public_key(), 1).not_valid_before(now)
    made = builder.not_valid_after(now + dt.timedelta(days=1)).sign(private, cast(Any, signed))
    found = end_point_of(made.public_bytes(serialization.Encoding.PEM).decode())
    content = made.public_bytes(serialization.Encoding.DER)
    assert found == (hashlib.new(bound, content).digest() if bound else b"")


@pytest.mark.parametrize("function", [hashes.SHA1(), hashes.MD5()])  # with which no certificate can be signed any more
def test_channel_binding_of_a_weak_signature_is_sha256(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: hashes.HashAlgorithm
) -> None:
    made = x509.load_pem_x509_certificate(make_certificate(tmp_path).certificate.read_bytes())

    class Weak:
        signature_hash_algorithm = function
        fingerprint = staticmethod(made.fingerprint)

    monkeypatch.setattr(x509, "load_pem_x509_certificates", lambda _: [Weak()])
    assert end_point_of("") == made.fingerprint(hashes.SHA256())
