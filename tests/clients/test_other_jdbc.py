"""JDBC drivers from Hive 3 and 4 and Kyuubi, as published on Maven, over binary and HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from tests.clients.conftest import Served
from tests.clients.drivers import JARS, column, error_of_cancelled, read_result, start_jvm
from tests.clients.test_behavior import VALUES
from tests.clients.test_jdbc import LISTS
from tests.maven import take_jar
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.oracle]

FOLDER = ROOT / ".oracle" / "drivers"
JANINO = ("janino", "commons-compiler")


@dataclass(frozen=True)
class Package:
    artifact: str
    sha256: str
    driver: str
    scheme: str
    # If the driver requests the number of changed rows after a statement.
    tells_counts: bool


HIVE = "org.apache.hive.jdbc.HiveDriver"
PACKAGES = {
    "hive-3": Package(
        "org.apache.hive:hive-jdbc:3.1.3:jar:standalone",
        "2f99f0912136d2d3ee72b26c5fa628c1edf3aac24908da21d3f5a92926074ec0",
        HIVE,
        "hive2",
        tells_counts=False,
    ),
    "hive-4": Package(
        "org.apache.hive:hive-jdbc:4.0.1:jar:standalone",
        "5d74bb0130aae6a8a2fad9cf5ffa1608974a55f1013464334490f7e06311959e",
        HIVE,
        "hive2",
        tells_counts=True,
    ),
    "kyuubi": Package(
        "org.apache.kyuubi:kyuubi-hive-jdbc-shaded:1.9.2",
        "cf1fd1ab6b38b678d38647ab9674b73c54289eaf1121c25faaa70e18c0b052af",
        "org.apache.kyuubi.jdbc.KyuubiHiveDriver",
        "kyuubi",
        tells_counts=False,
    ),
}


def jar(package: Package) -> Path:
    """Returns the package, fetched once."""
    return take_jar(package.artifact, FOLDER / f"{package.artifact.replace(':', '-')}.jar", package.sha256)


def classpath(package: Package) -> str:
    """Returns the driver, and Spark's Janino, by which the tests read results in Java."""
    janino = [str(found) for found in Path(JARS).parent.glob("*.jar") if found.name.startswith(JANINO)]
    return ":".join((str(jar(package)), *janino))


def connect_with(package: Package, gateway: JavaGateway, address: str) -> Any:
    """Returns a java.sql.Connection by the driver class's name."""
    properties = gateway.jvm.java.util.Properties()
    properties.setProperty("user", "ada")
    properties.setProperty("password", "x")
    made = gateway.jvm.java.lang.Class.forName(package.driver).getDeclaredConstructor(
        gateway.new_array(gateway.jvm.java.lang.Class, 0)
    )
    driver = made.newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0))
    return driver.connect(f"jdbc:{package.scheme}://{address}", properties)


@pytest.fixture(scope="module", params=list(PACKAGES))
def driver(request: pytest.FixtureRequest) -> Iterator[tuple[Package, JavaGateway]]:
    package = PACKAGES[request.param]
    gateway = start_jvm(classpath(package))
    yield package, gateway
    gateway.shutdown()


@pytest.fixture(params=["binary", "http"])
def connection(request: pytest.FixtureRequest, driver: tuple[Package, JavaGateway], served: Served) -> Iterator[Any]:
    package, gateway = driver
    http = request.param == "http"
    port, tail = (served.http_port, ";transportMode=http;httpPath=cliservice") if http else (served.port, "")
    opened = connect_with(package, gateway, f"127.0.0.1:{port}/lab{tail}")
    yield opened
    opened.close()


def test_values_of_all_types(connection: Any) -> None:
    values, nulls = read_result(connection.createStatement().executeQuery("SELECT types"))
    for value, expected in zip(values, VALUES, strict=True):
        assert value in expected if isinstance(expected, tuple) else value == expected
    assert nulls == ["NULL"] * len(VALUES)


def test_a_statement_without_rows(connection: Any, driver: tuple[Package, JavaGateway]) -> None:
    statement = connection.createStatement()
    assert statement.execute("INSERT") is False
    assert statement.getUpdateCount() == (3 if driver[0].tells_counts else -1)


def test_client_info_and_the_session_go_on(connection: Any) -> None:
    connection.setClientInfo("ApplicationName", "a test")
    assert connection.isValid(5)


@pytest.mark.parametrize(
    ("method", "arguments", "name", "values"),
    [case for case in LISTS if case[0] != "getImportedKeys"],  # for which these drivers ask nothing
    ids=lambda case: str(case)[:30],
)
def test_database_meta_data(
    connection: Any, method: str, arguments: tuple[Any, ...], name: str, values: list[str]
) -> None:
    result = getattr(connection.getMetaData(), method)(*arguments)
    assert column(read_result(result), result.findColumn(name) - 1) == values


def test_an_error_says_what_and_no_java_stack(connection: Any) -> None:
    with pytest.raises(Py4JJavaError) as raised:
        connection.createStatement().executeQuery("DESCRIBE lab.nope")
    message = raised.value.java_exception.getMessage()
    assert "TABLE_OR_VIEW_NOT_FOUND" in message and "\tat " not in message
    assert raised.value.java_exception.getSQLState() == "42P01"


def test_cancelling_from_another_thread(connection: Any, served: Served) -> None:
    """After a pause: a driver without an operation handle assumes that its statement is canceled, and never calls."""
    assert "cancel" in error_of_cancelled(connection, served.engine.runs, pause_s=1).lower()
