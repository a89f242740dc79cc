"""Comparison with delta-spark: it reads our writes, and we read its writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.sample.lake import ensure_sample_lake
from engine.spark.session import SparkDriver
from tests.oracle.conftest import Oracle
from tests.oracle.exact_rows import exact_rows
from tests.oracle.made_tables import TABLES, making

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(3000)]


def rows_of(engine: LakeEngine, statement: str) -> list[list[Any]]:
    session = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    result = session.execute(statement, StatementRequest(identity=Identity("ann")))
    table = pa.Table.from_batches(result.batches(), result.schema)
    session.close()
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


@pytest.mark.spark
def test_we_read_what_it_writes(oracle: Oracle, spark_driver: SparkDriver, tmp_path: Path) -> None:
    """The same questions in the same words have the same answers, cell by cell."""
    root = tmp_path / "lake"
    root.mkdir()
    requested = {
        name: [exact_rows(f"({text})") for text in table.queries(name, str(root))] for name, table in TABLES.items()
    }
    queries = [text for texts in requested.values() for text in texts]
    answers = iter(oracle(making(str(root)) + queries)[-len(queries) :])
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(root))), spark_driver)
    for name, texts in requested.items():
        for text in texts:
            expected = next(answers)
            assert expected, (name, text)
            assert rows_of(engine, text) == expected, (name, text)


@pytest.mark.spark
def test_peer_reads_what_we_write(oracle: Oracle, spark_driver: SparkDriver, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    ensure_sample_lake(str(root))
    tables = ["weather", "shop/customers", "shop/products", "shop/orders", "shop/order_items", "shop/stock"]
    digest = "SELECT cast(count(*) AS string) n, cast(sum(cast(xxhash64(*) AS decimal(38,0))) AS string) d FROM "
    reads = [f"{digest} delta.`{root}/{table}`" for table in tables]
    reads += [f"{digest} delta.`{root}/shop/stock` VERSION AS OF {version}" for version in range(4)]
    *expected, history = oracle([*reads, f"DESCRIBE HISTORY delta.`{root}/shop/stock`"])
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(root))), spark_driver)
    for statement, rows in zip(reads, expected, strict=True):
        assert rows_of(engine, statement) == rows, statement
    ours = rows_of(engine, f"DESCRIBE HISTORY delta.`{root}/shop/stock`")
    assert [(int(row[0]), row[4]) for row in history] == [(row[0], row[4]) for row in ours]


@pytest.mark.spark
def test_peer_clusters_our_table_and_we_write_again(oracle: Oracle, spark_driver: SparkDriver, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(root))), spark_driver)
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    making = [
        f"CREATE TABLE made (id INT, s STRUCT<`a b`: DATE, n: INT>) CLUSTER BY (s.`a b`, ID) {mapped}",
        f"CREATE TABLE altered {mapped} AS SELECT 1 AS id, named_struct('a b', DATE'2024-01-01', 'n', 3) AS s",
        "ALTER TABLE altered CLUSTER BY (s.n)",
        "CREATE TABLE ended (id INT) CLUSTER BY (id)",
        f"CREATE OR REPLACE TABLE ended (id INT, s STRUCT<`a b`: DATE, n: INT>) {mapped}",
    ]
    first: dict[str, list[list[Any]]] = {"made": [], "altered": [[1, 3]], "ended": []}
    rows = [[number, 1] for number in range(60)]
    columns = {"made": "[s.`a b`, id]", "altered": "[s.n]", "ended": "[]"}
    for statement in making:
        rows_of(engine, statement)
    struct = "named_struct('a b', date_add(DATE'2024-01-01', cast(id AS int) % 7), 'n', 1)"
    insert = f"INSERT INTO {{t}} SELECT cast(id AS int), {struct} "
    for name in columns:
        rows_of(engine, insert.format(t=name) + "FROM range(20)")
    answers = oracle(
        [
            text.format(t=f"delta.`{root}/default/{name}`")
            for name in columns
            for text in ("DESCRIBE DETAIL {t}", insert + "FROM range(20, 40)", "OPTIMIZE {t}")
        ]
    )
    for position, (name, expected) in enumerate(columns.items()):
        assert answers[3 * position][0][8] == expected, name
        rows_of(engine, insert.format(t=name) + "FROM range(40, 60)")
        assert sorted(rows_of(engine, f"SELECT id, s.n FROM {name}")) == sorted(first[name] + rows), name
