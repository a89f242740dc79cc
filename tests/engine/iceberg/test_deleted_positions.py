"""The metadata table position_deletes, and unknown metadata table names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.test_row_changes import newest_metadata
from tests.engine.lake_sessions import refuse, rows, run, table

pytestmark = pytest.mark.spark

TYPES = "id INT, d INT, m MAP<STRING, INT>, at TIMESTAMP, s STRUCT<a: INT, b: DATE>"
ROW = "struct<id:int,d:int,m:map<string,int>,at:timestamp,s:struct<a:int,b:date>>"
# As DESCRIBE returns them with Iceberg runtime 1.12; unpartitioned tables have no partition column.
COLUMNS = [
    ("file_path", "string"),
    ("pos", "bigint"),
    ("row", ROW),
    ("partition", "struct<d:int>"),
    ("spec_id", "int"),
    ("delete_file_path", "string"),
]
OF_VECTORS = [("content_offset", "bigint"), ("content_size_in_bytes", "bigint")]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("by", ["PARTITIONED BY (d)", ""])
def test_deleted_positions_are_shown(session: LakeSession, lake: Path, version: int, by: str) -> None:
    name = f"marked{version}{'by' if by else ''}"
    run(
        session,
        f"CREATE TABLE {name} ({TYPES}) USING iceberg {by}"
        f" TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'format-version' = '{version}')",
    )
    shown = [column for column in COLUMNS if by or column[0] != "partition"] + (OF_VECTORS if version == 3 else [])
    assert table(session, f"SELECT * FROM {name}.position_deletes").schema.names == [each for each, _ in shown]
    types = ", ".join(f"typeof({each})" for each, _ in shown)
    assert rows(session, f"SELECT * FROM {name}.position_deletes") == []
    run(session, f"INSERT INTO {name} SELECT id, id % 2, NULL, NULL, NULL FROM range(20)")
    run(session, f"DELETE FROM {name} WHERE id IN (3, 4, 7)")
    assert set(rows(session, f"SELECT {types} FROM {name}.position_deletes")) == {tuple(kind for _, kind in shown)}
    partition = "partition.d" if by else "NULL"
    found = rows(
        session, f"SELECT file_path, pos, row, {partition}, spec_id, delete_file_path FROM {name}.position_deletes"
    )
    expected, deletes = [], set(rows(session, f"SELECT file_path FROM {name}.delete_files"))
    for path, part in rows(session, f"SELECT file_path, {partition} FROM {name}.data_files"):
        ids = pq.read_table(path.removeprefix("file://"))["id"].to_pylist()
        expected += [(path, at, None, part, 0) for at, id in enumerate(ids) if id in (3, 4, 7)]
    assert sorted(row[:5] for row in found) == sorted(expected) and {(row[5],) for row in found} == deletes
    if version == 3:
        places = "content_offset, content_size_in_bytes"
        assert set(rows(session, f"SELECT {places} FROM {name}.position_deletes")) == set(
            rows(session, f"SELECT {places} FROM {name}.delete_files")
        )
    before = json.loads(newest_metadata(lake, name).read_bytes())["snapshots"][0]["snapshot-id"]
    assert rows(session, f"SELECT * FROM {name}.position_deletes VERSION AS OF {before}") == []


def test_unknown_metadata_table_is_rejected_with_those_that_there_are(session: LakeSession) -> None:
    run(session, "CREATE TABLE named (id INT) USING iceberg")
    run(session, "CREATE TABLE plain_delta (id INT)")
    for name in ("named.nothing", "default.named.nothing", "spark_catalog.default.named.all_position_deletes"):
        error = refuse(session, f"SELECT * FROM {name}")
        assert error.condition == "ICEBERG_METADATA_TABLE_NOT_FOUND" and "position_deletes, refs" in str(error)
    for part in (
        str(refuse(session, "SELECT * FROM named.nothing"))
        .split("The metadata tables are: ")[1]
        .split(".")[0]
        .split(", ")
    ):
        assert isinstance(table(session, f"SELECT * FROM named.{part}"), pa.Table)
    assert refuse(session, "SELECT * FROM plain_delta.files").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert refuse(session, "SELECT * FROM nowhere.files").condition == "TABLE_OR_VIEW_NOT_FOUND"
