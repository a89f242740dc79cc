"""Links to results in the console: text, state and rows of a statement; and the order of tabs, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.console_pages import browser, cell, new_tab, opened, page
from tests.clients.fix_server import RealServer
from tests.clients.test_console_queries import logged_in
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.security.secure_server import SecureServer, basic

__all__ = ["browser", "page"]
pytestmark = pytest.mark.console


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecureServer]:
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    server = SecureServer(tmp_path, authentication__admins=["zoë"]).start()
    yield server
    server.stop()


def follow(page: Page, statement_id: str) -> None:
    page.evaluate(f"location.hash = '#result/{statement_id}'")


def test_link_to_a_result_shows_text_state_and_rows(page: Page, server: RealServer) -> None:
    session = server.http().session()
    statement_id = session.run("SELECT id + 40 AS n\nFROM range(3)")["statement_id"]
    follow(page, statement_id)
    expect(page.locator(".tab.chosen")).to_have_text("Result: SELECT id + 40 AS n FRO…")
    expect(page.locator(".linked .sql-text")).to_have_text("SELECT id + 40 AS n\nFROM range(3)")
    expect(page.locator(".linked [role=status]")).to_contain_text("succeeded · anonymous · ")
    cell(page, "42")
    page.reload()
    cell(page, "42")
    expect(page.locator(".linked .sql-text")).to_contain_text("FROM range(3)")
    page.get_by_role("button", name="Open in a new tab").click()
    expect(page.locator(".cm-content")).to_contain_text("SELECT id + 40 AS n")
    session.close()


def test_link_to_a_failed_statement_shows_its_error_and_place(page: Page, server: RealServer) -> None:
    session = server.http().session()
    failed = session.wait(session.submit("SELECT *\nFROM missing_here"))
    follow(page, failed["statement_id"])
    expect(page.locator(".linked [role=status]")).to_contain_text("failed · anonymous · ")
    expect(page.get_by_role("alert")).to_contain_text("`missing_here` cannot be found")
    expect(page.locator(".excerpt")).to_have_text("FROM missing_here\n     ^")
    session.close()


def test_user_sees_text_without_rows_of_a_closed_result(browser: Browser, users: SecureServer) -> None:
    made = users.ask("POST", "/api/2.0/sql/statements", {"statement": "ROWS 3"}, **basic("ann")).body["statement_id"]
    url = f"http://localhost:{users.ports.http}/"
    with logged_in(browser, users, "bob") as bob:
        bob.goto(f"{url}#result/{made}")
        expect(bob.get_by_role("heading", name="Result not found")).to_be_visible()
    with logged_in(browser, users, "zoë") as admin:
        admin.goto(f"{url}#result/{made}")
        expect(admin.locator(".linked .sql-text")).to_have_text("ROWS 3")
        expect(admin.locator(".linked [role=status]")).to_contain_text("succeeded · ann · ")
        expect(admin.get_by_role("heading", name="The rows are not available here")).to_be_visible()
        expect(admin.get_by_role("gridcell")).to_have_count(0)
    with logged_in(browser, users, "ann") as ann:
        ann.goto(f"{url}#result/{made}")
        expect(ann.get_by_role("gridcell").first).to_be_visible()
        users.ask("DELETE", f"/api/2.0/sql/statements/{made}", **basic("ann"))
        ann.reload()
        expect(ann.locator(".linked .sql-text")).to_have_text("ROWS 3")
        expect(ann.get_by_role("heading", name="The rows are not available here")).to_be_visible()


def titles(page: Page) -> list[str]:
    return page.locator(".tab-title").all_inner_texts()


@pytest.mark.slow
def test_tabs_move_by_menu_and_mouse_and_stay_there_after_a_reload(browser: Browser, server: RealServer) -> None:
    with opened(browser, f"http://localhost:{server.http_port}/") as page:
        for _ in range(3):
            new_tab(page)
        assert titles(page) == ["Query 1", "Query 2", "Query 3", "Query 4"]
        page.get_by_role("button", name="More tabs and commands").click()
        expect(page.get_by_role("menuitem", name="Move the tab right")).to_be_disabled()
        page.get_by_role("menuitem", name=re.compile("^Move the tab left")).click()
        assert titles(page) == ["Query 1", "Query 2", "Query 4", "Query 3"]
        page.locator(".tab").nth(0).drag_to(page.locator(".tab").nth(2))
        assert titles(page) == ["Query 2", "Query 4", "Query 1", "Query 3"]
        page.get_by_role("tab", name="Query 3").click()
        page.get_by_role("tab", name="Query 3").focus()
        page.keyboard.press("Alt+Shift+ArrowLeft")
        moved = ["Query 2", "Query 4", "Query 3", "Query 1"]
        assert titles(page) == moved
        page.reload()
        expect(page.locator(".tab-title")).to_have_text(moved)
