"""The console's pages for administration in a browser, over a real server with users: tokens, users and groups, grants,
row filters and column masks.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.clients.console_pages import browser
from tests.clients.fix_users import ODD_TABLE, UserServer, logged_in

pytestmark = [pytest.mark.console, pytest.mark.slow]

__all__ = ["browser"]  # a fixture


def choose(page: Page, label: str, value: str) -> None:
    """Chooses from the last list with this label; a dialog's lists are after those of the page."""
    page.get_by_role("combobox", name=label, exact=True).last.click()
    page.get_by_role("option", name=value, exact=True).click()


def statement(page: Page) -> Locator:
    return page.get_by_label("Statement", exact=True).last


def test_token_is_created_shown_once_and_revoked(browser: Browser, users: UserServer) -> None:
    with logged_in(browser, users, "tokens", "bob") as page:
        expect(page.get_by_role("heading", name="No tokens")).to_be_visible()
        page.get_by_role("button", name="New token").click()
        page.get_by_label("Comment").fill("weekly report")
        choose(page, "Lifetime", "7 days")
        choose(page, "Scope", "Read only")
        page.get_by_role("button", name="Create token").click()
        value = page.get_by_label("Token value").input_value()
        assert re.fullmatch(r"dgp_\w+", value)
        assert users.rows("SELECT current_user()", "token", value) == [["bob"]]
        page.get_by_role("button", name="Done").click()
        row = page.get_by_role("row", name="weekly report")
        expect(row).to_contain_text("Read only")
        assert value not in page.content()
        row.get_by_role("button", name="Revoke weekly report").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("heading", name="No tokens")).to_be_visible()


def test_group_is_created_and_gets_a_member(browser: Browser, users: UserServer) -> None:
    with logged_in(browser, users, "users") as page:
        page.get_by_role("button", name="New group").click()
        page.get_by_label("Group", exact=True).fill("night `shift`")
        expect(statement(page)).to_have_text("CREATE GROUP `night ``shift```")
        page.get_by_role("button", name="Create group").click()
        page.locator(".view-tab", has_text="Groups").click()
        page.get_by_role("button", name="Change night `shift`").click()
        page.get_by_role("menuitem", name="Add a member").click()
        page.get_by_label("Name").fill("zoë")
        expect(statement(page)).to_have_text("ALTER GROUP `night ``shift``` ADD USER `zoë`")
        page.get_by_role("button", name="Add", exact=True).click()
        page.locator(".view-tab", has_text="Users").click()
        expect(page.get_by_role("row", name="zoë")).to_contain_text("night `shift`")
        assert users.rows("SHOW GROUPS WITH USER `zoë`") == [["night `shift`"]]
        page.get_by_title("Remove zoë from night `shift`").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.get_by_role("row", name="zoë")).to_have_count(0)
    with logged_in(browser, users, "users", "bob") as page:
        expect(page.get_by_role("row", name="bob")).to_be_visible()
        expect(page.get_by_role("button", name="New group")).to_have_count(0)


def test_privilege_is_granted_and_revoked_on_an_odd_name(browser: Browser, users: UserServer) -> None:
    with logged_in(browser, users, "grants") as page:
        choose(page, "Kind of object", "Table")
        choose(page, "schema", "sales")
        expect(page.get_by_role("heading", name="No privileges")).to_be_visible()  # the only table is chosen
        page.get_by_role("button", name="Grant", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Fill in the form")
        choose(page, "User or group", "User")
        dialog.get_by_label("Name").fill("bob")
        dialog.get_by_label("SELECT").check()
        expect(statement(page)).to_have_text(
            "GRANT SELECT ON TABLE `spark_catalog`.`sales`.`odd ``name`` ON x` TO USER `bob`"
        )
        dialog.get_by_role("button", name="Grant", exact=True).click()
        row = page.get_by_role("row", name="bob")
        expect(row).to_contain_text("SELECT")
        granted = f"SHOW GRANTS `bob` ON TABLE {ODD_TABLE}"
        assert [row[:2] for row in users.rows(granted)] == [["bob", "SELECT"]]
        row.get_by_role("button", name="Revoke SELECT from bob").click()
        expect(statement(page)).to_have_text(
            "REVOKE SELECT ON TABLE `spark_catalog`.`sales`.`odd ``name`` ON x` FROM `bob`"
        )
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("heading", name="No privileges")).to_be_visible()
        assert users.rows(granted) == []


