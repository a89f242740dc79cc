"""Sessions, parameters, cancellation and errors in consecutive statements."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from catalog.conditions import DataFileNotFound, DiskFull, SparkFailure, StatementCancelled, StatementTimedOut
from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text
from engine.spark.query import temporary_folder
from engine.spark.session import ExecSession, SparkDriver
from engine.spark.spark_errors import translate_errors
from engine.sql.query.values import ExplainMode
from tests.engine.spark.scans import DataFile, query, rows, write_scan
from tests.gateway.http.conftest import eventually

pytestmark = pytest.mark.spark

SLOW = "SELECT count(*) FROM range(0, 1000000000000, 1, 2) WHERE hash(id) = 1"


def test_current_names(spark: ExecSession, spark_driver: SparkDriver) -> None:
    text = "SELECT current_catalog(), current_schema(), current_database(), current_user(), user"
    spark.set_current_schema("spark_catalog", "sales")
    assert rows(spark, text) == [("spark_catalog", "sales", "sales", "alice", "alice")]
    spark.set_current_schema("lake", "other")
    assert rows(spark, text) == [("lake", "other", "other", "alice", "alice")]
    spark.set_current_schema("spark_catalog", "default")
    bob = StatementRequest(identity=Identity("bob"))
    assert rows(spark, text, request=bob) == [("spark_catalog", "default", "default", "bob", "bob")]
    other = spark_driver.open_session()
    assert rows(other, "SELECT current_schema()") == [("default",)]


def test_settings_are_of_one_session(spark: ExecSession, spark_driver: SparkDriver) -> None:
    other = spark_driver.open_session()
    spark.set_setting("spark.sql.ansi.enabled", "false")
    assert rows(spark, "SELECT 1 / 0") == [(None,)]
    with pytest.raises(SparkFailure):
        rows(other, "SELECT 1 / 0")
    assert spark.get_setting("spark.sql.ansi.enabled") == "false"
    spark.set_setting("spark.sql.ansi.enabled", None)
    assert spark.get_setting("spark.sql.ansi.enabled") == "true"
    assert spark.get_setting("no.such.setting") is None
    with pytest.raises(SparkFailure) as refused:
        spark.set_setting("spark.sql.warehouse.dir", "/tmp")
    assert refused.value.condition == "CANNOT_MODIFY_STATIC_CONFIG"


def test_now_with_nanoseconds_is_the_instant_of_the_statement(spark: ExecSession) -> None:
    """Spark has these types under a setting that sessions cannot change."""
    instant = dt.datetime(2024, 2, 29, 23, 59, 59, 123456, dt.UTC)
    request = StatementRequest(identity=Identity("ann"), instant_us=int(instant.timestamp()) * 10**6 + 123456)
    spark.set_setting("spark.sql.timestampNanosTypes.enabled", "true")
    spark.set_setting("spark.sql.session.timeZone", "Asia/Tokyo")
    instants = ("current_timestamp(9)", "current_timestamp(7)", "localtimestamp(8)", "localtimestamp(9)")
    text = ", ".join(f"CAST({function} AS STRING), typeof({function})" for function in instants)
    (row,) = rows(spark, f"SELECT {text}", request=request)
    now = "2024-03-01 08:59:59.123456"
    types = ("timestamp_ltz(9)", "timestamp_ltz(7)", "timestamp_ntz(8)", "timestamp_ntz(9)")
    assert row == tuple(value for name in types for value in (now, name))


def test_named_parameters(spark: ExecSession) -> None:
    parameters = (
        Parameter(name="day", value="2024-05-01", sql_type="date"),
        Parameter(name="n", value="3", sql_type="int"),
        Parameter(name="none", value=None, sql_type="string"),
        Parameter(name="text", value="it's ?"),
    )
    text = "SELECT CAST(:day AS STRING), :n + 1, :none IS NULL, :text"
    assert rows(spark, text, parameters=parameters) == [("2024-05-01", 4, True, "it's ?")]


def test_parameters_have_their_types(spark: ExecSession) -> None:
    """A decimal keeps its type's digits, for any value."""
    given = (
        ("1.10", "decimal(9,2)", "1.10"),
        ("0.5", "decimal(38,38)", f"0.5{'0' * 37}"),
        ("-7", "decimal(1,0)", "-7"),
        ("0", "decimal(9,2)", "0.00"),
        ("1", "tinyint", "1"),
        ("1.5", "float", "1.5"),
        ("2024-01-01 10:00:00", "timestamp_ntz", "2024-01-01 10:00:00"),
    )
    for value, sql_type, shown in given:
        parameters = (Parameter(name="x", value=value, sql_type=sql_type),)
        assert rows(spark, "SELECT typeof(:x), CAST(:x AS STRING)", parameters=parameters) == [(sql_type, shown)]


