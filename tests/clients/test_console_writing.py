"""Writing SQL in the console: completion of columns, tables and functions, and the formatter, in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.clients.console_pages import browser, choose, new_tab, opened, page
from tests.clients.fix_server import RealServer

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


@pytest.mark.slow
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


def test_functions_are_completed_with_signature_and_help(page: Page) -> None:
    completed(page, "select ", "regexp_cou", "", "regexp_count")
    expect(page.locator(".cm-completionInfo")).to_contain_text("regexp_count(str, regexp)")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_have_text("select regexp_count()")
    expect(page.locator(".signature-help")).to_have_text("regexp_count(str, regexp)")


@pytest.mark.slow
def test_keywords_follow_the_case_of_the_user(page: Page) -> None:
    completed(page, "", "sel", "", "select")
    completed(page, "", "SEL", "", "SELECT")


def test_format_can_be_undone(page: Page) -> None:
    new_tab(page)
    page.keyboard.insert_text("select a,b from t where x=1")
    page.keyboard.press("Alt+Shift+F")
    lines = page.locator(".cm-line")
    expect(lines).to_have_text(["SELECT a, b", "FROM t", "WHERE x = 1"])
    page.keyboard.press("Control+z")
    expect(lines).to_have_text(["select a,b from t where x=1"])


@pytest.mark.slow
def test_format_highlights_a_syntax_error(server: RealServer, browser: Browser) -> None:
    with opened(browser, f"http://localhost:{server.http_port}/", "status of 400") as page:
        new_tab(page)
        page.keyboard.insert_text("select 1;\nselect from t")
        page.keyboard.press("Alt+Shift+F")
        expect(page.locator(".notices")).to_contain_text("Syntax error")
        expect(page.locator(".cm-lintRange-error")).to_have_text("from")


@pytest.mark.slow
def test_snippet_is_filled_in_field_by_field(page: Page) -> None:
    new_tab(page)
    page.keyboard.type("case")
    page.locator(".cm-tooltip-autocomplete").get_by_role("option", name="case when").click()
    for text in ("n > 1", "'many'", "'one'"):
        page.keyboard.type(text)
        page.keyboard.press("Escape")  # closes the completion of the value
        page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).to_have_text("CASE WHEN n > 1 THEN 'many' ELSE 'one' END")
