"""Iceberg tables that other engines wrote, as a lake, and DuckDB as another reader of them.

The paths in their metadata are relative to a folder that has them below `data/persistent`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg

from tests.paths import TESTDATA

ICEBERG = TESTDATA / "iceberg"
PREFIX = "data/persistent"

TABLES = {
    "add_columns_with_defaults/default.db/add_columns_with_defaults": None,
    "case_sensitive_names/default.db/case_sensitive_names": None,
    "column_mapping/warehouse/default.db/my_table": None,
    "equality_delete_cross_partition/warehouse/ns/t": None,
    "equality_deletes/warehouse/mydb/mytable": None,
    "equality_deletes/warehouse/mydb/mytable_partitioned": None,
    "iceberg_v1_deprecated/default/legacy_v1": None,
    "lineitem_iceberg": None,
    "map_stats/default.db/map_stats": None,
    "name_mapping/warehouse_1/mydb/t1": None,
    "null_stats/default/test_nulls": None,
    "partition_bigint": None,
    "partition_bool": None,
    "partition_timestamp/default.db/partition_timestamp": None,
    "uuid": None,
}
"""Folders of tables, below `PREFIX`."""


def copy_tables(folder: Path) -> Path:
    """The tables in a folder of their own: the lake that they are in."""
    lake = folder / PREFIX
    shutil.copytree(ICEBERG, lake, ignore=shutil.ignore_patterns("*.crc", "*.bin"))
    return lake


def open_duckdb() -> duckdb.DuckDBPyConnection:
    """A connection that knows `iceberg_scan`; its time zone is UTC."""
    version = f"v{duckdb.__version__}"
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for module, name in ((duckdb_extension_avro, "avro"), (duckdb_extension_iceberg, "iceberg")):
        connection.execute(f"LOAD '{Path(module.__file__).parent / 'extensions' / version / name}.duckdb_extension'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """DuckDB takes relative paths for those below the folder that the process is in."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def newest_metadata(lake: Path, table: str) -> str:
    """The metadata file of a table, relative to the folder around the lake."""
    names = sorted(path.name for path in (lake / table / "metadata").glob("*.metadata.json"))
    return f"{PREFIX}/{table}/metadata/{names[-1]}"


def duckdb_rows(lake: Path, table: str) -> list[tuple[Any, ...]]:
    with working_in(lake.parent.parent):
        query = f"SELECT * FROM iceberg_scan('{newest_metadata(lake, table)}')"
        found = open_duckdb().execute(query).to_arrow_table()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))
