"""Matches over closed sets include all members, so that mypy reports each one that lacks a new member.

They end in `assert_never`. A default remains if the values are external, or any other pair is meant; a comment gives
the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.tidy.sources import MODULES, Module

# Cases -> whether the default among them may be there.
IN_MATCH = {
    "case _:\n    assert_never(value)": True,
    "case _:  # text from Spark\n    pass": True,
    "# text from Spark\ncase _:\n    pass": True,
    "case name:  # text from Spark\n    pass": True,
    "case _ if found:  # text from Spark\n    pass": True,
    "case _:\n    pass": False,
    "case name:\n    pass": False,
    "case _ if found:\n    pass": False,
    "case _:\n    # text from Spark\n    pass": False,
    "case '#':\n    pass\ncase _:\n    print('# text from Spark')": False,
}


def test_a_default_of_a_match_says_why_it_is_there() -> None:
    assert not [f"{module.path}:{line}" for module in MODULES.values() for line in _unexplained(module)]


@pytest.mark.parametrize(("cases", "is_allowed"), IN_MATCH.items())
def test_explained_default_cases(cases: str, is_allowed: bool) -> None:
    indented = "".join(f"    {line}\n" for line in cases.splitlines())
    module = Module("module", "module.py", f"match value:\n    case 1:\n        pass\n{indented}")
    assert list(_unexplained(module)) == ([] if is_allowed else [module.text.splitlines().index(_default(cases)) + 1])


def _default(cases: str) -> str:
    return next(f"    {line}" for line in cases.splitlines() if line.startswith(("case _", "case name")))


def _unexplained(module: Module) -> Iterator[int]:
    """Yields the lines with catch-all cases without a reason on their line or the one above."""
    lines = module.text.splitlines()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.match_case) and _takes_all(node.pattern) and not _is_never(node.body[0]):
            number = node.pattern.lineno
            has_comment = "#" in lines[number - 1] or lines[number - 2].lstrip().startswith("#")
            if not has_comment:
                yield number


def _takes_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _is_never(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "assert_never"
