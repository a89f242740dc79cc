"""Schema evolution in nested columns: new fields, missing fields, wider types; and columns that cannot change."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.delta.snapshot.snapshot import Snapshot
from engine.formats.delta.delta_format import DeltaFormat, delta_snapshot
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.tables.formats import formats_of
from tests.engine.lake_sessions import actions, refuse, rows, run, table_of, version_of

pytestmark = pytest.mark.spark

MAPPED = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
WIDE = " TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
WIDE_BY_NAME = " TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.columnMapping.mode' = 'name')"
NTZ = " TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"


def _nested(a: int) -> str:
    return f"named_struct('a', {a})"


# definition of column v, an old value, inserted values besides the key, the resulting type and values
EVOLVED = [
    # new fields
    ("STRUCT<a: INT>", _nested(1), "BY NAME named_struct('b', 3, 'a', 2)", "struct<a:int,b:int>", [(1, None), (2, 3)]),
    ("STRUCT<a: INT>", _nested(1), "named_struct('x', 2, 'b', 3)", "struct<a:int,b:int>", [(1, None), (2, 3)]),
    ("STRUCT<a: INT>", _nested(1), "BY NAME named_struct('A', 2, 'B', 3)", "struct<a:int,B:int>", [(1, None), (2, 3)]),
    (
        "ARRAY<STRUCT<a: INT>>",
        f"array({_nested(1)}, NULL)",
        "BY NAME array(named_struct('b', 3, 'a', 2), NULL)",
        "array<struct<a:int,b:int>>",
        [[(1, None), None], [(2, 3), None]],
    ),
    (
        "ARRAY<STRUCT<a: INT>>",
        f"array({_nested(1)})",
        "array(named_struct('x', 2, 'b', 3))",
        "array<struct<a:int,b:int>>",
        [[(1, None)], [(2, 3)]],
    ),
    (
        "MAP<STRING, STRUCT<a: INT>>",
        f"map('m', {_nested(1)})",
        "BY NAME map('m', named_struct('b', 3, 'a', 2))",
        "map<string,struct<a:int,b:int>>",
        [[("m", (1, None))], [("m", (2, 3))]],
    ),
    (
        "MAP<STRING, STRUCT<a: INT>>",
        f"map('m', {_nested(1)})",
        "map('m', named_struct('x', 2, 'b', 3))",
        "map<string,struct<a:int,b:int>>",
        [[("m", (1, None))], [("m", (2, 3))]],
    ),
    (
        "MAP<STRUCT<a: INT>, INT>",
        f"map({_nested(1)}, 5)",
        "BY NAME map(named_struct('a', 2, 'b', 3), 6)",
        "map<struct<a:int,b:int>,int>",
        [[((1, None), 5)], [((2, 3), 6)]],
    ),
    (
        "STRUCT<a: INT, t: STRUCT<x: INT>>",
        "named_struct('a', 1, 't', named_struct('x', 1))",
        "BY NAME named_struct('t', named_struct('y', named_struct('z', 3)))",
        "struct<a:int,t:struct<x:int,y:struct<z:int>>>",
        [(1, (1, None)), (None, (None, (3,)))],
    ),
    # missing fields
    ("STRUCT<a: INT, b: INT>", "NULL", "BY NAME named_struct('b', 3)", "struct<a:int,b:int>", [None, (None, 3)]),
    (
        "STRUCT<a: INT, b: INT>",
        "NULL",
        "BY NAME CAST(NULL AS STRUCT<b: INT>)",
        "struct<a:int,b:int>",
        [None, None],
    ),
    (
        "ARRAY<STRUCT<`a'b`: INT, c: ARRAY<STRUCT<d: INT, e: INT>>>>",
        "NULL",
        "BY NAME array(named_struct('c', array(named_struct('e', 3), NULL)), NULL)",
        "array<struct<a'b:int,c:array<struct<d:int,e:int>>>>",
        [None, [(None, [(None, 3), None]), None]],
    ),
    (
        "MAP<STRUCT<a: INT, b: INT>, STRUCT<a: INT, b: INT>>",
        "NULL",
        "BY NAME map(named_struct('b', 3), named_struct('a', 2))",
        "map<struct<a:int,b:int>,struct<a:int,b:int>>",
        [None, [((None, 3), (2, None))]],
    ),
]


def _plain(value: Any) -> Any:
    """Converts structs to tuples, and maps to lists with pairs."""
    match value:
        case dict():
            return tuple(_plain(item) for item in value.values())
        case list():
            return [_plain(item) for item in value]
        case tuple():
            return tuple(_plain(item) for item in value)
        case _:
            return value


def _inserted(text: str) -> str:
    """Renames the query's columns unless BY NAME, so that fields match by position."""
    value = text.removeprefix("BY NAME ")
    return f"SELECT 2, {value}" if value == text else f"BY NAME SELECT 2 AS k, {value} AS v"