def test_positional_parameters(spark: ExecSession, tmp_path: Path) -> None:
    scan = write_scan(tmp_path, {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [1, 2, 3]})])
    parameters = (Parameter(value="1", sql_type="bigint"), Parameter(value="1", sql_type="int"))
    assert rows(spark, "SELECT id FROM __scan_0 WHERE id > ? LIMIT ?", scan, parameters=parameters) == [(2,)]


@pytest.mark.parametrize(
    ("parameter", "condition"),
    [
        (Parameter(name="x", value="abc", sql_type="int"), "CAST_INVALID_INPUT"),
        (Parameter(name="x", value="1", sql_type="no_type"), "UNSUPPORTED_DATATYPE"),
        (Parameter(name="other", value="1"), "UNBOUND_SQL_PARAMETER"),
    ],
    ids=["malformed value", "unknown type", "unbound marker"],
)
def test_parameters_that_do_not_fit(spark: ExecSession, parameter: Parameter, condition: str) -> None:
    with pytest.raises(SparkFailure) as refused:
        rows(spark, "SELECT :x", parameters=(parameter,))
    assert refused.value.condition == condition


def test_parameters_are_values_not_text(spark: ExecSession) -> None:
    """Text in a value is never parsed, also not as a relation's name."""
    parameters = (Parameter(name="x", value="1) FROM parquet.`/etc` --"),)
    assert rows(spark, "SELECT :x", parameters=parameters) == [("1) FROM parquet.`/etc` --",)]


def test_cancel_ends_a_running_job(spark: ExecSession) -> None:
    request = StatementRequest(identity=Identity("alice"))

    def cancel_when_it_runs() -> None:
        eventually(lambda: request.profile.tasks.running > 0, 60)
        request.cancel.cancel()

    threading.Thread(target=cancel_when_it_runs).start()
    with pytest.raises(StatementCancelled):
        rows(spark, SLOW, request=request)
    assert request.profile.tasks.running > 0, "its tasks are counted while it runs"
    assert rows(spark, "SELECT count(*) FROM range(0, 10, 1, 2)") == [(10,)], "the executors are free again"


def test_timeout_is_reported_as_such(spark: ExecSession) -> None:
    request = StatementRequest(identity=Identity("alice"))
    threading.Timer(0.5, request.cancel.cancel, [StatementTimedOut(0.5)]).start()
    with pytest.raises(StatementTimedOut):
        rows(spark, SLOW, request=request)


def test_cancelled_before_it_began(spark: ExecSession) -> None:
    request = StatementRequest(identity=Identity("alice"))
    request.cancel.cancel()
    with pytest.raises(StatementCancelled):
        rows(spark, SLOW, request=request)


