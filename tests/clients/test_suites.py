"""Comparison of suite reports with the known failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients import all_clients, suites
from tests.clients.suites import SUITES, Run, Started, Suite, go_outcomes, known_failures, mocha_outcomes

SERVER = Started(0, 0, 0, 0, Path(), Path())
CASES = """
import unittest

import pytest

def test_passes(): pass

def test_fails(): raise ValueError("[TABLE_OR_VIEW_NOT_FOUND] gone")

@pytest.fixture
def broken(): raise ValueError("no fixture")

def test_has_an_error(broken): pass

def test_is_skipped(): raise unittest.SkipTest("not here")
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Returns a suite with four tests, run by this process's Python."""
    for name in ("cases", "reports", "known"):
        (tmp_path / name).mkdir()
    (tmp_path / "cases" / "test_cases.py").write_text(CASES)
    monkeypatch.setattr(suites, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(suites, "KNOWN", tmp_path / "known")
    monkeypatch.setattr(suites, "client_environment", lambda *_: Path(sys.executable).parent)
    return Suite("four tests", "cases", "any", ("any",), lambda checkout, *_: Run(checkout, ("-c", "/dev/null", ".")))


def test_only_failures_that_are_not_known_fail_a_suite(suite: Suite, tmp_path: Path) -> None:
    row = suites.run_suite(suite, tmp_path, SERVER)
    assert not row.succeeded
    assert "new failure: test_cases.py::test_fails  # TABLE_OR_VIEW_NOT_FOUND" in row.lines
    assert suites.run_suite(suite, tmp_path, SERVER, record=True).succeeded
    assert known_failures(suite) == {
        "test_cases.py::test_fails": "TABLE_OR_VIEW_NOT_FOUND",
        "test_cases.py::test_has_an_error": "ValueError: no fixture",
    }
    row = suites.run_suite(suite, tmp_path, SERVER)
    assert row.succeeded and "1 skipped: not here" in row.lines
    assert row.counts == {"passed": 1, "failed": 1, "error": 1, "skipped": 1, "known": 2}
    (tmp_path / "cases" / "test_cases.py").write_text("def test_fails(): pass")
    row = suites.run_suite(suite, tmp_path, SERVER)
    assert row.succeeded and row.lines[0].startswith("1 known failures passed")


def test_recording_retains_the_reasons_of_known_failures(suite: Suite, tmp_path: Path) -> None:
    suites.run_suite(suite, tmp_path, SERVER, record=True)
    path = suites.KNOWN / f"{suite.file_name}.txt"
    path.write_text("test_cases.py::test_fails  # no such table\ntest_cases.py::test_passes  # fails\n")
    suites.run_suite(suite, tmp_path, SERVER, record=True)
    assert known_failures(suite) == {
        "test_cases.py::test_fails": "no such table",
        "test_cases.py::test_has_an_error": "ValueError: no fixture",
    }


def test_suite_that_does_not_run_fails(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cases" / "test_cases.py").unlink()
    assert not suites.run_suite(suite, tmp_path, SERVER).succeeded
    monkeypatch.setattr(suites, "client_environment", lambda *_: tmp_path / "nowhere")
    row = suites.run_suite(suite, tmp_path, SERVER)
    assert not row.succeeded and row.lines[0].startswith("did not run: ")


def test_suite_that_ends_early_fails(suite: Suite, tmp_path: Path) -> None:
    text = "import pytest\n\ndef test_passes(): pass\n\ndef test_ends(): pytest.exit('no more', returncode=3)\n"
    (tmp_path / "cases" / "test_cases.py").write_text(text)
    row = suites.run_suite(suite, tmp_path, SERVER, record=True)
    assert not row.succeeded and row.lines[0].startswith("did not run to its end (exit code 3)")
    assert known_failures(suite) == {}, "a partial run is not recorded"


def test_suites_without_checkout_or_program_are_left_out(suite: Suite, tmp_path: Path) -> None:
    assert suite.missing(tmp_path) == ""
    assert suite.missing(Path("/nowhere")) == "/nowhere has no checkout cases"
    assert replace(suite, program="no-such-program").missing(tmp_path) == "there is no no-such-program"


class NoServer(AbstractContextManager[Started]):
    def __init__(self, folder: Path, thrift_port: int) -> None:
        pass

    def __enter__(self) -> Started:
        return SERVER

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def tests_of_clients(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a file of tests in place of `tests/clients`; the only suite is the one with four tests."""
    file = tmp_path / "test_one_client.py"
    monkeypatch.setattr(all_clients, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(all_clients, "TESTS", ("-c", os.devnull, "--rootdir", str(tmp_path), str(file)))
    monkeypatch.setattr(all_clients, "SUITES", (suite, replace(suite, name="absent", checkout="absent")))
    monkeypatch.setattr(suites, "_started", NoServer)
    return file


def table(printed: str) -> dict[str, list[str]]:
    """Returns the counts of the final table by row."""
    rows = printed.rpartition("\nsuite ")[2].splitlines()[1:]
    return {
        row[:38].strip(): row[38:].split() for row in rows if row[38:].split()[-1:] and row[38:].split()[-1].isdigit()
    }


def test_all_parts_are_in_one_table_although_the_first_fails(
    tests_of_clients: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests_of_clients.write_text(CASES)
    assert all_clients.main([str(tmp_path), "--", "-q"]) == 1
    printed = capfd.readouterr().out
    assert table(printed) == {
        "one_client": ["1", "1", "1", "1", "0"],
        "all of tests/clients": ["1", "1", "1", "1", "0"],
        "four tests": ["1", "1", "1", "1", "0"],
        "absent": ["0"] * 5,
    }
    assert f"left out: {tmp_path} has no checkout absent" in printed
    assert "failed: one_client, four tests" in printed


def test_tests_that_pass_without_suites_succeed(tests_of_clients: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tests_of_clients.write_text("def test_passes(): print('2 tests were left out: no reason')")
    assert all_clients.main(["--", "-q", "-s"]) == 0
    printed = capfd.readouterr().out.rpartition("\nsuite ")[2]
    assert "2 tests were left out: no reason" in printed and "name a folder with checkouts" in printed
    tests_of_clients.write_text("raise SystemExit(7)")
    assert all_clients.main(["--", "-q"]) == 1


def test_outcomes_of_mocha() -> None:
    failure = {"fullTitle": "a fails", "err": {"message": "*org:Error: [INVALID_HANDLE] gone"}}
    report = {"passes": [{"fullTitle": "a b"}], "pending": [{"fullTitle": "a c"}], "failures": [failure]}
    assert mocha_outcomes(json.loads(json.dumps(report))) == {
        "a b": ("passed", ""),
        "a c": ("skipped", ""),
        "a fails": ("failed", "INVALID_HANDLE"),
    }


def test_outcomes_of_go_are_those_of_tests_without_subtests() -> None:
    events = [
        {"Action": "run", "Test": "TestAll/A"},
        {"Action": "output", "Test": "TestAll/A", "Output": "at x.go\n Error: [INVALID_HANDLE] gone"},
        {"Action": "fail", "Test": "TestAll/A"},
        {"Action": "output", "Test": "TestAll/B", "Output": "--- SKIP: TestAll/B (0.00s)\n"},
        {"Action": "skip", "Test": "TestAll/B"},
        {"Action": "pass", "Test": "TestAll/C"},
        {"Action": "fail", "Test": "TestAll"},
        {"Action": "fail", "Package": "any"},
    ]
    printed = "\n".join(("go: downloading", *map(json.dumps, events)))
    assert go_outcomes(printed) == {
        "TestAll/A": ("failed", "INVALID_HANDLE"),
        "TestAll/B": ("skipped", "no reason given"),
        "TestAll/C": ("passed", ""),
    }


def test_each_list_is_of_a_suite() -> None:
    assert {path.stem for path in suites.KNOWN.glob("*.txt")} <= {suite.file_name for suite in SUITES}


@pytest.mark.parametrize(
    ("name", "said"),
    [("no suite", "there is no suite named no suite"), ("PyHive", "/nowhere has no checkout PyHive")],
)
def test_suite_that_cannot_be_run_is_rejected(name: str, said: str) -> None:
    command = [sys.executable, "-m", "tests.clients.suites", "/nowhere", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and said in done.stderr
