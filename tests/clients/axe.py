"""Checks of a page's accessibility by axe-core, which npm installs."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.clients.environments import node_packages


def ensure_accessible(page: Page) -> None:
    """Fails for violations that axe-core finds, and for a page that is wider than the window."""
    axe = node_packages("axe", "axe-core@4.14.1") / "axe-core" / "axe.min.js"
    page.evaluate(axe.read_text())
    found = page.evaluate("axe.run()")
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
    assert len(found["passes"]) > 10
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