def test_cancel_after_the_end_does_nothing(spark: ExecSession) -> None:
    request = StatementRequest(identity=Identity("alice"))
    assert rows(spark, "SELECT 1", request=request) == [(1,)]
    request.cancel.cancel()
    assert rows(spark, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("delay_ms", range(0, 60, 5))
def test_cancel_at_any_moment(spark: ExecSession, delay_ms: int) -> None:
    """During parsing, analysis, planning, submission: the statement ends, and soon."""
    request = StatementRequest(identity=Identity("alice"))
    timer = threading.Timer(delay_ms / 1000, request.cancel.cancel)
    timer.start()
    with pytest.raises(StatementCancelled):
        rows(spark, SLOW, request=request)


def test_cancel_ends_an_analysis_that_would_take_minutes(spark: ExecSession) -> None:
    """A fan-out of common table expressions: each analyzer rule visits all of it."""
    parts = [f"c{n} AS (SELECT a.x FROM c{n - 1} a JOIN c{n - 1} b ON a.x = b.x)" for n in range(1, 12)]
    request = StatementRequest(identity=Identity("alice"))
    threading.Timer(0.5, request.cancel.cancel).start()
    with pytest.raises(StatementCancelled):
        rows(spark, f"WITH c0 AS (SELECT 1 AS x), {', '.join(parts)} SELECT * FROM c11", request=request)
    assert rows(spark, "SELECT 1") == [(1,)]


def test_cancel_leaves_other_statements_alone(spark: ExecSession) -> None:
    request = StatementRequest(identity=Identity("alice"))
    with ThreadPoolExecutor(2) as threads:
        doomed = threads.submit(rows, spark, SLOW, request=request)
        other = threads.submit(rows, spark, "SELECT count(*) FROM range(0, 3000000, 1, 2) WHERE hash(id) != 1")
        time.sleep(0.3)
        request.cancel.cancel()
        assert other.result() == [(3_000_000,)]
        with pytest.raises(StatementCancelled):
            doomed.result()


def test_statements_of_one_session_do_not_mix_their_scans(spark: ExecSession, tmp_path: Path) -> None:
    """Scans have the same names in every statement."""
    scans = [
        write_scan(tmp_path / str(n), {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [n]})])
        for n in range(8)
    ]
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda scan: rows(spark, "SELECT max(id) FROM __scan_0", scan), scans * 3)
    assert list(answers) == [[(n,)] for n in range(8)] * 3


@pytest.mark.parametrize(
    ("text", "condition", "sqlstate", "message"),
    [
        ("SELECT nope FROM __scan_0", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "`nope`"),
        ("SELECT __scan_0.nope FROM __scan_0", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "lake.sales.`nope`"),
        ("SELECT id / 0 FROM __scan_0", "DIVIDE_BY_ZERO", "22012", "Division by zero"),
        ("SELECT CAST('x' AS int)", "CAST_INVALID_INPUT", "22018", "'x'"),
        ("SELECT 1 +", "PARSE_SYNTAX_ERROR", "42601", "Syntax error"),
        ("SELECT id FROM __scan_0 GROUP BY name", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "`name`"),
        ("SELECT raise_error('no')", "USER_RAISED_EXCEPTION", "P0001", "no"),
        ("SELECT (SELECT id FROM __scan_0)", "SCALAR_SUBQUERY_TOO_MANY_ROWS", "21000", "More than one row"),
    ],
)
def test_spark_errors(
    spark: ExecSession, tmp_path: Path, text: str, condition: str, sqlstate: str, message: str
) -> None:
    scan = write_scan(tmp_path, {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [1, 2]})])
    with pytest.raises(SparkFailure) as failed:
        rows(spark, text, scan)
    assert (failed.value.condition, failed.value.sqlstate) == (condition, sqlstate)
    assert message in failed.value.full_message
    assert "__scan" not in failed.value.message
    assert "\tat " not in failed.value.message
    assert "SQLSTATE" not in failed.value.message


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT :nowhere", "UNBOUND_SQL_PARAMETER"),
        ("SELECT ?", "UNBOUND_SQL_PARAMETER"),
        ("SELECT repeat('xxxxxxxxxx', int(id) + 300000000) FROM range(1)", "ARITHMETIC_OVERFLOW"),
        ("SELECT array_repeat('x', int(id) + 2000000000) FROM range(1)", "OUT_OF_MEMORY"),
    ],
)
def test_spark_error_without_condition_gets_one(spark: ExecSession, text: str, condition: str) -> None:
    with pytest.raises(SqlError) as failed:
        rows(spark, text)
    assert failed.value.condition == condition


