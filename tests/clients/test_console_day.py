"""An analyst's day in the console: login at a provider, a table, statements, a shared query, and the next day.

The server and the provider (npm's oidc-provider) are real.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.console_pages import browser, cell, choose, new_tab
from tests.clients.environments import NODE, node_packages
from tests.clients.fix_users import UserServer
from tests.clients.test_console_log_in import new_page
from tests.clients.test_console_oidc import SCRIPT, log_in
from tests.gateway.authenticators.users import make_users
from tests.present import present
from tests.server_process import ServerProcess

pytestmark = pytest.mark.console

__all__ = ["browser"]  # a fixture

RUN_ALL = "Control+Shift+Enter"
SETUP = (
    "CREATE SCHEMA sales",
    "CREATE TABLE sales.orders (id INT, region STRING, amount DECIMAL(10, 2), email STRING)",
    "INSERT INTO sales.orders VALUES (1, 'north', 10.50, 'a@x'), (2, 'south', 20.00, 'b@x'), (3, 'north', 5.25, 'c@x')",
    "CREATE FUNCTION sales.hidden(v STRING) RETURNS STRING RETURN if(current_user() = 'ida', v, '***')",
    "ALTER TABLE sales.orders ALTER COLUMN email SET MASK sales.hidden",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
    "GRANT USE SCHEMA ON SCHEMA sales TO `account users`",
    "GRANT SELECT ON TABLE sales.orders TO `account users`",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[UserServer]:
    """Yields a server at which the local administrator ann has set up a table; all others log in at the provider."""
    modules = node_packages("oidc-provider", "oidc-provider@9.13.3")
    for private in ("lake", "catalog"):
        (tmp_path / private).mkdir(mode=0o700)
    with ExitStack() as parts:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command: list[str | Path] = [NODE, SCRIPT, modules, f"http://localhost:{port}", "", "0"]
        provider = parts.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        parts.callback(provider.kill)
        process = ServerProcess(
            tmp_path,
            *("--http-port", str(port), "--thrift-port", "0", str(tmp_path / "lake")),
            GATEWAY_LAKE_CATALOG_FOLDER=str(tmp_path / "catalog"),
            GATEWAY_AUTHENTICATION_METHODS='["password", "jwt"]',
            GATEWAY_AUTHENTICATION_PASSWORD_FILE=str(make_users(tmp_path / "users")),
            GATEWAY_AUTHENTICATION_ADMINS='["ann"]',
            GATEWAY_JWT_ISSUER=f"http://127.0.0.1:{present(provider.stdout).readline().strip()}",
            GATEWAY_OIDC_CLIENT_ID="console",
        )
        parts.callback(process.end)
        parts.callback(lambda: process.popen.send_signal(signal.SIGTERM))
        found = UserServer(process.ports()["http"])
        for text in SETUP:
            found.rows(text)
        yield found


def results(page: Page) -> list[str]:
    return page.get_by_role("tablist", name="Results").get_by_role("tab").all_inner_texts()


def find_and_preview_the_table(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("orders")
    expect(page.get_by_role("treeitem", name="orders")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="orders")).to_be_visible()
    page.get_by_role("tab", name="Sample").click()
    cell(page, "b@x")


def write_with_completion(page: Page) -> None:
    new_tab(page)
    page.keyboard.type("SELECT * FROM sales.ord")
    completion = page.locator(".cm-tooltip-autocomplete").get_by_role("option")
    completion.filter(has_text="orders").click()
    page.keyboard.type(" WHERE regi")
    completion.filter(has_text=re.compile("^region")).click()
    page.keyboard.type(" = 'south'")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".cm-content")).to_have_text("SELECT * FROM sales.orders WHERE region = 'south'")
    cell(page, "20.00")


def run_three_statements_and_fix_one(page: Page) -> None:
    new_tab(page)
    page.keyboard.insert_text(
        "USE sales;\nSELECT count(*) AS orders FROM orders;\nSELECT region,\n  sum(amont) FROM orders GROUP BY 1"
    )
    page.keyboard.press(RUN_ALL)
    expect(page.locator(".cm-lintRange-error")).to_have_text("amont")
    page.get_by_role("alert").get_by_role("button", name="Line 4, column 7").click()
    page.keyboard.type("amount")  # replaces the selection
    page.keyboard.press(RUN_ALL)
    expect(page.get_by_role("tablist", name="Results")).to_contain_text(re.compile("Result 3.*succeeded"))
    assert len(results(page)) == 3
    cell(page, "15.75")


def use_a_parameter_and_draw_a_chart(page: Page) -> None:
    new_tab(page)
    text = "SELECT region, email, sum(amount) AS total FROM sales.orders WHERE amount < :most GROUP BY ALL ORDER BY 2"
    page.keyboard.insert_text(text)
    choose(page, "Type of most", "decimal")
    page.get_by_label("Value of most", exact=True).fill("20.00")
    page.get_by_label("Value of most", exact=True).press("Enter")
    cell(page, "a@x")
    expect(page.get_by_role("gridcell").filter(has_text="20.00")).to_have_count(0)
    page.get_by_role("tab", name="Chart").click()
    choose(page, "Kind of chart", "Bar")
    page.get_by_label("Title").fill("Small orders")
    page.keyboard.press("Tab")
    expect(page.locator(".plot svg text").filter(has_text="Small orders")).to_have_count(1)


def save_and_share(page: Page) -> str:
    """Saves the query, shares it with everybody, and returns its URL."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+s")
    page.get_by_role("textbox", name="Name").fill("Small orders")
    page.get_by_label("Folder").fill("/reports")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("tab", name="Queries").click()
    page.get_by_role("button", name="Small orders", exact=True).hover()
    page.get_by_role("button", name="Commands of Small orders", exact=True).click()
    page.get_by_role("menuitem", name="Share…").click()
    choose(page, "User or group?", "Group")
    page.get_by_label("User or group", exact=True).fill("account users")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "#query/" in page.url
    return page.url


