"""Text of values compared with Spark: CAST AS STRING for scalars, to_json for complex types.

Floating point uses only values whose shortest digits Java 17 finds too; before Java 19 it missed some (JDK-4511638).
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text
from engine.spark.session import ExecSession

pytestmark = pytest.mark.spark

SCALARS = [
    *("true", "-128Y", "2147483647", "9223372036854775807L", "'é\n\"'", "CAST('x' AS CHAR(3))"),
    *("1.0D", "-0.0D", "0.001D", "0.00099D", "9999999.0D", "1e7D", "1.5e300D", "-1.23456789125E8D", "1e-10D"),
    *("double('NaN')", "double('-Infinity')", "float('0.1')", "float('1e10')", "float('1e-4')", "float('16777216')"),
    *("1.50BD", "CAST(0 AS DECIMAL(20,10))", "CAST('0.0000000001' AS DECIMAL(20,10))", "-12345678901234567890.5BD"),
    *("DATE'0001-01-01'", "DATE'2024-02-29'", "DATE'9999-12-31'", "date_add(DATE'9999-12-31', 1)"),
    *("TIMESTAMP'2024-07-01 12:00:00'", "TIMESTAMP'2024-01-01 00:00:00.120'", "TIMESTAMP'1969-12-31 23:59:59.999999'"),
    *("TIMESTAMP'1890-01-01 00:00:00'", "TIMESTAMP'0001-01-01 00:00:00'", "TIMESTAMP'9999-12-31 23:59:59'"),
    *("TIMESTAMP_NTZ'2024-07-01 12:00:00.000001'", "TIME'10:20:30'", "TIME'10:20:30.000450'"),
    *("make_interval(1, 2, 0, 3, 4, 5, 6.5)", "make_interval(0, -14, 0, -3, -1, -30, -0.25)", "make_interval()"),
]
COMPLEX = [
    *("array(1, null)", "array('a\"b', '\\\\', '\t')", "array(1.5D, 1e10D)", "array(array(true), null)"),
    *("map('a', 1, 'b', null)", "map('k', array(1))", "array(DATE'2024-01-01')", "named_struct('x', 1, 'y z', 'w')"),
]


def ensure_equal(spark: ExecSession, expressions: list[str], as_text: str, zone: str) -> None:
    """Compares our text for each expression with Spark's, from `as_text`; all in one query."""
    columns = ", ".join(f"{expression}, {as_text.format(expression)}" for expression in expressions)
    stream = spark.run_query(ReadPlan(text=f"SELECT {columns}", scans=()), StatementRequest(identity=Identity("ada")))
    answer = pa.Table.from_batches(list(stream.batches()), stream.schema)
    ours = [
        to_text(answer.column(2 * i), sql_type_of(answer.schema.field(2 * i)), zone).to_pylist()
        for i in range(len(expressions))
    ]
    theirs = [answer.column(2 * i + 1).to_pylist() for i in range(len(expressions))]
    assert dict(zip(expressions, ours, strict=True)) == dict(zip(expressions, theirs, strict=True))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "America/New_York", "+05:30", "-08:00:30"])
def test_scalars_are_spelled_as_spark_casts_them(spark: ExecSession, zone: str) -> None:
    spark.set_setting("spark.sql.session.timeZone", zone)
    ensure_equal(spark, SCALARS, "CAST({} AS STRING)", zone)


def test_complex_values_are_spelled_as_spark_writes_json(spark: ExecSession) -> None:
    ensure_equal(spark, COMPLEX, "to_json({}, map('ignoreNullFields', 'false'))", "UTC")