@pytest.mark.parametrize("mapped", [False, True], ids=["plain", "by name"])
@pytest.mark.parametrize(("declared", "old", "new", "sql_type", "expected"), EVOLVED)
def test_fields_are_added_inside_of_columns(
    session: LakeSession,
    lake: Path,
    mapped: bool,
    declared: str,
    old: str,
    new: str,
    sql_type: str,
    expected: list[Any],
) -> None:
    run(session, "DROP TABLE IF EXISTS deep")
    run(session, f"CREATE TABLE deep (k INT, v {declared}){MAPPED if mapped else ''}")
    run(session, f"INSERT INTO deep SELECT 1, {old}")
    refuse(session, f"INSERT INTO deep {_inserted(new)}")
    run(session, f"INSERT WITH SCHEMA EVOLUTION INTO deep {_inserted(new)}")
    assert [_plain(value) for (value,) in rows(session, "SELECT v FROM deep ORDER BY k")] == expected
    assert [row[1] for row in rows(session, "DESCRIBE deep") if row[0] == "v"] == [sql_type]
    assert version_of(lake, "deep") == 2
    if not mapped:
        peer = table_of(lake, "deep").sort_by("k")["v"].to_pylist()
        assert [_plain(value) for value in peer] == expected
    fields = _fields(schema_of(lake, "deep"))
    if mapped:
        ids = [field["metadata"]["delta.columnMapping.id"] for field in fields]
        names = [field["metadata"]["delta.columnMapping.physicalName"] for field in fields]
        assert len(ids) == len(set(ids)) and all(names)


def _fields(data_type: Any) -> list[dict[str, Any]]:
    """Returns all fields in a schema's JSON, at any depth."""
    if not isinstance(data_type, dict):
        return []
    own = data_type.get("fields", [])
    inner = [
        *(field["type"] for field in own),
        *(data_type.get(key) for key in ("elementType", "keyType", "valueType")),
    ]
    return [*own, *(field for each in inner for field in _fields(each))]


def schema_of(lake: Path, name: str) -> dict[str, Any]:
    """Returns the schema from the newest commit that has one."""
    for version in range(version_of(lake, name), -1, -1):
        for action in actions(lake, name, version):
            if "metaData" in action:
                schema: dict[str, Any] = json.loads(action["metaData"]["schemaString"])
                return schema
    raise AssertionError(name)


