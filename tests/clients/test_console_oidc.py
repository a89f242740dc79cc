"""Console logins in a browser at npm's oidc-provider, unmodified; it is installed for the test.

The console is at `localhost` and the provider at `127.0.0.1`, which are different sites to a browser.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.runtime.identity import Method
from tests.certificates import make_certificate
from tests.clients.axe import ensure_accessible
from tests.clients.console_pages import RUN, browser, cell, log_out, logged_in, new_tab
from tests.clients.environments import NODE, node_packages
from tests.clients.test_console_log_in import NARROW, new_page
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.present import present
from tests.security.secure_server import SecureServer

pytestmark = pytest.mark.console

__all__ = ["browser"]  # a fixture

SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
BUTTON = "Log in with single sign-on"
SECRET = "a secret: with / characters"


@dataclass
class Console:
    """A console whose users log in at a provider; `provider` is its process."""

    url: str
    server: SecureServer
    provider: subprocess.Popen[str]


Maker = Callable[..., Console]


@pytest.fixture
def make_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maker]:
    """Yields a function that starts a provider and a server with these settings."""
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    modules = node_packages("oidc-provider", "oidc-provider@9.13.3")
    with ExitStack() as parts:

        def make(*, secret: str = "", age_s: int = 0, has_tls: bool = False, **flags: Any) -> Console:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            url = f"{'https' if has_tls else 'http'}://localhost:{port}"
            command: list[str | Path] = [NODE, SCRIPT, modules, url, secret, str(age_s)]
            provider = parts.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            parts.callback(provider.kill)
            issuer = f"http://127.0.0.1:{present(provider.stdout).readline().strip()}"
            if has_tls:
                made = make_certificate(tmp_path)
                made.key.chmod(0o600)
                flags |= {"server__tls_certificate": str(made.certificate), "server__tls_key": str(made.key)}
            if secret:
                (tmp_path / "secret").write_text(secret)
                (tmp_path / "secret").chmod(0o600)
                flags["oidc__client_secret_file"] = str(tmp_path / "secret")
            given = {
                "server__http_port": port,
                "authentication__methods": ["jwt", "password"],
                "jwt__issuer": issuer,
                "oidc__client_id": "console",
            }
            server = SecureServer(tmp_path, **given | flags).start()
            parts.callback(server.stop)
            return Console(url, server, provider)

        yield make


def log_in(page: Page, user: str) -> None:
    """Logs in on the provider's pages."""
    page.get_by_role("link", name=BUTTON).click()
    page.get_by_placeholder("Enter any login").fill(user)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


@pytest.mark.parametrize("has_tls", [pytest.param(False, marks=pytest.mark.slow), True])
def test_user_logs_in_at_the_provider_and_out_again(browser: Browser, make_console: Maker, has_tls: bool) -> None:
    console = make_console(secret=SECRET if has_tls else "", has_tls=has_tls)
    with new_page(browser, ignore_https_errors=True) as page:
        page.goto(f"{console.url}/#activity")
        expect(page.get_by_label("Password")).to_be_visible()
        log_in(page, "ann")
        logged_in(page, "ann")
        assert page.url == f"{console.url}/#activity"
        new_tab(page)
        page.keyboard.insert_text("ROWS 3")
        page.keyboard.press(RUN)
        cell(page, "row 2")
        identity = console.server.engine.sessions[-1].identity
        assert (identity.principal, identity.groups, identity.method, identity.is_admin) == (
            *("ann", frozenset({"Analysts", "staff"}), Method.JWT, False),
        )
        (cookie,) = page.context.cookies(console.url)
        prefix = "__Host-" if has_tls else ""
        assert {name: cookie.get(name) for name in ("name", "sameSite", "httpOnly", "secure", "path")} == {
            "name": f"{prefix}dgw",
            "sameSite": "Strict",
            "httpOnly": True,
            "secure": has_tls,
            "path": "/",
        }
        log_out(page)
        page.get_by_role("button", name="Yes, sign me out").click()
        expect(page.get_by_role("link", name=BUTTON)).to_be_visible()
        assert page.url == f"{console.url}/login"
        log_in(page, "ann")  # the provider requests the password again
        logged_in(page, "ann")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_login_page_with_a_provider_passes_axe(browser: Browser, make_console: Maker, scheme: str) -> None:
    console = make_console(oidc__label="Log in with a long name of an identity provider")
    with new_page(browser, color_scheme=scheme, viewport=NARROW) as page:
        page.goto(f"{console.url}/login/callback?state=x")
        expect(page.get_by_role("alert")).to_be_visible()
        ensure_accessible(page)


