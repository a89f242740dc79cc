"""Logged statistics and partition values of written files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, rows, run, table_of

pytestmark = pytest.mark.spark


def stats_of(lake: Path, name: str, version: int) -> list[dict[str, Any]]:
    return [json.loads(action["add"]["stats"]) for action in actions(lake, name, version) if "add" in action]


def test_statistics_are_those_of_the_rows(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE counted (i INT, s STRING, d DECIMAL(20, 3), t TIMESTAMP, n TIMESTAMP_NTZ, day DATE, f DOUBLE, "
        "nan DOUBLE, st STRUCT<a: INT, b: STRUCT<c: STRING>>, arr ARRAY<INT>, b BINARY, z STRING)",
    )
    run(
        session,
        "INSERT INTO counted VALUES "
        "(1, 'a', 1.5, TIMESTAMP'2024-01-01 00:00:00.123456Z', TIMESTAMP_NTZ'2024-01-01 00:00:00.000001', "
        "DATE'0001-01-01', -0.5, 1, named_struct('a', 1, 'b', named_struct('c', 'x')), array(1), X'00', NULL), "
        f"(NULL, '{'é' * 40}', -12345678901234567.125, NULL, NULL, DATE'9999-12-31', 2, double('NaN'), "
        "named_struct('a', NULL, 'b', NULL), NULL, NULL, NULL), "
        "(3, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, array(), NULL, NULL)",
    )
    (stats,) = stats_of(lake, "counted", 1)
    assert stats["numRecords"] == 3
    assert stats["minValues"] == {
        "i": 1,
        "s": "a",
        "d": -12345678901234567.125,
        "t": "2024-01-01T00:00:00.123Z",
        "n": "2024-01-01T00:00:00.000",
        "day": "0001-01-01",
        "f": -0.5,
        "nan": 1.0,
        "st": {"a": 1, "b": {"c": "x"}},
    }
    assert stats["maxValues"] == {
        "i": 3,
        "s": "é" * 32 + "\U0010ffff",
        "d": 1.5,
        "t": "2024-01-01T00:00:00.124Z",
        "n": "2024-01-01T00:00:00.001",
        "day": "9999-12-31",
        "f": 2.0,
        "st": {"a": 1, "b": {"c": "x"}},
    }
    assert stats["nullCount"] == {
        "i": 1,
        "s": 1,
        "d": 1,
        "t": 2,
        "n": 2,
        "day": 1,
        "f": 1,
        "nan": 0,
        "b": 2,
        "z": 3,
        "arr": 1,
        "st": {"a": 2, "b": {"c": 2}},
    }
    text = next(action["add"]["stats"] for action in actions(lake, "counted", 1) if "add" in action)
    assert '"d":-12345678901234567.125' in text, "digit for digit"


def test_only_the_columns_of_the_properties_have_statistics(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE few (a INT, b INT) TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = 1)")
    run(session, "INSERT INTO few VALUES (1, 2)")
    assert [stats["minValues"] for stats in stats_of(lake, "few", 1)] == [{"a": 1}]
    run(session, "CREATE TABLE named (a INT, b INT) TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'b')")
    run(session, "INSERT INTO named VALUES (1, 2)")
    assert [stats["minValues"] for stats in stats_of(lake, "named", 1)] == [{"b": 2}]


PARTITION_VALUES = [
    ("INT", "7", "7"),
    ("STRING", "'a b/c=%ü'", "a b/c=%ü"),
    ("STRING", "''", None),
    ("DATE", "DATE'0001-01-01'", "0001-01-01"),
    ("TIMESTAMP", "TIMESTAMP'2024-06-01 12:00:00.5+02:00'", "2024-06-01T10:00:00.500000Z"),
    ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2024-06-01 12:00:00'", "2024-06-01 12:00:00"),
    ("DECIMAL(5, 2)", "1.5", "1.50"),
    ("BOOLEAN", "true", "true"),
    ("DOUBLE", "1e10", "1.0E10"),
    ("INT", "NULL", None),
]


@pytest.mark.parametrize(("sql_type", "value", "text"), PARTITION_VALUES)
def test_partition_values_have_the_protocols_form(
    session: LakeSession, lake: Path, sql_type: str, value: str, text: str | None
) -> None:
    run(session, "SET spark.sql.session.timeZone = America/New_York")
    run(session, "DROP TABLE IF EXISTS parted")
    run(session, f"CREATE TABLE parted (p {sql_type}, v INT) PARTITIONED BY (p)")
    assert run(session, f"INSERT INTO parted VALUES ({value}, 1), ({value}, 2)") == 2
    (add,) = [action["add"] for action in actions(lake, "parted", 1) if "add" in action]
    assert add["partitionValues"].get("p") == text
    assert rows(session, "SELECT count(*), sum(v) FROM parted WHERE p <=> " + (value if text else "NULL")) == [(2, 3)]
    assert table_of(lake, "parted").num_rows == 2
