"""MERGE WITH SCHEMA EVOLUTION from a source whose structs have other fields than the table's."""

from __future__ import annotations

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run
from tests.engine.test_struct_fields import FORMATS, INNER, ITEMS, PAIR, made, values

pytestmark = pytest.mark.spark

OLD, NULL = "named_struct('a', 1, 'b', 2)", "CAST(NULL AS STRUCT<{fields}>)"
WIDER = "named_struct('c', 30, 'b', 20, 'a', 10)"
UPDATE, INSERT, BOTH = (
    "WHEN MATCHED THEN UPDATE SET *",
    "WHEN NOT MATCHED THEN INSERT *",
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)
ALONE = "WHEN MATCHED THEN UPDATE SET id = t.id WHEN NOT MATCHED THEN INSERT *"
VALUED, TRIPLE = "MAP<STRING, STRUCT<a: INT, b: INT>>", "struct<a:int,b:int,c:int>"
DEEP = "named_struct('i', named_struct('a', 1, 'b', 2), 'j', 3)"


def null(fields: str) -> str:
    return NULL.format(fields=fields)


EVOLVED: list[tuple[str, str, str, str, str, str]] = [
    # column type, value in row 1, source values in rows 1 and 2, clauses; type and values after one clause adds a field
    # while another leaves the struct unchanged
    (PAIR, OLD, WIDER, ALONE, TRIPLE, "[[1, 2, null], [10, 20, 30]]"),
    (PAIR, "NULL", WIDER, ALONE, TRIPLE, "[null, [10, 20, 30]]"),
    (
        ITEMS,
        f"array({OLD}, NULL)",
        f"array({WIDER})",
        ALONE,
        f"array<{TRIPLE}>",
        "[[[1, 2, null], null], [[10, 20, 30]]]",
    ),
    (
        VALUED,
        f"map('k', {OLD}, 'l', NULL)",
        f"map('k', {WIDER})",
        ALONE,
        f"map<string,{TRIPLE}>",
        '[[["k", [1, 2, null]], ["l", null]], [["k", [10, 20, 30]]]]',
    ),
    (PAIR, OLD, WIDER, BOTH, TRIPLE, "[[10, 20, 30], [10, 20, 30]]"),
    (PAIR, OLD, WIDER, INSERT, TRIPLE, "[[1, 2, null], [10, 20, 30]]"),
    (PAIR, OLD, "named_struct('C', 30, 'A', 10)", BOTH, "struct<a:int,b:int,C:int>", "[[10, 2, 30], [10, null, 30]]"),
    # the source's struct lacks a field
    (PAIR, OLD, "named_struct('b', 20)", INSERT, "struct<a:int,b:int>", "[[1, 2], [null, 20]]"),
    (PAIR, OLD, "named_struct('b', 20)", UPDATE, "struct<a:int,b:int>", "[[1, 20]]"),
    (PAIR, "NULL", "named_struct('b', 20)", UPDATE, "struct<a:int,b:int>", "[[null, 20]]"),
    (PAIR, OLD, "named_struct('b', 20)", "WHEN MATCHED THEN UPDATE SET s = x.s", "struct<a:int,b:int>", "[[null, 20]]"),
    (PAIR, OLD, "named_struct('c', 30, 'b', 20)", "WHEN MATCHED THEN UPDATE SET s = x.s", TRIPLE, "[[null, 20, 30]]"),
    (PAIR, OLD, "named_struct('c', 30, 'b', 20)", BOTH, TRIPLE, "[[1, 20, 30], [null, 20, 30]]"),
    (
        PAIR,
        OLD,
        "named_struct('b', 20)",
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id, x.s)",
        "struct<a:int,b:int>",
        "[[1, 2], [null, 20]]",
    ),
    (
        PAIR,
        OLD,
        "named_struct('b', 20)",
        "WHEN MATCHED THEN UPDATE SET s = named_struct('a', 5)",
        "struct<a:int,b:int>",
        "[[5, null]]",
    ),
    (
        ITEMS,
        f"array({OLD})",
        "array(named_struct('b', 20), NULL)",
        BOTH,
        "array<struct<a:int,b:int>>",
        "[[[null, 20], null], [[null, 20], null]]",
    ),
    (
        VALUED,
        f"map('k', {OLD})",
        "map('k', named_struct('b', 20, 'c', 30))",
        BOTH,
        f"map<string,{TRIPLE}>",
        '[[["k", [null, 20, 30]]], [["k", [null, 20, 30]]]]',
    ),
    # structs that are NULL
    (PAIR, OLD, null("b: INT, a: INT"), UPDATE, "struct<a:int,b:int>", "[null]"),
    (PAIR, OLD, null("b: INT, a: INT, c: INT"), UPDATE, TRIPLE, "[null]"),
    (PAIR, OLD, null("b: INT"), UPDATE, "struct<a:int,b:int>", "[[1, null]]"),
    (PAIR, "NULL", null("b: INT"), UPDATE, "struct<a:int,b:int>", "[null]"),
    (PAIR, OLD, null("b: INT, c: INT"), BOTH, TRIPLE, "[[1, null, null], null]"),
    (PAIR, OLD, null("b: INT"), "WHEN MATCHED THEN UPDATE SET s = x.s", "struct<a:int,b:int>", "[null]"),
    (
        INNER,
        DEEP,
        f"named_struct('i', {null('c: INT, b: INT')})",
        UPDATE,
        f"struct<i:{TRIPLE},j:int>",
        "[[[1, null, null], 3]]",
    ),
    (
        INNER,
        "NULL",
        f"named_struct('i', {null('c: INT, b: INT')})",
        BOTH,
        f"struct<i:{TRIPLE},j:int>",
        "[[null, null], [null, null]]",
    ),
    (
        INNER,
        DEEP,
        "named_struct('i', named_struct('c', 30, 'b', 20))",
        BOTH,
        f"struct<i:{TRIPLE},j:int>",
        "[[[1, 20, 30], 3], [[null, 20, 30], null]]",
    ),
    # one new field
    (PAIR, OLD, "named_struct('c', 30, 'd', 40)", "WHEN MATCHED THEN UPDATE SET s.c = x.s.c", TRIPLE, "[[1, 2, 30]]"),
    (
        PAIR,
        "NULL",
        "named_struct('c', 30, 'd', 40)",
        "WHEN MATCHED THEN UPDATE SET t.s.C = x.s.d",
        TRIPLE,
        "[[null, null, 40]]",
    ),
    (
        "STRUCT<i: STRUCT<a: INT>, j: INT>",
        "named_struct('i', named_struct('a', 1), 'j', 3)",
        "named_struct('i', named_struct('b', 5, 'o', 6), 'p', 9)",
        "WHEN MATCHED THEN UPDATE SET s.i.b = x.s.i.b",
        "struct<i:struct<a:int,b:int>,j:int>",
        "[[[1, 5], 3]]",
    ),
    (
        PAIR,
        OLD,
        "named_struct('c', 30)",
        "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN DELETE " + INSERT,
        TRIPLE,
        "[[null, null, 30]]",
    ),
]

