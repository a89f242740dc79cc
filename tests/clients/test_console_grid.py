"""The console's grid: filters, column menu, copies, and keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.console_pages import browser, cell, choose, page, run
from tests.clients.fix_server import RealServer

pytestmark = pytest.mark.console
__all__ = ["browser", "page"]

ROWS = "SELECT id, concat('row ', id) AS name, IF(id % 4 = 0, NULL, id / 2) AS half FROM range(0, 100000, 1, 1)"


def header(page: Page, name: str) -> None:
    """Opens the menu of a column."""
    page.get_by_role("columnheader", name=re.compile(f"^{name} ")).click(button="right")


def command(page: Page, name: str) -> None:
    page.get_by_role("menuitem", name=name, exact=True).click()


def shown(page: Page, column: int, count: int) -> list[str]:
    """Returns the first cells of a column."""
    cells = page.locator(f".cell[aria-colindex='{column}']")
    expect(cells.nth(count - 1)).not_to_have_class(re.compile("loading"))
    return cells.all_inner_texts()[:count]


def copied(page: Page) -> str:
    """Returns the text that a copy puts on the clipboard."""
    text: str = page.evaluate("window.copiedText")
    return text


@pytest.fixture(autouse=True)
def clipboard(page: Page) -> None:
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copiedText = text }")


def test_filters_select_from_the_whole_result(page: Page) -> None:
    run(page, ROWS)
    cell(page, "row 0")
    header(page, "name")
    command(page, "Filter…")
    page.get_by_role("textbox", name="Value").fill("ROW 9999")
    page.keyboard.press("Enter")
    expect(page.locator(".grid-bar")).to_contain_text("11 of 100,000 rows")
    assert shown(page, 1, 11) == ["9999", *(str(number) for number in range(99990, 100000))]
    header(page, "half")
    command(page, "Filter…")
    page.get_by_role("textbox", name="From").fill("49998.5")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".grid-bar")).to_contain_text("3 of 100,000 rows")
    assert shown(page, 2, 3) == ["row 99997", "row 99998", "row 99999"]
    header(page, "id")
    command(page, "Sort descending")
    expect(page.locator(".cell").first).to_have_text("99999")
    assert shown(page, 1, 3) == ["99999", "99998", "99997"]
    header(page, "half")
    command(page, "Filter…")
    choose(page, "Condition", "is NULL")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".grid-bar")).to_contain_text("2 of 100,000 rows")
    assert shown(page, 1, 2) == ["99996", "99992"]
    page.get_by_role("button", name=re.compile("^Remove filter name contains")).click()
    expect(page.locator(".grid-bar")).to_contain_text("25,000 of 100,000 rows")
    header(page, "id")
    command(page, "Filter…")
    page.get_by_role("textbox", name="From").fill("200000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="No row satisfies the filters")).to_be_visible()
    page.get_by_role("button", name="Remove all filters").click()
    cell(page, "row 99999")


@pytest.mark.slow
def test_value_of_another_type_is_rejected_in_the_dialog(server: RealServer, browser: Browser) -> None:
    page = browser.new_page()  # the browser writes rejected requests to its console
    page.goto(f"http://localhost:{server.http_port}/")
    run(page, ROWS)
    cell(page, "row 0")
    header(page, "half")
    command(page, "Filter…")
    page.get_by_role("textbox", name="From").fill("many")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("alert")).to_contain_text("must have values of the type of half")
    page.get_by_role("textbox", name="From").fill("49999.5")
    page.keyboard.press("Enter")
    expect(page.locator(".grid-bar")).to_contain_text("1 of 100,000 rows")
    page.close()


@pytest.mark.slow
def test_filter_stays_while_the_chart_is_shown(page: Page) -> None:
    run(page, ROWS)
    page.get_by_role("gridcell", name="row 7", exact=True).click(button="right")
    command(page, "Filter by this value")
    expect(page.locator(".grid-bar")).to_contain_text("1 of 100,000 rows")
    page.get_by_role("tab", name="chart").click()
    expect(page.locator(".grid")).to_have_count(0)
    page.get_by_role("tab", name="rows").click()
    expect(page.locator(".grid-bar")).to_contain_text("1 of 100,000 rows")
    assert shown(page, 2, 1) == ["row 7"]


def test_statistics_of_a_column_are_those_of_all_rows(page: Page) -> None:
    run(page, ROWS)
    cell(page, "row 0")
    header(page, "half")
    command(page, "Statistics…")
    table = page.get_by_role("dialog").get_by_role("table")
    expect(table).to_have_text("Rows100,000NULLs25,000Distinct values75,000Minimum0.5Maximum49999.5")
    page.keyboard.press("Escape")


@pytest.mark.slow
def test_columns_are_hidden_and_shown(page: Page) -> None:
    run(page, ROWS)
    cell(page, "row 0")
    header(page, "name")
    command(page, "Hide column")
    expect(page.get_by_role("columnheader", name=re.compile("^name "))).to_have_count(0)
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    expect(page.locator(".notices")).to_contain_text("100,000 rows copied.")
    assert copied(page).splitlines()[:3] == ["id\thalf", "0\t", "1\t0.5"]
    page.get_by_role("button", name="Columns (1 hidden)").click()
    command(page, "Show all columns")
    cell(page, "row 0")
    header(page, "name")
    command(page, "Copy column")
    expect(page.locator(".notices p")).to_have_count(2)
    assert copied(page).splitlines() == ["name", *(f"row {number}" for number in range(100_000))]


@pytest.mark.slow
def test_copy_that_exceeds_the_limit_names_its_rows_and_offers_a_file(page: Page) -> None:
    run(page, "SELECT id, repeat('x', 1000) AS x FROM range(0, 70000, 1, 1)")
    cell(page, "0")
    page.get_by_role("gridcell").first.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    message = page.locator(".grid-messages")
    expect(message).to_contain_text(re.compile(r"63,\d{3} of 70,000 rows were copied\."))
    text = copied(page)
    assert 63_990_000 < len(text) <= 64_000_000
    lines = text.split("\n")
    assert f"{len(lines) - 1:,} of 70,000" in message.inner_text()
    assert lines[-1] == f"{len(lines) - 2}\t{'x' * 1000}"
    expect(message.get_by_role("link", name="Download CSV for all rows")).to_be_visible()


@pytest.mark.slow
def test_keys_keep_the_current_cell_in_view(page: Page) -> None:
    columns = ", ".join(f"id + {number} AS column_number_{number}" for number in range(200))
    run(page, f"SELECT {columns} FROM range(0, 5000, 1, 1)")
    page.get_by_role("gridcell").first.click()
    for key, text in (("End", "199"), ("Control+End", "5198"), ("Home", "4999"), ("Control+Home", "0")):
        page.keyboard.press(key)
        current = page.locator(".head-cell")
        expect(current).to_have_text(text)
        expect(current).to_be_in_viewport(ratio=0.9)
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".head-cell")).to_have_text("12")
    expect(page.locator(".head-cell")).to_be_in_viewport(ratio=0.9)
    active = page.get_by_role("grid").get_attribute("aria-activedescendant")
    assert page.locator(".head-cell").get_attribute("id") == active
    page.keyboard.press("Alt+ArrowDown")
    command(page, "Sort descending")
    cell(page, "5011")
    arrow = page.locator(".head .arrow")
    expect(arrow).to_be_in_viewport(ratio=1)
    assert page.locator(".cell").count() < 600


@pytest.mark.slow
def test_digits_are_grouped_on_request(page: Page) -> None:
    run(page, "SELECT 1234567.891BD AS d, '1234567' AS s")
    cell(page, "1234567.891")
    for expected in ("1,234,567.891", "1234567.891"):
        page.get_by_role("button", name="Columns", exact=True).click()
        command(page, "Group digits")
        cell(page, expected)
        cell(page, "1234567")


def test_grid_has_valid_roles(page: Page) -> None:
    run(page, ROWS)
    cell(page, "row 0")
    wrong = page.evaluate(
        """() => {
          const allowed = { grid: ["row"], row: ["gridcell", "columnheader", "rowheader"] };
          const owned = (node) => [...node.children].filter((child) => child.getAttribute("aria-hidden") !== "true")
            .flatMap((child) => child.getAttribute("role") || child.tabIndex >= 0 ? [child] : owned(child));
          return [...document.querySelectorAll("[role=grid], [role=row]")].flatMap((node) =>
            owned(node).filter((child) => !allowed[node.getAttribute("role")]?.includes(child.getAttribute("role"))))
            .map((node) => node.outerHTML);
        }"""
    )
    assert wrong == []
