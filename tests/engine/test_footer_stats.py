"""Statistics from footers with several row groups, as Spark's Parquet writer makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from engine.delta.commit.footer_stats import FooterStats
from engine.delta.definition.table_config import DeltaConfig, choose_protocol
from engine.spark.session import SparkDriver
from engine.storage.storage import open_storage
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.delta.committing import metadata

pytestmark = pytest.mark.spark

ROWS = 2000
COLUMNS = [
    ("IF(id = 1500, double('NaN'), id)", 0.0, None),
    ("IF(id = 100, double('NaN'), id)", 0.0, None),
    ("IF(id < 1500, double('NaN'), id)", None, None),
    ("IF(id < 1500, NULL, double(id))", 1500.0, 1999.0),
    ("double('NaN')", None, None),
    ("double(NULL)", None, None),
    ("double(-id)", -1999.0, 0.0),
]


def test_a_nan_in_any_row_group_leaves_no_upper_bound(spark_driver: SparkDriver, tmp_path: Path) -> None:
    """Spark takes it for greater than all other numbers, whichever row group it is in."""
    spark: Any = spark_driver.process.gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    names = [f"c{number}" for number in range(len(COLUMNS))]
    columns = ", ".join(f"{text} AS {name}" for name, (text, *_) in zip(names, COLUMNS, strict=True))
    rows = spark.sql(f"SELECT {columns} FROM range(0, {ROWS}, 1, 1)")
    rows.write().option("parquet.block.size", "4096").mode("append").parquet(str(tmp_path))
    (file,) = tmp_path.glob("*.parquet")
    assert pq.read_metadata(file).num_row_groups > 3
    schema = StructType(tuple(StructField(name, PrimitiveType.DOUBLE) for name in names))
    storage = open_storage(str(tmp_path))
    table = metadata(schema, (), {})
    config = DeltaConfig.of("t", choose_protocol("t", None, table), table)
    stats = FooterStats(storage, config).load(file.name)
    bounds = [(stats.min_values.get(name), stats.max_values.get(name)) for name in names]
    assert bounds == [(low, high) for _, low, high in COLUMNS]
