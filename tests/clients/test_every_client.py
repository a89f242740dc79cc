"""Each Python and Java client against a real server, over each of its transports.

They browse, and read values in all types, parameters, a million rows, an error, a cancellation, a time limit, and
reconnect; their own modules test the rest. Clients in a separate process (beeline, Node, Go, dbt, Superset) are not
here.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import impala.dbapi
import numpy as np
import pytest
from databricks import sql as databricks
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyhive import hive
from thrift.transport.THttpClient import THttpClient

from tests.certificates import STORE_PASSWORD
from tests.clients.drivers import StatementFailed, count_rows, jdbc_connect, read_result, spell, start_jvm
from tests.clients.fix_server import RealServer
from tests.clients.test_other_jdbc import PACKAGES, classpath, connect_with

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow]

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE sha2(cast(id AS string), 256) = ''"
MANY = "SELECT id, cast(id AS string) AS s FROM range(1000000)"
WAREHOUSE = "/sql/1.0/warehouses/any"


class PythonClient:
    """A DB-API connection; `marker` is its spelling for the parameter `n`. One cursor, which is a session in impyla."""

    def __init__(self, connection: Any, marker: str) -> None:
        self.connection, self.marker = connection, marker
        self.cursor = connection.cursor()

    def rows(self, text: str, number: int | None = None) -> list[tuple[Any, ...]]:
        self.cursor.execute(text.format(n=self.marker), *([] if number is None else [{"n": number}]))
        return [tuple(row) for row in self.cursor.fetchall()] if self.cursor.description is not None else []

    def million(self) -> tuple[int, int]:
        """Returns the number of rows and the first column's sum, over many fetches."""
        self.cursor.arraysize, count, total = 50_000, 0, 0
        self.cursor.execute(MANY)
        while rows := self.cursor.fetchmany(50_000):
            count, total = count + len(rows), total + sum(row[0] for row in rows)
        return count, total

    def cancel(self) -> str:
        """Returns a canceled statement's error."""
        try:
            if isinstance(self.connection, hive.Connection):
                self.cursor.execute(ENDLESS, async_=True)
                self.cursor.cancel()
            elif hasattr(self.cursor, "cancel_operation"):
                self.cursor.execute_async(ENDLESS)
                self.cursor.cancel_operation()
                return "cancelled"
            else:
                threading.Timer(3, self.cursor.cancel).start()
                self.cursor.execute(ENDLESS)
            self.cursor.fetchall()
        except (hive.OperationalError, databricks.Error) as error:
            return str(error)
        return "nothing"

    def close(self) -> None:
        self.connection.close()


class JavaClient:
    def __init__(self, gateway: JavaGateway, connection: Any) -> None:
        self.gateway, self.connection = gateway, connection

    def rows(self, text: str, number: int | None = None) -> list[tuple[Any, ...]]:
        statement = self.connection.prepareStatement(text.format(n="?"))
        if number is not None:
            statement.setInt(1, number)
        try:
            return [tuple(row) for row in read_result(statement.getResultSet())] if statement.execute() else []
        except Py4JJavaError as error:
            raise StatementFailed(error.java_exception.getMessage()) from error
        finally:
            statement.close()

    def million(self) -> tuple[int, int]:
        statement = self.connection.createStatement()
        statement.setFetchSize(10_000)
        counted = count_rows(self.gateway, statement.executeQuery(MANY))
        statement.close()
        return counted

    def cancel(self) -> str:
        statement = self.connection.createStatement()
        threading.Timer(3, statement.cancel).start()
        try:
            statement.executeQuery(ENDLESS)
        except Py4JJavaError as error:
            return str(error.java_exception.getMessage())
        return "nothing"

    def close(self) -> None:
        self.connection.close()


def https(server: RealServer, user: str) -> THttpClient:
    context = ssl.create_default_context(cafile=str(server.certificate.certificate))
    client = THttpClient(f"https://localhost:{server.http_port}{WAREHOUSE}", ssl_context=context)
    client.setCustomHeaders({"Authorization": "Basic " + base64.b64encode(f"{user}:x".encode()).decode()})
    return client


def impyla(port: int, mechanism: str, **options: Any) -> Any:
    return impala.dbapi.connect("127.0.0.1", port, user="ada", password="x", auth_mechanism=mechanism, **options)


def warehouse(server: RealServer) -> Any:
    uri = f"http://127.0.0.1:{server.http_port}{WAREHOUSE}"
    return databricks.connect("127.0.0.1", WAREHOUSE, "any", _connection_uri=uri, enable_telemetry=False)


NAMED, NAMED_MARKER = "%(n)s", ":n"
OVER_HTTP = {"use_http_transport": True, "http_path": "cliservice", "http_cookie_names": ["hive.server2.auth"]}
PYTHON: dict[str, tuple[Callable[[RealServer], Any], str]] = {
    "PyHive": (lambda server: hive.connect("127.0.0.1", server.thrift_port, username="ada"), NAMED),
    "PyHive NOSASL": (lambda server: hive.connect("127.0.0.1", server.thrift_port, auth="NOSASL"), NAMED),
    "PyHive HTTP": (lambda server: hive.connect("127.0.0.1", server.http_port, username="ada", scheme="http"), NAMED),
    "PyHive HTTPS": (lambda server: hive.connect(thrift_transport=https(server, "ada")), NAMED),
    "impyla": (lambda server: impyla(server.thrift_port, "PLAIN"), NAMED),
    "impyla NOSASL": (lambda server: impyla(server.thrift_port, "NOSASL"), NAMED),
    "impyla HTTP": (lambda server: impyla(server.http_port, "PLAIN", **OVER_HTTP), NAMED),
    "databricks-sql-connector": (warehouse, NAMED_MARKER),
}
HTTP_TAIL = ";transportMode=http;httpPath=cliservice"
JAVA = ["hive-jdbc 2.3", "hive-jdbc 2.3 HTTP", "hive-jdbc 2.3 TLS"]
NAMES = [*PYTHON, *JAVA, *(pytest.param(name, marks=pytest.mark.oracle) for name in PACKAGES)]
Client = PythonClient | JavaClient
Connect = Callable[[], Client]