CANNOT_FIND = "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"
UNLIKE = [
    # the clause, the condition on Delta, on Iceberg
    (
        "WHEN MATCHED THEN UPDATE SET s = x.r",
        "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
        "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS",
    ),
    ("WHEN MATCHED THEN UPDATE SET s.e = x.s.c", CANNOT_FIND, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.c = 5", CANNOT_FIND, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    (
        "WHEN MATCHED THEN UPDATE SET s.c = x.s.c, s = x.s",
        "DELTA_CONFLICT_SET_COLUMN",
        "INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS",
    ),
]


@pytest.mark.diagonals("format_", "expected", step=2)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("type_", "old", "given", "clauses", "evolved", "expected"), EVOLVED)
def test_structs_take_the_fields_of_the_source(
    session: LakeSession, format_: str, type_: str, old: str, given: str, clauses: str, evolved: str, expected: str
) -> None:
    made(session, "t", type_, old, format_)
    source = f"SELECT id, {given} AS s FROM VALUES (1), (2) v(id)"
    run(session, f"MERGE WITH SCHEMA EVOLUTION INTO t USING ({source}) x ON t.id = x.id {clauses}")
    assert values(session, "t") == expected
    assert dict(row[:2] for row in rows(session, "DESCRIBE t"))["s"] == evolved


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("clause", "of_delta", "of_iceberg"), UNLIKE)
def test_fields_that_no_clause_may_add_are_rejected(
    session: LakeSession, format_: str, clause: str, of_delta: str, of_iceberg: str
) -> None:
    made(session, "t", PAIR, OLD, format_)
    source = "SELECT 1 AS id, named_struct('c', 30) AS s, named_struct('z', 1, 'a', 2) AS r"
    error = refuse(session, f"MERGE WITH SCHEMA EVOLUTION INTO t USING ({source}) x ON t.id = x.id {clause}")
    assert error.condition == (of_delta if format_ == "delta" else of_iceberg)
    assert values(session, "t") == "[[1, 2]]"


def test_new_field_is_in_the_change_feed(session: LakeSession) -> None:
    properties = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
    made(session, "t", PAIR, OLD, "delta", properties)
    source = f"SELECT id, {WIDER} AS s FROM VALUES (1), (2) v(id)"
    run(session, f"MERGE WITH SCHEMA EVOLUTION INTO t USING ({source}) x ON t.id = x.id {BOTH}")
    found = rows(session, "SELECT _change_type, id, s.a, s.c FROM table_changes('t', 2) ORDER BY id, _change_type")
    assert found == [
        ("update_postimage", 1, 10, 30),
        ("update_preimage", 1, 1, None),
        ("insert", 2, 10, 30),
    ]


def test_struct_column_that_a_clause_adds_has_the_fields_assigned(session: LakeSession) -> None:
    run(session, "DROP TABLE IF EXISTS t")
    run(session, "CREATE TABLE t (id INT)")
    run(session, "INSERT INTO t VALUES (1), (3)")
    source = "SELECT id, named_struct('b', 20, 'c', 5) AS s FROM VALUES (1), (2) v(id)"
    run(
        session,
        f"MERGE WITH SCHEMA EVOLUTION INTO t USING ({source}) x ON t.id = x.id "
        "WHEN MATCHED THEN UPDATE SET s.b = x.s.b",
    )
    assert values(session, "t") == "[[20], null]"
