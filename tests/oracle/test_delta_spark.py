"""Beside delta-spark: it reads what we write, and we read what it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.context import StatementContext
from engine.delta import load_snapshot
from engine.delta.errors import DeltaError
from engine.delta.spec.features import Operation
from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.sample_lake import ensure_sample_lake
from tests.oracle.conftest import Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(1200)]

MADE = {
    "plain": ("id BIGINT, name STRING, day DATE", "", ""),
    "parted": ("id BIGINT, name STRING, day DATE", "PARTITIONED BY (day)", ""),
    "mapped": ("id BIGINT, name STRING, day DATE", "PARTITIONED BY (day)", "'delta.columnMapping.mode' = 'name'"),
    "vectors": ("id BIGINT, name STRING, day DATE", "", "'delta.enableDeletionVectors' = 'true'"),
    "tracked": ("id BIGINT, name STRING, day DATE", "", "'delta.enableRowTracking' = 'true'"),
    "clustered": ("id BIGINT, name STRING, day DATE", "CLUSTER BY (id)", ""),
    "v2": ("id BIGINT, name STRING, day DATE", "", "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2'"),
    "stamped": ("id BIGINT, name STRING, day DATE", "", "'delta.enableInCommitTimestamps' = 'true'"),
    "feed": ("id BIGINT, name STRING, day DATE", "", "'delta.enableChangeDataFeed' = 'true'"),
    "widened": ("id INT, name STRING, day DATE", "", "'delta.enableTypeWidening' = 'true'"),
}


def making(root: Path) -> list[str]:
    """Statements that make one table of each kind, with a few versions each."""
    statements = []
    for name, (columns, clause, properties) in MADE.items():
        table = f"delta.`{root}/{name}`"
        options = f"TBLPROPERTIES ({properties})" if properties else ""
        statements += [
            f"CREATE TABLE {table} ({columns}) USING delta {clause} {options}",
            f"INSERT INTO {table} SELECT id, concat('n', id), DATE'2024-01-01' + cast(id % 3 AS int) FROM range(30)",
            f"INSERT INTO {table} VALUES (100, NULL, NULL), (101, 'é %+', DATE'2024-01-02')",
            f"DELETE FROM {table} WHERE id % 7 = 3",
            f"UPDATE {table} SET name = 'changed' WHERE id = 5",
        ]
    statements.append(f"ALTER TABLE delta.`{root}/mapped` RENAME COLUMN name TO title")
    statements.append(f"ALTER TABLE delta.`{root}/widened` ALTER COLUMN id TYPE BIGINT")
    statements.append(f"INSERT INTO delta.`{root}/widened` VALUES (5000000000, 'big', NULL)")
    return statements


def texts(engine: LakeEngine, statement: str) -> list[list[Any]]:
    session = engine.open_session("ann", settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None)
    result = session.execute(statement, StatementContext(principal="ann"))
    table = pa.Table.from_batches(result.batches(), result.schema)
    session.close()
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


@pytest.mark.spark
def test_we_read_what_it_writes(oracle: Oracle, spark_driver: SparkDriver, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    reads = []
    for name in MADE:
        label = "title" if name == "mapped" else "name"
        reads.append(
            f"SELECT cast(id AS string) i, {label} n, cast(day AS string) d FROM delta.`{root}/{name}` ORDER BY id"
        )
    files = [f"SELECT DISTINCT _metadata.file_path AS f FROM delta.`{root}/{name}`" for name in MADE]
    answers = oracle(making(root) + reads + files)
    rows, paths = answers[-2 * len(MADE) : -len(MADE)], answers[-len(MADE) :]
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(root))), spark_driver)
    for name, statement, expected, used in zip(MADE, reads, rows, paths, strict=True):
        snapshot = load_snapshot(str(root / name))
        listed = {Path(path).name for path in snapshot.files["path"].to_pylist()}
        assert {Path(path).name for (path,) in used} <= listed, name
        try:
            snapshot.config.ensure_supported(Operation.READ)
        except DeltaError as error:
            assert error.condition == "DELTA_UNSUPPORTED_FEATURES_FOR_READ", name
            continue
        assert texts(engine, statement) == expected, name


@pytest.mark.spark
def test_it_reads_what_we_write(oracle: Oracle, spark_driver: SparkDriver, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    ensure_sample_lake(str(root))
    tables = ["weather", "shop/customers", "shop/products", "shop/orders", "shop/order_items", "shop/stock"]
    digest = "SELECT cast(count(*) AS string) n, cast(sum(cast(xxhash64(*) AS decimal(38,0))) AS string) d FROM "
    reads = [f"{digest} delta.`{root}/{table}`" for table in tables]
    reads += [f"{digest} delta.`{root}/shop/stock` VERSION AS OF {version}" for version in range(4)]
    *expected, history = oracle([*reads, f"DESCRIBE HISTORY delta.`{root}/shop/stock`"])
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(root))), spark_driver)
    for statement, rows in zip(reads, expected, strict=True):
        assert texts(engine, statement) == rows, statement
    ours = texts(engine, f"DESCRIBE HISTORY delta.`{root}/shop/stock`")
    assert [(int(row[0]), row[4]) for row in history] == [(row[0], row[4]) for row in ours]
