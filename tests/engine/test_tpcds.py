"""TPC-DS queries answer as DuckDB does, within a small server's memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import table
from tests.tpcds import Oracle, are_equal, spark_text

pytestmark = pytest.mark.spark

# Join customer demographics with themselves, or by columns with few values.
JOINED_WITH_ITSELF = (13, 48, 64, 85)


def opened(scale: float, folder: Path, driver: SparkDriver) -> Iterator[tuple[Oracle, LakeSession]]:
    oracle = Oracle(scale)
    oracle.write_tables(folder)
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield oracle, session
    session.close()
    oracle.close()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[tuple[Oracle, LakeSession]]:
    yield from opened(0.01, tmp_path_factory.mktemp("tiny"), spark_driver)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[tuple[Oracle, LakeSession]]:
    yield from opened(0.1, tmp_path_factory.mktemp("small"), spark_driver)


@pytest.mark.parametrize("number", JOINED_WITH_ITSELF)
def test_query_of_a_tiny_scale_answers_as_duckdb_does(tiny: tuple[Oracle, LakeSession], number: int) -> None:
    oracle, session = tiny
    assert are_equal(table(session, spark_text(oracle.queries[number])), oracle.answer(number))


def test_demographics_are_not_joined_with_themselves_first(tiny: tuple[Oracle, LakeSession]) -> None:
    """In query 85 that would produce a million times as many rows as there are returns, before any of these is read."""
    oracle, session = tiny
    text = spark_text(oracle.queries[85])
    (plan,) = table(session, f"EXPLAIN COST {text}").column(0).to_pylist()
    optimized = plan.partition("== Physical Plan ==")[0]
    joins = [line for line in optimized.splitlines() if "cd_education_status" in line and "Join Inner" in line]
    assert joins and all("cd_demo_sk" in join for join in joins), optimized


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 100))
def test_query_answers_as_duckdb_does(small: tuple[Oracle, LakeSession], number: int) -> None:
    oracle, session = small
    assert are_equal(table(session, spark_text(oracle.queries[number])), oracle.answer(number))
