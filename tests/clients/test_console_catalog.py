"""The console's catalog in a browser: its tree and filter, commands of an object, its width, and why it is empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.console_pages import browser, opened, run
from tests.clients.fix_server import RealServer
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.security.secure_server import SecureServer

pytestmark = pytest.mark.console

__all__ = ["browser"]  # a fixture


@pytest.fixture
def page(server: RealServer, browser: Browser) -> Iterator[Page]:
    with opened(browser, f"http://localhost:{server.http_port}/") as page:
        expect(page.get_by_role("treeitem", name="default")).to_be_visible()
        yield page


def test_filter_finds_columns_and_reports_that_nothing_matches(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("shop.signed_")
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem", name="signed_up")).to_contain_text("date")
    expect(tree.get_by_role("treeitem", name="customers")).to_be_visible()
    expect(tree.get_by_role("treeitem", name="weather")).to_have_count(0)
    page.get_by_label("Filter tables").fill("no such name")
    expect(page.get_by_text("No table or column matches “no such name”.")).to_be_visible()
    expect(page.get_by_label("Filter tables")).to_be_in_viewport()


@pytest.mark.slow
def test_commands_of_a_table_insert_its_name_and_query_it(page: Page) -> None:
    page.get_by_role("treeitem", name="shop").click()
    page.get_by_role("treeitem", name="order_items").click(button="right")
    page.get_by_role("menuitem", name="SELECT in a new tab").click()
    expect(page.locator(".cm-content")).to_have_text("SELECT *FROM shop.order_itemsLIMIT 1000;")
    page.keyboard.press("Alt+n")
    page.get_by_role("treeitem", name="orders").focus()
    page.keyboard.press("Shift+F10")
    expect(page.get_by_role("menu")).to_be_visible()
    page.get_by_role("menuitem", name="Insert the name").press("Enter")
    expect(page.locator(".cm-content")).to_have_text("shop.orders")
    expect(page.get_by_role("menu")).to_have_count(0)


@pytest.mark.slow
def test_columns_of_a_table_open_by_keyboard(page: Page) -> None:
    page.get_by_role("treeitem", name="weather").focus()
    page.keyboard.press("ArrowRight")
    column = page.get_by_role("treeitem", name="temperature_c")
    expect(column).to_contain_text("double")
    page.keyboard.press("ArrowLeft")
    expect(column).to_have_count(0)


def test_created_and_dropped_table_follow_without_a_refresh(page: Page) -> None:
    run(page, "CREATE TABLE made_now (id INT)")
    made = page.get_by_role("treeitem", name="made_now")
    expect(made).to_be_visible()
    run(page, "DROP TABLE made_now")
    expect(made).to_have_count(0)


@pytest.mark.slow
def test_width_of_the_catalog_changes_by_keys_and_mouse_and_survives_a_reload(page: Page) -> None:
    edge = page.get_by_role("separator", name="Width of the catalog")
    edge.press("Home")
    expect(edge).to_have_attribute("aria-valuenow", "160")
    edge.press("ArrowRight")
    expect(edge).to_have_attribute("aria-valuenow", "176")
    box = edge.bounding_box()
    assert box
    page.mouse.move(box["x"] + 4, 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 104, 300)
    page.mouse.up()
    width = edge.get_attribute("aria-valuenow")
    assert width is not None
    assert 270 <= int(width) <= 280
    page.reload()
    expect(page.get_by_role("separator")).to_have_attribute("aria-valuenow", width)
    panel = page.get_by_role("complementary", name="Catalog").bounding_box()
    assert panel
    assert panel["width"] == int(width)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "text"),
    [
        ("ann", "No tables below this folder. How tables are found"),
        ("bob", "You may not see any table. Ask an owner for USE and SELECT."),
    ],
    ids=["administrator", "user without rights"],
)
def test_empty_catalog_reports_why(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, text: str
) -> None:
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    server = SecureServer(tmp_path, authentication__admins=["ann"]).start()
    try:
        with opened(browser, f"http://localhost:{server.ports.http}/") as page:
            page.get_by_label("User").fill(user)
            page.get_by_label("Password").fill(user * 2)
            page.keyboard.press("Enter")
            expect(page.locator(".panel-note")).to_have_text(text)
            expect(page.get_by_role("treeitem", name=re.compile("default"))).to_be_visible()
    finally:
        server.stop()
