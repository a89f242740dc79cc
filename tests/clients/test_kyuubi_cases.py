"""Calls of Kyuubi's SparkOperationSuite, replayed with Hive's JDBC driver and over Thrift.

Cases that depend on Kyuubi itself are left out (its functions, Scala code, plan-only mode, result formats, delegation
tokens). Results differ on purpose where variables are not substituted in strings, and where a session may open with
settings that have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.clients.drivers import jdbc_connect
from tests.clients.fix_server import RealServer
from tests.gateway.hs2.wire import cells, execute, fetch, open_session, settle, unframed_client

pytestmark = [pytest.mark.clients, pytest.mark.spark]

LONG = 2**31 - 1
# An expression, its text, its constant in java.sql.Types, precision and scale.
VALUES = [
    ("NULL", None, "NULL", 0, 0),
    ("false", "false", "BOOLEAN", 1, 0),
    ("1Y", "1", "TINYINT", 3, 0),
    ("1S", "1", "SMALLINT", 5, 0),
    ("4", "4", "INTEGER", 10, 0),
    ("4L", "4", "BIGINT", 19, 0),
    ("CAST(1.2 AS FLOAT)", "1.2", "FLOAT", 7, 7),
    ("4.2D", "4.2", "DOUBLE", 15, 15),
    ("1.23BD", "1.23", "DECIMAL", 3, 2),
    ("'kyuubi'", "kyuubi", "VARCHAR", LONG, 0),
    ("substring('kyuubi', 1)", "kyuubi", "VARCHAR", LONG, 0),
    ("CAST('kyuubi' AS BINARY)", "kyuubi", "BINARY", LONG, 0),
    ("DATE '2018-11-17'", "2018-11-17", "DATE", 10, 0),
    ("TIMESTAMP '2018-11-17 13:33:33'", "2018-11-17 13:33:33.0", "TIMESTAMP", 29, 9),
    ("TIMESTAMP '2018-11-17 13:33:33.12345'", "2018-11-17 13:33:33.12345", "TIMESTAMP", 29, 9),
    ("TIMESTAMP '2018-11-17 13:33:33.1234567'", "2018-11-17 13:33:33.123456", "TIMESTAMP", 29, 9),
    ("make_timestamp_ntz(2022, 3, 24, 18, 8, 31.8888)", "2022-03-24 18:08:31.8888", "TIMESTAMP", 29, 9),
    ("INTERVAL 1 DAY 1 HOUR -60 MINUTES 30 SECONDS", "1 00:00:30.000000000", "OTHER", 29, 0),
    ("INTERVAL 30 SECONDS 12345 MILLISECONDS", "0 00:00:42.345000000", "OTHER", 29, 0),
    ("-INTERVAL 2 DAY", "-2 00:00:00.000000000", "OTHER", 29, 0),
    ("INTERVAL -60 MINUTES 30 SECONDS", "-0 00:59:30.000000000", "OTHER", 29, 0),
    ("INTERVAL 2022 YEAR", "2022-0", "OTHER", 11, 0),
    ("INTERVAL '2021-07' YEAR TO MONTH", "2021-7", "OTHER", 11, 0),
    ("INTERVAL -1 YEAR -25 MONTH", "-3-1", "OTHER", 11, 0),
    ("array()", "[]", "ARRAY", LONG, 0),
    ("array(NULL)", "[null]", "ARRAY", LONG, 0),
    ("map()", "{}", "JAVA_OBJECT", LONG, 0),
    ("map(1, NULL)", "{1:null}", "JAVA_OBJECT", LONG, 0),
    ("map('1', map(true, 1.5D))", '{"1":{true:1.5}}', "JAVA_OBJECT", LONG, 0),
    ("map(DATE '2018-11-17', 'a')", '{2018-11-17:"a"}', "JAVA_OBJECT", LONG, 0),
    ("named_struct('a', NULL, 'b', 4)", '{"a":null,"b":4}', "STRUCT", LONG, 0),
]


@pytest.fixture(scope="module")
def connection(jvm: JavaGateway, server: RealServer) -> Iterator[Any]:
    connection = jdbc_connect(jvm, f"jdbc:hive2://127.0.0.1:{server.thrift_port}/default")
    yield connection
    connection.close()


@pytest.fixture
def client(server: RealServer) -> Iterator[ThriftClient]:
    with unframed_client(server.thrift_port) as client:
        yield client


@pytest.mark.parametrize(("expression", "text", "java_type", "precision", "scale"), VALUES)
def test_value_has_its_text_and_type(
    jvm: JavaGateway, connection: Any, expression: str, text: str | None, java_type: str, precision: int, scale: int
) -> None:
    result = connection.createStatement().executeQuery(f"SELECT {expression} AS col")
    assert result.next() and result.getString("col") == text
    metadata = result.getMetaData()
    expected = getattr(jvm.jvm.java.sql.Types, java_type)
    assert (metadata.getColumnType(1), metadata.getPrecision(1), metadata.getScale(1)) == (expected, precision, scale)


def test_analysis_error_names_its_condition(connection: Any) -> None:
    with pytest.raises(Py4JJavaError, match="SECOND_FUNCTION_ARGUMENT_NOT_INTEGER|CAST_INVALID_INPUT"):
        connection.createStatement().executeQuery("SELECT date_sub(DATE '2011-11-11', '1.2')")


def test_column_name_may_have_a_dot(connection: Any) -> None:
    result = connection.createStatement().executeQuery("SELECT 'tmp.hello'")
    assert result.next() and result.getString("tmp.hello") == "tmp.hello"


def test_rows_are_fetched_forth_and_back(client: ThriftClient) -> None:
    operation = execute(client, open_session(client), "SELECT id FROM range(2)")
    for orientation, rows_max, expected in (
        (t.TFetchOrientation.FETCH_NEXT, 1, [0]),
        (t.TFetchOrientation.FETCH_NEXT, 1, [1]),
        (t.TFetchOrientation.FETCH_PRIOR, 1, [0]),
        (t.TFetchOrientation.FETCH_FIRST, 3, [0, 1]),
    ):
        assert cells(client.FetchResults(t.TFetchResultsReq(operation, orientation, rows_max))) == [expected]


def test_settings_of_a_session_are_its_own(client: ThriftClient) -> None:
    configuration = {
        "use:database": "default",
        "spark.sql.shuffle.partitions": "4",
        "set:hiveconf:spark.sql.autoBroadcastJoinThreshold": "-1",
        "set:hivevar:spark.sql.adaptive.enabled": "true",
    }
    changed, other = open_session(client, configuration=configuration), open_session(client)
    key = "spark.sql.shuffle.partitions"
    assert cells(fetch(client, execute(client, changed, f"SET {key}"))) == [[key], ["4"]]
    (_, [default]) = cells(fetch(client, execute(client, other, f"SET {key}")))
    assert default.isdigit() and default != "4"
    key = "spark.sql.autoBroadcastJoinThreshold"
    assert cells(fetch(client, execute(client, changed, f"SET {key}"))) == [[key], ["-1"]]


def test_key_without_a_value_has_its_default(client: ThriftClient) -> None:
    session = open_session(client)
    for key, default in (
        ("spark.sql.autoBroadcastJoinThreshold", "10485760b"),
        ("spark.sql.ansi.enabled", "true"),
        ("kyuubi.unknown", "<undefined>"),
    ):
        assert cells(fetch(client, execute(client, session, f"SET {key}"))) == [[key], [default]]
    execute(client, session, "SET spark.sql.ansi.enabled = false")
    execute(client, session, "RESET spark.sql.ansi.enabled")
    key = "spark.sql.ansi.enabled"
    assert cells(fetch(client, execute(client, session, f"SET {key}"))) == [[key], ["true"]]


def test_tables_include_global_temporary_views(client: ThriftClient) -> None:
    session = open_session(client)
    execute(client, session, "CREATE GLOBAL TEMPORARY VIEW kyuubi_view COMMENT 'shared' AS SELECT 1 AS a")

    def tables(schema: str, name: str, types: list[str] | None = None) -> Any:
        request = t.TGetTablesReq(session, schemaName=schema, tableName=name, tableTypes=types)
        return cells(client.FetchResults(t.TFetchResultsReq(client.GetTables(request).operationHandle, maxRows=10)))[:5]

    row = [[""], ["global_temp"], ["kyuubi_view"], ["VIEW"], ["shared"]]
    assert tables("global_temp", "%") == tables("%", "kyuubi_view") == tables("%", "kyuubi%", ["VIEW"]) == row
    for found in (tables("default", "kyuubi%"), tables("%", "kyuubi%", ["TABLE"]), tables("global_temp", "k_")):
        assert found[2] == []
    execute(client, session, "DROP VIEW global_temp.kyuubi_view")
    assert tables("%", "kyuubi_view")[2] == []


# A column's type, its constant in java.sql.Types, its name, and its decimal digits.
COLUMNS = [
    ("BOOLEAN", "BOOLEAN", "BOOLEAN", 0),
    ("TINYINT", "TINYINT", "TINYINT", 0),
    ("SMALLINT", "SMALLINT", "SMALLINT", 0),
    ("INT", "INTEGER", "INT", 0),
    ("BIGINT", "BIGINT", "BIGINT", 0),
    ("FLOAT", "FLOAT", "FLOAT", 7),
    ("DOUBLE", "DOUBLE", "DOUBLE", 15),
    ("DECIMAL(38, 20)", "DECIMAL", "DECIMAL(38,20)", 20),
    ("DECIMAL(10, 2)", "DECIMAL", "DECIMAL(10,2)", 2),
    ("STRING", "VARCHAR", "STRING", 0),
    ("ARRAY<BIGINT>", "ARRAY", "ARRAY<BIGINT>", 0),
    ("ARRAY<STRING>", "ARRAY", "ARRAY<STRING>", 0),
    ("MAP<SMALLINT, TINYINT>", "JAVA_OBJECT", "MAP<SMALLINT, TINYINT>", 0),
    ("DATE", "DATE", "DATE", 0),
    ("TIMESTAMP", "TIMESTAMP", "TIMESTAMP", 6),
    ("STRUCT<X: BIGINT, Y: DOUBLE>", "STRUCT", "STRUCT<X: BIGINT, Y: DOUBLE>", 0),
    ("BINARY", "BINARY", "BINARY", 0),
    ("STRUCT<X: STRING>", "STRUCT", "STRUCT<X: STRING>", 0),
]


def rows_of(result: Any, *columns: str) -> list[tuple[str | None, ...]]:
    rows = []
    while result.next():
        rows.append(tuple(result.getString(column) for column in columns))
    return rows


def test_columns_have_their_types_and_comments(jvm: JavaGateway, connection: Any) -> None:
    columns = ", ".join(f"c{number} {sql} COMMENT '{number}'" for number, (sql, *_) in enumerate(COLUMNS))
    statement, metadata = connection.createStatement(), connection.getMetaData()
    statement.execute(f"CREATE OR REPLACE TABLE kyuubi_columns ({columns})")
    fields = ("COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "DECIMAL_DIGITS", "REMARKS", "IS_NULLABLE", "IS_AUTO_INCREMENT")
    expected = [
        (f"c{number}", str(getattr(jvm.jvm.java.sql.Types, java)), name, digits, str(number), "YES", "NO")
        for number, (_, java, name, digits) in enumerate(COLUMNS)
    ]
    for pattern in ("%", None, "c%"):
        found = rows_of(metadata.getColumns("", "default", "kyuubi_columns", pattern), *fields)
        assert [(*row[:3], int(row[3] or 0), *row[4:]) for row in found] == expected
    assert rows_of(metadata.getColumns(None, "*", "not_exist", "not_exist"), "COLUMN_NAME") == []
    statement.execute("DROP TABLE kyuubi_columns")


def test_columns_of_global_temporary_views_may_be_intervals_and_null(jvm: JavaGateway, connection: Any) -> None:
    statement, types = connection.createStatement(), jvm.jvm.java.sql.Types
    statement.execute("CREATE OR REPLACE GLOBAL TEMP VIEW kyuubi_mixed AS SELECT INTERVAL 1 DAY AS i, NULL AS n")
    found = connection.getMetaData().getColumns("", "global_temp", "kyuubi_mixed", None)
    assert rows_of(found, "TABLE_SCHEM", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME") == [
        ("global_temp", "i", str(types.OTHER), "INTERVAL DAY"),
        ("global_temp", "n", str(types.NULL), "VOID"),
    ]
    statement.execute("DROP VIEW global_temp.kyuubi_mixed")


def test_table_types_and_functions(connection: Any) -> None:
    metadata = connection.getMetaData()
    assert rows_of(metadata.getTableTypes(), "TABLE_TYPE") == [("TABLE",), ("VIEW",)]
    for function in ("to_timestamp", "date_part", "lpad", "date_format", "cos", "sin"):
        assert rows_of(metadata.getFunctions("", "default", function), "FUNCTION_NAME") == [(function,)]


def test_driver_describes_the_product(connection: Any) -> None:
    metadata = connection.getMetaData()
    assert (metadata.getDatabaseProductName(), metadata.getSchemaTerm()) == ("Spark SQL", "database")
    for result in (metadata.getImportedKeys("", "default", ""), metadata.getProcedureColumns("", "%", "%", "%")):
        assert rows_of(result) == []
    assert not metadata.supportsTransactions() and not metadata.supportsBatchUpdates()


def test_status_of_a_statement_that_has_ended(client: ThriftClient) -> None:
    operation = execute(client, open_session(client), "SELECT date_sub(DATE '2011-11-11', 1)")
    status = client.GetOperationStatus(t.TGetOperationStatusReq(operation))
    assert status.operationState == t.TOperationState.FINISHED_STATE and status.hasResultSet


def test_variables_of_a_session_are_substituted_outside_of_strings(client: ThriftClient) -> None:
    configuration = {"set:hiveconf:a": "1", "set:hivevar:b": "2", "set:metaconf:c": "3", "set:system:s": "4"}
    session = open_session(client, configuration=configuration)
    text = "SELECT ${a} AS a, ${hivevar:b} AS b, '${a}' AS c"
    assert cells(fetch(client, execute(client, session, text))) == [[1], [2], ["${a}"]]
    assert client.ExecuteStatement(t.TExecuteStatementReq(session, "SET env:ABC=xyz")).status.errorMessage


def test_session_with_an_unknown_schema_is_rejected(client: ThriftClient) -> None:
    status = client.OpenSession(t.TOpenSessionReq(configuration={"use:database": "default2"})).status
    assert status.statusCode == t.TStatusCode.ERROR_STATUS and "[SCHEMA_NOT_FOUND]" in status.errorMessage


def test_static_settings_open_a_session_without_effect(client: ThriftClient) -> None:
    queue = "spark.yarn.queue"
    configuration = {queue: "new", f"set:hiveconf:{queue}": "newer", f"set:hivevar:{queue}": "newest"}
    session = open_session(client, configuration=configuration)
    assert cells(fetch(client, execute(client, session, "SELECT 1"))) == [[1]]


def test_closed_operation_and_session_are_unknown(client: ThriftClient) -> None:
    session = open_session(client)
    operation = execute(client, session, "SET")
    assert client.CloseOperation(t.TCloseOperationReq(operation)).status.statusCode == t.TStatusCode.SUCCESS_STATUS
    assert fetch(client, operation).status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS
    assert client.CloseSession(t.TCloseSessionReq(session)).status.statusCode == t.TStatusCode.SUCCESS_STATUS
    answer = client.ExecuteStatement(t.TExecuteStatementReq(session, "SET"))
    assert answer.status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS


def test_ended_statement_keeps_its_rows_when_it_is_canceled(client: ThriftClient) -> None:
    operation = execute(client, open_session(client), "SELECT 1")
    canceled = client.CancelOperation(t.TCancelOperationReq(operation))
    assert canceled.status.statusCode == t.TStatusCode.SUCCESS_STATUS
    assert cells(fetch(client, operation)) == [[1]]


def test_set_v_lists_settings_and_has_a_log(client: ThriftClient) -> None:
    operation = execute(client, open_session(client), "SET -v", runAsync=True)
    assert settle(client, operation).operationState == t.TOperationState.FINISHED_STATE
    assert client.FetchResults(t.TFetchResultsReq(operation, maxRows=1000, fetchType=1)).results.columns
    keys = client.FetchResults(t.TFetchResultsReq(operation, maxRows=1000)).results.columns[0].stringVal.values
    assert "spark.sql.shuffle.partitions" in keys


def test_variant_is_text(client: ThriftClient) -> None:
    operation = execute(client, open_session(client), """SELECT parse_json('{"a":1}') AS v""")
    (column,) = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema.columns
    assert column.typeDesc.types[0].primitiveEntry.type == t.TTypeId.STRING_TYPE
    assert cells(fetch(client, operation)) == [['{"a":1}']]
