"""Iceberg tables from other engines, as a lake, and DuckDB as another reader.

The paths in their metadata are relative to a folder that contains them below `data/persistent`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg

from tests.paths import TESTDATA

ICEBERG = TESTDATA / "iceberg"
PREFIX = "data/persistent"

# Table folders, below `PREFIX`.
TABLES = (
    "add_columns_with_defaults/default.db/add_columns_with_defaults",
    "case_sensitive_names/default.db/case_sensitive_names",
    "column_mapping/warehouse/default.db/my_table",
    "equality_delete_cross_partition/warehouse/ns/t",
    "equality_deletes/warehouse/mydb/mytable",
    "equality_deletes/warehouse/mydb/mytable_partitioned",
    "iceberg_v1_deprecated/default/legacy_v1",
    "lineitem_iceberg",
    "map_stats/default.db/map_stats",
    "name_mapping/warehouse_1/mydb/t1",
    "null_stats/default/test_nulls",
    "partition_bigint",
    "partition_bool",
    "partition_timestamp/default.db/partition_timestamp",
    "uuid",
)

_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
NOT_READ_BY_DUCKDB: Mapping[str, list[tuple[Any, ...]]] = {
    # It deletes other partitions' rows too.
    "equality_delete_cross_partition/warehouse/ns/t": [(0, 999, "p0-k999"), (1, 100, "p1-k100"), (1, 888, "p1-k888")],
    # It does not support manifests without a list.
    "iceberg_v1_deprecated/default/legacy_v1": [(1, "alpha", 10), (2, "beta", 20), (3, "alpha", None)],
    # The paths are no URLs: file://data/persistent.
    "map_stats/default.db/map_stats": [
        (_BEGINNING, "hello", "world", [("key", "value1")]),
        (_BEGINNING + timedelta(days=1), "hello", "world", [("key", "value1")]),
    ],
}


def copy_tables(folder: Path) -> Path:
    """Copies the tables to a folder; returns their lake."""
    lake = folder / PREFIX
    shutil.copytree(ICEBERG, lake, ignore=shutil.ignore_patterns("*.crc", "*.bin"))
    return lake


def open_duckdb() -> duckdb.DuckDBPyConnection:
    """Returns a connection with `iceberg_scan`, in UTC."""
    version = f"v{duckdb.__version__}"
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for module, name in ((duckdb_extension_avro, "avro"), (duckdb_extension_iceberg, "iceberg")):
        connection.execute(f"LOAD '{Path(module.__file__).parent / 'extensions' / version / name}.duckdb_extension'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """DuckDB resolves relative paths against the process's working directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def newest_metadata(lake: Path, table: str, around: Path) -> str:
    """Returns a table's metadata file, relative to a folder around it."""
    return str(max((lake / table / "metadata").glob("*.metadata.json")).relative_to(around))


def expected_rows(lake: Path, table: str) -> list[tuple[Any, ...]]:
    """Returns a table's rows, from the test's own session."""
    return NOT_READ_BY_DUCKDB.get(table) or duckdb_rows(lake, table)


def duckdb_rows(lake: Path, table: str) -> list[tuple[Any, ...]]:
    around = lake if table == "lineitem_iceberg" else lake.parent.parent
    with working_in(around):
        query = f"SELECT * FROM iceberg_scan('{newest_metadata(lake, table, around)}')"
        found = open_duckdb().execute(query).to_arrow_table()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))
