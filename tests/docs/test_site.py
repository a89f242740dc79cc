"""The documentation builds without a warning, its generated pages are current, and the README stays short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of, matches, pages, statements_of
from tests.docs.reference_pages import DOCS, PAGES
from tests.paths import ROOT

README = ROOT / "README.md"
README_BYTES_MAX = 8192


def test_site_builds_with_all_links_and_anchors_valid(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/index.html").exists() and (tmp_path / "site/llms.txt").exists()


@pytest.mark.parametrize("page", PAGES)
def test_generated_page_is_current(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page](), "run `make reference`"


def test_readme_fits_on_a_screen_or_two() -> None:
    assert len(README.read_bytes()) <= README_BYTES_MAX


def test_links_of_files_outside_the_site_lead_to_files_and_headings() -> None:
    wrong = []
    for source in (README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"):
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)", source.read_text(encoding="utf-8")):
            file = source.parent / target if target else source
            if not file.exists() or (anchor and anchor[1:] not in anchors_of(file)):
                wrong.append(f"{source.name}: {target}{anchor}")
    assert wrong == []


def anchors_of(file: Path) -> set[str]:
    """Returns the anchors of the headings, as GitHub and Markdown make them of plain titles."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_paths_that_pages_name_exist() -> None:
    named = re.compile(r"`((?:catalog|deploy|docs|engine|gateway|tests)/[\w./-]+|test_\w+\.py)`")
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    tests = {file.name for file in (ROOT / "tests").rglob("test_*.py")}
    found = {(page.name, path) for page, text in texts.items() for path in named.findall(text)}
    assert len(found) > 50
    assert not [name for name in found if name[1] not in tests and not (ROOT / name[1]).exists()]


def test_statement_ends_with_a_semicolon_at_the_end_of_a_line() -> None:
    text = "SELECT 1; -- one\nSELECT ';',\n 2;\nBEGIN\n  SELECT 3;\nEND\n-- nothing"
    assert list(statements_of(text)) == ["SELECT 1; -- one", "SELECT ';',\n 2;", "BEGIN\n  SELECT 3;\nEND"]


def test_output_matches_with_gaps_only_at_an_ellipsis() -> None:
    assert matches("a … c\n", "a b b c")
    assert not matches("a c", "a b c")


def test_text_after_a_block_is_its_expected_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.blocks.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```sql\nSELECT 1\n```\n\n```text\n1\n```\n\nwords\n\n```text\nx\n```\n"
        '```{.sh .no-run reason="needs systemd"}\nsystemctl\n```\n'
    )
    sql, text, shell = blocks_of(page)
    assert (sql.expected, sql.is_run) == ("1\n", True)
    assert text.text == "x\n"
    assert (shell.language, shell.reason, shell.is_run) == ("sh", "needs systemd", False)
