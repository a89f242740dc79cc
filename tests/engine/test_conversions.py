"""CONVERT TO DELTA: all readers see the Parquet folder's rows, and no data file is written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run, table
from tests.engine.peer_readers import PEERS, comparable

pytestmark = pytest.mark.spark

COLUMNS: dict[str, Any] = {
    "k": pa.array([1, 2, None], pa.int32()),
    "price": pa.array([Decimal("1.25"), None, Decimal("-3.00")], pa.decimal128(9, 2)),
    "at": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, 600_000), None, dt.datetime(1969, 12, 31)], pa.timestamp("us")),
    "tags": pa.array([["a", None], [], None], pa.list_(pa.string())),
    "place": pa.array(
        [{"x": 1.5, "y": "é"}, {"x": None, "y": ""}, None], pa.struct([("x", pa.float64()), ("y", pa.string())])
    ),
    "counts": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
}


def put(folder: Path, path: str, columns: dict[str, Any] = COLUMNS, **options: Any) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / path, **options)


def test_rows_types_and_statistics(session: LakeSession, lake: Path) -> None:
    folder = lake / "raw" / "events"
    put(folder, "p=1/d=2024-01-02/a.parquet")
    put(folder, "p=2/d=__HIVE_DEFAULT_PARTITION__/b%20c.parquet", {**COLUMNS, "more": ["x", "y", "z"]})
    (folder / "_SUCCESS").touch()
    before = sorted(folder.rglob("*"))
    run(session, f"CONVERT TO DELTA parquet.`{folder}` PARTITIONED BY (p INT, d DATE)")
    assert sorted(path for path in folder.rglob("*") if "_delta_log" not in str(path)) == before
    names = [*COLUMNS, "more", "p", "d"]
    ours = comparable(table(session, f"SELECT {', '.join(names)} FROM raw.events"))
    assert len(ours) == 6
    for name, peer in PEERS.items():
        assert peer(folder, names) == ours, name
    assert rows(session, "SELECT count(*), max(k), min(price) FROM raw.events WHERE p = 2 AND d IS NULL") == [
        (3, 2, Decimal("-3.00"))
    ]
    assert "2 files, 1 after partition pruning" in str(rows(session, "EXPLAIN SELECT * FROM raw.events WHERE p = 1"))
    assert "0 after statistics" in str(rows(session, "EXPLAIN SELECT * FROM raw.events WHERE k > 5"))
    (info,) = DeltaTable(folder).history()
    assert (info["operation"], info["operationMetrics"]["numConvertedFiles"]) == ("CONVERT", "2")
    run(session, f"CONVERT TO DELTA parquet.`{folder}`")  # is one already
    run(session, "CONVERT TO DELTA raw.events")
    run(session, "INSERT INTO raw.events (k, p) VALUES (9, 1)")
    run(session, "DELETE FROM raw.events WHERE k = 1")
    assert rows(session, "SELECT count(*) FROM raw.events") == [(5,)]


def test_instants_of_old_writers(session: LakeSession, lake: Path) -> None:
    folder = lake / "raw" / "old"
    at = dt.datetime(2020, 5, 17, 12, tzinfo=dt.UTC)
    put(folder, "1.parquet", {"at": pa.array([at], pa.timestamp("ns", "UTC"))}, use_deprecated_int96_timestamps=True)
    put(folder, "2.parquet", {"at": pa.array([at], pa.timestamp("ms", "UTC"))})
    run(session, f"CONVERT TO DELTA parquet.`{folder}` NO STATISTICS")
    assert rows(session, "SELECT count(*), min(at), max(at) FROM raw.old") == [(2, at, at)]
    assert PEERS["duckdb"](folder, ["at"]) == PEERS["deltalake"](folder, ["at"])


REFUSED = [
    ("parquet.`{folder}/empty`", "DELTA_EMPTY_DIRECTORY"),
    ("parquet.`{folder}/parted`", "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    ("parquet.`{folder}/parted` PARTITIONED BY (q INT)", "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME"),
    ("parquet.`{folder}/parted` PARTITIONED BY (p INT)", "DELTA_CONVERT_PARTITION_VALUE"),
    ("parquet.`{folder}/parted` PARTITIONED BY (p INT DEFAULT 1)", "UNSUPPORTED_CLAUSE"),
    ("parquet.`{folder}/names`", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ("parquet.`/etc`", "PATH_NOT_ALLOWED"),
    ("parquet.`{folder}`", "LOCATION_OVERLAP"),
    ("iceberg.`{folder}/parted`", "ICEBERG_TABLE_NOT_FOUND"),
    ("nowhere.missing", "TABLE_OR_VIEW_NOT_FOUND"),
]


def test_impossible_conversion_is_rejected_and_changes_nothing(session: LakeSession, lake: Path) -> None:
    folder = lake / "refused"
    put(folder, "parted/p=x/1.parquet", {"a": [1]})
    put(folder, "names/1.parquet", {"a b": [1]})
    (folder / "empty").mkdir()
    run(session, f"CREATE TABLE delta.`{folder}/table` AS SELECT 1 AS a")
    for text, condition in REFUSED:
        assert refuse(session, f"CONVERT TO DELTA {text.format(folder=folder)}").condition == condition, text
        assert not list(folder.glob("[!t]*/_delta_log/*")), text
    run(session, "SET spark.databricks.delta.properties.defaults.columnMapping.mode = name")
    run(session, f"CONVERT TO DELTA parquet.`{folder}/names`")
    assert rows(session, "SELECT `a b` FROM refused.names") == [(1,)]
