"""The lake over which statements are planned. No test changes a table of `tables.py`; others are a test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.plan.lake import PlanningLake
from tests.engine.plan.tables import make_tables


@pytest.fixture(scope="session")
def planning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanningLake]:
    lake = PlanningLake(tmp_path_factory.mktemp("a lake of logs"))
    make_tables(lake)
    yield lake
    lake.sources.close()