def ensure_drawn(page: Page) -> None:
    page.get_by_role("tab", name="Chart").click()
    expect(page.locator(".plot")).to_have_attribute("data-kind", "bar")
    expect(page.locator(".plot svg text").filter(has_text="Small orders")).to_have_count(1)


@pytest.mark.slow
def test_analysts_day(browser: Browser, server: UserServer) -> None:
    with new_page(browser, viewport={"width": 1280, "height": 720}) as ida:
        ida.goto(server.url)
        log_in(ida, "ida")
        expect(ida.get_by_role("button", name="User ida")).to_be_visible()
        find_and_preview_the_table(ida)
        write_with_completion(ida)
        run_three_statements_and_fix_one(ida)
        use_a_parameter_and_draw_a_chart(ida)
        link = save_and_share(ida)

        with new_page(browser) as otto:  # who may not see e-mail addresses
            otto.goto(link)
            log_in(otto, "otto")
            expect(otto.locator(".cm-content")).to_contain_text("WHERE amount < :most")
            expect(otto.get_by_label("Value of most", exact=True)).to_have_value("20.00")
            otto.get_by_label("Value of most", exact=True).press("Enter")
            cell(otto, "***")
            expect(otto.get_by_role("gridcell").filter(has_text="@x")).to_have_count(0)
            ensure_drawn(otto)

        ida.context.clear_cookies(domain="localhost")  # the next day, in a browser that was closed
        ida.goto("about:blank")
        ida.goto(link)
        log_in_again = ida.get_by_role("link", name="Log in with single sign-on")
        log_in_again.click()  # the provider's own login is still valid
        expect(ida.locator(".tab.chosen")).to_contain_text("Small orders")
        expect(ida.get_by_role("tablist", name="Tabs").get_by_role("tab")).to_have_count(5)
        ida.get_by_label("Value of most", exact=True).press("Enter")
        ida.get_by_role("tab", name="Rows").click()
        cell(ida, "c@x")
        ensure_drawn(ida)
