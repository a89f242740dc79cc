"""CHAR(n) and VARCHAR(n) in structs, arrays and maps keep their lengths while columns change."""

from __future__ import annotations

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

COLUMNS = (
    "m MAP<CHAR(3), INT>, a ARRAY<CHAR(5)>, s STRUCT<c: CHAR(4), v: VARCHAR(2), n: INT>,"
    " d MAP<STRING, ARRAY<STRUCT<x: VARCHAR(2)>>>"
)
CHANGED = [
    # the change, the column, its type, a value, one that is too long now, or does not fit
    ("ALTER COLUMN a TYPE ARRAY<STRING>", "a", "array<string>", "array('abcdefgh')", None),
    ("ALTER COLUMN a TYPE ARRAY<VARCHAR(6)>", "a", "array<varchar(6)>", "array('abcdef')", "array('abcdefg')"),
    ("ALTER COLUMN a.element TYPE STRING", "a", "array<string>", "array('abcdefgh')", None),
    ("ALTER COLUMN m TYPE MAP<STRING, INT>", "m", "map<string,int>", "map('abcdefgh', 1)", None),
    ("ALTER COLUMN m.key TYPE VARCHAR(4)", "m", "map<varchar(4),int>", "map('abcd', 1)", "map('abcde', 1)"),
    (
        "ALTER COLUMN s.c TYPE STRING",
        "s",
        "struct<c:string,v:varchar(2),n:int>",
        "named_struct('c', 'abcdefgh', 'v', 'yy', 'n', 1)",
        "named_struct('c', 'a', 'v', 'yyy', 'n', 1)",
    ),
    (
        "ALTER COLUMN s.n TYPE BIGINT",
        "s",
        "struct<c:char(4),v:varchar(2),n:bigint>",
        "named_struct('c', 'abcd', 'v', 'yy', 'n', 10000000000)",
        "named_struct('c', 'abcde', 'v', 'y', 'n', 1)",
    ),
    (
        "ALTER COLUMN s.n FIRST",
        "s",
        "struct<n:int,c:char(4),v:varchar(2)>",
        "named_struct('n', 1, 'c', 'abcd', 'v', 'yy')",
        "named_struct('n', 1, 'c', 'abcde', 'v', 'y')",
    ),
    (
        "RENAME COLUMN s.v TO w",
        "s",
        "struct<c:char(4),w:varchar(2),n:int>",
        "named_struct('c', 'abcd', 'w', 'yy', 'n', 1)",
        "named_struct('c', 'a', 'w', 'yyy', 'n', 1)",
    ),
    (
        "DROP COLUMN s.v",
        "s",
        "struct<c:char(4),n:int>",
        "named_struct('c', 'abcd', 'n', 1)",
        "named_struct('c', 'abcde', 'n', 1)",
    ),
    (
        "ADD COLUMNS (s.z CHAR(3), s.y INT AFTER c)",
        "s",
        "struct<c:char(4),y:int,v:varchar(2),n:int,z:char(3)>",
        "named_struct('c', 'a', 'y', 1, 'v', 'yy', 'n', 1, 'z', 'abc')",
        "named_struct('c', 'a', 'y', 1, 'v', 'yy', 'n', 1, 'z', 'abcd')",
    ),
    (
        "ADD COLUMN d.value.element.y VARCHAR(1)",
        "d",
        "map<string,array<struct<x:varchar(2),y:varchar(1)>>>",
        "map('k', array(named_struct('x', 'xx', 'y', 'y')))",
        "map('k', array(named_struct('x', 'xx', 'y', 'yy')))",
    ),
    (
        "REPLACE COLUMNS (a ARRAY<STRING>, m MAP<VARCHAR(9), INT>, s STRUCT<v: STRING, k: CHAR(2)>)",
        "s",
        "struct<v:string,k:char(2)>",
        "named_struct('v', 'abcdefgh', 'k', 'kk')",
        "named_struct('v', 'a', 'k', 'kkk')",
    ),
]
SETTINGS = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"


@pytest.mark.parametrize(("change", "column", "type_", "good", "long"), CHANGED, ids=[case[0] for case in CHANGED])
def test_lengths_follow_a_change(
    session: LakeSession, change: str, column: str, type_: str, good: str, long: str | None
) -> None:
    run(session, f"CREATE OR REPLACE TABLE lengths ({COLUMNS}) {SETTINGS}")
    run(session, "INSERT INTO lengths (a, m) VALUES (array('b'), map('a', 1))")
    run(session, f"ALTER TABLE lengths {change}")
    assert {name: kind for name, kind, _ in rows(session, "DESCRIBE lengths")}[column] == type_
    run(session, f"INSERT INTO lengths ({column}) VALUES ({good})")
    if long is not None:
        refused = refuse(session, f"INSERT INTO lengths ({column}) VALUES ({long})")
        assert refused.condition == "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
    assert rows(session, "SELECT count(*) FROM lengths") == [(2,)]
    assert len(rows(session, "SELECT * FROM lengths")) == 2
    run(session, f"UPDATE lengths SET {column} = {good}")


REFUSED = [
    ("ALTER COLUMN a TYPE ARRAY<VARCHAR(4)>", "a.element cannot be changed from char(5) to varchar(4)"),
    ("ALTER COLUMN a TYPE ARRAY<CHAR(6)>", "a.element cannot be changed from char(5) to char(6)"),
    ("ALTER COLUMN m.key TYPE CHAR(2)", "m.key cannot be changed from char(3) to char(2)"),
    ("ALTER COLUMN s.v TYPE VARCHAR(1)", "s.v cannot be changed from varchar(2) to varchar(1)"),
    (
        "REPLACE COLUMNS (m MAP<CHAR(2), INT>, a ARRAY<STRING>)",
        "m.key cannot be changed from char(3) to char(2)",
    ),
]


@pytest.mark.parametrize(("change", "says"), REFUSED)
def test_shorter_texts_are_rejected(session: LakeSession, change: str, says: str) -> None:
    run(session, f"CREATE OR REPLACE TABLE lengths ({COLUMNS}) {SETTINGS}")
    assert says in str(refuse(session, f"ALTER TABLE lengths {change}"))


def test_evolved_struct_keeps_the_lengths_of_its_fields(session: LakeSession) -> None:
    run(session, "CREATE TABLE evolved_lengths (id INT, s STRUCT<c: CHAR(4)>)")
    run(session, "INSERT INTO evolved_lengths VALUES (1, named_struct('c', 'a'))")
    source = "(SELECT 1 AS id, named_struct('c', 'b', 'n', 2) AS s)"
    run(
        session,
        f"MERGE WITH SCHEMA EVOLUTION INTO evolved_lengths t USING {source} x ON t.id = x.id"
        " WHEN MATCHED THEN UPDATE SET *",
    )
    assert rows(session, "DESCRIBE evolved_lengths")[1][1] == "struct<c:char(4),n:int>"
    assert rows(session, "SELECT s FROM evolved_lengths") == [({"c": "b   ", "n": 2},)]
    error = refuse(session, "INSERT INTO evolved_lengths VALUES (2, named_struct('c', 'abcde', 'n', 1))")
    assert error.condition == "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
