"""The oracle's process: SQL in, rows out; and our lake for comparison."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.paths import ROOT

Oracle = Callable[[list[str]], list[list[list[Any]]]]
Answers = Callable[[list[str]], list[dict[str, Any]]]
PYTHON = ROOT / ".oracle" / "bin" / "python"
ICEBERG_PYTHON = ROOT / ".oracle-iceberg" / "bin" / "python"
RUN_S = 4800


def ask_delta_spark(statements: Iterable[str], folder: Path) -> list[dict[str, Any]]:
    """Returns each statement's `rows` or `error`, from one delta-spark process that works in the folder."""
    return _ask(PYTHON, "delta_spark", statements, folder)


def ask_iceberg_spark(statements: Iterable[str | list[Any]], folder: Path) -> list[dict[str, Any]]:
    """Returns the same from the Iceberg runtime, whose tables are below `lake` in the folder."""
    return _ask(ICEBERG_PYTHON, "iceberg_spark", statements, folder)


def _ask(python: Path, script: str, statements: Iterable[str | list[Any]], folder: Path) -> list[dict[str, Any]]:
    """Runs statements as the iterator yields them; the process's own errors are in a log in the folder."""
    assert python.exists(), f"make oracle sets up the environment of {script}"
    file = folder / "answers.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    with (folder / f"{script}.log").open("w") as log:
        process = subprocess.Popen(
            [python, Path(__file__).with_name(f"{script}.py"), file],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment,
            text=True,
        )
        try:
            assert process.stdin
            with process.stdin as lines:
                for statement in statements:
                    print(json.dumps(statement), file=lines, flush=True)
            assert process.wait(RUN_S) == 0, (folder / f"{script}.log").read_text()
        finally:
            process.kill()
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """Runs statements with delta-spark in one process: each one's `rows` or `error`."""
    return lambda statements: ask_delta_spark(statements, tmp_path)


@pytest.fixture
def oracle(answers: Answers) -> Oracle:
    """Returns statements' rows; every statement must succeed."""

    def run(statements: list[str]) -> list[list[list[Any]]]:
        found = answers(statements)
        failed = [(text, answer) for text, answer in zip(statements, found, strict=True) if "error" in answer]
        assert not failed, "\n".join(f"{text}: {answer['error'][:2000]}" for text, answer in failed)
        return [answer["rows"] for answer in found]

    return run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Returns the folder of schema `default`."""
    folder = tmp_path / "lake" / "default"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake.parent))), spark_driver)
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()
