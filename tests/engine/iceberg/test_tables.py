"""Iceberg tables made and written through SQL, as Spark, pyiceberg and DuckDB read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark


def folder(session: LakeSession, name: str) -> Path:
    (location,) = [row[4] for row in rows(session, f"DESCRIBE DETAIL {name}")]
    return Path(location)


def metadata_of(session: LakeSession, name: str) -> Path:
    found = folder(session, name) / "metadata"
    return found / f"v{(found / 'version-hint.text').read_text()}.metadata.json"


def read_by_all(session: LakeSession, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, if we, pyiceberg and DuckDB agree."""
    path = metadata_of(session, name)
    ours = sorted(rows(session, f"SELECT * FROM {name}"), key=str)
    theirs = open_duckdb().execute(f"SELECT * FROM iceberg_scan('{path}')").fetchall()
    found = StaticTable.from_metadata(str(path)).scan().to_arrow()
    assert sorted(theirs, key=str) == ours
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=str) == ours
    return ours


@contextmanager
def dynamic(session: LakeSession) -> Iterator[None]:
    run(session, "SET spark.sql.sources.partitionOverwriteMode = DYNAMIC")
    yield
    run(session, "SET spark.sql.sources.partitionOverwriteMode = STATIC")


TRANSFORMS = (
    ("bucket(16, l)", "l", "34", 3),
    ("bucket(l, 16)", "l", "-1", 8),
    ("bucket(16, i)", "i", "34", 3),
    ("bucket(16, s)", "s", "'iceberg'", 9),
    ("bucket(16, s)", "s", "''", 0),
    ("bucket(16, dec)", "dec", "14.20", 3),
    ("bucket(16, d)", "d", "DATE'2017-11-16'", 10),
    ("truncate(10, i)", "i", "-1", -10),
    ("truncate(l, 10)", "l", "1", 0),
    ("truncate(50, dec)", "dec", "10.65", "10.50"),
    ("truncate(50, dec)", "dec", "-0.05", "-0.50"),
    ("truncate(3, s)", "s", "'a😀bc'", "a😀b"),
    ("years(n)", "n", "TIMESTAMP_NTZ'1969-12-31 10:00:00'", -1),
    ("month(n)", "n", "TIMESTAMP_NTZ'2017-11-16 22:31:08'", 574),
    ("day(at)", "at", "TIMESTAMP'2017-11-16 22:31:08Z'", "2017-11-16"),
    ("hours(at)", "at", "TIMESTAMP'1969-12-31 10:00:00Z'", -14),
    ("s", "s", "''", ""),
    ("bin", "bin", "X''", ""),
    ("d", "d", "DATE'2024-02-29'", "2024-02-29"),
)
"""The specification's vectors: a transform, its column, a value, and the value of the partition."""


