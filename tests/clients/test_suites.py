"""Comparison of suite reports with the known failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import suites
from tests.clients.suites import SUITES, Run, Started, Suite, go_outcomes, known_failures, mocha_outcomes

SERVER = Started(0, 0, Path(), Path())
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


def test_only_failures_that_are_not_known_fail_a_suite(
    suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not suites.run_suite(suite, tmp_path, SERVER, record=False)
    assert "new failure: test_cases.py::test_fails  # TABLE_OR_VIEW_NOT_FOUND" in capsys.readouterr().out
    assert suites.run_suite(suite, tmp_path, SERVER, record=True)
    assert known_failures(suite) == {
        "test_cases.py::test_fails": "TABLE_OR_VIEW_NOT_FOUND",
        "test_cases.py::test_has_an_error": "ValueError: no fixture",
    }
    assert suites.run_suite(suite, tmp_path, SERVER, record=False)
    printed = capsys.readouterr().out
    assert [row.split()[-4:] for row in printed.splitlines() if row.startswith("four tests")] == [["1"] * 4] * 2
    assert "1 skipped: not here" in printed
    (tmp_path / "cases" / "test_cases.py").write_text("def test_fails(): pass")
    assert suites.run_suite(suite, tmp_path, SERVER, record=False)
    assert "1 known failures passed" in capsys.readouterr().out


def test_suite_that_does_not_run_fails(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "cases" / "test_cases.py").unlink()
    assert not suites.run_suite(suite, tmp_path, SERVER, record=False)


def test_suite_that_ends_early_fails(suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "import pytest\n\ndef test_passes(): pass\n\ndef test_ends(): pytest.exit('no more', returncode=3)\n"
    (tmp_path / "cases" / "test_cases.py").write_text(text)
    assert not suites.run_suite(suite, tmp_path, SERVER, record=True)
    assert "did not run to its end (exit code 3)" in capsys.readouterr().out
    assert known_failures(suite) == {}, "a partial run is not recorded"


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
        {"Action": "skip", "Test": "TestAll/B"},
        {"Action": "pass", "Test": "TestAll/C"},
        {"Action": "fail", "Test": "TestAll"},
        {"Action": "fail", "Package": "any"},
    ]
    printed = "\n".join(("go: downloading", *map(json.dumps, events)))
    assert go_outcomes(printed) == {
        "TestAll/A": ("failed", "INVALID_HANDLE"),
        "TestAll/B": ("skipped", ""),
        "TestAll/C": ("passed", ""),
    }


def test_each_list_is_of_a_suite() -> None:
    assert {path.stem for path in suites.KNOWN.glob("*.txt")} <= {suite.file_name for suite in SUITES}


@pytest.mark.parametrize(
    ("name", "said"),
    [("no suite", "there is no suite named no suite"), ("PyHive", "/nowhere has no checkout for PyHive")],
)
def test_suite_that_cannot_be_run_is_rejected(name: str, said: str) -> None:
    command = [sys.executable, "-m", "tests.clients.suites", "/nowhere", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and said in done.stderr
