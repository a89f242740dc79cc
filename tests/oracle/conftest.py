"""The oracle's process: SQL in, rows out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

Oracle = Callable[[list[str]], list[list[list[Any]]]]
PYTHON = ROOT / ".oracle" / "bin" / "python"
RUN_S = 2400


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    """Runs statements with delta-spark in one process; every one of them must succeed."""
    assert PYTHON.exists(), "make oracle sets up the environment of delta-spark"

    def run(statements: list[str]) -> list[list[list[Any]]]:
        answers = tmp_path / "answers.json"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
        subprocess.run(
            [PYTHON, Path(__file__).with_name("delta_spark.py"), answers],
            input=json.dumps(statements),
            cwd=tmp_path,
            env=environment,
            text=True,
            check=True,
            capture_output=True,
            timeout=RUN_S,
        )
        found = json.loads(answers.read_text())
        for statement, answer in zip(statements, found, strict=True):
            assert "error" not in answer, (statement, answer)
        return [answer["rows"] for answer in found]

    return run
