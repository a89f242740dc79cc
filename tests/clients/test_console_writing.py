"""Writing SQL in the console: completion of names and keywords, in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.console_pages import browser, choose, new_tab, page

__all__ = ["browser", "page"]
pytestmark = pytest.mark.console

ATTEMPTS = 60


def completed(page: Page, before: str, typed: str, after: str, expected: str) -> Locator:
    """Types between two texts until `expected` is offered, since the page loads names in the background."""
    new_tab(page)
    page.keyboard.insert_text(before + after)
    for _ in after:
        page.keyboard.press("ArrowLeft")
    option = page.locator(".cm-tooltip-autocomplete li").filter(has=page.get_by_text(expected, exact=True)).first
    for _ in range(ATTEMPTS):
        page.keyboard.type(typed)
        page.wait_for_timeout(1000)
        if option.is_visible():
            break
        page.keyboard.press("Escape")
        for _ in typed:
            page.keyboard.press("Backspace")
    expect(option).to_be_visible()
    return option


def test_columns_are_completed_without_an_alias(page: Page) -> None:
    option = completed(page, "SELECT ", "stat", " FROM shop.orders", "status")
    expect(option).to_have_text("statusstring")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_have_text("SELECT status FROM shop.orders")


def test_tables_of_the_current_schema_are_completed(page: Page) -> None:
    new_tab(page)
    page.keyboard.press("Alt+w")
    completed(page, "SELECT * FROM shop.", "ord", "", "orders")
    choose(page, "Current catalog and schema", "spark_catalog.shop")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("SELECT * FROM order_it")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("order_items")


def test_keywords_follow_the_case_of_the_user(page: Page) -> None:
    completed(page, "", "sel", "", "select")
    completed(page, "", "SEL", "", "SELECT")
