"""Tableau's, Power BI's and DBeaver's sequences, replayed against a real server over the sample lake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway

from gateway.hs2.gen.ttypes import TGetInfoType as Info
from tests.clients.bi_sequences import (
    DBEAVER_DATABRICKS_SQL,
    DBEAVER_JDBC,
    DBEAVER_SQL,
    INFO,
    POWER_BI_CATALOG,
    POWER_BI_SQL,
    TABLEAU_CATALOG,
    TABLEAU_SQL,
    Catalog,
    Sql,
)
from tests.clients.drivers import JdbcDriver, column, read_result
from tests.clients.fix_server import RealServer
from tests.clients.odbc_driver import OdbcDriver, Refused

pytestmark = [pytest.mark.clients, pytest.mark.spark]

V8 = 7
DATABRICKS = 42249
Connect = Callable[[], OdbcDriver]


@pytest.fixture(scope="module", params=["binary", "http"])
def connect(request: pytest.FixtureRequest, server: RealServer) -> Connect:
    """Returns a connection as ODBC's drivers make it."""
    if request.param == "binary":
        return lambda: OdbcDriver(server.thrift_port, version=V8, configuration={"use:database": "default"})
    return lambda: OdbcDriver(server.http_port, "/cliservice", V8)


@pytest.fixture(scope="module", autouse=True)
def lake_of_others_left_out(server: RealServer) -> Iterator[None]:
    """Hides the schemas of other tests' tables."""
    links = {name: (server.lake / name).readlink() for name in ("dat", "golden") if (server.lake / name).exists()}
    for name in links:
        (server.lake / name).unlink()
    yield
    for name, target in links.items():
        (server.lake / name).symlink_to(target)


def replay(query: Callable[[str], tuple[list[str], list[Any]] | None], steps: Sequence[Sql]) -> None:
    """Run the steps in their order on one connection."""
    for text, expected in steps:
        if isinstance(expected, str):
            with pytest.raises(Refused, match=expected):
                query(text)
            continue
        found = query(text)
        rows = found if found is None else found[1]
        assert (len(rows or []) if isinstance(expected, int) else rows) == expected, text


def browse(driver: OdbcDriver, steps: Sequence[Catalog]) -> None:
    for name, arguments, telling, expected in steps:
        columns, rows = driver.catalog(name, **arguments)
        assert column(rows, columns.index(telling)) == expected, (name, arguments)


@pytest.mark.parametrize("steps", [TABLEAU_CATALOG, POWER_BI_CATALOG], ids=["Tableau", "Power BI"])
def test_metadata_calls_of_bi_tools(connect: Connect, steps: list[Catalog]) -> None:
    with connect() as driver:
        assert re.match(r"\d+\.\d+", driver.info(Info.CLI_DBMS_VER))
        assert [driver.info(kind) for kind, _ in INFO] == [value for _, value in INFO]
        columns, types = driver.catalog("GetTypeInfo")
        assert columns[:2] == ["TYPE_NAME", "DATA_TYPE"] and ("STRING", 12) in [row[:2] for row in types]
        assert driver.query("SET -v")
        browse(driver, steps)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [TABLEAU_SQL, POWER_BI_SQL], ids=["Tableau", "Power BI"])
def test_queries_of_bi_tools(connect: Connect, steps: list[Sql]) -> None:
    with connect() as driver:
        replay(driver.query, steps)


def test_dbeaver_queries_with_databricks_driver(server: RealServer) -> None:
    with OdbcDriver(server.http_port, "/sql/1.0/warehouses/any", client_protocol_i64=DATABRICKS) as driver:
        replay(driver.query, DBEAVER_DATABRICKS_SQL)


def test_dbeaver_queries_with_hive_driver(jvm: JavaGateway, server: RealServer) -> None:
    driver = JdbcDriver(jvm, f"jdbc:hive2://127.0.0.1:{server.thrift_port}/default")
    metadata = driver.connection.getMetaData()
    assert metadata.getDatabaseProductName() == "Spark SQL" and metadata.getDatabaseMajorVersion() >= 4
    assert metadata.getSearchStringEscape() == "\\" and driver.connection.isValid(10)
    for method, arguments, telling, expected in DBEAVER_JDBC:
        result = getattr(metadata, method)(*arguments)
        index = result.findColumn(telling) - 1
        assert column(read_result(result), index)[: len(expected) or None] == expected, method
    for text, expected_rows in DBEAVER_SQL:
        statement = driver.connection.createStatement()
        statement.setMaxRows(200)
        rows = read_result(statement.getResultSet()) if statement.execute(text) else None
        statement.close()
        if isinstance(expected_rows, int):
            assert rows is not None and len(rows) == expected_rows, text
        else:
            listed = None if expected_rows is None else [list(row) for row in expected_rows]
            assert rows == listed, text
    assert driver.connection.getSchema() == "shop"
    driver.connection.setSchema("default")
    driver.close()