# As delta-spark 4.4, except arrays by position, which it leaves unchanged. Last: type changes in the log.
WIDENED = [
    ("INT", "1", "5L", "bigint", [1, 5], ["integer long"]),
    ("INT", "1", "BY NAME 5L", "bigint", [1, 5], ["integer long"]),
    ("INT", "1", "5.0D", "double", [1.0, 5.0], ["integer double"]),
    ("INT", "1", "5.5", "int", [1, 5], []),
    (
        "INT",
        "1",
        "CAST(5 AS DECIMAL(12,1))",
        "decimal(12,1)",
        [Decimal("1.0"), Decimal("5.0")],
        ["integer decimal(12,1)"],
    ),
    ("TINYINT", "1Y", "CAST(5 AS SMALLINT)", "smallint", [1, 5], ["byte short"]),
    ("INT", "1", "CAST(5 AS SMALLINT)", "int", [1, 5], []),
    ("BIGINT", "1", "5D", "bigint", [1, 5], []),
    ("FLOAT", "1.5", "2.5D", "double", [1.5, 2.5], ["float double"]),
    (
        "DECIMAL(5,2)",
        "1.25",
        "CAST(5 AS DECIMAL(8,3))",
        "decimal(8,3)",
        [Decimal("1.250"), Decimal("5.000")],
        ["decimal(5,2) decimal(8,3)"],
    ),
    ("DECIMAL(5,2)", "1.25", "CAST(5 AS DECIMAL(8,1))", "decimal(5,2)", [Decimal("1.25"), Decimal("5.00")], []),
    ("STRING", "'a'", "5", "string", ["a", "5"], []),
    ("INT", "1", "NULL", "int", [1, None], []),
    (
        "STRUCT<a: SMALLINT>",
        "named_struct('a', 1S)",
        "named_struct('a', 70000)",
        "struct<a:int>",
        [(1,), (70000,)],
        ["short integer"],
    ),
    ("ARRAY<SMALLINT>", "array(1S)", "array(70000)", "array<int>", [[1], [70000]], ["element short integer"]),
    (
        "MAP<SMALLINT, SMALLINT>",
        "map(1S, 2S)",
        "map(70000, 80000)",
        "map<int,int>",
        [[(1, 2)], [(70000, 80000)]],
        ["key short integer", "value short integer"],
    ),
    (
        "ARRAY<STRUCT<a: SMALLINT, b: INT>>",
        "array(named_struct('a', 1S, 'b', 1))",
        "BY NAME array(named_struct('a', 70000, 'c', 2L))",
        "array<struct<a:int,b:int,c:bigint>>",
        [[(1, 1, None)], [(70000, None, 2)]],
        ["short integer"],
    ),
]


@pytest.mark.diagonals("properties", "declared", step=2)
@pytest.mark.parametrize("properties", [WIDE, WIDE_BY_NAME], ids=["plain", "by name"])
@pytest.mark.parametrize(("declared", "old", "new", "sql_type", "expected", "changes"), WIDENED)
def test_types_become_the_wider_ones_of_the_query(
    session: LakeSession,
    lake: Path,
    properties: str,
    declared: str,
    old: str,
    new: str,
    sql_type: str,
    expected: list[Any],
    changes: list[str],
) -> None:
    run(session, "DROP TABLE IF EXISTS wide")
    run(session, f"CREATE TABLE wide (k INT, v {declared}){properties}")
    run(session, f"INSERT INTO wide SELECT 1, {old}")
    run(session, f"INSERT WITH SCHEMA EVOLUTION INTO wide {_inserted(new)}")
    found = [_plain(value) for (value,) in rows(session, "SELECT v FROM wide ORDER BY k")]
    assert found == expected and [type(item) for item in found] == [type(item) for item in expected]
    assert [row[1] for row in rows(session, "DESCRIBE wide") if row[0] == "v"] == [sql_type]
    assert _type_changes(lake, "wide") == changes
    if "<" not in sql_type and None not in expected:
        assert rows(session, "SELECT min(v), max(v) FROM wide") == [(min(expected), max(expected))]
        assert [k for (k,) in rows(session, f"SELECT k FROM wide WHERE v = {expected[1]!r}")] == [2]
    # Another insert like the first is cast.
    run(session, f"INSERT WITH SCHEMA EVOLUTION INTO wide BY NAME SELECT 3 AS k, {old} AS v")
    assert _type_changes(lake, "wide") == changes and len(rows(session, "SELECT * FROM wide")) == 3


def _type_changes(lake: Path, name: str) -> list[str]:
    """Returns `[path] from to` for each type change."""
    found = [
        change for each in _fields(schema_of(lake, name)) for change in each["metadata"].get("delta.typeChanges", [])
    ]
    return [" ".join(change[key] for key in ("fieldPath", "fromType", "toType") if key in change) for change in found]


