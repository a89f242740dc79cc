"""Comparison with the Iceberg runtime: we read its tables, cell by cell, and it reads ours."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.iceberg.written_history import History
from tests.engine.lake_sessions import rows
from tests.oracle.conftest import ask_iceberg_spark
from tests.oracle.exact_rows import exact_rows
from tests.oracle.iceberg_tables import TABLES

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(1200)]

# Table -> questions with their answers.
Answers = dict[str, list[tuple[str, list[list[Any]]]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("iceberg")


@pytest.fixture(scope="module")
def made(folder: Path) -> Answers:
    """Returns the runtime's answers about its tables in the folder."""
    steps = [step for name, table in TABLES.items() for step in table.statements(f"c.d.{name}")]
    requested = [(name, text) for name, table in TABLES.items() for text in table.queries("{t}")]
    queries = [exact_rows(f"({text.replace('{t}', f'c.d.{name}')})") for name, text in requested]
    answers = ask_iceberg_spark([*steps, *queries], folder)
    assert not [(step, answer) for step, answer in zip([*steps, *queries], answers, strict=True) if "error" in answer]
    found: Answers = {name: [] for name in TABLES}
    for (name, text), answer in zip(requested, answers[len(steps) :], strict=True):
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
    """The same queries have the same answers; every snapshot in a table is read."""
    for text, expected in made[name]:
        assert expected, text
        found = ask(exact_rows(f"({text.replace('{t}', f'd.{name}')})"))
        assert [list(row) for row in found] == expected, text


def test_iceberg_spark_and_the_gateway_extend_each_others_tables(spark_driver: SparkDriver, tmp_path: Path) -> None:
    """It reads and extends our table, and we read that; then we extend it, and it reads that."""
    lake = tmp_path / "lake"
    lake.mkdir()
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    settings = {"spark.sql.session.timeZone": "UTC"}
    session = engine.open_session(Identity("ann"), settings=settings, catalog=None, schema=None)
    histories = [History(session, lake / "default", random.Random(seed), f"h{seed}") for seed in range(300, 312)]
    for history in histories:
        history.create()
        for _ in range(15):
            history.step()
    for round_number in range(2):
        changes = [text for history in histories for text in _changes(f"c.default.{history.name}")]
        reads = [_ordered(f"c.default.{history.name}", history.names()) for history in histories]
        answers = ask_iceberg_spark([*reads, *changes, *reads], tmp_path)
        assert not [answer for answer in answers if "error" in answer]
        before, after = answers[: len(reads)], answers[-len(reads) :]
        for history, first, last in zip(histories, before, after, strict=True):
            assert _rows(first) == history.expected_texts(), (round_number, history.log)
            found = rows(session, _ordered(history.name, history.names()))
            assert Counter(found) == _rows(last), (round_number, history.log)
            texts = rows(session, f"SELECT {', '.join(history.names())} FROM {history.name}")
            history.stored = [dict(zip(history.columns, row, strict=True)) for row in texts]
            for _ in range(5):
                history.step()
            history.check()


def _changes(table: str) -> list[str]:
    return [
        f"DELETE FROM {table} WHERE id % 4 = 1",
        f"INSERT INTO {table} SELECT * FROM {table} WHERE id >= 7",
        f"UPDATE {table} SET s = concat(s, 'u') WHERE id = 3",
    ]


def _ordered(table: str, names: list[str]) -> str:
    return f"SELECT {', '.join(f'CAST({name} AS STRING) AS {name}' for name in names)} FROM {table}"


def _rows(answer: dict[str, Any]) -> Counter[tuple[str | None, ...]]:
    return Counter(tuple(row) for row in answer["rows"])
