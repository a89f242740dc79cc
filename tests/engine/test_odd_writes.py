"""Writes to tables with something odd about them: each was wrong once, or easily could be."""

from __future__ import annotations

import errno
import json
import os
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import LakeSession
from engine.spark.session import SparkDriver
from tests.engine.bare_aging import data_files
from tests.engine.lake_sessions import refuse, rows, run, table_of, version_of
from tests.gateway.http.conftest import eventually

pytestmark = pytest.mark.spark

LIMITED = [
    ("k INT, g VARCHAR(3) GENERATED ALWAYS AS (CAST(k AS STRING))", "(k) VALUES (1000)"),
    ("s STRUCT<x: VARCHAR(3)> DEFAULT named_struct('x', 'abcd'), k INT", "(k) VALUES (1)"),
    ("k INT, v VARCHAR(3)", "PARTITION (v = 'abcd') VALUES (1)"),
]


@pytest.mark.parametrize(("columns", "text"), LIMITED)
def test_lengths_hold_for_values_that_the_query_does_not_give(
    session: LakeSession, lake: Path, columns: str, text: str
) -> None:
    run(session, "DROP TABLE IF EXISTS limited")
    clause = "PARTITIONED BY (v)" if text.startswith("PARTITION") else ""
    run(session, f"CREATE TABLE limited ({columns}) {clause}")
    assert refuse(session, f"INSERT INTO limited {text}").condition == "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
    assert version_of(lake, "limited") == 0


