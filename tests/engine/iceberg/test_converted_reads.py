"""Iceberg tables that were converted, read by Spark as Delta and as Iceberg tables, and written as Delta tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark


def both(session: LakeSession, lake: Path, name: str, text: str = "SELECT * FROM {}") -> list[tuple[object, ...]]:
    """Returns a query's rows, if both tables agree."""
    folder = lake / "default" / name
    found, other = (sorted(rows(session, text.format(f"{kind}.`{folder}`")), key=str) for kind in ("iceberg", "delta"))
    assert list(map(str, found)) == list(map(str, other))  # also NaN
    return found


def test_a_table_with_a_past(session: LakeSession, lake: Path) -> None:
    """Renamed and dropped columns whose names were given again, wider types, deleted rows, partitions that changed."""
    run(
        session,
        "CREATE TABLE i (id INT, was STRING, gone INT, s STRUCT<x: INT, y: STRING>, m MAP<STRING, ARRAY<INT>>,"
        " day DATE) USING iceberg PARTITIONED BY (day) TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' ="
        " 'merge-on-read')",
    )
    run(
        session,
        "INSERT INTO i VALUES (1, 'a', 7, named_struct('x', 1, 'y', 'b'), map('k', array(1, NULL)), DATE'2024-01-02'),"
        " (2, NULL, 8, NULL, NULL, DATE'2024-01-02'), (3, 'c', 9, named_struct('x', NULL, 'y', ''), map(), NULL)",
    )
    run(session, "ALTER TABLE i RENAME COLUMN was TO text")
    run(session, "ALTER TABLE i DROP COLUMN gone")
    run(session, "ALTER TABLE i ADD COLUMNS (was DOUBLE COMMENT 'new', gone STRING)")
    run(session, "ALTER TABLE i ALTER COLUMN id TYPE BIGINT")
    run(session, "ALTER TABLE i RENAME COLUMN s.y TO z")
    run(session, "ALTER TABLE i ADD COLUMN s.y INT")
    run(session, "ALTER TABLE i ADD PARTITION FIELD bucket(4, id)")
    run(
        session,
        "INSERT INTO i (id, text, was, gone, s)"
        " VALUES (4294967296, 'd', -0.5, 'g', named_struct('x', 2, 'z', 'q', 'y', 5))",
    )
    run(session, "DELETE FROM i WHERE id = 2")
    run(session, "CONVERT TO DELTA i")
    assert len(both(session, lake, "i")) == 3
    for condition in ("was > -1", "gone = 'g'", "text = 'a'", "s.z = 'b' AND day = '2024-01-02'"):
        both(session, lake, "i", f"SELECT count(*), max(id), min(text) FROM {{}} WHERE {condition}")
    reported = both(session, lake, "i", "SELECT count(*), max(id), min(was), max(gone) FROM {}")
    assert reported == [(3, 4294967296, -0.5, "g")]
    before = rows(session, f"SELECT * FROM iceberg.`{lake}/default/i`")
    run(session, "UPDATE i SET gone = 'h' WHERE id < 10")
    run(session, "INSERT INTO i (id, gone) VALUES (5, 'i')")
    run(session, "ALTER TABLE i ADD COLUMN more INT")
    run(session, "OPTIMIZE i")
    assert sorted(rows(session, "SELECT id, gone, text FROM i")) == [
        (1, "h", "a"),
        (3, "h", "c"),
        (5, "i", None),
        (4294967296, "g", "d"),
    ]
    assert sorted(rows(session, f"SELECT * FROM iceberg.`{lake}/default/i`"), key=str) == sorted(before, key=str)


def test_defaults_and_times(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE j (id BIGINT NOT NULL, at TIMESTAMP, n TIMESTAMP_NTZ, d DECIMAL(30,3), b BINARY, t STRING DEFAULT"
        " 'x y', f FLOAT) USING iceberg PARTITIONED BY (at, f) TBLPROPERTIES ('format-version' = '3')",
    )
    run(
        session,
        "INSERT INTO j VALUES (1, TIMESTAMP'2024-01-02 03:04:05.678901Z', TIMESTAMP_NTZ'1969-12-31 23:59:59', -1.5,"
        " X'00', DEFAULT, -0.0D), (2, NULL, NULL, NULL, NULL, NULL, double('NaN')),"
        " (3, TIMESTAMP'1900-01-01 00:00:00Z', NULL, 0,"
        " X'', 'z', 1e20D)",
    )
    run(session, "CONVERT TO DELTA j")
    assert len(both(session, lake, "j")) == 3
    assert both(session, lake, "j", "SELECT count(*) FROM {} WHERE at < TIMESTAMP'2000-01-01 00:00:00Z'") == [(1,)]
    run(session, "INSERT INTO j (id) VALUES (4)")
    assert rows(session, "SELECT t FROM j WHERE id = 4") == [("x y",)]
