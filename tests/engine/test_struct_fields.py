"""Struct fields are assigned by name: in UPDATE and MERGE on both formats, in INSERT as the format defines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

FORMATS = ("delta", "iceberg")
PAIR, INNER, ITEMS = (
    "STRUCT<a: INT, b: INT>",
    "STRUCT<i: STRUCT<a: INT, b: INT>, j: INT>",
    "ARRAY<STRUCT<a: INT, b: INT>>",
)
KEYED = "MAP<STRUCT<a: INT, b: INT>, STRUCT<c: INT, d: INT>>"
OLD, OLD_INNER = "named_struct('a', 1, 'b', 2)", "named_struct('i', named_struct('a', 1, 'b', 2), 'j', 3)"
SWAPPED = "named_struct('b', 20, 'a', 10)"
MATCHED = "MERGE INTO {t} t USING (SELECT 1 AS id, %s AS s) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET "
NEW = "MERGE INTO {t} t USING (SELECT 2 AS id, %s AS s) x ON t.id = x.id WHEN NOT MATCHED THEN INSERT "

ASSIGNED: list[tuple[str, str, str, str]] = [
    # column type, its value before, the statement, the column's values after
    (PAIR, OLD, f"UPDATE {{t}} SET s = {SWAPPED}", "[[10, 20]]"),
    (PAIR, OLD, "UPDATE {t} SET s = named_struct('B', 20, 'A', 10)", "[[10, 20]]"),
    (PAIR, OLD, "UPDATE {t} SET s = named_struct('b', 20L, 'a', 10S)", "[[10, 20]]"),
    (PAIR, OLD, f"UPDATE {{t}} SET s = if(id = 1, NULL, {SWAPPED})", "[null]"),
    (PAIR, OLD, "UPDATE {t} SET s = NULL", "[null]"),
    (PAIR, OLD, "UPDATE {t} SET s = (SELECT named_struct('b', max(2), 'a', 1))", "[[1, 2]]"),
    (INNER, OLD_INNER, f"UPDATE {{t}} SET s.i = {SWAPPED}", "[[[10, 20], 3]]"),
    (INNER, OLD_INNER, f"UPDATE {{t}} SET s = named_struct('j', 30, 'i', {SWAPPED})", "[[[10, 20], 30]]"),
    (ITEMS, f"array({OLD})", f"UPDATE {{t}} SET s = array({SWAPPED}, NULL)", "[[[10, 20], null]]"),
    (f"ARRAY<{ITEMS}>", f"array(array({OLD}))", f"UPDATE {{t}} SET s = array(array({SWAPPED}))", "[[[[10, 20]]]]"),
    (
        KEYED,
        f"map({OLD}, named_struct('c', 1, 'd', 2))",
        f"UPDATE {{t}} SET s = map({SWAPPED}, named_struct('d', 200, 'c', 100))",
        "[[[[10, 20], [100, 200]]]]",
    ),
    (PAIR, OLD, MATCHED % SWAPPED + "s = x.s", "[[10, 20]]"),
    (PAIR, OLD, MATCHED % SWAPPED + "*", "[[10, 20]]"),
    (PAIR, OLD, MATCHED % "CAST(NULL AS STRUCT<b: INT, a: INT>)" + "*", "[null]"),
    (INNER, OLD_INNER, MATCHED % SWAPPED + "s.i = x.s", "[[[10, 20], 3]]"),
    (ITEMS, f"array({OLD})", MATCHED % f"array({SWAPPED})" + "*", "[[[10, 20]]]"),
    (PAIR, OLD, NEW % SWAPPED + "*", "[[1, 2], [10, 20]]"),
    (PAIR, OLD, NEW % SWAPPED + "(id, s) VALUES (x.id, x.s)", "[[1, 2], [10, 20]]"),
    (
        KEYED,
        "map()",
        NEW % f"map({SWAPPED}, named_struct('d', 200, 'c', 100))" + "*",
        "[[], [[[10, 20], [100, 200]]]]",
    ),
    (
        PAIR,
        OLD,
        f"MERGE INTO {{t}} t USING (SELECT 2 AS id) x ON t.id = x.id "
        f"WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = {SWAPPED}",
        "[[10, 20]]",
    ),
]

CANNOT_FIND, EXTRA = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA", "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS"
UNLIKE = [
    # column type, the statement, the condition on Iceberg, the name in the error
    (PAIR, "UPDATE {t} SET s = named_struct('x', 7, 'y', 8)", CANNOT_FIND, "`s`.`a`"),
    (PAIR, "UPDATE {t} SET s = named_struct('x', 7, 'y', 8) WHERE id = 99", CANNOT_FIND, "`s`.`a`"),
    (PAIR, "UPDATE {t} SET s = named_struct('a', 7)", CANNOT_FIND, "`s`.`b`"),
    (PAIR, "UPDATE {t} SET s = named_struct('a', 7, 'b', 8, 'c', 9)", EXTRA, "`c`"),
    (INNER, "UPDATE {t} SET s.i = named_struct('b', 7, 'z', 8)", CANNOT_FIND, "`s`.`i`.`a`"),
    (ITEMS, "UPDATE {t} SET s = array(named_struct('x', 7, 'a', 8))", CANNOT_FIND, "`b`"),
    (KEYED, "UPDATE {t} SET s = map(named_struct('x', 7, 'a', 8), NULL)", CANNOT_FIND, "`b`"),
    (PAIR, MATCHED % "named_struct('x', 7, 'y', 8)" + "s = x.s", CANNOT_FIND, "`s`.`a`"),
    (PAIR, MATCHED % "named_struct('b', 7)" + "*", CANNOT_FIND, "`s`.`a`"),
    (PAIR, MATCHED % "named_struct('b', 7, 'a', 8, 'c', 9)" + "*", EXTRA, "`c`"),
    (PAIR, NEW % "named_struct('b', 7, 'y', 8)" + "*", CANNOT_FIND, "`s`.`a`"),
    (PAIR, NEW % "named_struct('b', 7)" + "(id, s) VALUES (x.id, x.s)", CANNOT_FIND, "`s`.`a`"),
]

SELECTED, CAST = f"SELECT 1 AS id, {SWAPPED} AS s", "SELECT 1 AS id, named_struct('b', 20L, 'a', 10) AS s"
BY_NAME, BY_POSITION = "[[10, 20]]", "[[20, 10]]"
INSERTED: list[tuple[str, str, str, str]] = [
    # column type, the statement, the column's values after it in a Delta table, and in an Iceberg table
    (PAIR, f"INSERT INTO t {SELECTED}", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT INTO t SELECT 1 AS ID, {SWAPPED} AS S", BY_NAME, BY_POSITION),
    (PAIR, "INSERT INTO t SELECT 1 AS id, named_struct('B', 20, 'A', 10) AS s", BY_NAME, BY_POSITION),
    (
        PAIR,
        "INSERT INTO t SELECT 1 AS id, if(id < 0, named_struct('b', 1, 'a', 2), NULL) AS s FROM range(1)",
        "[null]",
        "[null]",
    ),
    (PAIR, f"INSERT INTO t SELECT * FROM VALUES (1, {SWAPPED}) v(id, s)", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT INTO t WITH q AS ({SELECTED}) TABLE q", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT OVERWRITE t {SELECTED}", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT INTO t REPLACE WHERE id = 1 {SELECTED}", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT INTO t REPLACE USING (id) {SELECTED}", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT INTO t REPLACE ON t.id = q.id ({SELECTED}) AS q", BY_NAME, BY_POSITION),
    (PAIR, f"INSERT WITH SCHEMA EVOLUTION INTO t {SELECTED}", BY_NAME, BY_POSITION),
    (PAIR, f"FROM range(1) INSERT INTO t {SELECTED}", BY_NAME, BY_POSITION),
    (
        INNER,
        f"INSERT INTO t SELECT 1 AS id, named_struct('i', {SWAPPED}, 'j', 3) AS s",
        "[[[10, 20], 3]]",
        "[[[20, 10], 3]]",
    ),
    (ITEMS, f"INSERT INTO t SELECT 1 AS id, array({SWAPPED}) AS s", "[[[10, 20]]]", "[[[20, 10]]]"),
    (
        f"ARRAY<{ITEMS}>",
        f"INSERT INTO t SELECT 1 AS id, array(array({SWAPPED})) AS s",
        "[[[[10, 20]]]]",
        "[[[[20, 10]]]]",
    ),
    (
        KEYED,
        f"INSERT INTO t SELECT 1 AS id, map({SWAPPED}, named_struct('d', 4, 'c', 3)) AS s",
        "[[[[10, 20], [3, 4]]]]",
        "[[[[20, 10], [4, 3]]]]",
    ),
    (PAIR, f"INSERT INTO t BY NAME SELECT {SWAPPED} AS s, 1 AS id", BY_NAME, BY_NAME),
    (PAIR, f"INSERT INTO t BY NAME {CAST}", BY_NAME, BY_NAME),
    (PAIR, f"INSERT OVERWRITE t BY NAME {SELECTED}", BY_NAME, BY_NAME),
    (PAIR, f"INSERT INTO t VALUES (1, {SWAPPED})", BY_POSITION, BY_POSITION),
    (PAIR, "INSERT INTO t VALUES (1, named_struct('x', 20, 'y', 10))", BY_POSITION, BY_POSITION),
    (PAIR, f"INSERT INTO t SELECT 1, {SWAPPED}", BY_POSITION, BY_POSITION),
    (PAIR, f"INSERT INTO t (id, s) {SELECTED}", BY_POSITION, BY_POSITION),
    (PAIR, f"INSERT INTO t (s, id) VALUES ({SWAPPED}, 1)", BY_POSITION, BY_POSITION),
    # as delta-spark: a value that has to be cast makes all go by position
    (PAIR, f"INSERT INTO t {CAST}", BY_POSITION, BY_POSITION),
    (PAIR, f"INSERT OVERWRITE t SELECT 1L AS id, {SWAPPED} AS s", BY_POSITION, BY_POSITION),
]

UNLIKE_INSERTED = [
    # the statement, the condition
    ("INSERT INTO t SELECT 1 AS id, named_struct('x', 7, 'y', 8) AS s", CANNOT_FIND),
    ("INSERT INTO t SELECT 1 AS id, named_struct('x', 7, 'b', 8L) AS s", CANNOT_FIND),
    ("INSERT OVERWRITE t SELECT 1 AS id, named_struct('b', 7, 'y', 8) AS s", CANNOT_FIND),
    ("INSERT INTO t REPLACE WHERE id = 1 SELECT 1 AS id, named_struct('b', 7) AS s", CANNOT_FIND),
    ("INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1 AS id, named_struct('c', 7, 'b', 8) AS s", CANNOT_FIND),
    ("INSERT INTO t SELECT 1 AS id, named_struct('b', 7, 'a', 8, 'c', 9) AS s", EXTRA),
    (
        "INSERT WITH SCHEMA EVOLUTION INTO t VALUES (1, named_struct('c', 7, 'b', 8, 'a', 9))",
        "DELTA_DUPLICATE_COLUMNS_FOUND",
    ),
]


def values(session: LakeSession, name: str, column: str = "s") -> str:
    """Returns a column as JSON, ordered by `id`: structs are lists, maps lists with pairs."""
    found = rows(session, f"SELECT id, {column} FROM {name}")
    return json.dumps([plain(value) for _, value in sorted(found, key=lambda row: row[0])])


def plain(value: Any) -> Any:
    match value:
        case dict():
            return [plain(item) for item in value.values()]
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def made(session: LakeSession, name: str, type_: str, old: str | None, format_: str, properties: str = "") -> None:
    run(session, f"DROP TABLE IF EXISTS {name}")
    run(session, f"CREATE TABLE {name} (id INT, s {type_}) USING {format_} {properties}")
    if old is not None:
        run(session, f"INSERT INTO {name} VALUES (1, {old})")


@pytest.mark.diagonals("format_", "statement", step=2)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("type_", "old", "statement", "expected"), ASSIGNED)
def test_assigned_fields_match_by_name(
    session: LakeSession, format_: str, type_: str, old: str, statement: str, expected: str
) -> None:
    made(session, "t", type_, old, format_)
    run(session, statement.replace("{t}", "t"))
    assert values(session, "t") == expected


@pytest.mark.parametrize(
    ("format_", "properties"),
    [
        ("delta", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true')"),
        ("iceberg", "TBLPROPERTIES ('write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')"),
    ],
)
def test_assigned_fields_match_by_name_with_deletion_vectors(
    session: LakeSession, format_: str, properties: str
) -> None:
    made(session, "t", PAIR, OLD, format_, properties)
    run(session, f"INSERT INTO t VALUES (2, {OLD})")
    run(session, f"UPDATE t SET s = {SWAPPED} WHERE id = 1")
    run(session, f"MERGE INTO t USING (SELECT 2 AS id, {SWAPPED} AS s) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET *")
    assert values(session, "t") == "[[10, 20], [10, 20]]"


@pytest.mark.diagonals("format_", "statement", step=2)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("type_", "statement", "condition", "named"), UNLIKE)
def test_assigned_struct_with_other_fields_is_rejected(
    session: LakeSession, format_: str, type_: str, statement: str, condition: str, named: str
) -> None:
    made(session, "t", type_, "NULL", format_)
    error = refuse(session, statement.replace("{t}", "t"))
    assert error.condition == (condition if format_ == "iceberg" else "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION")
    assert named in str(error)
    assert values(session, "t") == "[null]"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("type_", "statement", "of_delta", "of_iceberg"), INSERTED)
def test_inserted_fields_match_as_the_format_has_it(
    session: LakeSession, format_: str, type_: str, statement: str, of_delta: str, of_iceberg: str
) -> None:
    made(session, "t", type_, None, format_)
    run(session, statement)
    assert values(session, "t") == (of_delta if format_ == "delta" else of_iceberg)


@pytest.mark.parametrize("clause", ["PARTITION (id = 1)", "PARTITION (id = '1')"])
@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_fields_of_a_static_partition_match_by_name(session: LakeSession, verb: str, clause: str) -> None:
    made(session, "t", PAIR, None, "delta", "PARTITIONED BY (id)")
    run(session, f"INSERT {verb} t {clause} SELECT {SWAPPED} AS s")
    assert values(session, "t") == BY_NAME


@pytest.mark.parametrize(("statement", "condition"), UNLIKE_INSERTED)
def test_inserted_struct_without_matching_fields_is_rejected(
    session: LakeSession, statement: str, condition: str
) -> None:
    made(session, "t", PAIR, None, "delta")
    assert refuse(session, statement).condition == condition
    assert values(session, "t") == "[]"
