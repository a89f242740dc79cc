"""A lake for each module, with the real engine over it, or with tables over which statements are planned.

Creating the planning lake takes 40 ms. A lake shared by all modules made the outcome depend on which module ran first,
if two use the same table name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.planning.lake import PlanningLake
from tests.engine.planning.tables import make_tables


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("a lake")


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the pauses that give other writers an attempt, for tests in which one commits before each of ours."""
    monkeypatch.setattr("engine.concurrency.commit_run.PAUSE_S_MAX", 0.1)


@pytest.fixture(scope="module")
def planning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanningLake]:
    lake = PlanningLake(tmp_path_factory.mktemp("a lake of logs"))
    make_tables(lake)
    yield lake
    lake.sources.close()
