"""The console's charts: kinds, series, the picture as a file and as a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.clients.console_pages import browser, cell, choose, page, run

pytestmark = pytest.mark.console
__all__ = ["browser", "page"]

ROWS = """SELECT DATE'2024-01-01' + CAST(id / 2 AS INT) AS day, IF(id % 2 = 0, 'even', 'odd') AS parity, id AS n
FROM range(0, 20, 1, 1)"""
PNG = b"\x89PNG\r\n\x1a\n"


def draw(page: Page, text: str) -> None:
    run(page, text)
    expect(page.locator(".summary")).to_contain_text("row")
    page.get_by_role("tab", name="chart").click()
    expect(page.locator(".plot svg")).to_be_visible()


def shown(page: Page) -> tuple[str | None, str | None]:
    """Returns the kind of the chart and its number of points."""
    plot = page.locator(".plot")
    expect(plot.locator("svg path").first).to_be_attached()
    return plot.get_attribute("data-kind"), plot.get_attribute("data-points")


def test_kinds_of_charts_are_drawn_with_a_description(page: Page) -> None:
    draw(page, ROWS)
    assert shown(page) == ("line", "20")
    for kind, points in (("Area", "20"), ("Bar", "10"), ("Pie", "10"), ("Histogram", "5"), ("Scatter", "20")):
        choose(page, "Kind of chart", kind)
        expect(page.locator(".plot")).to_have_attribute("data-kind", kind.lower())
        assert shown(page) == (kind.lower(), points)
    expect(page.get_by_role("img", name=re.compile("chart", re.IGNORECASE))).to_be_visible()


@pytest.mark.slow
def test_series_by_column_are_shown_as_a_table(page: Page) -> None:
    draw(page, ROWS)
    choose(page, "Kind of chart", "Bar")
    choose(page, "Series by column", "parity")
    page.get_by_label("Stacked").check()
    page.get_by_role("button", name="Show as table").click()
    table = page.locator(".chart-table")
    expect(table.get_by_role("columnheader")).to_have_text(["day", "even", "odd"])
    expect(table.get_by_role("row").nth(10)).to_have_text("2024-01-101819")
    page.get_by_role("button", name="Show as chart").click()
    assert shown(page) == ("bar", "10")


@pytest.mark.slow
def test_the_chart_stays_while_rows_are_shown(page: Page) -> None:
    draw(page, ROWS)
    choose(page, "Kind of chart", "Bar")
    page.get_by_label("Title").fill("Numbers by day")
    page.keyboard.press("Tab")
    expect(page.locator(".plot svg text").filter(has_text="Numbers by day")).to_have_count(1)
    page.get_by_role("tab", name="rows").click()
    cell(page, "even")
    page.get_by_role("tab", name="chart").click()
    expect(page.locator(".plot svg text").filter(has_text="Numbers by day")).to_have_count(1)
    assert shown(page) == ("bar", "10")


@pytest.mark.slow
def test_the_chart_of_a_tab_survives_a_reload(page: Page) -> None:
    draw(page, ROWS)
    choose(page, "Kind of chart", "Area")
    expect(page.locator(".plot")).to_have_attribute("data-kind", "area")
    page.reload()
    page.get_by_role("tab", name="chart").click()
    expect(page.locator(".plot")).to_have_attribute("data-kind", "area")
    assert shown(page) == ("area", "20")


def test_a_chart_is_downloaded_as_png_with_its_title(page: Page, tmp_path: Path) -> None:
    draw(page, ROWS)
    page.get_by_label("Title").fill("Numbers / day")
    page.keyboard.press("Tab")
    with page.expect_download() as started:
        page.get_by_role("button", name="PNG").click()
    assert started.value.suggested_filename == "Numbers  day.png"
    started.value.save_as(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(PNG)


@pytest.mark.slow
def test_a_log_scale_leaves_out_zero(page: Page) -> None:
    draw(page, "SELECT id AS x, id * 10 AS y FROM range(0, 20, 1, 1)")
    ticks = page.locator(".plot svg text").filter(has_text=re.compile("^150$"))
    expect(ticks).to_have_count(1)
    page.get_by_label("Log scale").check()
    expect(page.locator(".chart")).to_contain_text("A logarithmic scale has no values of 0 and less.")
    expect(ticks).to_have_count(0)


@pytest.mark.slow
def test_filtered_rows_are_drawn(page: Page) -> None:
    run(page, ROWS)
    page.get_by_role("gridcell", name="even").first.click(button="right")
    page.get_by_role("menuitem", name="Filter by this value").click()
    expect(page.locator(".grid-bar")).to_contain_text("10 of 20 rows")
    page.get_by_role("tab", name="chart").click()
    assert shown(page) == ("line", "10")
    expect(page.locator(".chart")).to_contain_text("Rows that satisfy the grid's filters are drawn.")


@pytest.mark.slow
def test_a_million_points_are_drawn_with_few_elements(page: Page) -> None:
    choose(page, "Rows at most", "1,000,000 rows")
    draw(page, "SELECT id, sin(id / 50000) + rand(1) / 10 AS y FROM range(1000000)")
    assert shown(page) == ("scatter", "1000000")
    assert page.locator(".plot svg *").count() < 15_000
    choose(page, "Kind of chart", "Line")
    assert shown(page) == ("line", "1000000")
    expect(page.locator(".chart")).to_contain_text("the extreme ones in each interval are drawn")
    page.keyboard.press("Alt+n")
    expect(page.locator(".cm-placeholder")).to_be_visible()


def test_a_result_without_columns_to_draw_says_so(page: Page) -> None:
    run(page, "SELECT array(1) AS a")
    cell(page, "[1]")
    page.get_by_role("tab", name="chart").click()
    expect(page.get_by_role("heading", name="The result cannot be drawn")).to_be_visible()
