"""CALL system.snapshot on Delta tables from Spark: the Iceberg table in all readers, and writes to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("mode", ["id", pytest.param("name", marks=pytest.mark.slow)])
def test_a_table_with_a_past(session: LakeSession, lake: Path, mode: str) -> None:
    """Column mapping, renamed and dropped columns, wider types, deleted rows, nested values, timestamp partitions."""
    name = f"d_{mode}"
    run(
        session,
        f"CREATE TABLE {name} (id INT, was STRING, gone INT, l STRUCT<a: INT, b: STRING>,"
        " at TIMESTAMP, s SMALLINT) PARTITIONED BY (at) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true',"
        f" 'delta.enableTypeWidening' = 'true', 'delta.columnMapping.mode' = '{mode}')",
    )
    run(
        session,
        f"INSERT INTO {name} VALUES (1, 'x', 7, named_struct('a', 1, 'b', 'y'),"
        " TIMESTAMP'2024-01-02 03:04:05.6Z', 1), (2, NULL, 8, NULL, TIMESTAMP'2024-01-02 03:04:05.6Z', 2),"
        " (3, 'z', 9, NULL, NULL, NULL)",
    )
    run(session, f"ALTER TABLE {name} RENAME COLUMN was TO text")
    run(session, f"ALTER TABLE {name} DROP COLUMN gone")
    run(session, f"ALTER TABLE {name} ADD COLUMN was DATE")
    run(session, f"ALTER TABLE {name} ALTER COLUMN id TYPE BIGINT")
    run(session, f"INSERT INTO {name} (id, text, was) VALUES (4294967296, 'w', DATE'1969-12-31')")
    run(session, f"DELETE FROM {name} WHERE id = 2")
    expected = sorted(rows(session, f"SELECT * FROM {name}"), key=str)
    made = f"i_{mode}"
    assert rows(session, f"CALL system.snapshot('{name}', '{made}')") == [(3,)]
    assert sorted(rows(session, f"SELECT * FROM {made}"), key=str) == expected
    for condition in ("text = 'x'", "was < DATE'2000-01-01'", "id > 3", "at IS NULL", "at = '2024-01-02 03:04:05.6Z'"):
        query_text = f"SELECT count(*), max(id) FROM {{}} WHERE {condition}"
        assert rows(session, query_text.format(made)) == rows(session, query_text.format(name)), condition
    run(session, f"INSERT INTO {made} (id, text) VALUES (5, 'v')")
    run(session, f"DELETE FROM {made} WHERE id = 3")
    run(session, f"UPDATE {made} SET s = 9 WHERE id = 1")
    assert sorted(rows(session, f"SELECT id, s, text FROM {made}")) == [
        (1, 9, "x"),
        (5, None, "v"),
        (4294967296, None, "w"),
    ]
    assert sorted(rows(session, f"SELECT * FROM {name}"), key=str) == expected
