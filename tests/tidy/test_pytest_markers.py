"""`make check` starts no Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.no_java import refuse_java
from tests.paths import ROOT


@pytest.mark.parametrize(
    "command",
    [
        ["java", "-version"],
        ["/opt/jdk/bin/java"],
        ["bash", "/x/bin/spark-submit"],
        ["python", "-m", "gateway", "serve"],
    ],
    ids=" ".join,
)
def test_java_is_refused(command: list[str]) -> None:
    with pytest.raises(AssertionError, match="not marked"):
        refuse_java("subprocess.Popen", (command[0], command, None, None))


@pytest.mark.parametrize(
    "command", [["javac", "-version"], ["git", "log"], ["python", "-m", "gateway", "sql"]], ids=" ".join
)
def test_other_programs_are_not(command: list[str]) -> None:
    refuse_java("subprocess.Popen", (command[0], command, None, None))
    refuse_java("open", ("java", "r", 0))


def test_a_script_that_is_called_java_is_not(tmp_path: Path) -> None:
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\n")
    refuse_java("subprocess.Popen", (str(script), [str(script), "-version"], None, None))


def test_inner_loop_excludes_java_tests() -> None:
    """It also installs the hook (`tests/conftest.py`)."""
    (check,) = (line for line in (ROOT / "Makefile").read_text().splitlines() if "HYPOTHESIS_PROFILE=quick" in line)
    assert '-m "not spark and not clients' in check
