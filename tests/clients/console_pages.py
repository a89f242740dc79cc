"""Shared parts of the console's tests: a browser, pages that report each console message, and common actions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.clients.fix_server import RealServer
from tests.paths import CHROMIUM

RUN, CANCEL = "Control+Enter", "Control+."
# Chromium gives text typed over other text an inline style, until the editor sets its own.
OF_EDITING = "Applying inline style violates"
TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (told) => {
  if (!told.target.closest?.(".cm-content")) console.error(told.violatedDirective, told.target.outerHTML);
});
"""
expect.set_options(timeout=120_000)  # for a machine that is busy with other tests


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, failed_requests: str | None = None) -> Iterator[Page]:
    """Yields a page in a browser without cookies; any console message is an error, and so is an external request.

    Chromium reports failed requests as messages; those that match `failed_requests` belong to the test.
    """
    complaints: list[str] = []

    def hear(said: ConsoleMessage) -> None:
        is_expected = failed_requests and re.search(f"Failed to load resource: .*({failed_requests})", said.text)
        if said.type == "error" and not said.text.startswith(OF_EDITING) and not is_expected:
            complaints.append(said.text)

    origin = url.split("#")[0]
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on(
        "request", lambda request: None if request.url.startswith((origin, "data:")) else complaints.append(request.url)
    )
    page.add_init_script(TELL_VIOLATIONS)
    page.goto(url)
    yield page
    page.close()
    assert complaints == [], str(complaints)


@pytest.fixture(scope="module")
def page(server: RealServer, browser: Browser) -> Iterator[Page]:
    """Yields one page for all tests with the real server."""
    with opened(browser, f"http://localhost:{server.http_port}/") as page:
        yield page


def new_tab(page: Page) -> None:
    expect(page.locator(".tab").first).to_be_visible()  # keys are heard from then on
    page.keyboard.press("Alt+n")
    expect(page.locator(".cm-placeholder")).to_be_visible()
    expect(page.locator(".cm-content")).to_be_focused()


def run(page: Page, text: str) -> None:
    """Runs a text in a new tab."""
    new_tab(page)
    page.keyboard.insert_text(text)
    page.keyboard.press(RUN)


def cell(page: Page, text: str) -> None:
    expect(page.get_by_role("gridcell").filter(has_text=re.compile(f"^{re.escape(text)}$")).first).to_be_visible()


def logged_in(page: Page, user: str) -> None:
    """Waits for the console of this user."""
    expect(page.get_by_role("button", name=f"User {user}", exact=True)).to_be_visible()


def log_out(page: Page) -> None:
    page.locator("button.user").click()
    page.get_by_role("menuitem", name="Log out").click()
    page.get_by_role("button", name="Log out").click()


def choose(page: Page, label: str, option: str) -> None:
    """Chooses an option of a select."""
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def summary(page: Page) -> str:
    """Returns the line about the shown result, once it has ended."""
    expect(page.locator(".summary")).to_contain_text(re.compile(r"\d m?s"))
    return page.locator(".summary").inner_text()
