"""Logins of real clients: SCRAM-SHA-256, passwords and tokens in clear text, client certificates, and TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest

from catalog.conditions import CredentialsRefused
from engine.runtime.identity import Identity, Method
from gateway.authenticators.chain import Chain, ChainPolicy, Methods
from gateway.authenticators.exchange import Mechanism
from gateway.authenticators.password_file import PasswordFile, User, make_user, store_user
from gateway.authenticators.passwords import hash_password
from gateway.authenticators.peer import Peer
from gateway.process.byte_stream import ByteStream
from gateway.process.tls import TlsFiles, TlsServer
from tests.certificates import make_certificate
from tests.gateway.authenticators.users import cheap_passwords
from tests.gateway.postgres.lab import Lab, Wire, error_of


@dataclass
class Tokens:
    """Accepts one token."""

    calls: list[str] = field(default_factory=list)

    def log_in(self, token: str) -> Identity:
        self.calls.append(token)
        if token != "dgp_good":
            raise CredentialsRefused()
        return Identity("ann", method=Method.TOKEN)

    def ensure_current(self, identity: Identity) -> None:
        pass

    def owner_method(self, identity: Identity) -> str:
        return ""


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chain:
    cheap_passwords(monkeypatch)
    users = tmp_path / "users"
    store_user(users, make_user("ann", "ann's secret", ("staff",)))
    store_user(users, User("old", hash_password("old's secret")))  # of a release without verifiers
    return Chain(Methods(password=PasswordFile(users), token=Tokens()), ChainPolicy())


@pytest.fixture
def secured(chain: Chain, tmp_path: Path) -> Iterator[tuple[Lab, str]]:
    """Yields a port with TLS, and the file of its certificate."""
    certificate = make_certificate(tmp_path)
    files = TlsFiles(certificate=str(certificate.certificate), key=str(certificate.key))
    lab = Lab(authenticator=chain, tls=TlsServer(files))
    yield lab, str(certificate.certificate)
    lab.close()


def _principal(lab: Lab, user: str, password: str, **settings: Any) -> str:
    with psycopg.connect(host="localhost", port=lab.port, user=user, password=password, **settings) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        (session,) = lab.registry.sessions()
        return session.principal


@pytest.mark.parametrize("mode", ["disable", "require", "verify-full"])
def test_password_with_a_verifier_is_proved_by_scram(secured: tuple[Lab, str], mode: str) -> None:
    lab, certificate = secured
    settings = {"sslmode": mode, "require_auth": "scram-sha-256"}
    if mode == "verify-full":
        settings["sslrootcert"] = certificate
    assert _principal(lab, "ann", "ann's secret", **settings) == "ann"


def test_client_that_requires_channel_binding_has_it(secured: tuple[Lab, str]) -> None:
    lab, _ = secured
    binding = {"sslmode": "require", "channel_binding": "require"}
    assert _principal(lab, "ann", "ann's secret", **binding) == "ann"
    with pytest.raises(psycopg.OperationalError, match="SQLSTATE: 28P01"):
        _principal(lab, "ann", "wrong", **binding)
    with pytest.raises(psycopg.OperationalError, match="channel binding"):  # a token proves nothing about the channel
        _principal(lab, "token", "dgp_good", **binding)


def test_client_without_channel_binding_is_accepted(secured: tuple[Lab, str]) -> None:
    lab, _ = secured
    assert _principal(lab, "ann", "ann's secret", sslmode="require", channel_binding="disable") == "ann"


def test_channel_binding_without_tls_is_rejected(chain: Chain) -> None:
    lab = Lab(authenticator=chain)
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        _principal(lab, "ann", "ann's secret", channel_binding="require")
    lab.close()


def test_proxy_with_another_certificate_is_noticed(secured: tuple[Lab, str], monkeypatch: pytest.MonkeyPatch) -> None:
    lab, _ = secured
    monkeypatch.setattr(ByteStream, "end_point", b"another certificate")
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        _principal(lab, "ann", "ann's secret", sslmode="require", channel_binding="require")
    assert not lab.registry.sessions()


def test_asyncpg_proves_a_password(secured: tuple[Lab, str]) -> None:
    lab, _ = secured

    async def run() -> object:
        connection = await asyncpg.connect(host="localhost", port=lab.port, user="ann", password="ann's secret")
        found = await connection.execute("SELECT 1")
        await connection.close()
        return found

    assert asyncio.run(run()) == "SELECT 1"


@pytest.mark.parametrize(("user", "password"), [("old", "old's secret"), ("token", "dgp_good")])
def test_other_secrets_are_sent_in_clear_text(secured: tuple[Lab, str], user: str, password: str) -> None:
    lab, _ = secured
    expected = "ann" if user == "token" else user
    assert _principal(lab, user, password, sslmode="require", require_auth="password") == expected


@pytest.mark.parametrize(
    ("user", "password"), [("ann", "wrong"), ("nobody", "ann's secret"), ("old", "wrong"), ("token", "dgp_bad")]
)
def test_wrong_credentials_are_rejected_alike(secured: tuple[Lab, str], user: str, password: str) -> None:
    lab, _ = secured
    with pytest.raises(psycopg.OperationalError, match="Wrong user name or password") as caught:
        psycopg.connect(host="localhost", port=lab.port, user=user, password=password)
    assert "SQLSTATE: 28P01" in str(caught.value)
    assert not lab.registry.sessions()


def test_unknown_user_gets_the_exchange_of_a_known_one(chain: Chain) -> None:
    mechanisms = [chain.mechanism_for(user, Peer("127.0.0.1")) for user in ("ann", "nobody", "old", "token")]
    assert mechanisms == [Mechanism.SCRAM, Mechanism.SCRAM, Mechanism.PLAIN, Mechanism.PLAIN]
    users = chain.methods.password
    assert isinstance(users, PasswordFile)
    assert users.verifier("nobody").salt == users.verifier("nobody").salt
    assert users.verifier("nobody").iterations == users.verifier("ann").iterations


def test_secret_is_not_requested_without_encryption(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Peer, "is_loopback", property(lambda _: False))
    lab = Lab(authenticator=chain)
    try:
        for user in ("ann", "old"):
            wire = Wire(lab.port)
            messages = wire.start({"user": user})
            assert error_of(messages)["C"] == "28000" and not [kind for kind, _ in messages if kind == b"R"]
            wire.close()
    finally:
        lab.close()


def _direct_tls(port: int, protocols: list[str], check: Callable[[Any], None]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(protocols)
    with socket.create_connection(("127.0.0.1", port), 10) as plain, context.wrap_socket(plain) as secure:
        check(secure)


def test_tls_without_a_request_requires_the_protocols_name(secured: tuple[Lab, str]) -> None:
    lab, _ = secured

    def accepted(secure: Any) -> None:
        assert secure.selected_alpn_protocol() == "postgresql"
        secure.sendall(b"\0\0\0\x12\0\3\0\0user\0ann\0\0")
        assert secure.recv(100)[:1] == b"R"

    def closed(secure: Any) -> None:
        assert secure.selected_alpn_protocol() is None
        secure.sendall(b"\0\0\0\x12\0\3\0\0user\0ann\0\0")
        assert secure.recv(100) == b""

    _direct_tls(lab.port, ["postgresql"], accepted)
    _direct_tls(lab.port, ["http/1.1"], closed)


def test_unencrypted_bytes_after_the_request_for_tls_end_the_connection(secured: tuple[Lab, str]) -> None:
    lab, _ = secured
    wire = Wire(lab.port)
    wire.socket.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f" + b"\0\0\0\x12\0\3\0\0user\0ann\0\0")
    assert error_of(wire.until_ready())["C"] == "08P01"
    wire.close()