@pytest.mark.slow
def test_expired_login_returns_from_the_provider_to_the_text(browser: Browser, make_console: Maker) -> None:
    console = make_console()
    with new_page(browser) as page:
        page.goto(f"{console.url}/")
        log_in(page, "ann")
        logged_in(page, "ann")
        new_tab(page)
        page.keyboard.insert_text("ROWS 3")
        page.context.clear_cookies(domain="localhost")
        page.keyboard.press(RUN)
        page.get_by_role("link", name=BUTTON).click()  # the provider still has its own login
        expect(page.locator(".cm-content")).to_have_text("ROWS 3")
        assert page.url == f"{console.url}/"


@pytest.mark.slow
def test_user_without_an_allowed_group_is_refused_and_another_logs_in(browser: Browser, make_console: Maker) -> None:
    console = make_console(oidc__allowed_groups=["analysts"])
    with new_page(browser) as page:
        page.goto(f"{console.url}/#activity")
        log_in(page, "bob")
        expect(page.get_by_role("alert")).to_have_text(
            "bob is in none of the groups that may log in to this server. "
            "Log in as another user, or ask the server's administrator."
        )
        log_in(page, "ann")
        logged_in(page, "ann")
        assert page.url == f"{console.url}/#activity"


@pytest.mark.slow
def test_response_with_a_wrong_state_or_a_second_time_is_refused(browser: Browser, make_console: Maker) -> None:
    console = make_console()
    not_started = "This login was not started in this browser, was completed already, or took too long. Log in again."
    callbacks: list[str] = []
    with new_page(browser) as page:
        page.on("request", lambda one: callbacks.append(one.url) if "/login/callback" in one.url else None)
        page.goto(f"{console.url}/login")
        page.get_by_role("link", name=BUTTON).click()
        expect(page.get_by_placeholder("Enter any login")).to_be_visible()
        (begun,) = page.context.cookies(console.url)
        assert (begun["name"], begun["sameSite"]) == ("dgw-login", "Lax")
        page.goto(f"{console.url}/login/callback?state=other&code=c1")
        expect(page.get_by_role("alert")).to_have_text(not_started)
        callbacks.clear()
        log_in(page, "ann")
        logged_in(page, "ann")
        (callback,) = callbacks
        page.goto(callback)
        expect(page.get_by_role("alert")).to_have_text(not_started)
        assert "code=" in callback and "code=" not in page.inner_html("body")


@pytest.mark.slow
def test_replayed_code_is_refused_by_the_provider(browser: Browser, make_console: Maker) -> None:
    console = make_console()
    callbacks: list[str] = []
    with new_page(browser) as page:
        page.on("request", lambda one: callbacks.append(one.url) if "/login/callback" in one.url else None)
        page.goto(f"{console.url}/login")
        page.get_by_role("link", name=BUTTON).click()
        expect(page.get_by_placeholder("Enter any login")).to_be_visible()
        stolen: list[Any] = page.context.cookies(console.url)
        page.get_by_placeholder("Enter any login").fill("ann")
        page.get_by_placeholder("and password").fill("any")
        page.get_by_role("button", name="Sign-in").click()
        page.get_by_role("button", name="Continue").click()
        logged_in(page, "ann")
        (callback,) = callbacks
        page.context.add_cookies(stolen)
        page.goto(callback)
        expect(page.get_by_role("alert")).to_have_text(
            "The login at the identity provider failed: grant request is invalid (invalid_grant). Log in again."
        )


@pytest.mark.slow
def test_expired_id_token_is_refused(browser: Browser, make_console: Maker, caplog: pytest.LogCaptureFixture) -> None:
    console = make_console(age_s=7200)
    with new_page(browser) as page:
        page.goto(f"{console.url}/login")
        log_in(page, "ann")
        expect(page.get_by_role("alert")).to_contain_text("its ID token is not valid")
        assert page.context.cookies(console.url) == []
    assert "it has expired" in caplog.text


@pytest.mark.slow
def test_provider_that_is_down_is_reported_and_passwords_still_work(browser: Browser, make_console: Maker) -> None:
    console = make_console()
    down = "The identity provider does not respond as expected, so users cannot log in with it."
    requests: list[str] = []
    with new_page(browser) as page:
        page.on("request", lambda one: requests.append(one.url))
        page.goto(f"{console.url}/login")
        page.get_by_role("link", name=BUTTON).click()
        expect(page.get_by_placeholder("Enter any login")).to_be_visible()
        (state,) = [parse_qs(urlsplit(url).query)["state"][0] for url in requests if "state=" in url]
        console.provider.kill()
        console.provider.wait()
        page.goto(f"{console.url}/login/callback?state={state}&code=c1")
        expect(page.get_by_role("alert")).to_contain_text(down)
        page.get_by_role("link", name=BUTTON).click()
        expect(page.get_by_role("alert")).to_contain_text(down)
        assert page.url.startswith(f"{console.url}/login/provider")
        page.get_by_label("User").fill("bob")
        page.get_by_label("Password").fill("bobbob")
        page.keyboard.press("Enter")
        logged_in(page, "bob")
