"""The console's login page in a browser: expired logins, and accessibility by axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.axe import ensure_accessible
from tests.clients.console_pages import RUN, browser, cell, logged_in, new_tab
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.security.secure_server import SecureServer

pytestmark = pytest.mark.console

__all__ = ["browser"]  # a fixture

NARROW: Any = {"width": 320, "height": 560}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecureServer]:
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    server = SecureServer(tmp_path).start()
    yield server
    server.stop()


@contextmanager
def new_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """Yields a page in a browser without cookies; its scripts must not fail."""
    errors: list[str] = []
    with browser.new_context(**options) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
    assert errors == []


def log_in(page: Page, user: str = "ann") -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(user * 2)
    page.keyboard.press("Enter")


def test_expired_login_returns_to_the_text_of_the_same_tab(browser: Browser, server: SecureServer) -> None:
    url = f"http://localhost:{server.ports.http}/"
    with new_page(browser) as page:
        page.goto(f"{url}#activity")
        log_in(page)
        logged_in(page, "ann")
        assert page.url == f"{url}#activity"
        new_tab(page)
        page.keyboard.insert_text("ROWS 3")
        title = page.locator(".tab.chosen").inner_text()
        page.context.clear_cookies()
        page.keyboard.press(RUN)
        expect(page.get_by_label("Password")).to_be_visible()
        assert page.url == f"{url}login?next="
        log_in(page)
        expect(page.locator(".cm-content")).to_have_text("ROWS 3")
        assert (page.url, page.locator(".tab.chosen").inner_text()) == (url, title)
        page.locator(".cm-content").focus()
        page.keyboard.press(RUN)
        cell(page, "row 2")


def test_wrong_password_is_reported_in_plain_words_and_keeps_the_page(browser: Browser, server: SecureServer) -> None:
    url = f"http://localhost:{server.ports.http}/"
    with new_page(browser) as page:
        page.goto(f"{url}#activity")
        page.get_by_label("User").fill("ann")
        page.get_by_label("Password").fill("guess")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("The user name or password is wrong.")
        log_in(page)
        logged_in(page, "ann")
        assert page.url == f"{url}#activity"


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_login_and_connection_pages_pass_axe_on_a_narrow_screen(
    browser: Browser, server: SecureServer, scheme: str
) -> None:
    with new_page(browser, color_scheme=scheme, viewport=NARROW) as page:
        page.goto(f"http://localhost:{server.ports.http}/login")
        ground = page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 29)"}[scheme]
        ensure_accessible(page)
        page.get_by_label("User").fill("ann")
        page.get_by_label("Password").fill("guess")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        ensure_accessible(page)
        log_in(page)
        logged_in(page, "ann")
        page.goto(f"http://localhost:{server.ports.http}/login")
        expect(page.get_by_text("You are logged in as ann.")).to_be_visible()
        ensure_accessible(page)
        page.goto(f"http://localhost:{server.ports.http}/connect")
        ensure_accessible(page)


@pytest.mark.slow
def test_login_page_of_a_server_without_authentication_says_so(browser: Browser, tmp_path: Path) -> None:
    flags = {"authentication__methods": ["anonymous"], "authentication__password_file": ""}
    server = SecureServer(tmp_path, **flags).start()
    try:
        with new_page(browser) as page:
            page.goto(f"http://localhost:{server.ports.http}/login")
            expect(page.get_by_text("You are not logged in: this server has no authentication.")).to_be_visible()
            expect(page.get_by_role("button")).to_have_count(0)
            page.get_by_role("link", name="Open the console").click()
            logged_in(page, "anonymous")
    finally:
        server.stop()
