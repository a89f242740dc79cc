"""Saved queries in the console: folders, sharing with another user, conflicts, and links, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from catalog.queries.store import QueryStore
from catalog.store.files import LocalFiles
from engine.saved_queries import SavedQueries
from tests.clients.console_pages import browser, choose, new_tab, opened
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.security.secure_server import SecureServer

__all__ = ["browser"]
pytestmark = pytest.mark.console


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecureServer]:
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    server = SecureServer(tmp_path).start()
    yield server
    server.stop()


@contextmanager
def logged_in(browser: Browser, server: SecureServer, user: str) -> Iterator[Page]:
    with opened(browser, f"http://localhost:{server.ports.http}/", "status of 4(00|04|09)") as page:
        page.get_by_label("User").fill(user)
        page.get_by_label("Password").fill(user * 2)
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name=f"User {user}")).to_be_visible()
        yield page


def save(page: Page, text: str, name: str, folder: str) -> None:
    """Saves a text as a new query, from a new tab."""
    new_tab(page)
    page.keyboard.insert_text(text)
    page.keyboard.press("Control+s")
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_label("Folder").fill(folder)
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".tab.chosen")).to_have_text(name)


def queries(page: Page) -> None:
    """Shows the list of saved queries."""
    page.get_by_role("tab", name="Queries").click()
    expect(page.get_by_label("Search saved queries")).to_be_visible()


def command(page: Page, query: str, name: str) -> None:
    page.get_by_role("button", name=query, exact=True).hover()
    page.get_by_role("button", name=f"Commands of {query}", exact=True).click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def test_queries_are_saved_in_folders_found_renamed_moved_and_deleted(browser: Browser, server: SecureServer) -> None:
    with logged_in(browser, server, "ann") as page:
        queries(page)
        expect(page.get_by_role("heading", name="No saved queries")).to_be_visible()
        save(page, "ROWS 3", "Revenue", "reports / daily")
        save(page, "ROWS 4", "Stock", "/")
        own = page.get_by_role("region", name="My queries")
        expect(own.locator("li button:not(.icon-only)")).to_have_text(["reports", "daily", "Revenue", "Stock"])
        page.get_by_label("Search saved queries").fill("rows 4")
        expect(own.get_by_role("button", name="Revenue", exact=True)).to_have_count(0)
        expect(own.get_by_role("button", name="Stock", exact=True)).to_be_visible()
        page.get_by_label("Search saved queries").fill("nothing of this")
        expect(page.get_by_text("No saved query contains “nothing of this”")).to_be_visible()
        page.get_by_label("Search saved queries").fill("")
        command(page, "Stock", "Rename")
        page.get_by_role("textbox", name="Name").fill("Inventory")
        page.keyboard.press("Enter")
        expect(page.locator(".tab.chosen")).to_have_text("Inventory")
        command(page, "Inventory", "Move")
        page.get_by_label("Folder").fill("/reports")
        page.keyboard.press("Enter")
        expect(own.locator("li button:not(.icon-only)")).to_have_text(["reports", "daily", "Revenue", "Inventory"])
        command(page, "Inventory", "Duplicate")
        expect(page.locator(".tab.chosen")).to_have_text("Inventory (copy)")
        command(page, "Inventory (copy)", "Delete the query")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(own.get_by_role("button", name="Inventory (copy)", exact=True)).to_have_count(0)
        expect(page.get_by_role("tab", name="Inventory (copy)")).to_have_count(0)
        own.get_by_role("button", name="reports", exact=True).hover()
        page.get_by_role("button", name="Commands of /reports", exact=True).click()
        page.get_by_role("menuitem", name="Delete the folder").click()
        expect(page.get_by_role("dialog")).to_contain_text("/reports and its 2 queries are deleted")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="No saved queries")).to_be_visible()


@pytest.mark.slow
def test_unsaved_changes_have_a_mark(browser: Browser, server: SecureServer) -> None:
    with logged_in(browser, server, "ann") as page:
        save(page, "ROWS 3", "Revenue", "/")
        mark = page.locator(".tab.chosen .unsaved")
        expect(mark).to_have_count(0)
        page.locator(".cm-content").click()
        page.keyboard.press("Control+End")
        page.keyboard.type("0")
        expect(mark).to_be_visible()
        page.reload()
        expect(mark).to_be_visible()
        page.locator(".cm-content").click()
        page.keyboard.press("Control+s")
        expect(page.locator(".notices")).to_contain_text("“Revenue” is saved.")
        expect(mark).to_have_count(0)
        page.keyboard.press("Alt+w")
        queries(page)
        page.get_by_role("button", name="Revenue", exact=True).click()
        expect(page.locator(".cm-content")).to_have_text("ROWS 30")


def test_shared_query_opens_by_its_link_for_whom_it_is_shared_with(browser: Browser, server: SecureServer) -> None:
    with logged_in(browser, server, "ann") as ann, logged_in(browser, server, "bob") as bob:
        save(ann, "ROWS 3", "Revenue", "/")
        link = ann.url
        assert "#query/" in link
        bob.goto(link)
        expect(bob.get_by_role("heading", name="Query not found")).to_be_visible()
        queries(ann)
        command(ann, "Revenue", "Share…")
        ann.get_by_label("User or group", exact=True).fill("nobody")
        ann.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(ann.locator(".notices")).to_contain_text("The server has never seen nobody: check the spelling")
        command(ann, "Revenue", "Share…")
        expect(ann.locator(".share-list li")).to_contain_text("nobody (never seen by this server)")
        ann.get_by_role("button", name="Remove nobody").click()
        ann.get_by_label("User or group", exact=True).fill("bob")
        ann.get_by_role("dialog").get_by_role("button", name="Add").click()
        expect(ann.locator(".share-list li")).to_contain_text("bob")
        ann.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(ann.get_by_role("dialog")).to_have_count(0)
        bob.reload()
        expect(bob.locator(".cm-content")).to_have_text("ROWS 3")
        queries(bob)
        expect(bob.get_by_role("region", name="Shared by ann")).to_contain_text("Revenue")
        bob.locator(".cm-content").click()
        bob.keyboard.press("Control+s")
        expect(bob.get_by_role("dialog")).to_contain_text("You save a copy")
        bob.keyboard.press("Escape")


@pytest.mark.slow
def test_change_of_another_user_is_a_conflict(browser: Browser, server: SecureServer) -> None:
    with logged_in(browser, server, "ann") as ann, logged_in(browser, server, "bob") as bob:
        save(ann, "ROWS 3", "Revenue", "/")
        queries(ann)
        command(ann, "Revenue", "Share…")
        ann.get_by_label("User or group", exact=True).fill("bob")
        ann.get_by_role("dialog").get_by_role("button", name="Add").click()
        choose(ann, "Permission of bob", "Can edit")
        ann.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(ann.get_by_role("dialog")).to_have_count(0)
        bob.goto(ann.url)
        expect(bob.locator(".cm-content")).to_have_text("ROWS 3")
        for page, text in ((bob, "ROWS 5"), (ann, "ROWS 7")):
            page.locator(".cm-content").click()
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(text)
            page.keyboard.press("Control+s")
            if page is bob:
                expect(page.locator(".notices")).to_contain_text("is saved")
        expect(ann.get_by_role("dialog", name="The query has changed")).to_be_visible()
        ann.get_by_role("button", name="Discard my changes").click()
        expect(ann.locator(".cm-content")).to_have_text("ROWS 5")
        expect(ann.locator(".unsaved")).to_have_count(0)


@pytest.mark.slow
def test_unreadable_query_is_named_and_can_be_deleted(browser: Browser, tmp_path: Path, server: SecureServer) -> None:
    store = QueryStore(LocalFiles(str(tmp_path / "catalog/queries")))
    server.engine.saved_queries = SavedQueries(store, server.engine.catalog)
    with logged_in(browser, server, "ann") as page:
        save(page, "ROWS 3", "Revenue", "/")
        save(page, "ROWS 4", "Stock", "/")
        broken = page.url.split("/")[-1]
        (file,) = (tmp_path / "catalog/queries/objects").glob(f"{broken}@*")
        file.write_text("{")
        store = QueryStore(LocalFiles(str(tmp_path / "catalog/queries")))
        server.engine.saved_queries = SavedQueries(store, server.engine.catalog)
        queries(page)
        expect(page.get_by_role("alert")).to_contain_text(f"The query {broken} cannot be read: no JSON")
        expect(page.get_by_role("button", name="Revenue", exact=True)).to_be_visible()
        page.get_by_role("button", name=f"Delete the query {broken}").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("button", name="Revenue", exact=True)).to_be_visible()
