"""`delta-gateway sql` logs in with a password or a token, over TLS too, and never passes one as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.__main__ import main
from tests.certificates import Certificate, make_certificate
from tests.security.secure_server import SecureServer, basic


@pytest.fixture
def certificate(folder: Path) -> Certificate:
    made = make_certificate(folder)
    made.key.chmod(0o600)
    return made


@pytest.fixture
def server(folder: Path, certificate: Certificate) -> Iterator[SecureServer]:
    tls = {"server__tls_certificate": str(certificate.certificate), "server__tls_key": str(certificate.key)}
    server = SecureServer(folder, authentication__methods=["password", "token"], **tls).start()
    yield server
    server.stop()


def test_every_login_option(
    server: SecureServer,
    folder: Path,
    certificate: Certificate,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def sql(*arguments: str, scheme: str = "http") -> int:
        return main(["sql", "SELECT 1", "--server", f"{scheme}://localhost:{server.ports.http}", *arguments])

    assert sql() == 1 and "credentials are required" in capsys.readouterr().err
    monkeypatch.setattr("getpass.getpass", lambda prompt: "annann")
    assert sql("--user", "ann") == 0
    monkeypatch.setenv("DELTA_GATEWAY_PASSWORD", "wrong")
    assert sql("--user", "ann") == 1 and "Wrong user name or password" in capsys.readouterr().err
    token = server.ask("POST", "/api/2.0/token/create", {}, **basic("bob")).body["token_value"]
    (folder / "token").write_text(f"{token}\n")
    assert sql("--token-file", str(folder / "token")) == 0
    monkeypatch.setenv("DELTA_GATEWAY_TOKEN", token)
    assert sql("--ca-file", str(certificate.certificate), scheme="https") == 0
    assert sql(scheme="https") == 1 and "certificate" in capsys.readouterr().err.lower()
    assert sql("--ca-file", str(folder / "none"), scheme="https") == 1
    assert [run.context.identity.principal for run in server.engine.runs] == ["ann", "bob", "bob"]


def test_page_about_connections_has_the_login_of_a_server_with_passwords(server: SecureServer) -> None:
    page = server.ask("GET", "/connect").content.decode()
    assert f"--server http://127.0.0.1:{server.ports.http} --user USER" in page
    assert 'username="USER", password="PASSWORD"' in page and "-n USER -p PASSWORD" in page