def test_partition_values_are_the_specifications(session: LakeSession) -> None:
    """Each spec is a later one of the same table, so that its rows are the only ones of theirs."""
    columns = "l BIGINT, i INT, s STRING, dec DECIMAL(9,2), d DATE, n TIMESTAMP_NTZ, at TIMESTAMP, bin BINARY"
    run(session, f"CREATE TABLE transformed ({columns}) USING iceberg")
    run(session, "SET TIME ZONE 'Asia/Tokyo'")
    by_term: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for term, column, value, expected in TRANSFORMS:
        by_term.setdefault((term, column), []).append((value, expected))
    for number, ((term, column), values) in enumerate(by_term.items()):
        run(session, f"ALTER TABLE transformed ADD PARTITION FIELD {term} AS p{number}")
        given = ", ".join(f"({value})" for value, _ in values)
        run(session, f"INSERT INTO transformed ({column}) VALUES {given}, (NULL)")
        found = rows(
            session, f"SELECT partition.p{number}, record_count FROM transformed.partitions WHERE record_count > 0"
        )
        run(session, "TRUNCATE TABLE transformed")
        shown = sorted(str(value.decode() if isinstance(value, bytes) else value) for value, _ in found)
        assert shown == sorted({"None", *(str(expected) for _, expected in values)}), term
        run(session, f"ALTER TABLE transformed DROP PARTITION FIELD p{number}")
    run(session, "SET TIME ZONE 'UTC'")
    run(session, "DROP TABLE transformed")


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_rows_are_written_for_every_reader(session: LakeSession, version: str) -> None:
    name = f"written{version}"
    run(
        session,
        f"CREATE TABLE {name} (id BIGINT NOT NULL, name STRING, at TIMESTAMP_NTZ, price DECIMAL(9,2),"
        " tags ARRAY<STRING>, place STRUCT<x: INT, y: STRING>) USING iceberg PARTITIONED BY (day(at), name)"
        f" TBLPROPERTIES ('format-version' = '{version}')",
    )
    run(
        session,
        f"INSERT INTO {name} VALUES"
        " (1, 'a', TIMESTAMP_NTZ'2024-01-01 10:00:00', 1.5, array('x', NULL), struct(1, 'y')),"
        " (2, '', NULL, NULL, NULL, NULL), (3, NULL, TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', -1, array(), NULL)",
    )
    assert run(session, f"INSERT INTO {name} BY NAME SELECT id + 10 AS id, 'a' AS name FROM range(3)") == 3
    assert len(read_by_all(session, name)) == 6
    assert refuse(session, f"INSERT INTO {name} (name) VALUES ('x')").condition == "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"
    violated = refuse(session, f"INSERT INTO {name} (id) SELECT nullif(1, 1)")
    assert violated.condition == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    run(session, f"ALTER TABLE {name} RENAME COLUMN price TO cost")
    run(session, f"ALTER TABLE {name} ADD COLUMN price INT AFTER id")
    with dynamic(session):
        run(session, f"INSERT OVERWRITE {name} BY NAME SELECT 20L AS id, 'a' AS name, 7 AS price")
    assert [row[0] for row in read_by_all(session, name)] == [1, 2, 20, 3]
    run(session, f"INSERT OVERWRITE {name} PARTITION (name = '') BY NAME SELECT 21L AS id")
    run(session, f"INSERT INTO {name} REPLACE WHERE id = 1 BY NAME SELECT 1L AS id, 8 AS price")
    assert [row[:2] for row in read_by_all(session, name)] == [(1, 8), (20, 7), (21, None), (3, None)]
    run(session, f"INSERT OVERWRITE {name} BY NAME SELECT 30L AS id")
    assert [row[0] for row in read_by_all(session, name)] == [30]
    history = rows(session, f"SELECT operation FROM {name}.snapshots ORDER BY committed_at")
    assert [operation for (operation,) in history] == [
        "append",
        "append",
        "overwrite",
        "overwrite",
        "overwrite",
        "overwrite",
    ]
    run(session, f"DROP TABLE {name}")


def test_files_hold_all_columns_with_ids_in_the_order_of_the_table(session: LakeSession) -> None:
    run(
        session, "CREATE TABLE sorted (k INT, m MAP<STRING, ARRAY<INT>>) USING iceberg PARTITIONED BY (truncate(10, k))"
    )
    run(session, "ALTER TABLE sorted WRITE LOCALLY ORDERED BY k DESC NULLS LAST")
    run(session, "INSERT INTO sorted SELECT CAST(id % 20 AS INT), map('a', array(1)) FROM range(100)")
    files = sorted(folder(session, "sorted").rglob("*.parquet"))
    assert len(files) == 2
    for file in files:
        keys = pq.read_table(file)["k"].to_pylist()
        assert keys == sorted(keys, reverse=True) and len(keys) == 50
        ids = {column.path: None for column in (pq.ParquetFile(file).schema.column(at) for at in range(3))}
        assert list(ids) == ["k", "m.key_value.key", "m.key_value.value.list.element"]
        assert "field_id=3 key" in str(pq.ParquetFile(file).schema) and "field_id=5 element" in str(
            pq.ParquetFile(file).schema
        )
    assert rows(session, "SELECT DISTINCT sort_order_id FROM sorted.files") == [(1,)]
    run(session, "DROP TABLE sorted")


