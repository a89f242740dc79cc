"""Beside the Iceberg runtime: we read what it writes, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import rows
from tests.oracle.conftest import ask_iceberg_spark
from tests.oracle.exact_rows import exact_rows
from tests.oracle.iceberg_tables import TABLES

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(1200)]

Answers = dict[str, list[tuple[str, list[list[Any]]]]]
"""Table -> questions with their answers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("iceberg")


@pytest.fixture(scope="module")
def made(folder: Path) -> Answers:
    """What the runtime answers about the tables that it has made in the folder."""
    steps = [step for name, table in TABLES.items() for step in table.statements(f"c.d.{name}")]
    asked = [(name, text) for name, table in TABLES.items() for text in table.questions("{t}")]
    questions = [exact_rows(f"({text.replace('{t}', f'c.d.{name}')})") for name, text in asked]
    answers = ask_iceberg_spark([*steps, *questions], folder)
    assert not [(step, answer) for step, answer in zip(steps + questions, answers, strict=True) if "error" in answer]
    found: Answers = {name: [] for name in TABLES}
    for (name, text), answer in zip(asked, answers[len(steps) :], strict=True):
        found[name].append((text, answer["rows"]))
    return found


@pytest.fixture(scope="module")
def ask(folder: Path, made: Answers, spark_driver: SparkDriver) -> Callable[[str], list[tuple[Any, ...]]]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder / "lake"))), spark_driver)
    settings = {"spark.sql.session.timeZone": "UTC"}
    session = engine.open_session(Identity("ann"), settings=settings, catalog=None, schema=None)
    return lambda text: rows(session, text)


@pytest.mark.parametrize("name", TABLES)
def test_we_read_what_it_writes(made: Answers, ask: Callable[[str], list[tuple[Any, ...]]], name: str) -> None:
    """The same questions in the same words have the same answers; every snapshot of a table is asked for."""
    for text, expected in made[name]:
        assert expected, text
        found = ask(exact_rows(f"({text.replace('{t}', f'd.{name}')})"))
        assert [list(row) for row in found] == expected, text
