"""Iceberg tables made and written through SQL, as Spark, pyiceberg and DuckDB read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable
from pyiceberg.transforms import BucketTransform, DayTransform
from pyiceberg.types import DecimalType, TimestamptzType
from pyiceberg.utils.datetime import datetime_to_micros

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.lake_sessions import refuse, rows, run
from tests.present import present
from tests.samples import some

pytestmark = pytest.mark.spark


def folder(session: LakeSession, name: str) -> Path:
    (location,) = [row[4] for row in rows(session, f"DESCRIBE DETAIL {name}")]
    return Path(location)


def metadata_of(session: LakeSession, name: str) -> Path:
    found = folder(session, name) / "metadata"
    return found / f"v{(found / 'version-hint.text').read_text()}.metadata.json"


def read_by_all(session: LakeSession, name: str) -> list[tuple[Any, ...]]:
    """Returns a table's rows, if we, pyiceberg and DuckDB agree."""
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


TERMS = (
    "k, bucket(16, l), bucket(i, 16), bucket(16, s), bucket(16, dec), bucket(16, d), truncate(10, i), truncate(l, 10),"
    " truncate(50, dec), truncate(3, s), years(n), month(n), day(at), hours(n), s, bin, d"
)
# The specification's vectors: a column, its value, and partition values.
VALUES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("l", "34", {"l_bucket": 3, "l_trunc": 30}),
    ("l", "-1", {"l_bucket": 8, "l_trunc": -10}),
    ("l", "0", {"l_bucket": 12, "l_trunc": 0}),
    ("i", "34", {"i_bucket": 3}),
    ("i", "-1", {"i_trunc": -10}),
    ("i", "-2147483648", {"i_trunc": 2147483646}),
    ("s", "'iceberg'", {"s_bucket": 9, "s_trunc": "ice", "s": "iceberg"}),
    ("s", "''", {"s_bucket": 0, "s_trunc": "", "s": ""}),
    ("s", "'a😀bc'", {"s_trunc": "a😀b"}),
    ("dec", "14.20", {"dec_bucket": 3}),
    ("dec", "10.65", {"dec_trunc": Decimal("10.50")}),
    ("dec", "-0.05", {"dec_trunc": Decimal("-0.50")}),
    ("d", "DATE'2017-11-16'", {"d_bucket": 10, "d": date(2017, 11, 16)}),
    ("n", "TIMESTAMP_NTZ'1969-12-31 10:00:00'", {"n_year": -1, "n_month": -1, "n_hour": -14}),
    ("n", "TIMESTAMP_NTZ'2017-11-16 22:31:08'", {"n_year": 47, "n_month": 574, "n_hour": 419686}),
    ("at", "TIMESTAMP'2017-11-16 22:31:08Z'", {"at_day": date(2017, 11, 16)}),
    ("at", "TIMESTAMP'1969-12-31 10:00:00Z'", {"at_day": date(1969, 12, 31)}),
    ("bin", "X''", {"bin": b""}),
    ("bin", "X'00ff'", {"bin": b"\x00\xff"}),
    ("l", "NULL", {"l_bucket": None, "l_trunc": None, "s": None, "at_day": None}),
)


def test_partition_values_are_the_specifications(session: LakeSession) -> None:
    columns = "l BIGINT, i INT, s STRING, dec DECIMAL(9,2), d DATE, n TIMESTAMP_NTZ, at TIMESTAMP, bin BINARY"
    run(session, f"CREATE TABLE vectors (k INT, {columns}) USING iceberg PARTITIONED BY ({TERMS})")
    run(session, "SET TIME ZONE 'Asia/Tokyo'")
    names = [each.split()[0] for each in columns.replace("(9,2)", "").split(", ")]
    given = (", ".join(value if name == column else "NULL" for name in names) for column, value, _ in VALUES)
    run(session, f"INSERT INTO vectors VALUES {', '.join(f'({k}, {each})' for k, each in enumerate(given))}")
    run(session, "SET TIME ZONE 'UTC'")
    found = {tuple_["k"]: tuple_ for (tuple_,) in rows(session, "SELECT partition FROM vectors.partitions")}
    for k, (column, value, expected) in enumerate(VALUES):
        assert {name: found[k][name] for name in expected} == expected, (column, value)
    run(session, "DROP TABLE vectors")


