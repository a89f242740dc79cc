"""The console in a browser, as people use it, over a real server."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.console_pages import CANCEL, RUN, browser, cell, choose, new_tab, opened, page, run
from tests.clients.fix_server import RealServer
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.security.secure_server import SecureServer

__all__ = ["browser", "page"]
pytestmark = pytest.mark.console


def test_a_statement_runs_and_cells_are_text(page: Page) -> None:
    html = "<img src=x onerror=alert(1)>"
    run(
        page,
        f"SELECT '{html}' AS `<b>name</b>`, CAST(NULL AS INT) AS n, 12345678901234567890.10BD AS d, 'two\\nlines' AS t",
    )
    cell(page, html)
    cell(page, "NULL")
    cell(page, "12345678901234567890.10")
    cell(page, "two⏎lines")
    expect(page.get_by_role("columnheader").first).to_have_text("<b>name</b>string")
    expect(page.locator(".summary")).to_contain_text("1 row ·")


def test_the_statement_at_the_cursor_runs_and_sessions_last(page: Page) -> None:
    run(page, "SET VAR x = 1")
    expect(page.get_by_role("alert")).to_contain_text("UNRESOLVED_VARIABLE")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("DECLARE VARIABLE x INT DEFAULT 41;\nSELECT x + 1 AS answer;")
    page.keyboard.press("Control+Home")
    page.keyboard.press(RUN)
    expect(page.locator(".summary")).to_contain_text(re.compile(r"\d m?s$"))
    page.keyboard.press("Control+End")
    page.keyboard.press(RUN)
    cell(page, "42")


def test_error_position_is_highlighted(page: Page) -> None:
    run(page, "SELECT 1;\nSELECT nope FROM weather")
    expect(page.get_by_role("alert")).to_contain_text("`nope` cannot be resolved")
    expect(page.locator(".cm-lintRange-error")).to_have_text("nope")
    run(page, "SELECT 1;\nSELECT weathr.day\nFROM weathr")
    expect(page.get_by_role("alert")).to_contain_text("`weathr` cannot be found")
    expect(page.get_by_role("alert").get_by_role("button", name="Line 3, column 6")).to_be_visible()
    expect(page.locator(".cm-lintRange-error")).to_have_text("weathr")


def test_rows_are_fetched_where_they_are_looked_at(page: Page) -> None:
    choose(page, "Rows at most", "1,000,000 rows")
    run(page, "SELECT id, concat('row ', id) AS name FROM range(1000000)")
    cell(page, "row 0")
    page.locator(".scroller").evaluate("node => { node.scrollTop = node.scrollHeight }")
    cell(page, "row 999999")
    page.get_by_role("columnheader", name="id").click()
    page.get_by_role("columnheader", name="id").click()
    cell(page, "row 999990")
    page.locator(".scroller").focus()
    page.keyboard.press("Control+End")
    cell(page, "row 0")
    assert page.locator(".cell").count() < 200


def test_a_statement_is_cancelled(page: Page) -> None:
    run(page, "SELECT max(a.id + b.id) FROM range(100000000000) a JOIN range(1000) b ON a.id % 1000 = b.id")
    expect(page.locator(".progress")).to_contain_text("tasks")
    page.keyboard.press(CANCEL)
    expect(page.get_by_role("alert")).to_contain_text("cancel")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()


def test_a_profile_tells_what_was_read(page: Page) -> None:
    run(page, "SELECT max(order_id) FROM shop.orders WHERE channel <> ''")
    expect(page.locator(".summary")).to_contain_text("1 row")
    page.get_by_role("tab", name="Profile").click()
    expect(page.locator(".stages")).to_contain_text("execute")
    expect(page.locator(".profile")).to_contain_text("orders")
    page.get_by_role("button", name="Show EXPLAIN").click()
    expect(page.locator(".plan")).to_contain_text("Plan")


def test_a_result_is_downloaded(page: Page, tmp_path: Path) -> None:
    run(page, "SELECT 1 AS a, 'x,y' AS b")
    cell(page, "x,y")
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV").click()
    started.value.save_as(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == 'a,b\n1,"x,y"\n'


def test_tables_are_browsed(page: Page, server: RealServer) -> None:
    client = server.http()
    client.run("CREATE SCHEMA IF NOT EXISTS looked")
    client.run("CREATE TABLE looked.at (id INT, name STRING) PARTITIONED BY (name)")
    client.run("INSERT INTO looked.at VALUES (1, 'a'), (2, 'b')")
    client.run("ALTER TABLE looked.at ADD COLUMN later DATE")
    page.get_by_role("button", name="Refresh").click()
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("at")
    page.get_by_role("treeitem", name="at", exact=True).click()
    view = page.locator(".table-view")
    expect(view.get_by_role("row", name="name")).to_contain_text("partition")
    view.get_by_role("tab", name="history").click()
    view.get_by_role("button", name="Changes").first.click()
    expect(view.get_by_role("row", name="column later")).to_contain_text("date")
    choose(page, "From version", "0")
    expect(view.locator(".added").first).to_contain_text("+2 files")
    view.get_by_role("tab", name="files").click()
    expect(view.locator("rect.file")).to_have_count(2)
    page.get_by_label("Filter tables").fill("")


def test_keys_alone_are_enough(page: Page) -> None:
    new_tab(page)
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("order_items")
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem", name="order_items")).to_be_visible()
    page.keyboard.press("End")  # in the filter, not in the tree
    page.keyboard.press("ArrowDown")
    expect(tree.get_by_role("treeitem", name="spark_catalog")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(tree.get_by_role("treeitem", name="shop")).to_be_focused()  # and no schema without a match
    page.keyboard.press("End")
    expect(tree.get_by_role("treeitem", name="system")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(tree.get_by_role("treeitem", name="order_items")).to_be_focused()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".cm-content")).to_have_text("shop.order_items")
    page.keyboard.press("Control+k")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile(r"shop\. ?order_items"))).to_be_visible()
    page.get_by_role("tab", name="columns").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Sample")).to_be_focused()
    expect(page.get_by_role("tab", name="Sample")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Alt+a")
    expect(page.get_by_label("Search statements")).to_be_visible()
    page.get_by_label("Filter tables").fill("")


def test_statement_outcome_is_shown(page: Page) -> None:
    run(page, "SELECT gone_wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    page.keyboard.press("Alt+a")
    page.get_by_label("Search statements").fill("gone_wrong")
    others = page.locator("td.statement button").filter(has_not_text="gone_wrong")
    expect(others).to_have_count(0)  # nothing moves below the mouse any more
    page.get_by_role("button", name="SELECT gone_wrong").first.click()
    expect(page.locator(".details")).to_contain_text("`gone_wrong` cannot be resolved")
    expect(page.locator(".details .stages")).to_contain_text("analyze")
    page.get_by_label("Search statements").fill("")


def test_names_are_completed(page: Page) -> None:
    new_tab(page)
    page.keyboard.type("SELECT * FROM shop.or")
    for _ in range(60):  # the page loads the names when it opens, and completes only then
        page.keyboard.type("d")
        with suppress(AssertionError):
            expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("orders", timeout=2000)
            break
        page.keyboard.press("Backspace")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("orders", timeout=2000)
    page.keyboard.press("Escape")


def test_running_statement_is_listed_and_ended(page: Page, server: RealServer) -> None:
    run(page, "SELECT max(a.id + b.id) AS endless FROM range(100000000000) a JOIN range(1000) b ON a.id % 1000 = b.id")
    expect(page.locator(".progress")).to_be_visible()
    page.get_by_role("button", name="Activity", exact=True).click()
    page.get_by_label("Search statements").fill("endless")
    row = page.get_by_role("row", name="endless")
    expect(row).to_contain_text("running")
    row.get_by_role("button", name="Cancel").click()
    expect(row).to_contain_text("canceled")


def test_tabs_survive_a_reload(page: Page) -> None:
    run(page, "SELECT 'kept ' || 7 AS what")
    cell(page, "kept 7")
    titles = page.locator(".tab").all_inner_texts()
    page.reload()
    cell(page, "kept 7")
    expect(page.locator(".cm-content")).to_have_text("SELECT 'kept ' || 7 AS what")
    assert page.locator(".tab").all_inner_texts() == titles


def test_users_log_in_and_see_what_is_theirs(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    server = SecureServer(tmp_path).start()
    try:
        server.submit("SELECT 1", user="bob", wait_timeout="10s")
        with opened(browser, f"http://localhost:{server.ports.http}/") as page:
            expect(page.get_by_label("User")).to_be_visible()
            page.get_by_label("User").fill("ann")
            page.get_by_label("Password").fill("annann")
            page.keyboard.press("Enter")
            expect(page.get_by_role("button", name="User ann")).to_be_visible()
            run(page, "ROWS 3")
            cell(page, "row 2")
            page.get_by_role("button", name="Activity", exact=True).click()
            expect(page.locator(".activity tbody tr")).to_have_count(1)
            expect(page.locator(".activity tbody tr")).to_contain_text("ROWS 3")
            page.get_by_role("button", name="User ann").click()
            page.get_by_role("menuitem", name="Log out").click()
            page.get_by_role("button", name="Log out").click()  # of the login page
            expect(page.get_by_label("User")).to_be_visible()
            page.goto(f"http://localhost:{server.ports.http}/")
            expect(page.get_by_label("User")).to_be_visible()
    finally:
        server.stop()