@pytest.mark.parametrize(
    ("value", "sql_type", "text"),
    [
        ("map()", "map<void,void>", "{}"),
        ("array(map())", "array<map<void,void>>", "[{}]"),
        ("map(1, map())", "map<int,map<void,void>>", '{"1":{}}'),
        ("named_struct('x', map(), 'y', 1)", "struct<x:map<void,void>,y:int>", '{"x":{},"y":1}'),
        ("map_from_arrays(array(), slice(array(INTERVAL '1' MONTH), 1, 0))", "map<void,interval month>", "{}"),
        ("IF(id > 0, NULL, map())", "map<void,void>", "{}"),
    ],
)
def test_maps_without_keys_are_empty(spark: ExecSession, value: str, sql_type: str, text: str) -> None:
    table = query(spark, f"SELECT {value} AS m FROM range(1)")
    assert sql_type_of(table.schema.field("m")) == sql_type
    assert to_text(table["m"], sql_type, "UTC").to_pylist() == [text]


def test_a_file_that_is_gone_is_named(spark: ExecSession, tmp_path: Path) -> None:
    scan = write_scan(tmp_path, {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [1]})])
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(DataFileNotFound) as failed:
        rows(spark, "SELECT id FROM __scan_0", scan)
    assert failed.value.path == f"{scan.label}/a.parquet"


def test_describe_names_the_columns(spark: ExecSession, tmp_path: Path) -> None:
    columns = {"id": {"type": "long", "metadata": {"comment": "the key"}}, "name": "string"}
    scan = write_scan(tmp_path, columns, [])
    plan = ReadPlan(text="SELECT *, id + 1.0 AS more FROM __scan_0", scans=(scan,))
    described = spark.describe(plan, StatementRequest(identity=Identity("alice")))
    assert [list(row.values()) for batch in described.batches() for row in batch.to_pylist()] == [
        ["id", "bigint", "the key"],
        ["name", "string", None],
        ["more", "decimal(22,1)", None],
    ]


@pytest.mark.parametrize("mode", ExplainMode)
def test_explain_shows_the_tables_by_their_names(spark: ExecSession, tmp_path: Path, mode: ExplainMode) -> None:
    scan = write_scan(tmp_path, {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [1]})])
    plan = ReadPlan(text="SELECT * FROM __scan_0 WHERE id > 0", scans=(scan,))
    shown = spark.explain(plan, mode, "", StatementRequest(identity=Identity("alice")))
    (text,) = next(shown.batches()).column(0).to_pylist()
    assert "id" in text
    assert "__scan" not in text


def test_explain_runs_nothing(spark: ExecSession) -> None:
    plan = ReadPlan(text=SLOW, scans=())
    shown = spark.explain(plan, ExplainMode.FORMATTED, "", StatementRequest(identity=Identity("alice")))
    assert "Range" in next(shown.batches()).column(0)[0].as_py()


def test_stages_that_fail_at_the_same_time_report_the_first_error(spark_driver: SparkDriver) -> None:
    """Spark wraps the errors in one without their conditions."""
    jvm = spark_driver.process.gateway.jvm
    errors = getattr(getattr(jvm.org.apache.spark.sql.errors, "QueryExecutionErrors$"), "MODULE$")
    several = jvm.java.util.ArrayList()
    several.add(errors.divideByZeroError(None))
    several.add(errors.divideByZeroError(None))
    both = errors.multiFailuresInStageMaterializationError(
        jvm.scala.jdk.javaapi.CollectionConverters.asScala(several).toSeq()
    )
    assert json.loads(jvm.deltagateway.protocol.ExceptionDetails.describe(both))["condition"] == "DIVIDE_BY_ZERO"


def test_a_full_disk_is_named(spark_driver: SparkDriver, tmp_path: Path) -> None:
    jvm = spark_driver.process.gateway.jvm
    with pytest.raises(DiskFull), translate_errors(jvm):
        jvm.java.io.FileOutputStream("/dev/full").write(1)
    error = jvm.java.io.IOException(os.strerror(errno.ENOSPC))
    errors = getattr(getattr(jvm.org.apache.spark.sql.errors, "QueryExecutionErrors$"), "MODULE$")
    known = json.loads(
        jvm.deltagateway.protocol.ExceptionDetails.describe(errors.taskFailedWhileWritingRowsError("file:/t", error))
    )
    assert known["cause"] == os.strerror(errno.ENOSPC)
    with pytest.raises(DiskFull), temporary_folder(tmp_path / "statement"):
        Path("/dev/full").write_bytes(b"x")
    assert not list(tmp_path.iterdir())