def test_without_type_widening_values_are_cast(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE narrow (k INT, v INT)")
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO narrow SELECT 1, 5L")
    assert (
        refuse(session, "INSERT WITH SCHEMA EVOLUTION INTO narrow SELECT 1, 5000000000").condition
        == "CAST_OVERFLOW_IN_TABLE_INSERT"
    )
    assert version_of(lake, "narrow") == 1 and rows(session, "SELECT * FROM narrow") == [(1, 5)]


# columns besides k and v, inserted values, the condition (None if it succeeds)
HELD = [
    ("v INT, CONSTRAINT c CHECK (v > 0)", "SELECT 2, 5L", "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"),
    ("v INT, CONSTRAINT c CHECK (k > 0)", "SELECT 2, 5L", None),
    (
        "v INT, g INT GENERATED ALWAYS AS (v + 1)",
        "BY NAME SELECT 2 AS k, 5L AS v",
        "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
    ),
    ("v INT, g INT GENERATED ALWAYS AS (v + 1)", "(k, v) SELECT 2, 5L", "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH"),
    ("v INT, g INT GENERATED ALWAYS AS (v + 1)", "(k, v) SELECT 2, 5", None),
    ("v STRUCT<a: INT, b: INT>, CONSTRAINT c CHECK (v.b > 0)", "SELECT 2, named_struct('a', 1L, 'b', 2)", None),
    (
        "v STRUCT<a: INT, b: INT>, CONSTRAINT c CHECK (v.a > 0)",
        "SELECT 2, named_struct('a', 1L, 'b', 2)",
        "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH",
    ),
    ("v STRUCT<a: INT>, CONSTRAINT c CHECK (v.a > 0)", "SELECT 2, named_struct('a', 1, 'b', 2)", None),
    (
        "v STRUCT<a: INT>, CONSTRAINT c CHECK (to_json(v) <> '')",
        "SELECT 2, named_struct('a', 1, 'b', 2)",
        "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH",
    ),
    (
        "v STRUCT<a: INT>, g STRING GENERATED ALWAYS AS (to_json(v))",
        "(k, v) SELECT 2, named_struct('a', 1, 'b', 2)",
        "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
    ),
    (
        "v STRUCT<a: INT, b: INT NOT NULL>",
        "BY NAME SELECT 2 AS k, named_struct('a', 1) AS v",
        "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
    ),
    ("v STRUCT<a: INT>", "SELECT 2, named_struct('a', 1, 'A', 2)", "DELTA_DUPLICATE_COLUMNS_FOUND"),
    ("v STRUCT<a: INT>", "SELECT 2, named_struct('a', 1, 'b', NULL)", "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"),
    ("v STRUCT<a: INT, b: INT>", "SELECT 2, named_struct('a', 1)", "INCOMPATIBLE_DATA_FOR_TABLE.STRUCT_MISSING_FIELDS"),
    ("v VARCHAR(3)", "SELECT 2, 'abcdef'", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
    ("v DATE", "SELECT 2, TIMESTAMP_NTZ'2024-01-01 01:00:00'", "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"),
    ("v INT NOT NULL", "SELECT 2, 5L", None),
]


@pytest.mark.parametrize(("columns", "text", "condition"), HELD)
def test_expressions_on_a_widened_column_keep_their_values(
    session: LakeSession, lake: Path, columns: str, text: str, condition: str | None
) -> None:
    run(session, "DROP TABLE IF EXISTS held")
    run(session, f"CREATE TABLE held (k INT, {columns}){WIDE}")
    files = set((lake / "default" / "held").rglob("*.parquet"))
    if condition is None:
        run(session, f"INSERT WITH SCHEMA EVOLUTION INTO held {text}")
        assert len(rows(session, "SELECT * FROM held")) == 1
    else:
        assert refuse(session, f"INSERT WITH SCHEMA EVOLUTION INTO held {text}").condition == condition
        assert version_of(lake, "held") == 0 and set((lake / "default" / "held").rglob("*.parquet")) == files


def test_partition_columns_and_dates_are_widened(session: LakeSession) -> None:
    run(session, f"CREATE TABLE parted (p INT, d DATE){NTZ.replace(' TBL', ' PARTITIONED BY (p) TBL')}")
    run(session, "INSERT INTO parted VALUES (1, DATE'2024-01-01')")
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO parted SELECT 5000000000, TIMESTAMP_NTZ'2024-01-02 03:04:05'")
    assert rows(session, "SELECT p, string(d) FROM parted ORDER BY p") == [
        (1, "2024-01-01 00:00:00"),
        (5000000000, "2024-01-02 03:04:05"),
    ]
    assert rows(session, "SELECT p FROM parted WHERE p = 1") == [(1,)]
    assert rows(session, "SELECT count(*) FROM parted WHERE d < TIMESTAMP_NTZ'2024-01-02 00:00:00'") == [(1,)]


def test_rows_that_are_copied_keep_their_values(session: LakeSession) -> None:
    """REPLACE WHERE rewrites a file while the table's columns change."""
    run(session, f"CREATE TABLE copied (k INT, v STRUCT<a: SMALLINT>){WIDE_BY_NAME}")
    run(session, "INSERT INTO copied VALUES (1, named_struct('a', 1S)), (2, named_struct('a', 2S))")
    run(
        session,
        "INSERT WITH SCHEMA EVOLUTION INTO copied BY NAME REPLACE WHERE k = 1"
        " SELECT 1L AS k, named_struct('b', 'x', 'a', 70000) AS v, true AS n",
    )
    assert [_plain(row) for row in rows(session, "SELECT * FROM copied ORDER BY k")] == [
        (1, (70000, "x"), True),
        (2, (2, None), None),
    ]


def test_a_feed_shows_rows_across_new_fields(session: LakeSession) -> None:
    run(session, "CREATE TABLE fed (k INT, v STRUCT<a: INT>) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    run(session, "INSERT INTO fed VALUES (1, named_struct('a', 1))")
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO fed SELECT 2, named_struct('a', 2, 'b', 3)")
    found = rows(session, "SELECT k, v, _change_type FROM table_changes('fed', 2) ORDER BY k")
    assert [_plain(row) for row in found] == [(2, (2, 3), "insert")]


@pytest.mark.parametrize(
    ("other", "condition", "names"),
    [
        ("ALTER TABLE raced ADD COLUMN n INT", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "kvna"),
        ("INSERT WITH SCHEMA EVOLUTION INTO raced SELECT 1, named_struct('a', 1, 'c', 2)", None, "kvac"),
        ("INSERT INTO raced VALUES (1, named_struct('a', 1))", None, "kvab"),
    ],
)
def test_a_write_after_another_definition_runs_again(
    session: LakeSession, spark_driver: SparkDriver, lake: Path, other: str, condition: str | None, names: str
) -> None:
    """Struct fields match by position, like columns, so the second field of a table created concurrently takes ours."""
    run(session, "DROP TABLE IF EXISTS raced")
    run(session, "CREATE TABLE raced (k INT, v STRUCT<a: INT>)")
    sources, others = open_sources(EngineOptions(lake_folder=str(lake))), [other]

    def load(location: str, version: int | None) -> Snapshot:
        snapshot = delta_snapshot(sources.formats["delta"].load(location, version))
        if others:
            run(session, others.pop())
        return snapshot

    slow = LakeEngine(replace(sources, formats=formats_of(DeltaFormat(load))), spark_driver).open_session(
        Identity("bob"), settings={}, catalog=None, schema=None
    )
    text = "INSERT WITH SCHEMA EVOLUTION INTO raced SELECT 2, named_struct('a', 2, 'b', 3)"
    try:
        if condition is not None:
            assert refuse(slow, text).condition == condition
        else:
            run(slow, text)
    finally:
        slow.close()
    fields = [field["name"] for field in _fields(schema_of(lake, "raced"))]
    assert "".join(fields) == names and version_of(lake, "raced") == (1 if condition else 2)
    assert len(list((lake / "default" / "raced").glob("*.parquet"))) == len(rows(session, "SELECT * FROM raced"))