def test_describe_detail_has_the_partition_columns_and_transforms(session: LakeSession) -> None:
    run(session, "CREATE TABLE parts (k INT, `a b` STRING, at DATE) USING iceberg PARTITIONED BY (k, `a b`, days(at))")
    (detail,) = rows(session, "DESCRIBE DETAIL parts")
    assert detail[7] == ["k", "`a b`", "day(`at`)"]
    run(session, "CREATE TABLE whole (k INT) USING iceberg")
    assert rows(session, "DESCRIBE DETAIL whole")[0][7] == []
    for name in ("parts", "whole"):
        run(session, f"DROP TABLE {name}")


@pytest.mark.parametrize("version", some(("1", "2", "3"), ("1", "3")))
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
    assert (
        refuse(session, f"INSERT INTO {name} (name) VALUES ('x')").condition
        == "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA"
    )
    violated = refuse(session, f"INSERT INTO {name} (id) SELECT nullif(1, 1)")
    assert violated.condition == "NOT_NULL_ASSERT_VIOLATION"
    run(session, f"ALTER TABLE {name} RENAME COLUMN price TO cost")
    run(session, f"ALTER TABLE {name} ADD COLUMN price INT AFTER id")
    with dynamic(session):
        run(session, f"INSERT OVERWRITE {name} BY NAME SELECT 20L AS id, 'a' AS name, 7 AS price")
    assert [row[0] for row in read_by_all(session, name)] == [1, 2, 20, 3]
    run(session, f"INSERT OVERWRITE {name} PARTITION (name = '') BY NAME SELECT 21L AS id")
    run(session, f"INSERT INTO {name} REPLACE WHERE id = 1 SELECT 1, 8, NULL, NULL, NULL, NULL, NULL")
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


def test_files_are_sorted_by_what_transforms_make(session: LakeSession) -> None:
    run(session, "CREATE TABLE ordered (c DECIMAL(2,2), at TIMESTAMP, s STRING, i INT) USING iceberg")
    run(
        session,
        "ALTER TABLE ordered WRITE ORDERED BY bucket(3, c), days(at) DESC NULLS FIRST, truncate(1, s), truncate(10, i)",
    )
    run(
        session,
        "INSERT INTO ordered SELECT CAST(id % 5 / 10 AS DECIMAL(2,2)), CASE WHEN id % 7 <> 3 THEN"
        " TIMESTAMP'1970-01-01 00:00:00Z' + make_dt_interval(0, CAST(id % 7 AS INT) * 9 - 20) END,"
        " array('', 'ab', 'ac', 'é', '😀')[id % 5], CAST(id * 7 % 45 - 20 AS INT) FROM range(90)",
    )
    (file,) = folder(session, "ordered").rglob("*.parquet")
    bucket = BucketTransform(3).transform(DecimalType(2, 2))
    day: Callable[[Any], int | None] = DayTransform().transform(TimestamptzType())
    keys = [
        (
            bucket(row["c"]),
            -1e9 if row["at"] is None else -present(day(datetime_to_micros(row["at"]))),
            row["s"][:1].encode(),
            row["i"] // 10,
        )
        for row in pq.read_table(file).to_pylist()
    ]
    assert keys == sorted(keys) and len({first for first, *_ in keys}) > 1
    assert rows(session, "SELECT sort_order_id FROM ordered.files") == [(1,)]
    run(session, "DROP TABLE ordered")


def test_a_replaced_table_keeps_its_history(session: LakeSession) -> None:
    run(session, "CREATE TABLE again USING iceberg PARTITIONED BY (bucket(4, id)) AS SELECT id, 'a' AS s FROM range(9)")
    (first,) = rows(session, "SELECT snapshot_id FROM again.snapshots")
    before = StaticTable.from_metadata(str(metadata_of(session, "again"))).metadata.table_uuid
    run(
        session,
        "CREATE OR REPLACE TABLE again USING iceberg COMMENT 'new'"
        " AS SELECT id % 2 AS id, count(*) AS n FROM again GROUP BY 1",
    )
    assert read_by_all(session, "again") == [(0, 5), (1, 4)]
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


