"""Takes the pictures of the console for docs/console.md: each page in a light, a dark and a narrow window.

    python -m tests.docs.screenshots [PAGE …]

It serves the sample lake to users, and writes PNG files with at most 256 colors into `docs/images`.
"""

from __future__ import annotations

import base64
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from playwright.sync_api import Browser, Page, expect, sync_playwright

from engine.sample.lake import ensure_sample_lake
from tests.clients.fix_users import UserServer, user_server
from tests.paths import CHROMIUM, ROOT

_IMAGES = ROOT / "docs" / "images"
_WIDE, _NARROW = (1280, 720), (390, 844)
_VARIANTS = (("", _WIDE, "light"), ("-dark", _WIDE, "dark"), ("-narrow", _NARROW, "light"))
_SETUP = (
    "CREATE GROUP analysts WITH USER bob, `zoë`",
    "CREATE GROUP finance WITH USER ann",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
    "GRANT USE SCHEMA, SELECT ON SCHEMA shop TO analysts",
    "GRANT SELECT, MODIFY ON TABLE shop.orders TO finance",
    "GRANT SELECT ON TABLE shop.customers TO USER bob",
    "GRANT USE SCHEMA, SELECT ON SCHEMA shop TO USER ann",
    "CREATE FUNCTION shop.own_country(country STRING) RETURNS BOOLEAN RETURN is_account_group_member('finance')"
    " OR country = 'NL'",
    "CREATE FUNCTION shop.masked(value STRING) RETURNS STRING RETURN '***'",
    "ALTER TABLE shop.customers SET ROW FILTER shop.own_country ON (country)",
    "ALTER TABLE shop.customers ALTER COLUMN email SET MASK shop.masked",
    "CREATE TOKEN COMMENT 'weekly report' LIFETIME 7 DAYS READ ONLY",
    "CREATE TOKEN COMMENT 'dashboard of sales' LIFETIME 90 DAYS",
)
_QUERY = """SELECT category, sum(quantity) AS sold, round(sum(quantity * i.unit_price), 2) AS revenue
FROM shop.order_items i JOIN shop.products USING (product_id)
GROUP BY category
ORDER BY revenue DESC;
"""
# Counts the colors of a picture, keeps the most frequent 256 and maps each other one to the nearest.
_QUANTIZE = """async (png) => {
  const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const pixels = new Uint32Array(data.buffer), counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([color]) => color);
  const part = (color, shift) => (color >> shift) & 255;
  const apart = (a, b) => [0, 8, 16].reduce((sum, shift) => sum + (part(a, shift) - part(b, shift)) ** 2, 0);
  const nearest = new Map(palette.map((color, at) => [color, at]));
  for (const color of counts.keys()) {
    if (nearest.has(color)) continue;
    let best = 0;
    for (let at = 1; at < palette.length; at++) if (apart(palette[at], color) < apart(palette[best], color)) best = at;
    nearest.set(color, best);
  }
  const text = (numbers) => btoa(numbers.map((one) => String.fromCharCode(one)).join(""));
  const colors = palette.flatMap((color) => [0, 8, 16].map((shift) => part(color, shift)));
  return [bitmap.width, bitmap.height, text(colors), text(Array.from(pixels, (pixel) => nearest.get(pixel)))];
}"""


def _show(fragment: str, ready: str) -> Callable[[Page, str], None]:
    """Returns what opens a page and waits until it shows `ready`."""

    def open_page(page: Page, url: str) -> None:
        page.goto(f"{url}{fragment}")
        expect(page.get_by_text(ready).last).to_be_visible()

    return open_page


def _run(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".cm-content")).to_be_visible()
    page.keyboard.press("Alt+n")
    page.keyboard.insert_text(_QUERY)
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("gridcell").first).to_be_visible()


def _chart(page: Page, url: str) -> None:
    _run(page, url)
    page.get_by_role("tab", name="Chart").click()
    expect(page.locator(".plot canvas, .plot svg").first).to_be_visible()


def _grants(page: Page, url: str) -> None:
    page.goto(f"{url}#grants")
    for label, value in (("Kind of object", "Table"), ("schema", "shop"), ("object", "orders")):
        page.get_by_role("combobox", name=label, exact=True).click()
        page.get_by_role("option", name=value, exact=True).click()
    expect(page.get_by_role("button", name="Revoke MODIFY from finance")).to_be_visible()


_PAGES: Mapping[str, Callable[[Page, str], None]] = MappingProxyType(
    {
        "editor": _run,
        "chart": _chart,
        "table": _show("#table/spark_catalog/shop/orders", "channel"),
        "activity": _show("#activity", "sum(quantity)"),
        "grants": _grants,
        "policies": _show("#policies", "column mask"),
        "users": _show("#users", "analysts"),
        "tokens": _show("#tokens", "weekly report"),
        "connect": _show("connect", "databricks-sdk"),
    }
)


def main(names: list[str]) -> None:
    """Takes the pictures of these pages, or of all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lake = Path(folder) / "lake"
        ensure_sample_lake(str(lake))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with user_server(Path(folder), lake) as server:
            for text in _SETUP:
                server.rows(text)
            for variant in _VARIANTS:
                _take(browser, server, names or [*_PAGES, "login"], *variant)
        browser.close()


def _take(
    browser: Browser, server: UserServer, names: list[str], suffix: str, size: tuple[int, int], scheme: str
) -> None:
    width, height = size
    dark_or_light: dict[str, object] = {"color_scheme": scheme}
    with browser.new_context(viewport={"width": width, "height": height}, **dark_or_light) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{server.url}login")
        if "login" in names:
            _write(page, f"console-login{suffix}")
        page.get_by_label("User").fill("ann")
        page.get_by_label("Password").fill("annann")
        page.keyboard.press("Enter")
        expect(page.get_by_role("navigation", name="Main menu")).to_be_visible()
        for name in names:
            if name in _PAGES:
                _PAGES[name](page, server.url)
                page.wait_for_load_state("networkidle") if name in ("connect", "login") else page.wait_for_timeout(1500)
                page.mouse.move(0, 0)  # no element is shown as hovered
                _write(page, f"console-{name}{suffix}")


def _write(page: Page, name: str) -> None:
    """Writes a picture of the page as a PNG file with a palette."""
    png = page.screenshot()
    with page.context.browser.new_page() as blank:  # type: ignore[union-attr]
        width, height, colors, pixels = blank.evaluate(_QUANTIZE, base64.b64encode(png).decode())
    rows = base64.b64decode(pixels)
    lines = b"".join(b"\0" + rows[at : at + width] for at in range(0, len(rows), width))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", base64.b64decode(colors)), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    content = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in parts)
    (_IMAGES / f"{name}.png").write_bytes(content)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


if __name__ == "__main__":
    main(sys.argv[1:])
