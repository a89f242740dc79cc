"""Records which tests run which lines: `python -m tests.mutation.recording FILE SOURCE TESTS`.

Failed tests are left out, and those with Spark. Lines that run in other processes are not seen.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest

from tests.paths import ROOT

MARKER_EXPRESSION = "not spark and not clients and not slow and not oracle and not bench"
PACKAGES = ("catalog", "engine", "gateway")
# Tests of a line may take this much processor time; the slowest test files are left out.
_SECONDS_MAX = 10.0
_QUICK_S = 0.5


@dataclass(frozen=True)
class Recording:
    """Per path and line the numbers of its tests, their ids and processor seconds, and the modules of libraries."""

    lines: dict[str, dict[str, list[int]]]
    tests: list[tuple[str, float]]
    libraries: list[str]

    def tests_of(self, path: str, first: int, last: int) -> tuple[str, ...]:
        """Returns the tests that run some of the lines: file by file, quick files first.

        Other tests of the same files run too unless they are slow, since a file's tests may build on each other.
        """
        lines = self.lines.get(path, {})
        numbers = {number for each in range(first, last + 1) for number in lines.get(str(each), ())}
        numbers = numbers or ({*range(len(self.tests))} if first == 1 else numbers)  # a module that runs on import only
        test_files = {self.tests[number][0].partition("::")[0] for number in numbers}
        files: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for number, (name, seconds) in enumerate(self.tests):
            file = name.partition("::")[0]
            if file in test_files and (number in numbers or seconds < _QUICK_S):
                files[file].append((seconds, name))
        total = 0.0
        tests: list[str] = []
        for found in sorted(files.values(), key=lambda found: sum(seconds for seconds, _ in found)):
            total += sum(seconds for seconds, _ in found)
            if tests and total > _SECONDS_MAX:
                break
            tests += [name for _, name in found]
        return tuple(tests)


def recorded(folder: str, tests: list[str]) -> Recording:
    """Returns the recording for a folder's modules; for each path of tests it is made again if either has changed."""
    merged = Recording({}, [], [])
    for path in tests:
        content = json.loads(_recording_file(folder, path).read_text())
        for module, lines in content["lines"].items():
            for line, numbers in lines.items():
                known = merged.lines.setdefault(module, {}).setdefault(line, [])
                known += [len(merged.tests) + number for number in numbers]
        merged.tests.extend(content["tests"])
        merged.libraries.extend(content["libraries"])
    return merged


def _recording_file(folder: str, tests: str) -> Path:
    paths = [ROOT / folder, ROOT / tests]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    state = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    target = ROOT / ".mutation" / f"{state}.json"
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        command = [sys.executable, "-m", __name__, str(target), folder, tests]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return target


def statement_lines(source: str, line: int) -> tuple[int, int] | None:
    """Returns the first and last line of the statement at a line in a function; None for what runs on import."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    around = [node for node in nodes if _first(node) <= line <= (node.end_lineno or 0)]
    innermost = around[-1]  # `walk` is breadth first
    if isinstance(innermost, ast.FunctionDef) or not any(isinstance(node, ast.FunctionDef) for node in around):
        return None
    body = getattr(innermost, "body", [])
    return innermost.lineno, _first(body[0]) - 1 if body else innermost.end_lineno or line


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


class _Recorder:
    """A pytest plugin: names the test that lines belong to, and measures it."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._measured.switch_context(item.nodeid)
        began = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - began
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def main(target: str, source: str, tests: str) -> None:
    """Runs the tests, and writes the file."""
    measured = coverage.Coverage(data_file=None, source=[source], config_file=False)
    recorder = _Recorder(measured)
    with measured.collect():
        pytest.main(["-q", "-p", "no:cacheprovider", "-m", MARKER_EXPRESSION, tests], plugins=[recorder])
    data = measured.get_data()
    # Ids with an address differ in each session.
    ids = [name for name in recorder.seconds if name not in recorder.failed and " at 0x" not in name]
    numbers = {name: number for number, name in enumerate(ids)}
    lines = {
        os.path.relpath(path, ROOT): {
            line: [numbers[name] for name in names if name in numbers]
            for line, names in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    libraries = [name for name in sys.modules if name.partition(".")[0] not in (*PACKAGES, "tests")]
    content = {"lines": lines, "tests": [(name, recorder.seconds[name]) for name in ids], "libraries": libraries}
    Path(target).write_text(json.dumps(content))


if __name__ == "__main__":
    main(*sys.argv[1:])
