"""Literals that Spark can represent and Python cannot, and malformed ones, in statements that evaluate them first."""

from __future__ import annotations

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

DEFAULTS = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
FAR = [
    # type, literal, as text
    ("DATE", "DATE'0000'", "0000-01-01"),
    ("DATE", "DATE'-0044-03-15'", "-0044-03-15"),
    ("DATE", "DATE'+12000-01-01'", "+12000-01-01"),
    ("TIMESTAMP", "TIMESTAMP'0000'", "0000-01-01 00:00:00"),
    ("TIMESTAMP", "TIMESTAMP'+12000-01-01 00:00:00'", "+12000-01-01 00:00:00"),
    ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'0000'", "0000-01-01 00:00:00"),
    ("ARRAY<DATE>", "array(DATE'0000')", "[0000-01-01]"),
    ("STRUCT<d: DATE>", "named_struct('d', DATE'0000')", "{0000-01-01}"),
]


@pytest.mark.parametrize(("type_", "literal", "text"), FAR)
def test_defaults_of_far_years_are_stored(session: LakeSession, type_: str, literal: str, text: str) -> None:
    run(session, "SET spark.sql.session.timeZone = UTC")
    run(session, f"CREATE OR REPLACE TABLE far (id INT, x {type_} DEFAULT {literal}, y {type_}) {DEFAULTS}")
    run(session, f"ALTER TABLE far ALTER COLUMN y SET DEFAULT {literal}")
    run(session, "INSERT INTO far (id) VALUES (1)")
    assert rows(session, "SELECT CAST(x AS STRING), CAST(y AS STRING) FROM far") == [(text, text)]


def test_constraints_accept_literals_of_far_years(session: LakeSession) -> None:
    run(session, "CREATE TABLE ruled (x DATE, y DATE GENERATED ALWAYS AS (greatest(x, DATE'0000')))")
    run(session, "ALTER TABLE ruled ADD CONSTRAINT c CHECK (x > DATE'0000')")
    run(session, "INSERT INTO ruled (x) VALUES (DATE'2020-01-01')")
    error = refuse(session, "INSERT INTO ruled (x) VALUES (DATE'0000')")
    assert "x : 0000-01-01" in str(error)


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
@pytest.mark.parametrize("time", ["DATE'0000'", "TIMESTAMP'-0044-03-15'", "'0000'"])
def test_travel_to_far_years_is_rejected_by_name(session: LakeSession, format_: str, time: str) -> None:
    run(session, f"CREATE OR REPLACE TABLE young_{format_} (x INT) USING {format_}")
    run(session, f"INSERT INTO young_{format_} VALUES (1)")
    read = refuse(session, f"SELECT * FROM young_{format_} TIMESTAMP AS OF {time}").condition
    restored = refuse(session, f"RESTORE TABLE young_{format_} TO TIMESTAMP AS OF {time}").condition
    if format_ == "delta":
        assert read == "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"
        assert restored == "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER"
    else:
        assert (read, restored) == ("ICEBERG_SNAPSHOT_NOT_FOUND", "ICEBERG_SNAPSHOT_NOT_FOUND")


MALFORMED = [
    # type, literal, condition, the part that the error shows
    ("DATE", "DATE'abc'", "INVALID_DEFAULT_VALUE.DATA_TYPE", "DATE'abc'"),
    ("DATE", "DATE'2020-13-01'", "INVALID_DEFAULT_VALUE.DATA_TYPE", "2020-13-01"),
    ("TIMESTAMP", "TIMESTAMP'nope'", "INVALID_DEFAULT_VALUE.DATA_TYPE", "TIMESTAMP'nope'"),
    ("STRING", "INTERVAL 'abc' DAY", "INVALID_DEFAULT_VALUE.DATA_TYPE", "'abc'"),
    ("STRING", "TIME'99'", "INVALID_DEFAULT_VALUE.DATA_TYPE", "TIME'99'"),
    ("BINARY", "X'0G'", "PARSE_SYNTAX_ERROR", "X'0G'"),
    ("TINYINT", "300Y", "INVALID_DEFAULT_VALUE.DATA_TYPE", "300Y"),
    ("INT", "1e999", "INVALID_DEFAULT_VALUE.DATA_TYPE", "1e999"),
]


@pytest.mark.parametrize(("type_", "literal", "condition", "shown"), MALFORMED)
def test_malformed_literals_are_rejected_by_name(
    session: LakeSession, type_: str, literal: str, condition: str, shown: str
) -> None:
    error = refuse(session, f"CREATE TABLE malformed (x {type_} DEFAULT {literal}) {DEFAULTS}")
    assert error.condition == condition and shown in str(error)
    for constraint in (f"y {type_} GENERATED ALWAYS AS ({literal})", f"CONSTRAINT c CHECK ({literal} IS NULL)"):
        error = refuse(session, f"CREATE TABLE malformed (x {type_}, {constraint})")
        assert error.condition != "INTERNAL_ERROR" and shown in str(error), (constraint, error)