def test_a_replaced_table_keeps_its_history(session: LakeSession) -> None:
    run(session, "CREATE TABLE again USING iceberg PARTITIONED BY (bucket(4, id)) AS SELECT id, 'a' AS s FROM range(9)")
    (first,) = rows(session, "SELECT snapshot_id FROM again.snapshots")
    before = StaticTable.from_metadata(str(metadata_of(session, "again"))).metadata.table_uuid
    run(
        session,
        "CREATE OR REPLACE TABLE again USING iceberg COMMENT 'new' AS SELECT s, count(*) AS n FROM again GROUP BY s",
    )
    assert read_by_all(session, "again") == [("a", 9)]
    assert rows(session, f"SELECT count(*), max(id) FROM again VERSION AS OF {first[0]}") == [(9, 8)]
    assert StaticTable.from_metadata(str(metadata_of(session, "again"))).metadata.table_uuid == before
    (shown,) = rows(session, "SHOW CREATE TABLE again")
    assert "USING iceberg\nCOMMENT 'new'" in shown[0] and "PARTITIONED BY" not in shown[0]
    run(session, "DROP TABLE again")


def test_defaults_of_version_3_fill_old_rows_and_new_ones(session: LakeSession) -> None:
    run(
        session,
        "CREATE TABLE defaults (id INT, s STRING DEFAULT 'q') USING iceberg TBLPROPERTIES ('format-version'='3')",
    )
    run(session, "INSERT INTO defaults (id) VALUES (1)")
    run(session, "ALTER TABLE defaults ADD COLUMN n INT NOT NULL DEFAULT 9")
    run(session, "ALTER TABLE defaults ALTER COLUMN n SET DEFAULT 10")
    run(session, "INSERT INTO defaults VALUES (2, DEFAULT, DEFAULT), (3, NULL, 1)")
    assert rows(session, "SELECT * FROM defaults ORDER BY id") == [(1, "q", 9), (2, "q", 10), (3, None, 1)]
    run(session, "DROP TABLE defaults")


def test_branches_and_tags_are_written_and_read(session: LakeSession) -> None:
    run(session, "CREATE TABLE branched (id INT) USING iceberg")
    assert refuse(session, "ALTER TABLE branched CREATE BRANCH b").condition == "ICEBERG_SNAPSHOT_NOT_FOUND"
    run(session, "INSERT INTO branched VALUES (1)")
    run(session, "ALTER TABLE branched CREATE BRANCH b RETAIN 7 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 HOURS")
    run(session, "ALTER TABLE branched CREATE TAG IF NOT EXISTS first")
    run(session, "INSERT INTO branched.branch_b VALUES (2)")
    run(session, "INSERT OVERWRITE default.branched.branch_b SELECT id + 10 FROM branched.branch_b")
    assert rows(session, "SELECT * FROM branched") == [(1,)]
    assert rows(session, "SELECT * FROM branched.branch_b ORDER BY id") == [(11,), (12,)]
    assert rows(session, "SELECT * FROM branched.tag_first") == [(1,)]
    limits = "max_reference_age_in_ms, min_snapshots_to_keep, max_snapshot_age_in_ms"
    assert rows(session, f"SELECT {limits} FROM branched.refs WHERE name = 'b'") == [(604_800_000, 3, 7_200_000)]
    for text, condition in (
        ("ALTER TABLE branched CREATE TAG first", "ICEBERG_REFERENCE_REFUSED"),
        ("ALTER TABLE branched DROP BRANCH first", "ICEBERG_REFERENCE_REFUSED"),
        ("ALTER TABLE branched DROP BRANCH main", "ICEBERG_REFERENCE_REFUSED"),
        ("ALTER TABLE branched REPLACE TAG nothing", "ICEBERG_REFERENCE_NOT_FOUND"),
        ("INSERT INTO branched.tag_first VALUES (1)", "ICEBERG_REFERENCE_NOT_WRITABLE"),
        ("INSERT INTO branched.branch_x VALUES (1)", "ICEBERG_SNAPSHOT_NOT_FOUND"),
    ):
        assert refuse(session, text).condition == condition, text
    run(session, "ALTER TABLE branched CREATE OR REPLACE TAG first")
    run(session, "ALTER TABLE branched DROP TAG first")
    run(session, "ALTER TABLE branched DROP BRANCH IF EXISTS first")
    assert [name for (name,) in rows(session, "SELECT name FROM branched.refs")] == ["main", "b"]
    run(session, "DROP TABLE branched")
