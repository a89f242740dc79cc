"""CHAR and VARCHAR by Spark's semantics, compared with a Parquet table in plain Spark.

Trailing blanks beyond VARCHAR(n) are trimmed; other characters beyond it are an error. CHAR(n) is padded to its length.
A shorter VARCHAR value keeps its blanks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError

from engine.main import LakeSession
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run, table_of
from tests.samples import some

FITTING = ["abc", "abc  ", "ab", "ab ", "a     ", "   ", "      ", "", "äöü   ", "a b", " a ", "a\u00a0", None]
TOO_LONG = ["abcd", "abcd  ", " abc", "abc\u00a0", "abc\t", "äöüß"]


def literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("\t", "\\t") + "'"


@pytest.fixture
def plain(spark_driver: SparkDriver) -> Any:
    """Returns a stock Spark session."""
    jvm: Any = spark_driver.process.gateway.jvm
    return jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()


@pytest.mark.parametrize(
    "kind", some(("VARCHAR(3)", "CHAR(3)", "STRUCT<x: VARCHAR(3)>", "ARRAY<CHAR(3)>"), ("VARCHAR(3)", "ARRAY<CHAR(3)>"))
)
def test_values_are_stored_as_spark_stores_them(
    lake: Path, session: LakeSession, plain: Any, tmp_path: Path, kind: str
) -> None:
    values = ", ".join(f"({key}, {_wrapped(kind, value)})" for key, value in enumerate(FITTING))
    plain.sql("DROP TABLE IF EXISTS beside")
    plain.sql(f"CREATE TABLE beside (k INT, v {kind}) USING parquet LOCATION '{tmp_path / 'beside'}'")
    plain.sql(f"INSERT INTO beside VALUES {values}")
    run(session, "DROP TABLE IF EXISTS limited")
    run(session, f"CREATE TABLE limited (k INT, v {kind})")
    run(session, f"INSERT INTO limited VALUES {values}")
    stored = table_of(lake, "limited").sort_by("k").to_pylist()
    assert stored == pq.read_table(tmp_path / "beside").sort_by("k").to_pylist()
    shown = [
        row.mkString("|")
        for row in plain.sql("SELECT k, to_json(named_struct('v', v)) FROM beside ORDER BY k").collect()
    ]
    assert [
        "|".join(map(str, row))
        for row in rows(session, "SELECT k, to_json(named_struct('v', v)) FROM limited ORDER BY k")
    ] == shown
    for value in TOO_LONG:
        with pytest.raises(Py4JJavaError, match="EXCEED_LIMIT_LENGTH"):
            plain.sql(f"INSERT INTO beside VALUES (0, {_wrapped(kind, value)})")
        error = refuse(session, f"INSERT INTO limited VALUES (0, {_wrapped(kind, value)})")
        assert error.condition == "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"


def _wrapped(kind: str, value: str | None) -> str:
    match kind.partition("<")[0]:
        case "STRUCT":
            return f"named_struct('x', {literal(value)})"
        case "ARRAY":
            return f"array({literal(value)})"
        case _:
            return literal(value)
