"""Tests that expect an error say which one: a base class matches any, also one that hides a bug of the test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

_BASES = {"BaseException", "DeltaError", "Exception", "SqlError"}


def test_expected_base_class_is_matched_or_looked_at() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in unspecific(path)
    ]
    assert found == []


def unspecific(path: Path) -> Iterator[int]:
    """Yields the lines with `raises` of one base class that have no `match` and whose error is not used."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        for block in ast.walk(function):
            if isinstance(block, ast.With):
                yield from (block.lineno for item in block.items if is_unspecific(item, used))


def is_unspecific(item: ast.withitem, used: set[str]) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call) or not call.args or not ast.unparse(call.func).endswith("raises"):
        return False
    expected = call.args[0]
    has_match = any(keyword.arg == "match" for keyword in call.keywords)
    is_used = isinstance(item.optional_vars, ast.Name) and item.optional_vars.id in used
    return isinstance(expected, ast.Name) and expected.id in _BASES and not has_match and not is_used
