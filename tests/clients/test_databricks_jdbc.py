"""Databricks' JDBC driver as it is on Maven, over Thrift and over the statement API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.parameters import Parameter
from tests.clients.conftest import Served
from tests.clients.drivers import column, count_rows, error_of_cancelled, read_result, start_jvm
from tests.clients.test_databricks_kernel import NoSpark
from tests.clients.test_other_jdbc import Package, classpath, connect_with
from tests.gateway.arrow_engine import answer_of_rows, rows
from tests.gateway.http.conftest import serving_http

pytestmark = [pytest.mark.clients, pytest.mark.oracle]

PACKAGE = Package(
    "com/databricks/databricks-jdbc/3.4.5/databricks-jdbc-3.4.5.jar",
    "e6e346ef307c9c9b5f269419431880d0fd219b0152ec262162c13b1ba69e48e8",
    "com.databricks.client.jdbc.Driver",
    "databricks",
    tells_counts=False,
)
SETTINGS = "transportMode=http;ssl=0;httpPath=/sql/1.0/warehouses/any;AuthMech=3;UID=token;PWD=any;EnableTelemetry=0"


@pytest.fixture(scope="module")
def gateway() -> Iterator[JavaGateway]:
    gateway = start_jvm(classpath(PACKAGE))
    yield gateway
    gateway.shutdown()


CLIENTS = ["UseThriftClient=1", "UseThriftClient=0"]


@pytest.fixture(scope="module", params=CLIENTS, ids=["thrift", "statements"])
def connection(request: pytest.FixtureRequest, gateway: JavaGateway, served: Served) -> Iterator[Any]:
    opened = connect_with(PACKAGE, gateway, f"127.0.0.1:{served.http_port}/default;{SETTINGS};{request.param}")
    yield opened
    opened.close()


def test_values_of_all_types(connection: Any) -> None:
    values, nulls = read_result(connection.createStatement().executeQuery("SELECT types"))
    numbers = ["true", "-128", "-32768", "2147483647", "-9223372036854775808", "1.5", "1.0E10", "-1.50"]
    assert values[:9] == [*numbers, 'é "q" 日本'] and values[10:13] == [
        "2024-02-29",
        "2024-07-01 12:00:00.25",
        "[1,null]",
    ]
    assert nulls == ["NULL"] * len(values)


def test_a_million_rows(connection: Any, gateway: JavaGateway, served: Served) -> None:
    served.engine.answers["SELECT many"] = answer_of_rows(1_000_000)
    assert count_rows(gateway, connection.createStatement().executeQuery("SELECT many")) == (1_000_000, 499_999_500_000)


def test_a_parameter_keeps_its_type(connection: Any, served: Served) -> None:
    served.engine.answers["SELECT ?"] = rows(pa.table({"x": [5]}))
    statement = connection.prepareStatement("SELECT ?")
    statement.setInt(1, 5)
    assert read_result(statement.executeQuery()) == [["5"]]
    assert served.engine.runs[-1].parameters == (Parameter(value="5", sql_type="INT"),)


LISTS: list[tuple[str, tuple[Any, ...], str, list[str]]] = [
    ("getCatalogs", (), "TABLE_CAT", ["spark_catalog"]),
    ("getSchemas", (), "TABLE_SCHEM", ["default", "meta"]),
    ("getTables", ("spark_catalog", "meta", "%", None), "TABLE_NAME", ["items", "orders"]),
    ("getColumns", ("spark_catalog", "meta", "items", "%"), "COLUMN_NAME", ["id", "price"]),
    ("getColumns", ("spark_catalog", "meta", "items", "%"), "DATA_TYPE", ["-5", "3"]),
    ("getPrimaryKeys", ("spark_catalog", "meta", "items"), "COLUMN_NAME", ["id"]),
    ("getImportedKeys", ("spark_catalog", "meta", "orders"), "PKTABLE_NAME", ["items"]),
    ("getCrossReference", ("spark_catalog", "meta", "items", "spark_catalog", "meta", "orders"), "FK_NAME", ["sold"]),
]


@pytest.fixture(scope="module", params=CLIENTS, ids=["thrift", "statements"])
def metadata(
    request: pytest.FixtureRequest, gateway: JavaGateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Returns DatabaseMetaData for a lake with two tables, whose engine has no Spark."""
    sources = open_sources(EngineOptions(lake_folder=str(tmp_path_factory.mktemp("lake"))))
    with serving_http(over=LakeEngine(sources, NoSpark())) as live:  # type: ignore[arg-type]
        opened = connect_with(PACKAGE, gateway, f"127.0.0.1:{live.port}/default;{SETTINGS};{request.param}")
        for text in (
            "CREATE SCHEMA meta",
            "CREATE TABLE meta.items (id BIGINT PRIMARY KEY, price DECIMAL(9,2))",
            "CREATE TABLE meta.orders (item BIGINT, CONSTRAINT sold FOREIGN KEY (item) REFERENCES meta.items)",
        ):
            opened.createStatement().execute(text)
        yield opened.getMetaData()
        opened.close()


@pytest.mark.parametrize(("method", "arguments", "name", "values"), LISTS, ids=lambda case: str(case)[:30])
def test_database_meta_data(
    metadata: Any, method: str, arguments: tuple[Any, ...], name: str, values: list[str]
) -> None:
    result = getattr(metadata, method)(*arguments)
    assert column(read_result(result), result.findColumn(name) - 1) == values


def test_positions_of_columns(request: pytest.FixtureRequest, metadata: Any) -> None:
    """Databricks counts from 0, to which the driver adds 1 over Thrift alone."""
    result = metadata.getColumns("spark_catalog", "meta", "items", "%")
    positions = column(read_result(result), result.findColumn("ORDINAL_POSITION") - 1)
    assert positions == (["0", "1"] if "statements" in request.node.name else ["1", "2"])


def test_how_many_rows_a_statement_changed(connection: Any) -> None:
    """The driver expects a row with counts, over Thrift as well."""
    statement = connection.createStatement()
    assert statement.executeUpdate("INSERT") == 3 and statement.getUpdateCount() == 3


def test_an_error_says_what_and_the_session_goes_on(connection: Any) -> None:
    with pytest.raises(Py4JJavaError) as raised:
        connection.createStatement().executeQuery("SELEKT 1")
    assert "PARSE_SYNTAX_ERROR.TEST] Syntax error" in raised.value.java_exception.getMessage()
    assert "no error details" not in raised.value.java_exception.getMessage()
    assert raised.value.java_exception.getSQLState() == "42601"
    assert read_result(connection.createStatement().executeQuery("SELECT 1")) == [["1"]]


def test_cancelling_from_another_thread(request: pytest.FixtureRequest, connection: Any, served: Served) -> None:
    """Over the statement API it has the statement's id when its first call returns, after ten seconds."""
    pause_s = 12 if "statements" in request.node.name else 1
    assert "cancel" in error_of_cancelled(connection, served.engine.runs, pause_s=pause_s).lower()


def test_a_time_limit(connection: Any) -> None:
    statement = connection.createStatement()
    statement.setQueryTimeout(1)
    with pytest.raises(Py4JJavaError) as raised:
        statement.executeQuery("SLEEP 300")
    assert "imeout" in raised.value.java_exception.getClass().getSimpleName()
    assert read_result(connection.createStatement().executeQuery("SELECT 1")) == [["1"]]
