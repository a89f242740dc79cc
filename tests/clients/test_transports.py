"""Clients over HTTP and TLS behave as they do over TCP."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import impala.dbapi
import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyhive import hive
from TCLIService.ttypes import TOperationState
from thrift.transport.THttpClient import THttpClient

from gateway.http.cookies import Cookies
from tests.certificates import STORE_PASSWORD
from tests.clients.conftest import Served
from tests.clients.drivers import (
    BeelineDriver,
    Driver,
    JdbcDriver,
    PythonDriver,
    StatementFailed,
    column,
    error_of_cancelled,
    read_result,
)
from tests.clients.test_behavior import VALUES
from tests.gateway.http.conftest import eventually, serving_http

pytestmark = pytest.mark.clients

WAREHOUSE = "/sql/1.0/warehouses/abc"


def pyhive(served: Served, transport: str) -> Any:
    """Connects over HTTP by PyHive's own means; over HTTPS as dbt does, by a transport and a Databricks path."""
    if transport == "http":
        return hive.connect("127.0.0.1", served.http_port, username="ada", scheme="http")
    context = ssl.create_default_context(cafile=str(served.certificate.certificate))
    client = THttpClient(f"https://localhost:{served.http_port}{WAREHOUSE}", ssl_context=context)
    client.setCustomHeaders({"Authorization": "Basic " + base64.b64encode(b"ada:x").decode()})
    return hive.connect(thrift_transport=client)


def impyla(served: Served, transport: str) -> Any:
    is_http = transport != "tls"
    return impala.dbapi.connect(
        "localhost" if transport != "http" else "127.0.0.1",
        served.http_port if is_http else served.port,
        user="ada",
        password="x",
        auth_mechanism="PLAIN",
        use_http_transport=is_http,
        http_path="cliservice" if is_http else "",
        use_ssl=transport != "http",
        ca_cert=str(served.certificate.certificate),
        http_cookie_names=["hive.server2.auth"],
    )


def jdbc_url(served: Served, transport: str) -> str:
    port = served.port if transport == "tls" else served.http_port
    path = "" if transport == "tls" else ";transportMode=http;httpPath=cliservice"
    store = f";ssl=true;sslTrustStore={served.certificate.trust_store};trustStorePassword={STORE_PASSWORD}"
    return f"jdbc:hive2://localhost:{port}/default{path}{'' if transport == 'http' else store}"


CONNECTIONS: list[tuple[str, str]] = [
    *(("pyhive", transport) for transport in ("http", "https")),
    *(("impyla", transport) for transport in ("http", "tls", "https")),
    *(("jdbc", transport) for transport in ("http", "tls", "https")),
]
MAKERS: dict[str, Callable[[Served, str], Any]] = {"pyhive": pyhive, "impyla": impyla}


@pytest.fixture(params=CONNECTIONS, ids=" ".join)
def driver(request: pytest.FixtureRequest, served: Served) -> Iterator[Driver]:
    name, transport = request.param
    opened: Driver
    if name == "jdbc":
        opened = JdbcDriver(request.getfixturevalue("jvm"), jdbc_url(served, transport))
    else:
        opened = PythonDriver(MAKERS[name](served, transport))
    yield opened
    opened.close()


def test_statements_of_all_kinds(driver: Driver, served: Served) -> None:
    values, nulls = driver.run("SELECT types")
    for value, expected in zip(values, VALUES, strict=True):
        assert value in expected if isinstance(expected, tuple) else value == expected
    assert nulls == ["NULL"] * len(VALUES)
    assert column(driver.run("ROWS 2500")) == [str(i) for i in range(2500)]
    assert driver.run("ROWS 0") == []
    with pytest.raises(StatementFailed, match=r"\[PARSE_SYNTAX_ERROR\.TEST\](.|\n)*42601"):
        driver.run("SELEKT 1")
    assert driver.run("SELECT 1;") == [["1"]]
    assert served.engine.sessions[-1].principal == "ada"


def test_beeline(served: Served) -> None:
    assert BeelineDriver(jdbc_url(served, "https")).run("SELECT 1") == [["1"]]


def test_jdbc_beyond_queries(jvm: JavaGateway, served: Served) -> None:
    """The catalog, a parameter, a count, a cancel from another thread, a time limit, and a refused connection."""
    connection = JdbcDriver(jvm, jdbc_url(served, "http")).connection
    tables = connection.getMetaData().getTables(None, "lab", "%", None)
    assert column(read_result(tables), 2) == ["t"]
    prepared = connection.prepareStatement("SELECT ?")
    prepared.setInt(1, 1)
    assert read_result(prepared.executeQuery()) == [["1"]]
    assert connection.createStatement().executeUpdate("INSERT") == 3
    assert error_of_cancelled(connection, served.engine.runs) == "Query was cancelled"
    limited = connection.createStatement()
    limited.setQueryTimeout(1)
    with pytest.raises(Py4JJavaError) as raised:
        limited.executeQuery("SLEEP 300")
    assert raised.value.java_exception.getClass().getSimpleName() == "SQLTimeoutException"
    assert read_result(connection.createStatement().executeQuery("SELECT 1")) == [["1"]]
    connection.close()
    with pytest.raises(Py4JJavaError) as raised:
        JdbcDriver(jvm, jdbc_url(served, "http").replace("/default", "/nowhere"))
    assert "SCHEMA_NOT_FOUND" in str(raised.value)


