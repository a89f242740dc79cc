"""The files, folders and targets of `make` that CONTRIBUTING.md names exist, and the files that the code names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.paths import ROOT
from tests.tidy.sources import MODULES

# A name in backticks is a path if it has a slash after a known folder, or a source file's extension.
FOLDERS = ("catalog", "deploy", "docs", "engine", "gateway", "tests")
FILE = re.compile(r"[\w./-]+\.(?:java|json|md|py|sh|toml|ts)")
# Files without a folder are in one of these.
BARE = ("engine/statements/alter_table", "engine/spark/java/src", "gateway/http/console/src")


def missing(text: str) -> Iterator[str]:
    """Yields the names in `text` that are not there; `<word>` in a name is any word."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name in re.findall(r"`([^`\n]+)`", text):
        if name.startswith("make "):
            if name.split()[1] not in targets:
                yield name
        elif name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            if not any(ROOT.glob(re.sub("<[^>]*>", "*", name.rstrip("/")))):
                yield name
        elif FILE.fullmatch(name) and not name.startswith("."):
            if not any(next((ROOT / folder).rglob(name), None) for folder in BARE):
                yield name


def test_contributing_names_existing_files() -> None:
    assert list(missing((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))) == []


def test_code_names_existing_files() -> None:
    path = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w/]+\.py)`")
    named = [(module.path, name) for module in MODULES.values() for name in path.findall(module.text)]
    assert len(named) > 10
    assert [place for place in named if list(missing(f"`{place[1]}`"))] == []


@pytest.mark.parametrize(
    ("name", "is_missing"),
    [
        ("engine/pipeline.py", False),
        ("engine/statements/<family>/", False),
        ("engine/pipelines.py", True),
        ("engine/<family>/pipelines/", True),
        ("grammar.py", False),
        ("nowhere.ts", True),
        (".test.ts", False),
        ("make check", False),
        ("make nothing", True),
    ],
)
def test_name_without_file_is_found(name: str, is_missing: bool) -> None:
    assert list(missing(f"see `{name}`.")) == ([name] if is_missing else [])
