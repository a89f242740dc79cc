"""WITH SCHEMA of CREATE VIEW and ALTER VIEW: how a view reacts to changed columns, as in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

MODES = ("BINDING", "COMPENSATION", "TYPE EVOLUTION", "EVOLUTION")


@pytest.fixture
def moded(session: LakeSession) -> Iterator[LakeSession]:
    """Has the table t (a INT, b STRING), and for each mode a view that reads all its columns."""
    for text in ("CREATE SCHEMA moded", "USE moded", "CREATE TABLE t (a INT, b STRING)"):
        run(session, text)
    for mode in MODES:
        run(session, f"CREATE VIEW {_name(mode)} WITH SCHEMA {mode} AS SELECT * FROM t")
    yield session
    run(session, "DROP SCHEMA moded CASCADE")


def _name(mode: str) -> str:
    return f"v_{mode.lower().replace(' ', '_')}"


def _types(session: LakeSession, view: str) -> list[tuple[object, ...]]:
    return [row[:2] for row in rows(session, f"DESCRIBE QUERY SELECT * FROM {view}")]


def _replace_table(session: LakeSession, columns: str, values: str) -> None:
    run(session, f"CREATE OR REPLACE TABLE t ({columns})")
    run(session, f"INSERT INTO t VALUES ({values})")


def test_wider_type_is_cast_adopted_or_rejected_by_the_mode(moded: LakeSession) -> None:
    _replace_table(moded, "a BIGINT, b STRING", "5, 'x'")
    error = refuse(moded, "SELECT * FROM v_binding")
    assert (error.condition, error.sqlstate) == ("CANNOT_UP_CAST_DATATYPE", "42846")
    assert "the column a of the view `spark_catalog`.`moded`.`v_binding` from BIGINT to int" in str(error)
    assert _types(moded, "v_compensation") == [("a", "int"), ("b", "string")]
    for mode in ("TYPE EVOLUTION", "EVOLUTION"):
        assert _types(moded, _name(mode)) == [("a", "bigint"), ("b", "string")]
    for mode in MODES[1:]:
        assert rows(moded, f"SELECT * FROM {_name(mode)} WHERE a > 1") == [(5, "x")]
    run(moded, "INSERT INTO t VALUES (5000000000, 'y')")
    error = refuse(moded, "SELECT * FROM v_compensation")
    assert (error.condition, error.sqlstate) == ("CAST_OVERFLOW", "22003")


def test_narrower_type_is_cast_in_binding_and_compensation(moded: LakeSession) -> None:
    _replace_table(moded, "a TINYINT, b INT", "5, 7")
    for mode in ("BINDING", "COMPENSATION"):
        assert _types(moded, _name(mode)) == [("a", "int"), ("b", "string")]
        assert rows(moded, f"SELECT * FROM {_name(mode)}") == [(5, "7")]
    for mode in ("TYPE EVOLUTION", "EVOLUTION"):
        assert _types(moded, _name(mode)) == [("a", "tinyint"), ("b", "int")]


def test_type_without_a_cast_is_rejected_in_binding_and_compensation(moded: LakeSession) -> None:
    _replace_table(moded, "a DATE, b STRING", "DATE'2024-01-01', 'x'")
    assert refuse(moded, "SELECT b FROM v_binding").condition == "CANNOT_UP_CAST_DATATYPE"
    error = refuse(moded, "SELECT b FROM v_compensation")
    assert (error.condition, error.sqlstate) == ("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "42K09")
    for mode in ("TYPE EVOLUTION", "EVOLUTION"):
        assert rows(moded, f"SELECT b FROM {_name(mode)}") == [("x",)]


def test_new_and_removed_columns_are_adopted_in_evolution_only(moded: LakeSession) -> None:
    _replace_table(moded, "a INT, b STRING, c INT", "1, 'x', 3")
    for mode in MODES[:3]:
        assert rows(moded, f"SELECT * FROM {_name(mode)}") == [(1, "x")]
    assert rows(moded, "SELECT * FROM v_evolution") == [(1, "x", 3)]
    _replace_table(moded, "c INT, b STRING", "3, 'x'")
    for mode in MODES[:3]:
        assert refuse(moded, f"SELECT * FROM {_name(mode)}").condition == "INCOMPATIBLE_VIEW_SCHEMA_CHANGE"
    assert rows(moded, "SELECT * FROM v_evolution") == [(3, "x")]


def test_compensation_is_the_default_and_alter_view_changes_the_mode(moded: LakeSession) -> None:
    run(moded, "CREATE VIEW v (k, s) COMMENT 'c' TBLPROPERTIES ('p' = '1') AS SELECT * FROM t")
    assert ("View Schema Mode", "COMPENSATION", "") in rows(moded, "DESCRIBE EXTENDED v")
    _replace_table(moded, "a BIGINT, b STRING, c INT", "5, 'x', 1")
    for mode, expected in (
        ("COMPENSATION", [("k", "int"), ("s", "string")]),
        ("TYPE EVOLUTION", [("k", "bigint"), ("s", "string")]),
        ("EVOLUTION", [("a", "bigint"), ("b", "string"), ("c", "int")]),
    ):
        run(moded, f"ALTER VIEW v WITH SCHEMA {mode}")
        assert ("View Schema Mode", mode, "") in rows(moded, "DESCRIBE EXTENDED v")
        assert f'"view_schema_mode":"{mode}"' in str(rows(moded, "DESCRIBE EXTENDED v AS JSON")).replace('": "', '":"')
        assert _types(moded, "v") == expected
    run(moded, "ALTER VIEW v AS SELECT * FROM t")
    assert ("View Schema Mode", "EVOLUTION", "") in rows(moded, "DESCRIBE EXTENDED v")
    run(moded, "ALTER VIEW v WITH SCHEMA BINDING")
    assert refuse(moded, "ALTER TABLE t WITH SCHEMA BINDING").condition == "PARSE_SYNTAX_ERROR"
    assert rows(moded, "SELECT * FROM v") == [(5, "x", 1)]
    assert rows(moded, "SHOW TBLPROPERTIES v") == [("p", "1")]


@pytest.mark.parametrize("mode", MODES)
def test_shown_statement_creates_a_view_with_the_same_mode(moded: LakeSession, mode: str) -> None:
    ((text,),) = rows(moded, f"SHOW CREATE TABLE {_name(mode)}")
    assert f"\nWITH SCHEMA {mode}\nAS SELECT * FROM t\n" in str(text)
    run(moded, f"DROP VIEW {_name(mode)}")
    run(moded, str(text))
    assert rows(moded, f"SHOW CREATE TABLE {_name(mode)}") == [(text,)]


def test_list_of_columns_makes_evolution_type_evolution(moded: LakeSession) -> None:
    run(moded, "CREATE VIEW v (k, s) WITH SCHEMA EVOLUTION AS SELECT * FROM t")
    assert ("View Schema Mode", "TYPE EVOLUTION", "") in rows(moded, "DESCRIBE EXTENDED v")
    run(moded, "CREATE VIEW twice (k, l) AS SELECT a, a FROM t")
    assert refuse(moded, "ALTER VIEW twice WITH SCHEMA EVOLUTION").condition == "COLUMN_ALREADY_EXISTS"
    run(moded, "ALTER VIEW twice WITH SCHEMA TYPE EVOLUTION")


def test_function_over_an_evolving_view_is_rejected(moded: LakeSession) -> None:
    body = "(c INT) RETURNS INT RETURN (SELECT max(a) FROM {} WHERE a > c)"
    assert refuse(moded, f"CREATE FUNCTION f{body.format('v_evolution')}").condition == "INVALID_SQL_FUNCTION_BODY"
    run(moded, f"CREATE FUNCTION f{body.format('v_binding')}")
    run(moded, "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    assert rows(moded, "SELECT f(1)") == [(2,)]
    run(moded, "ALTER VIEW v_binding WITH SCHEMA EVOLUTION")
    assert refuse(moded, "SELECT f(1)").condition == "INVALID_SQL_FUNCTION_BODY"


def test_nested_types_and_lengths_are_compared_without_their_spelling(moded: LakeSession) -> None:
    columns = "v VARCHAR(5), s STRUCT<`A b`: INT, c: ARRAY<DECIMAL(5,2)>>, m MAP<STRING, DATE>"
    run(moded, f"CREATE TABLE nested ({columns}) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    run(moded, "INSERT INTO nested SELECT 'x', named_struct('A b', 1, 'c', array(1.5)), map('k', DATE'2024-01-01')")
    run(moded, "CREATE VIEW n WITH SCHEMA BINDING AS SELECT *, INTERVAL '1' DAY AS i, NULL AS nothing FROM nested")
    assert rows(moded, "SELECT v, s.`A b`, m['k'] IS NOT NULL, nothing FROM n") == [("x", 1, True, None)]
    assert rows(moded, "DESCRIBE QUERY SELECT * FROM n") == rows(
        moded, "DESCRIBE QUERY SELECT *, INTERVAL '1' DAY AS i, NULL AS nothing FROM nested"
    )
    run(moded, "ALTER TABLE nested RENAME COLUMN s.c TO d")
    assert refuse(moded, "SELECT * FROM n").condition == "CANNOT_UP_CAST_DATATYPE"
    run(moded, "ALTER VIEW n WITH SCHEMA TYPE EVOLUTION")
    assert rows(moded, "SELECT s.d[0] FROM n") == [(Decimal("1.50"),)]
