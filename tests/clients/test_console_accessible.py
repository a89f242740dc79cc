"""Tests each page of the console in both themes and on narrow screens: no violation by axe-core, nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.clients.axe import ensure_accessible
from tests.clients.console_pages import browser, cell, run
from tests.clients.fix_users import ODD_TABLE, UserServer

pytestmark = [pytest.mark.console, pytest.mark.slow]

__all__ = ["browser"]  # a fixture

_VIEWPORTS: dict[str, ViewportSize] = {
    "wide": {"width": 1280, "height": 720},
    "tablet": {"width": 1024, "height": 768},
    "phone": {"width": 390, "height": 844},
}
_PAGES = ("activity", "grants", "policies", "users", "tokens")
_LONG_NAME = "a_very_long_name_" * 11
_LONG_GROUP = "a group with a long name that is longer than a phone is wide"


@pytest.fixture(scope="module")
def filled(users: UserServer) -> UserServer:
    """Returns the server with a row on each page, and with names of nearly 200 characters."""
    for text in (
        f"CREATE TABLE sales.{_LONG_NAME} (id INT, {_LONG_NAME} STRING)",
        f"CREATE GROUP IF NOT EXISTS `{_LONG_GROUP}`",
        f"GRANT SELECT ON TABLE sales.{_LONG_NAME} TO GROUP `{_LONG_GROUP}`",
        "GRANT USE SCHEMA, SELECT ON SCHEMA sales TO USER ann",
        f"ALTER TABLE {ODD_TABLE} ALTER COLUMN email SET MASK sales.hidden",
        "CREATE TOKEN COMMENT 'the dashboard'",
    ):
        users.rows(text)
    return users


@pytest.fixture(
    params=[
        pytest.param((view, scheme), id=f"{view}-{scheme}", marks=() if view == "wide" else pytest.mark.slow)
        for view in _VIEWPORTS
        for scheme in ("light", "dark")
        if (view, scheme) != ("tablet", "dark")
    ],
)
def page(request: pytest.FixtureRequest, browser: Browser, filled: UserServer) -> Iterator[Page]:
    """Yields the console of the administrator in a viewport and a color scheme."""
    view, scheme = request.param
    with browser.new_context(viewport=_VIEWPORTS[view], color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(f"{filled.url}login")
        page.get_by_label("User").fill("ann")
        page.get_by_label("Password").fill("annann")
        page.keyboard.press("Enter")
        expect(page.get_by_role("navigation", name="Main menu")).to_be_visible()
        yield page


def test_every_page_is_accessible_and_as_wide_as_the_window(page: Page, filled: UserServer) -> None:
    for name in _PAGES:
        page.goto(f"{filled.url}#{name}")
        expect(page.locator(".page h2").first).to_be_visible()
        expect(page.locator(".page").get_by_role("row").or_(page.locator(".empty-state")).first).to_be_visible()
        ensure_accessible(page)
    page.goto(f"{filled.url}#table/spark_catalog/sales/{_LONG_NAME}")
    expect(page.locator(".table-view")).to_contain_text("STRING", ignore_case=True)
    ensure_accessible(page)
    run(page, "SELECT id, id * 2 AS twice, CAST(NULL AS STRING) AS nothing FROM range(100)")
    cell(page, "NULL")
    ensure_accessible(page)
    page.goto(f"{filled.url}connect")
    ensure_accessible(page)
