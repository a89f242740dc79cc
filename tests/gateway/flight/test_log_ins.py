"""Logins over the Flight port, TLS, and certificates of clients."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from pyarrow import flight

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity, Method
from gateway.authenticators.exchange import Accepted, Mechanism
from gateway.authenticators.peer import Peer
from gateway.flight.log_ins import _TOKENS_PER_USER_MAX, Tokens
from gateway.process.tls import TlsFiles, TlsServer
from tests.certificates import make_certificate
from tests.gateway.flight.lab import Lab, basic_header, query_info, rows_of
from tests.gateway.http.conftest import eventually
from tests.security.test_certificates import Authority, email


class Users:
    """Accepts the token `good` and passwords that repeat the user's name, and records the client's side."""

    mechanisms = (Mechanism.BEARER, Mechanism.PLAIN, Mechanism.EXTERNAL)

    def __init__(self) -> None:
        self.peers: list[Peer] = []

    def begin(self, mechanism: Mechanism, peer: Peer) -> Any:
        self.peers.append(peer)
        return self

    def receive(self, message: bytes) -> Accepted:
        if message == b"good":
            return Accepted(Identity("ada", method=Method.TOKEN))
        if message == b"" and self.peers[-1].certificate_names:
            return Accepted(Identity(self.peers[-1].certificate_names[0], method=Method.CERTIFICATE))
        _, user, password = message.split(b"\0") if message.count(b"\0") == 2 else (b"", b"", b"x")
        if user and user == password:
            return Accepted(Identity(user.decode(), method=Method.PASSWORD))
        raise AuthenticationFailed("the credentials are wrong.")

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.PLAIN

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        raise AssertionError("no client of this port acts for another user")

    def ensure_current(self, identity: Identity) -> None:
        if identity.principal == "gone":
            raise AuthenticationFailed("the user is gone.")


@pytest.fixture
def users() -> Users:
    return Users()


@pytest.fixture
def lab(users: Users) -> Any:
    lab = Lab(authenticator=users)
    yield lab
    lab.close()


def _header(text: str) -> flight.FlightCallOptions:
    return flight.FlightCallOptions(headers=[(b"authorization", text.encode())])


def test_password_is_sent_with_each_call_or_by_handshake(lab: Lab) -> None:
    client = lab.client()
    assert rows_of(client, "SELECT 1", basic_header("bob", "bob")).num_rows == 1
    name, value = client.authenticate_basic_token("eve", "eve")
    assert name == b"authorization" and value.startswith(b"Bearer gateway-flight-")
    rows_of(lab.client(), "SELECT 1", flight.FlightCallOptions(headers=[(name, value)]))
    rows_of(lab.client(), "SELECT 1", _header("Bearer good"))
    assert sorted(one.principal for one in lab.registry.sessions()) == ["ada", "bob", "eve"]


def test_handshake_with_a_message_gives_a_token(lab: Lab) -> None:
    class Basic(flight.ClientAuthHandler):
        def authenticate(self, outgoing: Any, incoming: Any) -> None:
            outgoing.write(flight.BasicAuth("bob", "bob").serialize())
            self.token = incoming.read()

        def get_token(self) -> bytes:
            return bytes(self.token)

    client = lab.client()
    client.authenticate(Basic())
    rows_of(client, "SELECT 1")
    assert [one.principal for one in lab.registry.sessions()] == ["bob"]


REJECTED = ("Bearer bad", "Basic Ym9iOndyb25n", "Basic Ym9i", "Basic %", "Negotiate x", "good", "")


@pytest.mark.parametrize("header", REJECTED)
def test_wrong_credentials_are_rejected_by_each_call(lab: Lab, header: str) -> None:
    client, options = lab.client(), _header(header)
    descriptor = flight.FlightDescriptor.for_command(b"x")
    calls = (
        lambda: query_info(client, "SELECT 1", options),
        lambda: client.do_get(flight.Ticket(b"x"), options).read_all(),
        lambda: list(client.do_action(flight.Action("CloseSession", b""), options)),
        lambda: client.list_actions(options),
        lambda: client.get_flight_info(descriptor, options),
    )
    for call in calls:
        with pytest.raises(flight.FlightUnauthenticatedError) as caught:
            call()
        assert "good" not in str(caught.value)
    assert lab.registry.sessions() == ()


def test_missing_credentials_and_unknown_tokens_are_rejected(lab: Lab) -> None:
    with pytest.raises(flight.FlightUnauthenticatedError):
        rows_of(lab.client(), "SELECT 1")
    with pytest.raises(flight.FlightUnauthenticatedError):
        rows_of(lab.client(), "SELECT 1", _header("Bearer gateway-flight-unknown"))
    with pytest.raises(flight.FlightUnauthenticatedError, match="AUTHENTICATION_FAILED"):
        lab.client().authenticate_basic_token("bob", "wrong")


def test_token_ends_with_its_users_login(lab: Lab) -> None:
    name, value = lab.client().authenticate_basic_token("gone", "gone")
    with pytest.raises(flight.FlightUnauthenticatedError, match="the user is gone"):
        rows_of(lab.client(), "SELECT 1", flight.FlightCallOptions(headers=[(name, value)]))


def test_tickets_and_sessions_of_others_are_unknown(lab: Lab) -> None:
    client, bob, eve = lab.client(), basic_header("bob", "bob"), basic_header("eve", "eve")
    info = query_info(client, "ROWS 5", bob)
    assert client.do_get(info.endpoints[0].ticket, bob).read_all().num_rows == 5
    with pytest.raises(flight.FlightError, match=r"INVALID_HANDLE\.OPERATION_NOT_FOUND"):
        client.do_get(info.endpoints[0].ticket, eve).read_all()
    changed = bytearray(info.endpoints[0].ticket.ticket)
    changed[-1] ^= 1
    with pytest.raises(flight.FlightError, match=r"INVALID_HANDLE\.FORMAT"):
        client.do_get(flight.Ticket(bytes(changed)), bob).read_all()


def _certified(lab: Lab, authority: bytes, certificate: str = "") -> Any:
    pem = Path(certificate).read_bytes() if certificate else b""
    options = {"tls_root_certs": authority}
    if certificate:
        options |= {"cert_chain": pem, "private_key": pem}
    return lab.client(location=f"grpc+tls://localhost:{lab.port}", **options)


def test_port_with_a_certificate_takes_tls_only_and_renews_it(tmp_path: Path, users: Users) -> None:
    made = make_certificate(tmp_path)
    lab = Lab(authenticator=users, tls=TlsServer(TlsFiles(certificate=str(made.certificate), key=str(made.key))))
    try:
        with pytest.raises(flight.FlightUnavailableError):
            rows_of(lab.client(), "SELECT 1", _header("Bearer good"))
        rows_of(_certified(lab, made.certificate.read_bytes()), "SELECT 1", _header("Bearer good"))
        assert users.peers[-1] == Peer("127.0.0.1", is_encrypted=True)
        (tmp_path / "new").mkdir()
        renewed = make_certificate(tmp_path / "new")
        for old, new in ((made.certificate, renewed.certificate), (made.key, renewed.key)):
            old.write_bytes(new.read_bytes())
        rows_of(_certified(lab, renewed.certificate.read_bytes()), "SELECT 1", _header("Bearer good"))
    finally:
        lab.close()


def test_client_logs_in_with_a_certificate_or_with_a_password(tmp_path: Path, users: Users) -> None:
    made, authority = make_certificate(tmp_path), Authority(tmp_path, "trusted")
    other = Authority(tmp_path, "other")
    files = TlsFiles(certificate=str(made.certificate), key=str(made.key), client_authorities=str(authority.file))
    lab = Lab(authenticator=users, tls=TlsServer(files))
    trusted = made.certificate.read_bytes()
    try:
        rows_of(_certified(lab, trusted, authority.issue(email("ann@example.com"))), "SELECT 1")
        assert [one.principal for one in lab.registry.sessions()] == ["email:ann@example.com"]
        with pytest.raises(flight.FlightUnauthenticatedError):
            rows_of(_certified(lab, trusted), "SELECT 1")
        rows_of(_certified(lab, trusted), "SELECT 1", basic_header("bob", "bob"))
        with pytest.raises(flight.FlightUnavailableError):
            rows_of(_certified(lab, trusted, other.issue(email("eve@example.com"))), "SELECT 1")
    finally:
        lab.close()


def test_handshake_knows_the_connection_of_a_forwarded_client(tmp_path: Path, users: Users) -> None:
    made = make_certificate(tmp_path)
    lab = Lab(authenticator=users, tls=TlsServer(TlsFiles(certificate=str(made.certificate), key=str(made.key))))
    try:
        client = _certified(lab, made.certificate.read_bytes())
        token = client.authenticate_basic_token("bob", "bob")
        assert users.peers == [Peer("127.0.0.1", is_encrypted=True)]
        rows_of(client, "SELECT 1", flight.FlightCallOptions(headers=[token]))
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.authenticate_basic_token("bob", "wrong")
        assert lab.server.connection_count() == 1
        client.close()
        assert eventually(lambda: lab.server.connection_count() == 0)
    finally:
        lab.close()


def test_connection_that_is_no_tls_ends(tmp_path: Path, users: Users) -> None:
    made = make_certificate(tmp_path)
    files = TlsFiles(certificate=str(made.certificate), key=str(made.key))
    lab = Lab(authenticator=users, tls=TlsServer(files), handshake_s=0.3)
    try:
        context = ssl.create_default_context(cafile=str(made.certificate))
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", lab.port), 10) as silent:
            assert silent.recv(10) == b""
        with socket.create_connection(("127.0.0.1", lab.port), 10) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.settimeout(10)
            while plain.recv(100):
                pass
        with context.wrap_socket(socket.create_connection(("127.0.0.1", lab.port)), server_hostname="localhost") as one:
            assert one.selected_alpn_protocol() == "h2"
    finally:
        lab.close()


def test_tokens_of_a_user_are_dropped_from_the_oldest_beyond_the_limit() -> None:
    tokens, ann = Tokens(), Identity("ann")
    other = tokens.issue(Identity("ben"))
    issued = [tokens.issue(ann) for _ in range(_TOKENS_PER_USER_MAX)]
    assert {tokens.find(token).identity.principal for token in issued} == {"ann"}
    newest = tokens.issue(ann)
    with pytest.raises(AuthenticationFailed):
        tokens.find(issued[0])
    assert [tokens.find(token).identity.principal for token in (issued[1], newest, other)] == ["ann", "ann", "ben"]
