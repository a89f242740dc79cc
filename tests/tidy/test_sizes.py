"""Functions fit on a screen, every module has a docstring, and nothing is left unfinished or skipped."""

from __future__ import annotations

import ast
import re

from tests.paths import ROOT
from tests.tidy.sources import MODULES

FUNCTION_LINES_MAX = 70
ARGUMENTS_MAX = 6
# Their arguments are fields in a `StatementSpec`, by name.
SPECS = ("answer_spec", "change_spec", "reading_query", "unrestricted")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_functions_are_short_and_take_few_arguments() -> None:
    wrong = [
        f"{module.path}:{node.lineno} {node.name}: {_function_lines(node)} lines, {_argument_count(node)} arguments"
        for module in MODULES.values()
        for node in ast.walk(module.tree)
        if isinstance(node, Function)
        and (
            _function_lines(node) > FUNCTION_LINES_MAX
            or (_argument_count(node) > ARGUMENTS_MAX and node.name not in SPECS)
        )
    ]
    assert not wrong


def test_a_module_says_what_it_is_for() -> None:
    assert not [module.path for module in MODULES.values() if not ast.get_docstring(module.tree)]


def test_a_package_file_holds_no_code() -> None:
    """Only its docstring and its exports."""
    code = [
        f"{module.path}:{node.lineno}"
        for module in MODULES.values()
        if module.is_package
        for node in module.tree.body[1:]
        if not isinstance(node, ast.Import | ast.ImportFrom) and "__all__" not in ast.dump(node)
    ]
    assert not code


def test_sources_have_no_todo() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    assert not [module.path for module in MODULES.values() if marks.search(module.text)]


def test_no_test_is_skipped() -> None:
    """A test that does not run proves nothing; tests that require other machines have separate marks."""
    mark = re.compile(r"\bpytest\.(skip|mark\.skip|mark\.skipif|mark\.xfail|xfail|importorskip)\b")
    files = [file for file in (ROOT / "tests").rglob("*.py") if "tidy" not in file.parts]
    assert not [str(file) for file in files if mark.search(file.read_text(encoding="utf-8"))]


def _function_lines(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _argument_count(node: Function) -> int:
    given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return len([argument for argument in given if argument.arg not in ("self", "cls")])
