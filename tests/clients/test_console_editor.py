"""The console's editor and results in a browser: several statements, errors at their position, text results."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.clients.console_pages import CANCEL, RUN, browser, cell, choose, new_tab, opened, page, run
from tests.clients.fix_server import RealServer

__all__ = ["browser", "page"]
pytestmark = pytest.mark.console

RUN_ALL = "Control+Shift+Enter"


def write(page: Page, text: str) -> None:
    """Writes a text into a new tab."""
    new_tab(page)
    page.keyboard.insert_text(text)


def results(page: Page) -> Locator:
    return page.get_by_role("tablist", name="Results").get_by_role("tab")


def last_tab(page: Page) -> dict[str, Any]:
    """Returns the last tab as the browser keeps it."""
    stored = page.evaluate("Object.entries(localStorage).find(([key]) => key.includes('console.tabs'))[1]")
    tab: dict[str, Any] = json.loads(stored)["tabs"][-1]
    return tab


def test_all_statements_run_in_one_session_with_a_result_each(page: Page) -> None:
    write(page, "DECLARE VARIABLE times INT DEFAULT 3;\nSELECT id FROM range(3);\nSELECT times * 7 AS product")
    page.keyboard.press(RUN_ALL)
    expect(results(page)).to_have_count(3)
    expect(results(page).nth(2)).to_have_text("Result 3: SELECT times * 7 AS pro…, succeeded1")
    expect(results(page).nth(1)).to_have_text("Result 2: SELECT id FROM range(3), succeeded3")
    cell(page, "21")
    results(page).nth(1).click()
    cell(page, "2")
    results(page).nth(0).click()
    expect(page.get_by_role("heading", name="The statement succeeded. It returns no rows.")).to_be_visible()


def test_failed_statement_ends_the_others_unless_errors_are_ignored(page: Page) -> None:
    write(page, "SELECT 'first' AS a;\nSELECT missing_1;\nSELECT 'last' AS a")
    page.get_by_role("button", name="Run all").click()
    expect(results(page).nth(2)).to_contain_text("not run")
    expect(page.get_by_role("alert")).to_contain_text("`missing_1` cannot be resolved")
    page.get_by_role("button", name="Commands of the query").click()
    page.get_by_role("menuitem", name="Continue on error").click()
    page.get_by_role("button", name="Run all").click()
    expect(results(page).nth(2)).to_contain_text("succeeded")
    expect(results(page).nth(1)).to_contain_text("failed")
    cell(page, "last")
    page.get_by_role("button", name="Commands of the query").click()
    page.get_by_role("menuitem", name="Continue on error").click()


def test_selected_statements_run(page: Page) -> None:
    write(page, "SELECT 1 AS a;\nSELECT 2 AS b;\nSELECT 3 AS c")
    page.keyboard.press("Control+Home")
    for _ in range(2):
        page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press(RUN)
    expect(results(page)).to_have_count(2)
    expect(results(page).nth(1)).to_contain_text("SELECT 2 AS b, succeeded")


def test_cancel_ends_the_running_statement_and_skips_the_others(page: Page) -> None:
    endless = "SELECT max(a.id + b.id) FROM range(100000000000) a JOIN range(1000) b ON a.id % 1000 = b.id"
    write(page, f"{endless};\nSELECT 2")
    page.keyboard.press(RUN_ALL)
    expect(page.locator(".progress")).to_contain_text("tasks")
    page.keyboard.press(CANCEL)
    expect(results(page).nth(0)).to_contain_text("canceled")
    expect(results(page).nth(1)).to_contain_text("not run")


@pytest.mark.slow
def test_each_result_keeps_its_view_and_reload_restores_them(page: Page) -> None:
    write(page, "SELECT 'a' AS city, 1 AS n;\nSELECT 'b' AS city, 2 AS n")
    page.keyboard.press(RUN_ALL)
    expect(results(page).nth(1)).to_contain_text("succeeded")
    page.get_by_role("tab", name="Profile").click()
    results(page).nth(0).click()
    cell(page, "a")
    page.get_by_role("tab", name="Chart").click()
    expect(page.locator(".plot")).to_be_visible()
    page.reload()
    expect(page.get_by_role("tab", name="Chart")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".plot")).to_be_visible()
    results(page).nth(1).click()
    expect(page.locator(".profile")).to_be_visible()
    page.get_by_role("tab", name="Rows").click()
    cell(page, "b")


@pytest.mark.slow
def test_errors_of_all_statements_are_highlighted_at_their_position(page: Page) -> None:
    write(page, "SELECT 1;\nSELECT status,\n  s.nope FROM shop.orders s;\nSELECT 1/0;\nSELEC 3")
    page.get_by_role("button", name="Commands of the query").click()
    page.get_by_role("menuitem", name="Continue on error").click()
    page.get_by_role("button", name="Run all").click()
    expect(results(page).nth(3)).to_contain_text("failed")
    expect(page.locator(".cm-lintRange-error")).to_have_text(["s.nope", "1", "SELEC"])
    results(page).nth(1).click()
    alert = page.get_by_role("alert")
    expect(alert.get_by_role("button", name="Line 3, column 3")).to_be_visible()
    expect(alert).to_contain_text("ConditionUNRESOLVED_COLUMN.WITH_SUGGESTION")
    expect(alert).to_contain_text("SQLSTATE42703")
    results(page).nth(2).click()
    expect(alert).to_contain_text("Hint Use `try_divide`")
    alert.get_by_role("button", name="Line 4, column 8").click()
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.type("2")  # replaces the selection
    expect(page.locator(".cm-content")).to_contain_text("SELECT 2/0;")
    page.get_by_role("button", name="Commands of the query").click()
    page.get_by_role("menuitem", name="Continue on error").click()


@pytest.mark.slow
def test_plans_and_single_texts_keep_their_line_breaks(page: Page) -> None:
    run(page, "EXPLAIN SELECT city FROM shop.customers")
    expect(page.locator(".text-result pre")).to_have_text(re.compile("^== Physical Plan ==\n"))
    run(page, "SELECT 'one\\ntwo' AS lines")
    expect(page.locator(".text-result pre")).to_have_text("one\ntwo")
    run(page, "SELECT 'short' AS word")
    cell(page, "short")


def test_parameters_are_sent_with_their_types_and_survive_a_reload(page: Page) -> None:
    write(page, "SELECT typeof(:n) AS t, :n + 1.25 AS sum, :day AS day, ':no' AS text, :none IS NULL AS is_null")
    fields = page.get_by_role("form", name="Parameters")
    expect(fields.get_by_role("group")).to_have_count(3)
    choose(page, "Type of n", "decimal")
    page.get_by_label("Value of n", exact=True).fill("12.50")
    choose(page, "Type of day", "date")
    page.get_by_label("Value of day").fill("2026-02-03")
    choose(page, "Type of none", "NULL")
    page.get_by_label("Value of n", exact=True).press("Enter")
    for text in ("decimal(4,2)", "13.75", "2026-02-03", ":no", "true"):
        cell(page, text)
    page.reload()
    expect(page.get_by_label("Value of day")).to_have_value("2026-02-03")
    choose(page, "Type of n", "integer")
    page.get_by_label("Value of n", exact=True).fill("twelve")
    page.get_by_label("Value of n", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("'twelve'")


def test_current_schema_is_visible_can_be_changed_and_follows_use(page: Page) -> None:
    context = page.get_by_role("combobox", name="Current catalog and schema")
    run(page, "SELECT count(*) AS n FROM weather")
    expect(page.locator(".summary")).to_contain_text("1 row")
    expect(context).to_have_text("spark_catalog.default")
    choose(page, "Current catalog and schema", "spark_catalog.shop")
    expect(context).to_have_text("spark_catalog.shop")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SELECT current_schema() AS here, count(*) > 0 AS has_rows FROM orders")
    page.keyboard.press(RUN)
    cell(page, "shop")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("USE default")
    page.keyboard.press(RUN)
    expect(context).to_have_text("spark_catalog.default")


def test_cached_and_truncated_results_say_so(page: Page) -> None:
    choose(page, "Rows at most", "1,000 rows")
    query = "SELECT max(id) AS cached_maximum FROM (SELECT customer_id AS id FROM shop.customers)"
    run(page, query)
    expect(page.locator(".summary")).to_contain_text("1 row")
    run(page, query)
    expect(page.locator(".result-line")).to_contain_text("From result cache")
    run(page, "SELECT id FROM range(5000)")
    expect(page.locator(".summary")).to_contain_text("The first 1,000 rows: the row limit cut the result off")
    choose(page, "Rows at most", "1,000,000 rows")


@pytest.mark.slow
def test_lost_connection_is_retried(server: RealServer, browser: Browser) -> None:
    with opened(browser, f"http://localhost:{server.http_port}/", "ERR_INTERNET_DISCONNECTED") as page:
        run(page, "SELECT max(a.id + b.id) AS s FROM range(100000000000) a JOIN range(1000) b ON a.id % 1000 = b.id")
        expect(page.locator(".progress")).to_contain_text("tasks")
        page.context.set_offline(True)
        notices = page.locator(".notices")
        expect(notices).to_contain_text("The connection to the server was lost")
        page.context.set_offline(False)
        expect(notices).to_contain_text("The server answers again.")
        page.keyboard.press(CANCEL)
        expect(page.get_by_role("alert")).to_contain_text("cancel")


@pytest.mark.slow
def test_expired_session_is_replaced_with_a_notice(server: RealServer, browser: Browser) -> None:
    with opened(browser, f"http://localhost:{server.http_port}/", "status of 404") as page:
        run(page, "SELECT 1 AS a")
        expect(page.locator(".summary")).to_contain_text("1 row")
        server.http().ask("POST", f"/sessions/{last_tab(page)['sessionId']}/end")
        page.keyboard.press(RUN)
        expect(page.locator(".notices")).to_contain_text("temporary views and variables do not exist any more")
        expect(page.locator(".summary")).to_contain_text("1 row")


@pytest.mark.slow
def test_result_link_shows_a_result_and_says_when_it_is_gone(page: Page, browser: Browser) -> None:
    run(page, "SELECT 'linked' AS word, 1 AS n")
    cell(page, "linked")
    url = page.url.split("#")[0]
    with opened(browser, f"{url}#result/{last_tab(page)['runs'][0]['statementId']}") as other:
        cell(other, "linked")
        assert "#result/" in other.url
    with opened(browser, f"{url}#result/{'0' * 32}", "status of 404") as other:
        expect(other.get_by_role("heading", name="Result not found")).to_be_visible()


@pytest.mark.slow
def test_tabs_are_renamed_moved_and_reopened(page: Page) -> None:
    write(page, "SELECT 'reopen me'")
    tabs = page.get_by_role("tablist", name="Tabs").get_by_role("tab")
    tabs.last.dblclick()
    page.get_by_role("textbox", name="Name").fill("Reopened")
    page.keyboard.press("Enter")
    expect(tabs.last).to_have_text("Reopened")
    tabs.last.focus()
    page.keyboard.press("Alt+Shift+ArrowLeft")
    expect(tabs.nth(-2)).to_have_text("Reopened")
    tabs.nth(-2).click()
    page.keyboard.press("Alt+w")
    expect(tabs.filter(has_text="Reopened")).to_have_count(0)
    page.keyboard.press("Alt+t")
    expect(tabs.last).to_have_text("Reopened")
    expect(page.locator(".cm-content")).to_have_text("SELECT 'reopen me'")


@pytest.mark.slow
def test_rows_of_a_result_are_aggregated_and_pivoted_in_a_new_tab(page: Page) -> None:
    rows = "VALUES ('b', 'it''s', 1), ('a', 'x', 2), ('b', 'x', 4) AS t(city, kind, n)"
    write(page, f"SELECT city, kind, n FROM {rows} WHERE n < :most")
    choose(page, "Type of most", "integer")
    page.get_by_label("Value of most", exact=True).fill("9")
    page.get_by_label("Value of most", exact=True).press("Enter")
    cell(page, "it's")
    page.get_by_role("button", name="Aggregate or pivot the rows").click()
    page.get_by_role("checkbox", name="city").check()
    choose(page, "Columns of the result", "A column for each kind")
    choose(page, "Aggregate function", "Sum")
    page.get_by_role("button", name="Run in a new tab").click()
    expect(page.get_by_role("columnheader")).to_have_text([re.compile("^city"), re.compile("^it's"), re.compile("^x")])
    expect(page.get_by_role("gridcell")).to_have_text(["a", "NULL", "2", "b", "1", "4"])
    expect(page.locator(".cm-content")).to_contain_text("PIVOT (sum(n) FOR kind IN ('it\\'s', 'x'))")
    run(page, "SHOW TABLES IN shop")
    cell(page, "orders")
    expect(page.get_by_role("button", name="Aggregate or pivot the rows")).to_have_count(0)
