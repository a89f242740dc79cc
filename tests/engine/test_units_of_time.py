"""Functions whose first argument is a time unit: a keyword, not a column."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.main import LakeSession
from engine.sql.expressions import parse_expression
from tests.engine.lake_sessions import refuse, rows, run

CALLS = [
    # call, type, its value for 2020-01-01 and 2021-03-01
    ("timestampdiff(MONTH, a, b)", "BIGINT", 14),
    ("timestampdiff(quarter, a, b)", "BIGINT", 4),
    ("datediff(DAY, a, b)", "BIGINT", 425),
    ("date_diff(WEEK, a, b)", "BIGINT", 60),
    ("timediff(HOUR, a, b)", "BIGINT", 10200),
    ("timestampadd(YEAR, 2, a)", "TIMESTAMP", datetime(2022, 1, 1, tzinfo=UTC)),
    ("dateadd(DAYOFYEAR, 2, a)", "TIMESTAMP", datetime(2020, 1, 3, tzinfo=UTC)),
    ("date_add(MICROSECOND, 2, a)", "TIMESTAMP", datetime(2020, 1, 1, microsecond=2, tzinfo=UTC)),
    ("datediff(b, a)", "INT", 425),
    ("date_add(a, 2)", "DATE", datetime(2020, 1, 3).date()),
]
VALUES = "TIMESTAMP'2020-01-01', TIMESTAMP'2021-03-01'"


@pytest.mark.spark
@pytest.mark.parametrize(("call", "type_", "value"), CALLS)
def test_constraints_may_call_time_functions(session: LakeSession, call: str, type_: str, value: object) -> None:
    run(session, "SET spark.sql.session.timeZone = UTC")
    columns = f"month STRING, a TIMESTAMP, b TIMESTAMP, g {type_} GENERATED ALWAYS AS ({call})"
    run(session, f"CREATE OR REPLACE TABLE units ({columns}, CONSTRAINT c CHECK ({call} IS NOT NULL))")
    run(session, f"INSERT INTO units (a, b) VALUES ({VALUES})")
    run(session, "UPDATE units SET month = 'x'")
    assert rows(session, "SELECT g FROM units") == [(value,)]
    run(session, f"CREATE OR REPLACE FUNCTION of_units(a TIMESTAMP, b TIMESTAMP) RETURNS {type_} RETURN {call}")
    assert rows(session, f"SELECT of_units({VALUES})") == [(value,)]
    constant = call.replace("a)", "TIMESTAMP'2020-01-01')").replace("a,", "TIMESTAMP'2020-01-01',")
    constant = constant.replace("b)", "TIMESTAMP'2021-03-01')").replace("(b,", "(TIMESTAMP'2021-03-01',")
    run(
        session,
        f"CREATE OR REPLACE TABLE constant (i INT, d {type_} DEFAULT {constant})"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    )
    run(session, "INSERT INTO constant (i) VALUES (1)")
    assert rows(session, "SELECT d FROM constant") == [(value,)]


@pytest.mark.spark
def test_unknown_time_units_are_column_names(session: LakeSession) -> None:
    for unit in ("FORTNIGHT", "`MONTH`"):
        text = f"CREATE TABLE odd_units (a TIMESTAMP, g BIGINT GENERATED ALWAYS AS (timestampdiff({unit}, a, a)))"
        assert refuse(session, text).condition == "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("timestampdiff(month, a, month)", [("a",), ("month",)]),
        ("datediff(month, a)", [("a",), ("month",)]),
        ("greatest(month, a, b)", [("a",), ("b",), ("month",)]),
        ("dateadd(DAY, day, t.a)", [("day",), ("t", "a")]),
    ],
)
def test_columns_beside_a_unit(text: str, columns: list[tuple[str, ...]]) -> None:
    assert list(parse_expression(text).columns) == columns
