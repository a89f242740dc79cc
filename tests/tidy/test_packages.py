"""Each package documents its content, its allowed imports and where to start reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.paths import ROOT
from tests.tidy.sources import MODULES, Module

# Docstrings of the package `engine` -> if they are sufficient.
DOCSTRINGS = {
    "Imports nothing. Start at `main.py`.": True,
    "Imports the catalog alone. Start at `catalog/catalog.py`.": True,
    "Imports nothing. Start at `missing.py`.": False,
    "Imports nothing; see `main.py`.": False,
    "Start at `main.py`.": False,
}


def test_each_package_says_what_it_may_import_and_where_to_start() -> None:
    packages = [module for module in MODULES.values() if module.is_package]
    assert not [f"{module.path}: {problem}" for module in packages for problem in _problems(module)]


@pytest.mark.parametrize(("docstring", "is_enough"), DOCSTRINGS.items())
def test_incomplete_docstring_is_found(docstring: str, is_enough: bool) -> None:
    module = Module("engine", "engine/__init__.py", f'"""{docstring}"""\n')
    assert (not list(_problems(module))) == is_enough


def _problems(module: Module) -> Iterator[str]:
    text = " ".join((ast.get_docstring(module.tree) or "").split())
    if "mport" not in text:
        yield "does not say what it may import"
    start = text.partition("Start at `")[2]
    if not start:
        yield "does not say where to start"
    folder = (ROOT / module.path).parent
    for file in re.findall(r"`([\w/.]+\.(?:py|tsx))`", f"`{start}"):
        if not (folder / file).exists() and not (ROOT / file).exists():
            yield f"names {file}, which is not there"