@pytest.fixture(scope="module", params=NAMES)
def connect(request: pytest.FixtureRequest, server: RealServer) -> Iterator[Connect]:
    name: str = request.param
    if name in PYTHON:
        made, marker = PYTHON[name]
        yield lambda: PythonClient(made(server), marker)
    elif name in PACKAGES:
        package = PACKAGES[name]
        gateway = start_jvm(classpath(package))
        yield lambda: JavaClient(gateway, connect_with(package, gateway, f"127.0.0.1:{server.thrift_port}/default"))
        gateway.shutdown()
    else:
        store = f";ssl=true;sslTrustStore={server.certificate.trust_store};trustStorePassword={STORE_PASSWORD}"
        tail = HTTP_TAIL if name.endswith("HTTP") else store if name.endswith("TLS") else ""
        port = server.http_port if tail == HTTP_TAIL else server.thrift_port
        jvm: JavaGateway = request.getfixturevalue("jvm")
        yield lambda: JavaClient(jvm, jdbc_connect(jvm, f"jdbc:hive2://localhost:{port}/default{tail}"))


@pytest.fixture
def client(connect: Connect) -> Iterator[Client]:
    opened = connect()
    yield opened
    opened.close()


def first(client: Client, text: str, number: int | None = None) -> list[str]:
    """Returns the first row as text."""
    return [spell(cell) for cell in client.rows(text, number)[0]]


def test_browses(client: Client) -> None:
    assert ("shop", "orders") in [row[:2] for row in client.rows("SHOW TABLES IN shop")]


# Expressions for each type, and their values as text.
VALUES = {
    "true": "true",
    "CAST(-128 AS TINYINT)": "-128",
    "CAST(-32768 AS SMALLINT)": "-32768",
    "2147483647": "2147483647",
    "-9223372036854775808": "-9223372036854775808",
    "CAST(1.5 AS FLOAT)": "1.5",
    "-2.25D": "-2.25",
    "CAST(12.3 AS DECIMAL(38,2))": "12.30",
    "'é \"q\" 日本'": 'é "q" 日本',
    "X'726177'": "raw",
    "DATE'2024-02-29'": "2024-02-29",
    "TIMESTAMP'2024-07-01 12:00:00.25'": "2024-07-01 12:00:00.25",
    "TIMESTAMP_NTZ'0001-01-01 00:00:01'": "0001-01-01 00:00:01",
    "INTERVAL '-1-2' YEAR TO MONTH": "-1-2",
    "INTERVAL '1 02:03:04' DAY TO SECOND": "1 02:03:04.000000000",
    "TIME'10:20:30'": "10:20:30",
    "array(1, 2)": "[1,2]",
    "map('k', 1)": '{"k":1}',
    "named_struct('x', 1)": '{"x":1}',
    "parse_json('[1]')": "[1]",
    "NULL": "NULL",
}


def as_text(cell: Any) -> str:
    match cell:
        case dt.datetime():
            return spell(cell.replace(tzinfo=None))
        case np.ndarray():
            return json.dumps(cell.tolist(), separators=(",", ":"))
        case dict() | list():  # a list has a map's entries
            return json.dumps(dict(cell), separators=(",", ":"))
        case _:
            return spell(cell)


def test_values_of_all_types(client: Client) -> None:
    client.rows("SET TIME ZONE 'UTC'")
    row, nulls = client.rows(
        f"SELECT {', '.join(VALUES)} UNION ALL SELECT {', '.join(f'if(false, {one}, NULL)' for one in VALUES)}"
    )
    assert dict(zip(VALUES, map(as_text, row), strict=True)) == VALUES
    assert set(map(as_text, nulls)) == {"NULL"}


def test_a_parameter(client: Client) -> None:
    assert first(client, "SELECT count(*) FROM shop.orders WHERE order_id < {n}", 5) == ["4"]


@pytest.mark.timeout(1500)
def test_a_million_rows(client: Client) -> None:
    """Hive's driver 2.3 sends a request for the state before each row: a million requests, also over HTTP and TLS."""
    assert client.million() == (1_000_000, 499_999_500_000)


def test_an_error_and_what_follows(client: Client) -> None:
    with pytest.raises(Exception, match=r"UNRESOLVED_COLUMN"):
        client.rows("SELECT nope FROM shop.orders")
    assert first(client, "SELECT 1") == ["1"]


def test_a_cancel_and_what_follows(client: Client) -> None:
    assert "cancel" in client.cancel().lower()
    assert first(client, "SELECT 1") == ["1"]


def test_a_time_limit_and_what_follows(client: Client) -> None:
    client.rows("SET STATEMENT_TIMEOUT = 1")
    with pytest.raises(Exception, match=r"STATEMENT_TIMEOUT|timed out|^8$"):  # impyla reports the state's number
        client.rows(ENDLESS)
    assert first(client, "SELECT 1") == ["1"]


def test_a_new_connection_is_a_new_session(connect: Connect) -> None:
    before = connect()
    before.rows("USE shop")
    assert first(before, "SELECT current_schema()") == ["shop"]
    before.close()
    after = connect()
    assert first(after, "SELECT current_schema()") == ["default"]
    after.close()
