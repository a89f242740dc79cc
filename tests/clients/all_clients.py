"""Runs `tests/clients` and then clients' own suites: `python -m tests.clients.all_clients [FOLDER] -- OPTIONS`.

OPTIONS are pytest's; FOLDER has the checkouts of the suites (`suites.py`). Both parts run to their ends, also after
failures. Then prints one table: a row for each file of `tests/clients` and for each suite, with the tests that were
left out and the reasons. The exit code is 1 if a test failed that is not known to fail, or a part did not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.clients.suites import REPORTS, SUITES, Outcomes, Row, print_header, run_suites
from tests.paths import ROOT

PLUGIN = "tests.clients.suite_plugins.gateway_outcomes"
TESTS = ("-m", "not oracle and not bench", "tests/clients")
LEFT_OUT = " were left out"  # in the lines that tests/conftest.py prints


def file_rows(outcomes: Outcomes) -> list[Row]:
    """Returns a row for each file of tests, with its failures and the reasons of skipped tests."""
    files = defaultdict[str, dict[str, tuple[str, str]]](dict)
    for test, outcome in outcomes.items():
        files[Path(test.partition("::")[0]).stem.removeprefix("test_")][test.rpartition("/")[2]] = outcome
    return [_file_row(name, files[name]) for name in sorted(files)]


def _file_row(name: str, outcomes: Mapping[str, tuple[str, str]]) -> Row:
    skipped = Counter(reason for outcome, reason in outcomes.values() if outcome == "skipped")
    lines = [f"{number} skipped: {reason}" for reason, number in skipped.items()]
    failed = {test: reason for test, (outcome, reason) in outcomes.items() if outcome in ("failed", "error")}
    lines += (f"failed: {test}  # {reason}" for test, reason in failed.items())
    return Row(name, Counter(outcome for outcome, _ in outcomes.values()), tuple(lines), succeeded=not failed)


def run_tests(options: Sequence[str]) -> list[Row]:
    """Returns the rows of `tests/clients`; the last one has the tests that were left out."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / "tests_clients.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, *TESTS, *options]
    environment = os.environ | {"GATEWAY_OUTCOMES": str(report)}
    left_out = []
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        for line in running.stdout:
            print(line, end="", flush=True)
            if LEFT_OUT in line:
                left_out.append(line.strip())
    outcomes = (
        {name: tuple(outcome) for name, outcome in json.loads(report.read_text()).items()} if report.exists() else {}
    )
    problem = _problem(running.returncode, outcomes)
    lines = (*left_out, problem) if problem else tuple(left_out)
    all_tests = Row("all of tests/clients", Counter(outcome for outcome, _ in outcomes.values()), lines, not problem)
    return [*file_rows(outcomes), all_tests]


def _problem(exit_code: int, outcomes: Outcomes) -> str:
    """Returns why the tests did not run to their end, or failed without a failed test; an empty text otherwise."""
    has_failed = any(outcome in ("failed", "error") for outcome, _ in outcomes.values())
    if exit_code == pytest.ExitCode.OK or (exit_code == pytest.ExitCode.TESTS_FAILED and has_failed):
        return ""
    return f"did not run to the end (exit code {exit_code})"


def run_own_suites(folder: str) -> list[Row]:
    """Returns the rows of the clients' own suites; a server that does not start is a row of its own."""
    if not folder:
        return [Row("clients' own suites", {}, ("left out: name a folder with checkouts with SUITES=folder",))]
    rows = []
    try:
        for row in run_suites(Path(folder).resolve(), SUITES):
            row.print()
            rows.append(row)
    except (OSError, AssertionError, subprocess.SubprocessError) as error:
        rows.append(Row("clients' own suites", {}, (f"did not run to the end: {error}",), succeeded=False))
    return rows


def main(arguments: Sequence[str]) -> int:
    """Prints the table, and returns the exit code."""
    position = arguments.index("--") if "--" in arguments else len(arguments)
    folder = next(iter(arguments[:position]), "")
    rows = [*run_tests(arguments[position + 1 :]), *run_own_suites(folder)]
    print()
    print_header()
    for row in rows:
        row.print()
    failed = [row.name for row in rows if not row.succeeded]
    print(f"failed: {', '.join(failed)}" if failed else "all succeeded", f"(reports: {REPORTS})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