def test_user_without_rights_sees_why_nothing_can_be_granted(browser: Browser, users: UserServer) -> None:
    users.rows("GRANT USE CATALOG ON CATALOG spark_catalog TO USER bob")
    users.rows("GRANT USE SCHEMA ON SCHEMA sales TO USER bob")
    with logged_in(browser, users, "grants", "bob") as page:
        page.get_by_role("tab", name="Of a user or group").click()
        page.get_by_role("button", name="Mine").click()
        expect(page.get_by_role("row", name="USE SCHEMA")).to_contain_text("spark_catalog.sales")
        page.get_by_role("tab", name="On an object").click()
        choose(page, "schema", "sales")
        page.get_by_role("button", name="Grant", exact=True).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("bob")
        dialog.get_by_label("SELECT").check()
        dialog.get_by_role("button", name="Grant", exact=True).click()
        expect(dialog.get_by_role("alert")).to_contain_text("Insufficient privileges")


def test_row_filter_and_mask_are_set_listed_and_dropped(browser: Browser, users: UserServer) -> None:
    with logged_in(browser, users, "policies") as page:
        expect(page.get_by_role("heading", name="No row filters or column masks")).to_be_visible()
        page.get_by_role("button", name="Set a row filter").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("combobox", name="schema").first.click()
        page.get_by_role("option", name="sales").click()
        choose(page, "schema", "sales")
        choose(page, "object", "in_north")
        choose(page, "Column for the parameter r", "region")
        expect(statement(page)).to_have_text(
            "ALTER TABLE `spark_catalog`.`sales`.`odd ``name`` ON x` SET ROW FILTER "
            "`spark_catalog`.`sales`.`in_north` ON (`region`)"
        )
        dialog.get_by_role("button", name="Set").click()
        expect(page.get_by_role("row", name="row filter").locator(".code")).to_have_text(
            "spark_catalog.sales.in_north(region)"
        )
        users.rows(f"ALTER TABLE {ODD_TABLE} ALTER COLUMN email SET MASK sales.hidden")
        users.rows(f"GRANT SELECT ON TABLE {ODD_TABLE} TO USER ann")
        assert users.rows(f"SELECT id, email FROM {ODD_TABLE}") == [["1", "***"]]
        page.reload()
        expect(page.get_by_role("row", name="column mask").locator(".code")).to_have_text(
            "spark_catalog.sales.hidden(email)"
        )
        page.get_by_role("button", name="Drop the mask of odd `name` ON x.email").click()
        page.get_by_role("dialog").get_by_role("button", name="Drop").click()
        expect(page.get_by_role("row", name="column mask")).to_have_count(0)
        page.get_by_role("button", name="Drop the row filter of odd `name` ON x").click()
        page.get_by_role("dialog").get_by_role("button", name="Drop").click()
        expect(page.get_by_role("heading", name="No row filters or column masks")).to_be_visible()
        assert len(users.rows(f"SELECT * FROM {ODD_TABLE}")) == 2


def test_activity_is_filtered_by_user_status_and_time(browser: Browser, users: UserServer) -> None:
    users.rows("SELECT 'of ann' AS marked_here")
    with pytest.raises(AssertionError):
        users.rows("SELECT marked_here_gone")
    users.rows("SELECT 'of bob' AS marked_here", "bob")
    with logged_in(browser, users, "activity") as page:
        page.get_by_label("Search statements").fill("marked_here")
        rows = page.locator(".activity tbody tr")
        expect(rows).to_have_count(3)
        expect(page.get_by_role("columnheader", name="Rows")).to_have_css("text-align", "right")
        expect(rows.first.locator(".numeric").nth(1)).to_have_css("text-align", "right")
        choose(page, "User", "bob")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("of bob")
        expect(rows.get_by_role("link", name="Result")).to_have_count(0)  # of another user
        choose(page, "User", "ann")
        expect(rows).to_have_count(2)
        expect(rows.get_by_role("link", name="Result")).to_have_attribute(
            "href", re.compile(r"^#result/[0-9a-f-]{36}$")
        )
        choose(page, "Status", "failed")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("marked_here_gone")
        choose(page, "Started", "Last hour")
        expect(rows).to_have_count(1)
        choose(page, "Status", "canceled")
        expect(page.get_by_role("heading", name="No statement matches")).to_be_visible()
        page.get_by_role("button", name="Clear filters").click()
        expect(rows.nth(3)).to_be_visible()
