"""Iceberg tables of other engines, cell for cell as DuckDB reads them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from tests.engine.iceberg.foreign import TABLES, copy_tables, duckdb_rows
from tests.engine.lake_sessions import rows

pytestmark = [pytest.mark.spark, pytest.mark.foreign]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tables(tmp_path_factory.mktemp("iceberg"))


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_that_duckdb_reads(session: LakeSession, lake: Path, table: str) -> None:
    found = rows(session, f"SELECT * FROM iceberg.`{lake / table}`")
    print(found[:5])
    assert Counter(map(repr, found)) == Counter(map(repr, duckdb_rows(lake, table)))
