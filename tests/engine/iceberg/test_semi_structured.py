"""Columns with version 3 types: variant, geometry, geography."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_stored_types import column, files, made, newest
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
ORIGIN = bytes.fromhex("00000000010000000000000000" + "0" * 16)
GEO = [
    column(1, "id", "long"),
    column(2, "g", "geometry(srid 3857, of 1982)"),
    column(3, "h", "geography"),
    column(4, "k", "geography(OGC CRS 84, karney)"),
    column(5, "name", "string"),
]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_variants_are_written_and_changed(session: LakeSession, lake: Path, mode: str) -> None:
    name = f"variants_{mode[:4]}"
    listed = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    run(
        session,
        f"CREATE TABLE {name} (id BIGINT, v VARIANT, s STRUCT<v: VARIANT, n: INT>, l ARRAY<VARIANT>, "
        f"m MAP<STRING, VARIANT>) USING iceberg TBLPROPERTIES ('format-version' = '3', {listed})",
    )
    run(
        session,
        f"""INSERT INTO {name} SELECT id, parse_json(concat('{{"a": ', id, ', "b": [1.5, null, "x"]}}')),
        named_struct('v', parse_json('null'), 'n', 1), array(parse_json('1'), NULL), map('k', parse_json('true'))
        FROM range(5)""",
    )
    run(session, f"INSERT INTO {name} (id) VALUES (10)")
    run(session, f"UPDATE {name} SET id = id + 100 WHERE v:a::int IN (1, 2)")
    run(session, f"DELETE FROM {name} WHERE id = 3")
    run(session, f"MERGE INTO {name} t USING (SELECT 4L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s.n = 7")
    expected = [(k, f'{{"a":{k % 100},"b":[1.5,null,"x"]}}') for k in (0, 4, 101, 102)]
    found = rows(session, f"SELECT id, to_json(v), s.n, to_json(l[0]), to_json(m['k']) FROM {name} ORDER BY id")
    assert [row[:2] for row in found] == [expected[0], expected[1], (10, None), *expected[2:]]
    assert found[1][2:] == (7, "1", "true") and found[2][2:] == (None, None, None)
    assert rows(session, f"SELECT count(*), count(v) FROM {name} WHERE v:b[2]::string = 'x' OR v IS NULL") == [(5, 4)]
    path = newest_of(session, name)
    theirs = open_duckdb().execute(f"SELECT id, v::VARCHAR FROM iceberg_scan('{path}') ORDER BY id").fetchall()
    assert [row[0] for row in theirs] == [0, 4, 10, 101, 102] and theirs[2][1] is None
    assert all("1.5" in row[1] for row in theirs if row[0] != 10), theirs
    run(session, f"ALTER TABLE {name} ADD COLUMN w VARIANT")
    assert rows(session, f"SELECT count(w), count(*) FROM {name}") == [(0, 5)]
    run(session, f"CALL system.rewrite_data_files('{name}', options => map('rewrite-all', 'true'))")
    assert [row[:2] for row in rows(session, f"SELECT id, to_json(v) FROM {name} ORDER BY id")][:2] == expected[:2]


def newest_of(session: LakeSession, name: str) -> str:
    (location,) = [row[4] for row in rows(session, f"DESCRIBE DETAIL {name}")]
    hint = (Path(location) / "metadata/version-hint.text").read_text()
    return f"{location}/metadata/v{hint}.metadata.json"


def test_variants_are_of_version_3(session: LakeSession) -> None:
    error = refuse(session, "CREATE TABLE early (v VARIANT) USING iceberg TBLPROPERTIES ('format-version' = '2')")
    assert error.condition == "ICEBERG_CHANGE_NOT_SUPPORTED"
    for clause in ("PARTITIONED BY (v)", "PARTITIONED BY (bucket(4, v))"):
        refuse(session, f"CREATE TABLE odd (v VARIANT) USING iceberg {clause} TBLPROPERTIES ('format-version' = '3')")


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_geometries_are_their_wkb(session: LakeSession, lake: Path, mode: str) -> None:
    modes = {f"write.{each}.mode": mode for each in ("delete", "update", "merge")}
    table = made(lake, f"geo_{mode[:4]}", GEO, version=3, properties=modes)
    name = table.folder.name
    assert [row[1] for row in rows(session, f"DESCRIBE {name}")][:5] == [
        "bigint",
        "binary",
        "binary",
        "binary",
        "string",
    ]
    table.commit(
        table.data({"id": [1, 2], "g": [POINT, None], "h": [None, POINT], "k": [POINT, POINT], "name": ["a", "b"]})
    )
    assert rows(session, f"SELECT * FROM {name} ORDER BY id") == [
        (1, POINT, None, POINT, "a"),
        (2, None, POINT, POINT, "b"),
    ]
    run(session, f"INSERT INTO {name} (id, name) VALUES (3, 'c')")
    run(session, f"INSERT INTO {name} VALUES (4, X'{ORIGIN.hex()}', NULL, NULL, 'd')")
    run(session, f"UPDATE {name} SET name = 'z' WHERE id = 1")
    run(session, f"DELETE FROM {name} WHERE name = 'c'")
    assert rows(session, f"SELECT * FROM {name} ORDER BY id") == [
        (1, POINT, None, POINT, "z"),
        (2, None, POINT, POINT, "b"),
        (4, ORIGIN, None, None, "d"),
    ]
    for value in ("X'00'", "X'0100000000'", "cast('POINT(1 2)' AS BINARY)"):
        error = refuse(session, f"INSERT INTO {name} (id, g) VALUES (5, {value})")
        assert error.condition == "CAST_INVALID_INPUT.STORED_TYPE", value
    found = {str(each.logical_type) for path in files(table)[1:] for each in pq.ParquetFile(path).schema}
    assert any(text.startswith("Geometry(crs=srid 3857, of 1982") for text in found), found
    assert any("algorithm=karney" in text for text in found), found
    run(session, f"ALTER TABLE {name} ADD COLUMN more INT")
    kinds = [each["type"] for each in _schema(table)["fields"]]
    assert kinds == [
        "long",
        "geometry(srid 3857, of 1982)",
        "geography",
        "geography(OGC CRS 84, karney)",
        "string",
        "int",
    ]


def _schema(table: HandmadeTable) -> Any:
    import json

    metadata = json.loads(Path(newest(table)).read_text())
    return next(each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"])


def test_a_shredded_or_foreign_group_is_read(session: LakeSession, lake: Path) -> None:
    """A variant as other writers store it: an optional group without ids inside."""
    table = made(lake, "group_variant", [column(1, "id", "long"), column(2, "v", "variant")], version=3)
    kind = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
    values = pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x0c\x07"}, None], kind)
    table.commit(table.data({"id": [1, 2], "v": values}))
    assert rows(session, "SELECT id, v::int FROM group_variant ORDER BY id") == [(1, 7), (2, None)]
