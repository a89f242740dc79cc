"""Hive's JDBC driver beyond queries: the URL's parts, DatabaseMetaData, cancelling, time limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from tests.clients.conftest import Served
from tests.clients.drivers import column, error_of_cancelled, jdbc_connect, read_result
from tests.gateway.arrow_engine import Streams

pytestmark = pytest.mark.clients


@pytest.fixture
def connection(jvm: JavaGateway, served: Served) -> Iterator[Any]:
    connection = jdbc_connect(jvm, f"jdbc:hive2://127.0.0.1:{served.port}/default")
    yield connection
    connection.close()


def test_the_parts_of_a_url(jvm: JavaGateway, served: Served) -> None:
    url = f"jdbc:hive2://127.0.0.1:{served.port}/lab?spark.sql.ansi.enabled=false;hive.exec.parallel=true#n=1"
    connection = jdbc_connect(jvm, url, user="grace")
    session = served.engine.sessions[-1]
    assert (session.principal, session.current_schema) == ("grace", "lab")
    assert session.settings["spark.sql.ansi.enabled"] == "false"
    assert session.settings["hiveconf:hive.exec.parallel"] == "true"
    assert session.settings["hivevar:n"] == "1"
    connection.close()


@pytest.mark.parametrize(
    ("tail", "said"),
    [("nowhere", "SCHEMA_NOT_FOUND"), ("default;hive.server2.proxy.user=root", "PROXY_USER_NOT_ALLOWED")],
)
def test_a_refused_connection_says_why(jvm: JavaGateway, served: Served, tail: str, said: str) -> None:
    with pytest.raises(Py4JJavaError) as raised:
        jdbc_connect(jvm, f"jdbc:hive2://127.0.0.1:{served.port}/{tail}")
    assert said in str(raised.value)


def test_the_product(connection: Any) -> None:
    metadata = connection.getMetaData()
    assert metadata.getDatabaseProductName() == "Spark SQL"
    assert metadata.getDatabaseMajorVersion() >= 4
    assert connection.isValid(5)


def test_the_count_of_rows(connection: Any) -> None:
    statement = connection.createStatement()
    assert statement.executeUpdate("INSERT") == 3 and statement.getUpdateCount() == 3
    assert not statement.execute("INSERT") and statement.getResultSet() is None
    assert not statement.execute("USE lab") and statement.getUpdateCount() == 0
    assert statement.execute("SELECT 1") and statement.getUpdateCount() == -1


def test_result_set_of_asynchronous_statement_is_opened_while_it_runs(connection: Any, served: Served) -> None:
    answer = served.engine.answers["SELECT later"] = Streams()
    statement = connection.createStatement()
    assert statement.executeAsync("SELECT later")
    result = statement.getResultSet()
    assert result.getMetaData().getColumnLabel(1) == "id"
    answer.give(4)
    answer.end()
    assert result.next() and result.getLong(1) == 4 and not result.next()


LISTS = [  # method, arguments, the telling column, values that it must have, in order
    ("getCatalogs", (), "TABLE_CAT", ["spark_catalog"]),
    ("getSchemas", (), "TABLE_SCHEM", ["default", "lab"]),
    ("getSchemas", (None, "la%"), "TABLE_SCHEM", ["lab"]),
    ("getTables", (None, "%", "%", None), "TABLE_NAME", ["t"]),
    ("getTables", (None, "default", "%", None), "TABLE_NAME", []),
    ("getTableTypes", (), "TABLE_TYPE", ["TABLE", "VIEW"]),
    ("getColumns", (None, "lab", "t", "%"), "COLUMN_NAME", ["i", "s"]),
    ("getColumns", (None, "lab", "t", "s"), "TYPE_NAME", ["STRING"]),
    ("getFunctions", (None, None, "abs"), "FUNCTION_NAME", ["abs"]),
    ("getPrimaryKeys", (None, "lab", "t"), "COLUMN_NAME", ["id"]),
    ("getImportedKeys", (None, "lab", "t"), "FKCOLUMN_NAME", []),  # which the driver answers itself
    ("getCrossReference", (None, "lab", "parent", None, "lab", "t"), "PKTABLE_NAME", ["parent"]),
]


@pytest.mark.parametrize(("method", "arguments", "name", "values"), LISTS, ids=lambda case: str(case)[:30])
def test_database_meta_data(
    connection: Any, method: str, arguments: tuple[Any, ...], name: str, values: list[str]
) -> None:
    result = getattr(connection.getMetaData(), method)(*arguments)
    index = result.findColumn(name) - 1
    assert column(read_result(result), index) == values


def test_type_info(connection: Any) -> None:
    assert {"INT", "STRING", "TIMESTAMP", "DECIMAL"} <= set(column(read_result(connection.getMetaData().getTypeInfo())))


def test_a_prepared_statement(connection: Any) -> None:
    statement = connection.prepareStatement("SELECT ?")
    statement.setInt(1, 1)
    assert read_result(statement.executeQuery()) == [["1"]]


def test_cancelling_from_another_thread(connection: Any, served: Served) -> None:
    known = len(served.engine.runs)
    assert error_of_cancelled(connection, served.engine.runs) == "Query was cancelled"
    assert served.engine.runs[known].context.cancel.reason is not None


def test_a_time_limit(connection: Any) -> None:
    statement = connection.createStatement()
    statement.setQueryTimeout(1)
    with pytest.raises(Py4JJavaError) as raised:
        statement.executeQuery("SLEEP 300")
    assert raised.value.java_exception.getClass().getSimpleName() == "SQLTimeoutException"