def test_quotes_in_defaults(session: LakeSession) -> None:
    text = "CREATE TABLE quoted (id INT, s STRING DEFAULT 'x''y') USING iceberg TBLPROPERTIES ('format-version'='3')"
    run(session, text)
    run(session, "INSERT INTO quoted (id) VALUES (1)")
    run(session, "ALTER TABLE quoted ADD COLUMN t STRING DEFAULT '''it''s'")
    run(session, "INSERT INTO quoted (id) VALUES (2)")
    expected = [(1, "x'y", "'it's"), (2, "x'y", "'it's")]
    assert rows(session, "SELECT * FROM quoted ORDER BY id") == expected
    ((shown,),) = rows(session, "SHOW CREATE TABLE quoted")
    run(session, "DROP TABLE quoted")
    run(session, shown)
    run(session, "INSERT INTO quoted (id) VALUES (1), (2)")
    assert rows(session, "SELECT * FROM quoted ORDER BY id") == expected
    run(session, "DROP TABLE quoted")


def test_branches_and_tags_are_written_and_read(session: LakeSession) -> None:
    run(session, "CREATE TABLE branched (id INT) USING iceberg")
    for text in ("CREATE TAG b", "CREATE OR REPLACE BRANCH main", "CREATE BRANCH b AS OF VERSION 7"):
        assert refuse(session, f"ALTER TABLE branched {text}").condition == "ICEBERG_SNAPSHOT_NOT_FOUND", text
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


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_branch_of_a_table_without_snapshots_begins_empty(session: LakeSession, lake: Path, version: int) -> None:
    name = f"begun{version}"
    run(session, f"CREATE TABLE {name} (id INT) USING iceberg TBLPROPERTIES ('format-version' = '{version}')")
    run(session, f"ALTER TABLE {name} CREATE BRANCH IF NOT EXISTS b WITH SNAPSHOT RETENTION 3 SNAPSHOTS")
    run(session, f"ALTER TABLE {name} CREATE BRANCH IF NOT EXISTS b RETAIN 1 DAYS")
    assert rows(session, f"SELECT * FROM {name}.branch_b") == rows(session, f"SELECT * FROM {name}") == []
    found = rows(session, f"SELECT name, max_reference_age_in_ms, min_snapshots_to_keep FROM {name}.refs")
    assert found == [("b", None, 3)]
    run(session, f"INSERT INTO {name}.branch_b VALUES (1)")
    run(session, f"INSERT INTO {name} VALUES (2)")
    metadata = lake / "default" / name / "metadata"
    other = StaticTable.from_metadata(f"{metadata}/v{(metadata / 'version-hint.text').read_text()}.metadata.json")
    for branch, expected in (("b", [1]), ("main", [2])):
        snapshot = other.snapshot_by_name(branch)
        assert snapshot is not None
        assert other.scan(snapshot_id=snapshot.snapshot_id).to_arrow()["id"].to_pylist() == expected
        assert rows(session, f"SELECT id FROM {name} VERSION AS OF '{branch}'") == [(expected[0],)]


def test_minimum_numbers_of_truncated_columns(session: LakeSession) -> None:
    """No multiple of the width exists below them: the integer partition wraps to a last one, as in Java."""
    properties = "TBLPROPERTIES ('write.metadata.metrics.default' = 'none')"
    run(session, f"CREATE TABLE least (i INT, n INT) USING iceberg PARTITIONED BY (truncate(10, i)) {properties}")
    run(session, "INSERT INTO least VALUES (-2147483648, 1), (5, 2), (2147483641, 3)")
    for _ in range(2):
        assert rows(session, "SELECT n FROM least WHERE i < -10") == [(1,)]
        assert rows(session, "SELECT min(i), max(i) FROM least") == [(-2147483648, 2147483641)]
        run(session, "ALTER TABLE least ALTER COLUMN i TYPE BIGINT")
    run(session, "DELETE FROM least WHERE i > 2147483630")
    assert rows(session, "SELECT n FROM least ORDER BY n") == [(1,), (2,)]
    (path,) = {str(row[0]) for row in rows(session, "SELECT file_path FROM least.files WHERE partition.i_trunc > 9")}
    assert pq.read_table(path.removeprefix("file://"))["i"].to_pylist() == [-2147483648]
    run(session, "CREATE TABLE narrow (d DECIMAL(3, 2)) USING iceberg PARTITIONED BY (truncate(50, d))")
    run(session, "INSERT INTO narrow VALUES (-9.50), (9.99)")
    for text in ("VALUES (-9.51)", "SELECT CAST(-id AS DECIMAL(3, 2)) - 9.9 FROM range(1)"):
        error = refuse(session, f"INSERT INTO narrow {text}")
        assert error.sqlstate == "22003" and "Decimal" in str(error), text
    assert rows(session, "SELECT d FROM narrow ORDER BY d") == [(Decimal("-9.50"),), (Decimal("9.99"),)]
