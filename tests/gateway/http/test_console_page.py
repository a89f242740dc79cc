"""The console's page: allowed sources, access, and browser caching."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from werkzeug.test import TestResponse

from gateway.authenticators.anonymous import Anonymous
from gateway.http.app import HttpOptions, create_app
from gateway.http.console_page import load_console
from tests.gateway.http.conftest import Api, LocalClient, Maker

CONSOLE = {
    "index.html": b'<meta name="nonce" content="{nonce}"><script src="console/console-1.js"></script>',
    "console-1.js": b"run();",
    "console-2.css": b"p {}",
}


@pytest.fixture
def built(make_api: Maker) -> Iterator[Api]:
    api = make_api()
    app = create_app(api.lifecycle, Anonymous(), HttpOptions(console=CONSOLE))
    yield Api(api.engine, api.registry, api.lifecycle, LocalClient(app, TestResponse))


def test_the_page_runs_nothing_but_its_own_script(built: Api) -> None:
    nonces = []
    for _ in range(2):
        page = built.request("GET", "/")
        policy = dict(part.strip().split(" ", 1) for part in page.headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'"
        assert policy["connect-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
        (nonce,) = re.findall(r'content="([\w-]{16,})"', page.text)
        assert policy["style-src"] == f"'self' 'nonce-{nonce}'"
        nonces.append(nonce)
        assert page.headers["Cache-Control"] == "no-store"
    assert len(set(nonces)) == 2


def test_console_files_are_cached_by_browsers(built: Api) -> None:
    script, styles = (built.request("GET", f"/console/{name}") for name in ("console-1.js", "console-2.css"))
    assert (script.data, script.mimetype) == (b"run();", "text/javascript")
    assert styles.mimetype == "text/css" and "immutable" in styles.headers["Cache-Control"]


@pytest.mark.parametrize("path", ["/console/index.html", "/console/other.js", "/console/../app.py", "/console/"])
def test_unknown_console_paths_are_not_found(built: Api, path: str) -> None:
    assert built.request("GET", path).status_code == 404


def test_a_browser_that_has_to_log_in_is_sent_there(built: Api) -> None:
    built.peer = "192.0.2.7"  # another machine, which a server without authentication does not let in
    answer = built.request("GET", "/")
    assert (answer.status_code, answer.headers["Location"]) == (303, "login")


def test_connection_details_are_served_with_console(built: Api) -> None:
    assert "jdbc:hive2://" in built.request("GET", "/connect").text


def test_a_console_that_was_not_built_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr("gateway.http.console_page.files", lambda _: tmp_path)
    assert load_console() == {}
