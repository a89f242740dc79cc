"""The oracle's process: SQL in, rows out; and a lake of ours beside it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from tests.paths import ROOT

Oracle = Callable[[list[str]], list[list[list[Any]]]]
Answers = Callable[[list[str]], list[dict[str, Any]]]
PYTHON = ROOT / ".oracle" / "bin" / "python"
RUN_S = 2400


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """Runs statements with delta-spark in one process: the `rows` or the `error` of each."""
    assert PYTHON.exists(), "make oracle sets up the environment of delta-spark"

    def run(statements: list[str]) -> list[dict[str, Any]]:
        file = tmp_path / "answers.json"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
        subprocess.run(
            [PYTHON, Path(__file__).with_name("delta_spark.py"), file],
            input=json.dumps(statements),
            cwd=tmp_path,
            env=environment,
            text=True,
            check=True,
            capture_output=True,
            timeout=RUN_S,
        )
        found: list[dict[str, Any]] = json.loads(file.read_text())
        return found

    return run


@pytest.fixture
def oracle(answers: Answers) -> Oracle:
    """The rows of statements, every one of which must succeed."""

    def run(statements: list[str]) -> list[list[list[Any]]]:
        found = answers(statements)
        failed = [(text, answer) for text, answer in zip(statements, found, strict=True) if "error" in answer]
        assert not failed
        return [answer["rows"] for answer in found]

    return run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The folder of the schema `default`."""
    folder = tmp_path / "lake" / "default"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake.parent))), spark_driver)
    opened = engine.open_session("ann", settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None)
    yield opened
    opened.close()