def test_pyhive_beyond_queries(served: Served) -> None:
    """A parameter, a cancel, a refused statement's words, and the connection that lives on."""
    with pyhive(served, "http") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT %(n)s", {"n": 1})
        assert cursor.fetchall() == [(1,)]
        cursor.execute("SLEEP 300", async_=True)
        cursor.cancel()
        assert cursor.poll().operationState == TOperationState.CANCELED_STATE
        with pytest.raises(hive.OperationalError, match="Table not found lab.nope"):
            cursor.execute("DESCRIBE lab.nope")
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]


@pytest.mark.parametrize("transport", ["http", "tls"])
def test_impyla_beyond_queries(served: Served, transport: str) -> None:
    """The catalog, a parameter, and a cancel."""
    connection = impyla(served, transport)
    cursor = connection.cursor()
    assert cursor.database_exists("lab") and cursor.table_exists("t", "lab") and not cursor.table_exists("no", "lab")
    assert [tuple(entry) for entry in cursor.get_table_schema("t", "lab")] == [("i", "INT"), ("s", "STRING")]
    cursor.execute("SELECT %(n)s", {"n": 1})
    assert cursor.fetchall() == [(1,)]
    known = len(served.engine.runs)
    cursor.execute_async("SLEEP 300")
    cursor.cancel_operation()
    assert served.engine.runs[known].context.cancel.reason is not None
    connection.close()


def connect_all(jvm: JavaGateway, port: int) -> list[Driver]:
    """Connects each client over HTTP in a separate session (impyla's cursors are sessions)."""
    url = f"jdbc:hive2://127.0.0.1:{port}/default;transportMode=http;httpPath=cliservice"
    options = {"user": "ada", "password": "x", "auth_mechanism": "PLAIN", "http_cookie_names": ["hive.server2.auth"]}
    connection = impala.dbapi.connect("127.0.0.1", port, use_http_transport=True, http_path="cliservice", **options)
    return [
        JdbcDriver(jvm, url),
        PythonDriver(hive.connect("127.0.0.1", port, username="ada", scheme="http")),
        PythonDriver(connection),
    ]


@pytest.mark.parametrize("event", ["idling", "another key"])
def test_a_client_finds_its_session_again(jvm: JavaGateway, event: str) -> None:
    """After its connection was closed for idling, and after its cookie is good no more."""
    with serving_http(call_idle_s=0.3 if event == "idling" else 60) as live:
        drivers = connect_all(jvm, live.port)
        for driver in drivers:
            assert driver.run("SELECT 1") == [["1"]]
        opened = len(live.engine.sessions)
        if event == "idling":
            assert eventually(lambda: live.server.connection_count() == 0)
        else:
            live.route._cookies = Cookies()
        for driver in drivers:
            assert driver.run("SELECT 1") == [["1"]]
        assert len(live.engine.sessions) <= opened + 1
        assert {session.principal for session in live.engine.sessions} == {"ada"}
        for driver in drivers:
            driver.close()


def test_a_client_connects_again_after_the_server_was_stopped(jvm: JavaGateway) -> None:
    """Its session ended with the server, which the error reports; the next connection works."""
    with serving_http() as first:
        drivers, port = connect_all(jvm, first.port), first.port
        for driver in drivers:
            assert driver.run("SELECT 1") == [["1"]]
    for driver in drivers:
        with pytest.raises(Exception, match="(?i)refused|connect"):
            driver.run("SELECT 1")
    with serving_http(port=port):
        for driver in drivers[:2]:
            with pytest.raises(StatementFailed, match="session does not exist"):
                driver.run("SELECT 1")
        for driver in connect_all(jvm, port):
            assert driver.run("SELECT 1") == [["1"]]
            driver.close()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "https"])
@pytest.mark.parametrize("name", ["pyhive", "impyla"])
def test_a_million_rows(served: Served, name: str, transport: str) -> None:
    cursor = MAKERS[name](served, transport).cursor()
    cursor.arraysize = 10_000
    cursor.execute("ROWS 1000000")
    count = total = 0
    while rows := cursor.fetchmany(10_000):
        count, total = count + len(rows), total + sum(row[0] for row in rows)
    assert (count, total) == (1_000_000, 499_999_500_000)
