"""A real server with users for tests of the console: ann is the administrator, bob and zoë are users."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.console_pages import opened
from tests.gateway.authenticators.users import make_users
from tests.security.secure_server import STATEMENTS, basic
from tests.server_process import ServerProcess

_SETUP = (
    "CREATE SCHEMA sales",
    "CREATE TABLE sales.`odd ``name`` ON x` (id INT, region STRING, email STRING) USING delta",
    "INSERT INTO sales.`odd ``name`` ON x` VALUES (1, 'north', 'a@x'), (2, 'south', 'b@x')",
    "CREATE FUNCTION sales.in_north(r STRING) RETURNS BOOLEAN RETURN r = 'north'",
    "CREATE FUNCTION sales.hidden(v STRING) RETURNS STRING RETURN '***'",
)
ODD_TABLE = "sales.`odd ``name`` ON x`"


@dataclass(frozen=True)
class UserServer:
    """A server at which ann is the administrator, and bob and zoë are users."""

    http_port: int

    @property
    def url(self) -> str:
        return f"http://localhost:{self.http_port}/"

    def rows(self, text: str, user: str = "ann", password: str | None = None) -> list[list[str | None]]:
        """Runs a statement, and returns its rows as text."""
        content = json.dumps({"statement": text, "wait_timeout": "50s"}).encode()
        headers = {"Content-Type": "application/json"} | basic(user, password)
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}{STATEMENTS[1:]}", content, headers)) as answer:
            found = json.load(answer)
        assert found["status"] == {"state": "SUCCEEDED"}, found
        rows: list[list[str | None]] = found["result"].get("data_array", [])
        return rows


@contextmanager
def user_server(folder: Path, lake: Path, **settings: str) -> Iterator[UserServer]:
    """Serves a lake to the users of `make_users`; the files of the server are in `folder`. `settings` are further ones,
    by their variables.
    """
    (folder / "catalog").mkdir(mode=0o700)
    process = ServerProcess(
        folder,
        str(lake),
        GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "catalog"),
        GATEWAY_AUTHENTICATION_METHODS='["password", "token"]',
        GATEWAY_AUTHENTICATION_PASSWORD_FILE=str(make_users(folder / "passwords")),
        GATEWAY_AUTHENTICATION_TOKEN_FILE=str(folder / "tokens"),
        GATEWAY_AUTHENTICATION_ADMINS='["ann"]',
        **settings,
    )
    try:
        yield UserServer(process.ports()["http"])
    finally:
        process.popen.send_signal(signal.SIGTERM)
        process.end()


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserServer]:
    folder = tmp_path_factory.mktemp("users")
    lake = folder / "lake"
    lake.mkdir()
    with user_server(folder, lake) as server:
        for text in _SETUP:
            server.rows(text)
        yield server


@contextmanager
def logged_in(browser: Browser, server: UserServer, page_name: str, user: str = "ann") -> Iterator[Page]:
    """Yields the console of a user at a page."""
    with opened(browser, server.url) as page:
        page.get_by_label("User").fill(user)
        page.get_by_label("Password").fill(user * 2)
        page.keyboard.press("Enter")
        expect(page.get_by_role("navigation", name="Main menu")).to_be_visible()
        page.goto(f"{server.url}#{page_name}")
        expect(page.get_by_role("tab", selected=True).first).to_be_visible()
        yield page
