"""Expressions that CREATE and ALTER accept or reject: CHECK, generation, DEFAULT."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run, version_of

pytestmark = pytest.mark.spark

CHECKS = [
    ("a > 0 AND length(s) < 5", None),
    ("ts < current_timestamp()", None),
    ("d <= current_date()", None),
    ("exists(array(a), x -> x > 0)", None),
    ("rand() < 2", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT"),
    ("s <> uuid()", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT"),
    ("monotonically_increasing_id() >= a", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT"),
    ("a < max(a) + 1", "DELTA_AGGREGATE_IN_CHECK_CONSTRAINT"),
    ("count(*) > 0", "DELTA_AGGREGATE_IN_CHECK_CONSTRAINT"),
    ("row_number() OVER (ORDER BY a) = 1", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("sum(a) OVER (PARTITION BY s) > 0", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("explode(array(true))", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("s = current_user()", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("a IN (SELECT 1)", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("a > (SELECT 1)", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("a + nope > 1", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
    ("_metadata.file_path <> s", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
    ("a", "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"),
    ("own_function(a)", "UNRESOLVED_ROUTINE"),
]


@pytest.mark.parametrize(("text", "condition"), CHECKS)
def test_constraints_look_at_one_row(session: LakeSession, lake: Path, text: str, condition: str | None) -> None:
    columns = "a INT, s STRING, d DATE, ts TIMESTAMP"
    run(session, "DROP TABLE IF EXISTS checked")
    run(session, f"CREATE TABLE checked ({columns})")
    add = f"ALTER TABLE checked ADD CONSTRAINT one CHECK ({text})"
    # Another constraint is not to blame.
    create = f"CREATE TABLE made ({columns}, CONSTRAINT zero CHECK (a IS NOT NULL), CONSTRAINT one CHECK ({text}))"
    if condition is None:
        run(session, add)
        run(session, create)
        run(session, "INSERT INTO made VALUES (1, 'x', DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00')")
        run(session, "DROP TABLE made")
        return
    for statement in (add, create):
        error = refuse(session, statement)
        assert error.condition == condition and "zero" not in error.message
    assert version_of(lake, "checked") == 0 and not (lake / "default" / "made").exists()


GENERATIONS = [
    ("INT", "a + 1", None),
    ("STRING", "concat(s, '!')", None),
    ("DATE", "CAST(ts AS DATE)", None),
    ("DOUBLE", "rand()", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN"),
    ("STRING", "concat(s, uuid())", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN"),
    ("INT", "max(a)", "DELTA_AGGREGATE_IN_GENERATED_COLUMN"),
    ("BIGINT", "count(*)", "DELTA_AGGREGATE_IN_GENERATED_COLUMN"),
    ("INT", "row_number() OVER (ORDER BY a)", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    ("INT", "explode(array(a))", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    ("TIMESTAMP", "current_timestamp()", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    ("DATE", "current_date()", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    ("STRING", "current_user()", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    ("INT", "(SELECT 1)", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    ("STRING", "_metadata.file_path", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    ("INT", "own_function(a)", "UNRESOLVED_ROUTINE"),
]


@pytest.mark.parametrize(("sql_type", "text", "condition"), GENERATIONS)
def test_generated_columns_can_be_computed_again(
    session: LakeSession, lake: Path, sql_type: str, text: str, condition: str | None
) -> None:
    run(session, "DROP TABLE IF EXISTS computed")
    create = f"TABLE computed (a INT, s STRING, ts TIMESTAMP, g {sql_type} GENERATED ALWAYS AS ({text}))"
    if condition is None:
        run(session, f"CREATE {create}")
        return
    assert refuse(session, f"CREATE {create}").condition == condition
    assert not (lake / "default" / "computed").exists()
    run(session, "CREATE TABLE computed (a INT)")
    assert refuse(session, f"CREATE OR REPLACE {create}").condition == condition
    assert version_of(lake, "computed") == 0


DEFAULTS = [
    # as Spark 4.3 decides for its own tables
    ("INT", "'5'", None),
    ("INT", "1 + 1", None),
    ("INT", "2.0", None),
    ("INT", "5L", None),
    ("INT", "NULL", None),
    ("TIMESTAMP", "DATE'2024-01-01'", None),
    ("DATE", "'2024-01-01'", None),
    ("STRING", "true", None),
    ("STRING", "current_user()", None),
    ("TIMESTAMP", "current_timestamp()", None),
    ("ARRAY<INT>", "array(1)", None),
    ("STRUCT<a: INT>", "named_struct('a', 1)", None),
    ("DECIMAL(5,2)", "1.234", None),
    ("VARCHAR(3)", "'abc'", None),
    ("CHAR(4)", "'abc'", None),
    ("VARCHAR(3)", "NULL", None),
    ("INT", "'x'", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("TINYINT", "300", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("INT", "99999999999L", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("DATE", "'x'", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("ARRAY<INT>", "array('x')", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("DECIMAL(5,2)", "123456", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("INT", "true", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("BOOLEAN", "1", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("STRUCT<a: INT>", "5", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("INT", "1 / 0", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
    ("STRING", "uuid()", "INVALID_DEFAULT_VALUE.NON_DETERMINISTIC"),
    ("INT", "(SELECT 1)", "INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION"),
    ("INT", "a", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
    ("INT", "row_number() OVER (ORDER BY 1)", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
    ("BIGINT", "count(*)", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
    ("VARCHAR(2)", "'abc'", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
]


@pytest.mark.parametrize(("sql_type", "text", "condition"), DEFAULTS)
def test_defaults_are_values_of_their_column(
    session: LakeSession, lake: Path, sql_type: str, text: str, condition: str | None
) -> None:
    create = f"CREATE TABLE fresh (a INT, b {sql_type} DEFAULT {text})"
    feature = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    run(session, "DROP TABLE IF EXISTS given")
    run(session, f"CREATE TABLE given (a INT, b {sql_type}) {feature}")
    alter = f"ALTER TABLE given ALTER COLUMN b SET DEFAULT {text}"
    if condition is None:
        run(session, create)
        run(session, alter)
        for table in ("fresh", "given"):
            run(session, f"INSERT INTO {table} (a) VALUES (1)")
        (new,), (old,) = rows(session, "SELECT * FROM fresh"), rows(session, "SELECT * FROM given")
        assert (new[1] is None) == (old[1] is None) == (text == "NULL")
        run(session, "DROP TABLE fresh")
        return
    for statement in (create, alter):
        assert refuse(session, statement).condition == condition
    assert version_of(lake, "given") == 0 and not (lake / "default" / "fresh").exists()


@pytest.mark.parametrize("name", ["__scan_0", "__relation0", "__relation_0", "strict"])
def test_a_field_is_not_taken_for_the_column_of_its_name(session: LakeSession, name: str) -> None:
    """If a relation had the struct's name, `name.x` would be column x."""
    run(session, "DROP TABLE IF EXISTS strict")
    run(session, f"CREATE TABLE strict (x INT, {name} STRUCT<x: INT>)")
    run(session, "INSERT INTO strict VALUES (-1, named_struct('x', 1))")
    run(session, f"ALTER TABLE strict ADD CONSTRAINT good CHECK ({name}.x > 0)")
    error = refuse(session, f"ALTER TABLE strict ADD CONSTRAINT bad CHECK ({name}.x < 0)")
    assert error.condition == "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"
    run(session, "INSERT INTO strict VALUES (-2, named_struct('x', 2))")
    broken = refuse(session, "INSERT INTO strict VALUES (3, named_struct('x', -3))")
    assert broken.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    typed = refuse(session, f"ALTER TABLE strict ADD CONSTRAINT worse CHECK ({name}.x)")
    assert typed.condition == "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"
