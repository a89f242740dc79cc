"""The lineage part of a table's page in the console: both directions, statements, columns and links."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from catalog.lineage.edges import Edge, End, EndKind
from catalog.lineage.recorder import open_lineage
from tests.clients.console_pages import browser, page
from tests.clients.fix_server import RealServer

pytestmark = pytest.mark.console
__all__ = ["browser", "page"]

LONG_NAME = "z" * 120


@pytest.fixture(scope="module", autouse=True)
def tables(server: RealServer) -> Iterator[None]:
    client = server.http()
    for text in (
        "CREATE SCHEMA led",
        "CREATE TABLE led.a AS SELECT 1 AS id, 'x' AS name",
        "CREATE VIEW led.v AS SELECT * FROM led.a",
        "CREATE TABLE led.t AS SELECT id, name FROM led.a",
        "INSERT INTO led.t SELECT * FROM led.a",
        "INSERT INTO led.t SELECT * FROM led.v",
        f"CREATE TABLE led.{LONG_NAME} USING iceberg AS SELECT id FROM led.t",
        "CREATE TABLE led.alone (id INT)",
        "CREATE TABLE led.empty (id INT)",
    ):
        client.run(text)
    yield
    client.run("DROP SCHEMA led CASCADE")


def lineage(page: Page, table: str) -> Locator:
    """Opens the lineage of a table and returns the page's part."""
    page.evaluate(f"location.hash = '#table/spark_catalog/led/{table}'")
    view = page.locator(".table-view")
    expect(view.get_by_role("heading", level=2)).to_have_text(f"spark_catalog.led.{table}")
    view.get_by_role("tab", name="Lineage", exact=True).click()
    return view


def test_both_directions_have_statements_and_lead_to_tables(page: Page) -> None:
    view = lineage(page, "t")
    upstream = view.get_by_role("region", name="Upstream")
    expect(upstream.get_by_role("button")).to_have_text(["led.v", "led.a"])
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d by \w+"
    statements = upstream.get_by_role("listitem").nth(1).locator(".note")
    expect(statements).to_have_text(
        [re.compile(rf"^INSERT ?{time}, 2 statements$"), re.compile(rf"^CREATE TABLE AS SELECT ?{time}$")]
    )
    view.get_by_role("region", name="Downstream").get_by_role("button").click()
    expect(page.locator(".table-view h2")).to_have_text(f"spark_catalog.led.{LONG_NAME}")


def test_columns_open_and_files_have_their_path(page: Page, server: RealServer) -> None:
    another = open_lineage(str(server.lake / ".catalog"))  # as another server on the catalog, with an audit log
    target = End(EndKind.TABLE, ("spark_catalog", "led", "alone"))
    for source, columns in (
        (End(EndKind.TABLE, ("spark_catalog", "led", "a")), (("id", "id"), ("name", "<b>id</b>"))),
        (End(EndKind.PATH, ("/landing/2026",)), ()),
    ):
        edge = Edge(
            source=source,
            target=target,
            statement_type="COPY INTO",
            user="zoë",
            statement_id="",
            first_ms=0,
            last_ms=86_400_000,
            columns=columns,
        )
        another.record([edge])
    another.close()
    upstream = lineage(page, "alone").get_by_role("region", name="Upstream")
    expect(upstream).to_contain_text("/landing/2026")
    expect(upstream.get_by_text("id → id")).to_be_hidden()
    upstream.get_by_text("2 columns").press("Enter")
    expect(upstream.locator(".code")).to_have_text(["id → id", "name → <b>id</b>"])


@pytest.mark.slow
def test_long_name_stays_in_a_narrow_page(page: Page) -> None:
    view = lineage(page, "t")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(view.get_by_role("button", name=LONG_NAME)).to_be_visible()
    assert page.evaluate("document.querySelector('.table-view').scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 720})


def test_table_without_lineage_says_so(page: Page) -> None:
    view = lineage(page, "empty")
    expect(view.get_by_role("heading", name="No lineage is known")).to_be_visible()
    view = lineage(page, "a")
    expect(view.get_by_role("region", name="Upstream")).to_contain_text("none")
    expect(view.get_by_role("region", name="Downstream").get_by_role("listitem").first).to_have_text(
        re.compile("led.v ?by the view's text")
    )
