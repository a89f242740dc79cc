"""Calls of ADBC's Spark driver over Thrift, replayed: protocol V1, so rows and not columns, and synchronous statements.

The driver's own tests need a checkout (`suites.py`), since Go's module proxy does not have it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.clients.fix_server import RealServer
from tests.gateway.hs2.wire import execute, open_session, unframed_client

pytestmark = [pytest.mark.clients, pytest.mark.spark]

V1 = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V1
ROWS_MAX = 65536  # of each fetch
CATALOG = "spark_catalog"
PREFIX = "*org.apache.hive.service.cli.HiveSQLException:Error running query: "


class Connection:
    """The driver's connection: an error names what it was doing, and is read from `infoMessages` alone."""

    def __init__(self, client: ThriftClient) -> None:
        self.client, self.session = client, open_session(client, client_protocol=V1)

    def fetched(self, operation: t.TOperationHandle, rows_max: int = ROWS_MAX) -> list[list[Any]]:
        """Returns all rows as the driver reads them: it fetches the first ones as long as there are more."""
        request = t.TFetchResultsReq(operation, t.TFetchOrientation.FETCH_FIRST, rows_max)
        rows: list[list[Any]] = []
        has_more = True
        while has_more:
            response = self.client.FetchResults(request)
            assert response.status.statusCode == t.TStatusCode.SUCCESS_STATUS, response
            rows += [[_value(cell) for cell in row.colVals] for row in response.results.rows]
            has_more = response.hasMoreRows
        return rows

    def query(self, text: str) -> tuple[list[str], list[list[Any]]]:
        """Returns the names of the columns, and the rows."""
        operation = execute(self.client, self.session, text)
        assert operation.hasResultSet, "the driver fails for a statement without a result set"
        columns = self.client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema.columns
        return [column.columnName for column in columns], self.fetched(operation)


def _value(cell: t.TColumnValue) -> Any:
    values = (getattr(cell, f"{name}Val") for name in ("bool", "byte", "i16", "i32", "i64", "double", "string"))
    return next(value.value for value in values if value is not None)


@pytest.fixture
def connection(server: RealServer) -> Iterator[Connection]:
    with unframed_client(server.thrift_port) as client:
        yield Connection(client)


def test_values_are_rows(connection: Connection) -> None:
    expressions = "true, 42S, 42, 42L, 3.25F, 3.25D, 123.45BD, 'hello', X'e38193', DATE'2025-01-01'"
    times = "TIMESTAMP_NTZ'1971-01-02 01:02:03.456789', TIMESTAMP'1971-01-02 01:02:03.456789', CAST(NULL AS INT)"
    _, (row,) = connection.query(f"SELECT {expressions}, {times}")
    stamp = "1971-01-02 01:02:03.456789"
    expected = [True, 42, 42, 42, 3.25, 3.25, "123.45", "hello", "こ", "2025-01-01", stamp, stamp, None]
    assert row == expected


def test_statement_without_rows_has_the_column_result(connection: Connection) -> None:
    assert connection.query("DROP TABLE IF EXISTS no_result") == (["Result"], [])


def test_rows_are_not_repeated(connection: Connection) -> None:
    _, rows = connection.query("SELECT id FROM range(30000)")
    assert rows == [[number] for number in range(30000)]


def test_modified_rows_are_counted(connection: Connection) -> None:
    table = f"adbc_{uuid.uuid4().hex[:8]}"
    connection.query(f"CREATE TABLE `{table}` (`id` BIGINT, `name` STRING)")
    operation = execute(connection.client, connection.session, f"INSERT INTO `{table}` VALUES (1, 'a'), (2, NULL)")
    answer = connection.client.GetOperationStatus(t.TGetOperationStatusReq(operation))
    assert answer.numModifiedRows == 2
    assert connection.query(f"SELECT * FROM `{table}` LIMIT 0") == (["id", "name"], [])


@pytest.mark.parametrize(
    ("text", "condition", "state"),
    [
        ("SELECT * FROM no_such_table", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("SELECT FROM WHERE", "PARSE_SYNTAX_ERROR", "42601"),
        ("USE `thiscatalogdoesnotexist`", "SCHEMA_NOT_FOUND", "42704"),
    ],
)
def test_error_is_read_from_the_messages_of_the_status(
    connection: Connection, text: str, condition: str, state: str
) -> None:
    status = connection.client.ExecuteStatement(t.TExecuteStatementReq(connection.session, text)).status
    assert status.statusCode == t.TStatusCode.ERROR_STATUS and status.sqlState == state
    assert status.infoMessages[0].startswith(f"{PREFIX}[{condition}] ")


def test_current_catalog_and_schema_are_read_and_set(connection: Connection) -> None:
    connection.query(f"USE `{CATALOG}`")
    connection.query("USE SCHEMA `shop`")
    assert connection.query("SELECT current_catalog()")[1] == [[CATALOG]]
    assert connection.query("SELECT current_schema()")[1] == [["shop"]]


def test_objects_are_listed_with_their_columns(connection: Connection) -> None:
    assert [CATALOG] in connection.query("SHOW CATALOGS")[1]
    assert connection.query(f"SHOW SCHEMAS IN `{CATALOG}` LIKE 'shop'")[1] == [["shop"]]
    client, names = connection.client, {"catalogName": CATALOG, "schemaName": "shop", "tableName": "stock"}
    tables = client.GetTables(t.TGetTablesReq(connection.session, **names))
    assert [row[2:4] for row in connection.fetched(tables.operationHandle)] == [["stock", "TABLE"]]
    columns = client.GetColumns(t.TGetColumnsReq(connection.session, **names))
    found = [(row[3], row[5], row[16] + 1) for row in connection.fetched(columns.operationHandle)]
    assert [(name, at) for name, _, at in found] == [("product_id", 1), ("warehouse", 2), ("quantity", 3)]