def test_values_that_the_query_does_not_give_are_padded(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE padded (k INT, c CHAR(4) DEFAULT 'ab', g CHAR(4) GENERATED ALWAYS AS (CAST(k AS STRING)), "
        "p CHAR(2)) PARTITIONED BY (p)",
    )
    run(session, "INSERT INTO padded PARTITION (p = 'x') (k) VALUES (1)")
    assert table_of(lake, "padded").to_pylist() == [{"k": 1, "c": "ab  ", "g": "1   ", "p": "x "}]


def test_columns_may_have_the_names_that_we_use_ourselves(session: LakeSession) -> None:
    run(
        session,
        "CREATE TABLE inner_names (__key INT, __key0 INT, __check0 INT, CHECK (__check0 > 0)) "
        "PARTITIONED BY (__key, __key0)",
    )
    run(session, "INSERT INTO inner_names VALUES (1, 1, 1), (2, 2, 2)")
    run(session, "INSERT INTO inner_names REPLACE WHERE __key = 1 VALUES (1, 1, 3)")
    assert rows(session, "SELECT * FROM inner_names ORDER BY 1") == [(1, 1, 3), (2, 2, 2)]
    assert (
        refuse(session, "INSERT INTO inner_names VALUES (1, 1, 0)").condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    )


def test_a_partition_column_has_one_value(session: LakeSession) -> None:
    run(session, "CREATE TABLE once_only (v INT, p STRING) PARTITIONED BY (p)")
    for clause in ("p = 'a', P = 'b'", "p = 'a', p = 'a'", "p, p = 'a'"):
        assert refuse(session, f"INSERT INTO once_only PARTITION ({clause}) VALUES (1)").condition == "DUPLICATE_KEY"


def test_a_name_is_free_as_soon_as_its_table_is_dropped(session: LakeSession, lake: Path) -> None:
    """Cleanup after a commit may still run then."""
    for number in range(15):
        run(session, f"CREATE TABLE again AS SELECT {number} AS n")
        run(session, "DROP TABLE again")
        assert not (lake / "default" / "again").exists()


HASHES = "SELECT /*+ COALESCE(1) */ CAST(id AS INT) AS k, sha2(string(id), 512) AS s FROM range"
CROWDING = [
    f"INSERT INTO crowded {HASHES}(8000, 12000)",
    "UPDATE crowded SET s = sha2(s, 512) WHERE k % 2 = 0",
    "DELETE FROM crowded WHERE k % 2 = 0",
    "MERGE INTO crowded AS t USING (SELECT 1 AS k) AS n ON t.k = n.k WHEN MATCHED THEN UPDATE SET s = 'short'",
    f"MERGE INTO crowded AS t USING ({HASHES}(8000, 12000)) AS n ON t.k = n.k WHEN NOT MATCHED THEN INSERT *",
    f"INSERT INTO crowded REPLACE USING (k) {HASHES}(1000, 5000)",
    "OPTIMIZE crowded",
]


def test_a_disk_that_takes_no_more_ends_the_write_with_its_reason(
    session: LakeSession, lake: Path, spark_driver: SparkDriver
) -> None:
    """No Java file may exceed 100 KB here, and new rows are not shuffled; files written until then are removed, and the
    session continues.
    """
    properties = "'delta.enableChangeDataFeed' = 'true', 'delta.autoOptimize.optimizeWrite' = 'false'"
    run(session, f"CREATE TABLE crowded (k INT, s STRING) TBLPROPERTIES ({properties})")
    for first in (0, 4000):
        run(session, f"INSERT INTO crowded {HASHES}({first}, {first + 4000})")
    folder, java = lake / "default" / "crowded", spark_driver.process.gateway.proc.pid
    files = data_files(folder)
    before = resource.prlimit(java, resource.RLIMIT_FSIZE)
    resource.prlimit(java, resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        for text in CROWDING:
            error = refuse(session, text)
            assert error.condition == "TASK_WRITE_FAILED" and os.strerror(errno.EFBIG) in error.full_message, text
            assert eventually(lambda: data_files(folder) == files), text  # a task that still ran removes its own
    finally:
        resource.prlimit(java, resource.RLIMIT_FSIZE, before)
    assert version_of(lake, "crowded") == 2
    assert run(session, CROWDING[1]) == 4000


def test_a_partition_of_nan_is_replaced_like_any_other(session: LakeSession) -> None:
    run(session, "CREATE TABLE nans (v INT, p DOUBLE) PARTITIONED BY (p)")
    run(session, "INSERT INTO nans VALUES (1, double('NaN')), (2, 1)")
    run(session, "SET spark.sql.sources.partitionOverwriteMode = DYNAMIC")
    run(session, "INSERT OVERWRITE nans VALUES (3, double('NaN'))")
    assert rows(session, "SELECT v FROM nans ORDER BY v") == [(2,), (3,)]
    run(session, "INSERT INTO nans REPLACE WHERE p > 1 VALUES (4, double('NaN'))")
    assert rows(session, "SELECT v FROM nans ORDER BY v") == [(2,), (4,)]


@pytest.mark.parametrize("zone", ["America/New_York", "+05:30", "UTC"])
def test_partitions_without_an_offset_are_in_the_sessions_zone(session: LakeSession, lake: Path, zone: str) -> None:
    """Old writers left such values; REPLACE interprets them as reads do."""
    name = f"local_{zone.translate({ord(mark): '_' for mark in '/+:'})}".lower()
    run(session, f"CREATE TABLE {name} (v INT, t TIMESTAMP) PARTITIONED BY (t)")
    run(session, f"SET spark.sql.session.timeZone = {zone}")
    noon, one = "TIMESTAMP'2024-06-01 12:00:00'", "TIMESTAMP'2024-06-01 13:00:00'"
    log = lake / "default" / name / "_delta_log" / f"{1:020}.json"
    adds = []
    for number, text in enumerate(("2024-06-01 12:00:00", "2024-06-01 13:00:00")):
        file = f"{number}.parquet"
        pq.write_table(pa.table({"v": pa.array([number], pa.int32())}), lake / "default" / name / file)
        size = (lake / "default" / name / file).stat().st_size
        add = {"path": file, "partitionValues": {"t": text}, "size": size, "modificationTime": 0, "dataChange": True}
        adds.append(json.dumps({"add": add}))
    log.write_text("\n".join(adds))
    assert rows(session, f"SELECT v FROM {name} WHERE t = {one}") == [(1,)]
    run(session, f"INSERT INTO {name} REPLACE WHERE t = {noon} VALUES (7, {noon})")
    assert rows(session, f"SELECT v FROM {name} ORDER BY v") == [(1,), (7,)]
    run(session, "SET spark.sql.sources.partitionOverwriteMode = DYNAMIC")
    run(session, f"INSERT OVERWRITE {name} VALUES (8, {one})")
    assert rows(session, f"SELECT v FROM {name} ORDER BY v") == [(7,), (8,)]
