"""The console's picture of an executed plan."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.console_pages import browser, page, run

pytestmark = pytest.mark.console
__all__ = ["browser", "page"]


def profile(page: Page, text: str) -> Locator:
    """Runs a statement and returns its profile."""
    run(page, text)
    expect(page.locator(".summary")).to_contain_text("row")
    page.get_by_role("tab", name="profile").click()
    return page.locator(".profile")


def test_plan_is_a_graph_with_rows_pruning_and_the_slowest_node(page: Page) -> None:
    shown = profile(page, "SELECT channel, max(order_id + 7) FROM shop.orders GROUP BY channel")
    graph = shown.get_by_role("group", name="Executed plan")
    scan = graph.get_by_role("button", name=re.compile("^Scan parquet, shop.orders, .* files?, .* rows"))
    expect(scan).to_have_count(1)
    expect(graph.locator(".slowest")).to_have_count(1)
    expect(shown).to_contain_text("summed over tasks")
    titles = shown.get_by_role("heading", level=3)
    expect(titles).to_have_text(["Time", "Read", "Plan", "Log"])


@pytest.mark.slow
def test_keys_move_between_operators_and_zoom(page: Page) -> None:
    shown = profile(page, "SELECT channel, max(order_id + 8) FROM shop.orders GROUP BY channel")
    graph = shown.get_by_role("group", name="Executed plan")
    graph.get_by_role("button", name=re.compile("^Scan")).press("Enter")
    details = shown.locator(".plan-details")
    expect(details).to_contain_text("FileScan parquet")
    expect(details).to_contain_text("number of files read")
    page.keyboard.press("ArrowDown")
    expect(details.locator("h4")).not_to_have_text("Scan parquet")
    page.keyboard.press("ArrowUp")
    expect(details.locator("h4")).to_have_text("Scan parquet")
    before = graph.locator("svg > g").get_attribute("transform") or ""
    page.keyboard.press("+")
    expect(graph.locator("svg > g")).not_to_have_attribute("transform", before)
    page.keyboard.press("0")
    shown.get_by_role("button", name="Show as text").click()
    expect(shown.locator(".plan-text")).to_contain_text(re.compile(r"\n +Scan parquet \(shop.orders; "))


@pytest.mark.slow
def test_cached_result_has_the_plan_of_its_first_run(page: Page) -> None:
    query = "SELECT channel, max(order_id + 9) FROM shop.orders GROUP BY channel"
    profile(page, query)
    shown = profile(page, query)
    expect(shown).to_contain_text("The rows came from the result cache, and nothing was executed.")
    expect(shown).to_contain_text(re.compile(r"are those of the run at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\."))
    expect(
        shown.get_by_role("group", name="Executed plan").get_by_role("button", name=re.compile("^Scan"))
    ).to_have_count(1)


def test_answer_from_the_log_shows_the_statistics_used(page: Page) -> None:
    shown = profile(page, "SELECT count(*), max(order_date) FROM shop.orders")
    expect(shown).to_contain_text("The answer came from the table's log, and no data file was read.")
    expect(shown).to_contain_text(re.compile(r"Version 0 of `spark_catalog`.`shop`.`orders`: statistics of \d+ files"))
    expect(shown.locator("code.mark")).to_have_text(["count(*)", "max(order_date)"])
