"""Iceberg tables from other engines, compared cell by cell with DuckDB."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.spark.session import SparkDriver
from tests.engine.iceberg.foreign import TABLES, copy_tables, expected_rows
from tests.engine.lake_sessions import rows, run

pytestmark = [pytest.mark.spark, pytest.mark.foreign]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tables(tmp_path_factory.mktemp("iceberg"))


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake), trusted_roots=(str(lake),))), spark_driver)


def cell(value: Any) -> Any:
    """Returns a value as text if the two sides have different types for it."""
    match value:
        case UUID():
            return str(value)
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        case time():
            whole, dot, fraction = value.isoformat().partition(".")
            return f"{whole}{dot}{fraction.rstrip('0')}"
        case dict():
            return sorted(value.items())
        case list():
            return [cell(each) for each in value]
        case _:
            return value


def cells(found: list[tuple[Any, ...]]) -> Counter[str]:
    return Counter(repr(tuple(map(cell, row))) for row in found)


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_that_duckdb_reads(session: LakeSession, lake: Path, table: str) -> None:
    run(session, "SET TIME ZONE 'UTC'")
    assert cells(rows(session, f"SELECT * FROM iceberg.`{lake / table}`")) == cells(expected_rows(lake, table))


def test_tables_are_found_in_the_lake(session: LakeSession) -> None:
    assert rows(session, "SELECT count(*) FROM partition_bigint WHERE partition_col > 0") == [(1,)]
    found = {row[1] for row in rows(session, "SHOW TABLES")}
    assert {"lineitem_iceberg", "partition_bigint", "partition_bool", "uuid"} <= found
    assert rows(session, "SELECT max(id) FROM `equality_deletes.warehouse.mydb`.mytable") == [(5,)]
