"""The console's page of a table: its parts, from a Delta table, an Iceberg table and a view."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.console_pages import browser, page
from tests.clients.fix_server import RealServer

pytestmark = pytest.mark.console
__all__ = ["browser", "page"]

LONG_NAME = "a" * 120
WIDE = ", ".join(f"c{number} INT" for number in range(450))


@pytest.fixture(scope="module", autouse=True)
def tables(server: RealServer) -> Iterator[None]:
    client = server.http()
    for text in (
        "CREATE SCHEMA paged",
        "CREATE TABLE paged.t (id INT NOT NULL, name STRING) USING delta COMMENT 'Things' PARTITIONED BY (name)",
        "INSERT INTO paged.t VALUES (1, 'a'), (2, 'b'), (3, 'b')",
        "DELETE FROM paged.t WHERE id = 3",
        "CREATE TABLE paged.ice USING iceberg AS SELECT id FROM range(7)",
        "CREATE VIEW paged.v AS SELECT id FROM paged.t WHERE id > 1",
        f"CREATE TABLE paged.{LONG_NAME} ({WIDE})",
    ):
        client.run(text)
    yield
    client.run("DROP SCHEMA paged CASCADE")


def show(page: Page, table: str, part: str) -> Locator:
    """Opens a table's page by its URL and returns it."""
    page.evaluate(f"location.hash = '#table/spark_catalog/paged/{table}'")
    view = page.locator(".table-view")
    expect(view.get_by_role("heading", level=2)).to_have_text(f"spark_catalog.paged.{table}")
    view.get_by_role("tab", name=part, exact=True).click()
    return view


def test_sample_shows_rows_and_opens_in_the_editor(page: Page) -> None:
    view = show(page, "t", "Sample")
    expect(view.get_by_role("gridcell")).to_have_text(["1", "a", "2", "b"])
    view.get_by_role("button", name="Open in editor").click()
    expect(page.locator(".cm-content")).to_contain_text("FROM spark_catalog.paged.t")


@pytest.mark.parametrize(("table", "rows"), [("ice", 7), ("v", 1)])
def test_sample_of_iceberg_table_and_view(page: Page, table: str, rows: int) -> None:
    view = show(page, table, "Sample")
    expect(view.get_by_role("gridcell")).to_have_count(rows)


def test_sample_of_a_table_without_rows_says_so(page: Page) -> None:
    view = show(page, LONG_NAME, "Sample")
    expect(view.get_by_role("heading", name="No rows")).to_be_visible()


def test_query_opens_a_tab_and_runs(page: Page) -> None:
    view = show(page, "t", "Columns")
    view.get_by_role("button", name="Query").click()
    expect(page.locator(".summary")).to_contain_text("2 rows")
    expect(page.get_by_role("gridcell").first).to_have_text("1")


def test_definition_is_highlighted_and_copied(page: Page) -> None:
    view = show(page, "t", "DDL")
    expect(view.locator(".sql-text")).to_contain_text("CREATE TABLE `spark_catalog`.`paged`.`t` (")
    expect(view.locator(".tok-keyword").first).to_have_text("CREATE")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copiedText = text }")
    view.get_by_role("button", name="Copy DDL").click()
    expect(page.locator(".notices")).to_contain_text("DDL copied.")
    assert page.evaluate("window.copiedText") == view.locator(".sql-text").inner_text()
    view.get_by_role("button", name="Copy name").click()
    expect(page.locator(".notices")).to_contain_text("Name copied.")
    assert page.evaluate("window.copiedText") == "spark_catalog.paged.t"


def test_grants_are_listed(page: Page, server: RealServer) -> None:
    view = show(page, "v", "Grants")
    expect(view.get_by_role("heading", name="No privileges are granted")).to_be_visible()
    server.http().run("GRANT SELECT ON TABLE paged.t TO USER ann")
    view = show(page, "t", "Grants")
    expect(view.get_by_role("row").nth(1)).to_contain_text("SELECT")
    expect(view.get_by_role("row").nth(1)).to_contain_text("ann")


def test_history_shows_metrics_with_their_names(page: Page) -> None:
    view = show(page, "t", "History")
    rows = view.locator(".history > table tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("added files 1, ")
    expect(rows.nth(0)).to_contain_text("deleted rows 1")
    rows.nth(0).get_by_role("button", name="Changes").click()
    expect(view.locator(".changes")).to_contain_text("+1 file,")
    view = show(page, "ice", "History")
    expect(view.locator(".history > table tbody tr").first).to_contain_text("added records 7")


def test_a_view_has_the_parts_of_views(page: Page) -> None:
    view = show(page, "v", "Columns")
    names = ["Columns", "Sample", "DDL", "Grants", "Lineage", "Properties"]
    expect(view.get_by_role("tab")).to_have_text(names)


@pytest.mark.slow
def test_many_columns_and_a_long_name_stay_usable(page: Page) -> None:
    view = show(page, LONG_NAME, "Columns")
    expect(view.locator("tbody tr")).to_have_count(200)
    view.get_by_role("button", name="Show more").click()
    expect(view.locator("tbody tr")).to_have_count(450)
    view.get_by_label("Filter columns").fill("c44")
    expect(view.locator("tbody tr")).to_have_count(11)
    view.get_by_label("Filter columns").fill("nothing")
    expect(view).to_contain_text("No column matches.")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(view.get_by_role("button", name="Query")).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.slow
@pytest.mark.parametrize("part", ["Columns", "Statistics", "History", "Files", "Properties"])
def test_parts_fit_a_narrow_screen_without_broken_words(page: Page, part: str) -> None:
    view = show(page, "t", part)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(view.locator("table.list, .empty-state").first).to_be_visible()
    assert view.evaluate("(view) => view.scrollWidth <= view.clientWidth")
    if part == "Columns":
        row = view.locator("tbody tr").first
        name, kind = (row.locator(place).bounding_box() for place in (".long-name", "td.code >> nth=0"))
        assert name and kind and kind["y"] >= name["y"] + name["height"]
        assert kind["height"] < 30, "the type is on one line"
    page.set_viewport_size({"width": 1280, "height": 720})


def test_a_table_without_files_says_so(page: Page, server: RealServer) -> None:
    server.http().run("CREATE TABLE paged.empty (id INT)")
    view = show(page, "empty", "Files")
    expect(view.get_by_role("heading", name="The table has no data files")).to_be_visible()
    expect(view.locator(".details-line")).to_contain_text(re.compile("delta · version 0 .* 1 column$"))


def test_statistics_come_from_the_log(page: Page) -> None:
    view = show(page, "t", "Statistics")
    row = view.get_by_role("row", name=re.compile("^id"))
    expect(row).to_contain_text("int")
    expect(view).to_contain_text("2 rows, 2 files.")
    expect(row.locator("td.code")).to_have_text(["int", "1", "2"])


def test_lineage_leads_from_a_table_to_its_views(page: Page) -> None:
    view = show(page, "t", "Lineage")
    view.get_by_role("region", name="Downstream").get_by_role("button", name="paged.v").click()
    expect(page.locator(".table-view").get_by_role("heading", level=2)).to_have_text("spark_catalog.paged.v")
    page.locator(".table-view").get_by_role("tab", name="Lineage").click()
    upstream = page.locator(".table-view").get_by_role("region", name="Upstream")
    expect(upstream.get_by_role("button", name="paged.t")).to_be_visible()
    view = show(page, "ice", "Lineage")
    expect(view.get_by_role("heading", name="No lineage is known")).to_be_visible()
