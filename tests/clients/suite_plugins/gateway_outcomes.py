"""Writes each test's outcome, and the reason unless it passed, to the file in GATEWAY_OUTCOMES."""

import json
import os
import re
from pathlib import Path
from typing import Any

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]{4,}(?:\.[A-Z0-9_]+)*)\]")
_outcomes: dict[str, tuple[str, str]] = {}


def pytest_runtest_logreport(report: Any) -> None:
    name, outcome = report.nodeid, report.outcome
    if outcome == "failed" and report.when != "call":
        outcome = "error"
    if report.when == "call" or outcome != "passed":
        _outcomes[name] = (outcome, "" if outcome == "passed" else _reason(report))


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _outcomes[report.nodeid] = ("error", _reason(report))


def pytest_sessionfinish(session: Any) -> None:
    if not hasattr(session.config, "workerinput"):
        Path(os.environ["GATEWAY_OUTCOMES"]).write_text(json.dumps(_outcomes, indent=1))


def _reason(report: Any) -> str:
    """Returns the first error condition in a test's report, else its first error line."""
    if isinstance(report.longrepr, tuple):
        return re.sub(r"^'.*' ?:? *(?=marked)", "", str(report.longrepr[2]).removeprefix("Skipped: "))
    text = report.longreprtext
    shown = _CONDITION.search("\n".join([text, *(content for _, content in report.sections)]))
    errors = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return shown[1] if shown else " ".join((errors or text.splitlines()[-1:] or [""])[0].split())[:100]
