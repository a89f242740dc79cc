"""Logins at a Keycloak server from Maven, unmodified: users of the console in a browser, and a service account."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.runtime.identity import Method
from tests.clients.console_pages import log_out, logged_in
from tests.clients.test_console import browser
from tests.clients.test_console_log_in import new_page
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.gateway.http.conftest import eventually
from tests.maven import take_jar
from tests.paths import ROOT
from tests.security.secure_server import STATEMENTS, SecureServer

READY_S = 900  # it first builds itself, which takes a minute of both processors
pytestmark = [pytest.mark.console, pytest.mark.slow, pytest.mark.timeout(2 * READY_S)]

__all__ = ["browser"]  # a fixture

VERSION = "26.7.3"
SHA256 = "27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f"
FOLDER = ROOT / ".clients" / "keycloak"
CLIENT, SECRET = "delta-gateway", "a secret: with / characters"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def realm(console_url: str) -> dict[str, Any]:
    """Returns a realm as in the documentation; ann is in the group analysts, bob in none."""
    shared = {"access.token.claim": "true", "id.token.claim": "true"}
    mappers = {
        "oidc-group-membership-mapper": {"claim.name": "groups", "full.path": "true"} | shared,
        "oidc-audience-mapper": {"included.client.audience": CLIENT, "access.token.claim": "true"},
    }
    return {
        "realm": "data",
        "enabled": True,
        "groups": [{"name": "analysts"}],
        "users": [
            {
                "username": name,
                "enabled": True,
                "email": f"{name}@example.com",
                "firstName": name,
                "lastName": name,
                "groups": groups,
                "credentials": [{"type": "password", "value": name * 2}],
            }
            for name, groups in (("ann", ["/analysts"]), ("bob", []))
        ],
        "clients": [
            {
                "clientId": CLIENT,
                "secret": SECRET,
                "standardFlowEnabled": True,
                "directAccessGrantsEnabled": False,
                "serviceAccountsEnabled": True,
                "redirectUris": [f"{console_url}/login/callback"],
                "attributes": {
                    "post.logout.redirect.uris": f"{console_url}/login",
                    "pkce.code.challenge.method": "S256",
                },
                "protocolMappers": [
                    {"name": name, "protocol": "openid-connect", "protocolMapper": name, "config": config}
                    for name, config in mappers.items()
                ],
            }
        ],
    }


@dataclass
class Console:
    url: str
    issuer: str
    server: SecureServer


@pytest.fixture(scope="module")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """Yields the console's port, for which a realm is registered, and the realm's issuer."""
    folder = FOLDER / f"keycloak-{VERSION}"
    if not folder.exists():
        archive = take_jar(f"org.keycloak:keycloak-quarkus-dist:{VERSION}:zip", FOLDER / "keycloak.zip", SHA256)
        with zipfile.ZipFile(archive) as content:
            content.extractall(FOLDER)
    console_port, port = free_port(), free_port()
    (folder / "data" / "import").mkdir(parents=True, exist_ok=True)
    (folder / "data" / "import" / "data-realm.json").write_text(json.dumps(realm(f"http://localhost:{console_port}")))
    options = ("--import-realm", "--db=dev-mem", "--http-host=127.0.0.1", f"--http-port={port}")
    command = ["sh", str(folder / "bin" / "kc.sh"), "start-dev", *options]
    environment = os.environ | {"JAVA_OPTS_KC_HEAP": "-Xms64m -Xmx512m"}
    issuer = f"http://127.0.0.1:{port}/realms/data"

    def is_ready() -> bool:
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration", timeout=60).close()
            return True
        return False

    log = tmp_path_factory.mktemp("keycloak") / "log.txt"
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            eventually(lambda: process.poll() is not None or is_ready(), READY_S)
            assert process.poll() is None and is_ready(), log.read_text()
            yield console_port, issuer
        finally:
            with suppress(ProcessLookupError):  # it ended by itself
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def console(keycloak: tuple[int, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    port, issuer = keycloak
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o600)
    flags: dict[str, Any] = {
        "server__http_port": port,
        "authentication__methods": ["jwt", "password"],
        "authentication__admins": ["ann"],
        "jwt__issuer": issuer,
        "jwt__audiences": [CLIENT],
        "oidc__client_id": CLIENT,
        "oidc__client_secret_file": str(tmp_path / "secret"),
        "oidc__allowed_groups": ["analysts"],
    }
    server = SecureServer(tmp_path, **flags).start()
    yield Console(f"http://localhost:{port}", issuer, server)
    server.stop()


def log_in(page: Page, user: str) -> None:
    page.get_by_role("link", name="Log in with single sign-on").click()
    page.get_by_label("Username or email").fill(user)
    page.get_by_label("Password", exact=True).fill(user * 2)
    page.get_by_role("button", name="Sign In").click()


def test_users_log_in_at_keycloak_and_out_again(browser: Browser, console: Console) -> None:
    with new_page(browser) as page:
        page.goto(f"{console.url}/#query/7")
        log_in(page, "bob")
        expect(page.get_by_role("alert")).to_contain_text("bob is in none of the groups that may log in")
    with new_page(browser) as page:
        page.goto(f"{console.url}/#query/7")
        log_in(page, "ann")
        logged_in(page, "ann")
        assert page.url == f"{console.url}/#query/7"
        answer = page.evaluate(
            """path => fetch(path, {method: "POST", headers: {"Content-Type": "application/json"},
                                    body: JSON.stringify({statement: "SELECT 1"})}).then(answer => answer.status)""",
            STATEMENTS,
        )
        identity = console.server.engine.runs[-1].context.identity
        assert (answer, identity.principal, identity.groups, identity.method, identity.is_admin) == (
            *(200, "ann", frozenset({"analysts"}), Method.JWT, False),
        )
        log_out(page)
        expect(page.get_by_role("link", name="Log in with single sign-on")).to_be_visible()  # without a question
        assert page.url == f"{console.url}/login"
        log_in(page, "ann")  # Keycloak requests the password again
        logged_in(page, "ann")


def test_service_account_of_keycloak_runs_a_statement(console: Console) -> None:
    form = {"grant_type": "client_credentials", "client_id": CLIENT, "client_secret": SECRET}
    url = f"{console.issuer}/protocol/openid-connect/token"
    with urllib.request.urlopen(url, urlencode(form).encode(), timeout=60) as answer:
        token = json.load(answer)["access_token"]
    sent = console.server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, Authorization=f"Bearer {token}")
    assert sent.status == 200
    assert console.server.engine.sessions[-1].principal == "service-account-delta-gateway"
