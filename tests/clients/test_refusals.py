"""Statements that no client may run, and the meaning of `t@v3`, through every interface of a real server."""

from __future__ import annotations

from collections.abc import Iterator

import deltalake
import pytest
from py4j.java_gateway import JavaGateway

from tests.clients.drivers import Driver, StatementFailed, open_driver
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]

FILE = "/etc/hostname"
REFUSED = [
    ("SELECT reflect('java.lang.System', 'getProperty', 'user.home')", "UNSUPPORTED_FUNCTION", "0A000"),
    ("SELECT java_method('java.util.UUID', 'randomUUID')", "UNSUPPORTED_FUNCTION", "0A000"),
    ("SELECT try_reflect('java.util.UUID', 'randomUUID')", "UNSUPPORTED_FUNCTION", "0A000"),
    ("SELECT id FROM range(1) WHERE reflect('java.lang.System', 'nanoTime') > id", "UNSUPPORTED_FUNCTION", "0A000"),
    ("SELECT TRANSFORM (id) USING 'cat' AS (x) FROM range(3)", "UNSUPPORTED_CLAUSE", "0A000"),
    ("FROM range(3) MAP id USING 'cat' AS x", "UNSUPPORTED_CLAUSE", "0A000"),
    ("ADD JAR '/tmp/x.jar'", "UNSUPPORTED_STATEMENT", "0A000"),
    ("CREATE FUNCTION f AS 'x.Y'", "UNSUPPORTED_STATEMENT", "0A000"),
    ("CREATE TEMPORARY FUNCTION f AS 'x.Y' USING JAR '/tmp/x.jar'", "UNSUPPORTED_STATEMENT", "0A000"),
    ("SET spark.sql.warehouse.dir = /tmp", "CONFIG_NOT_AVAILABLE", "42K0I"),
    ("SET spark.driver.extraJavaOptions = -Dx=y", "CONFIG_NOT_AVAILABLE", "42K0I"),
    (f"SELECT * FROM parquet.`{FILE}`", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", "0A000"),
    (f"SELECT * FROM csv.`{FILE}`", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", "0A000"),
    (f"SELECT (SELECT count(*) FROM text.`{FILE}`)", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", "0A000"),
    (f"WITH x AS (SELECT * FROM json.`{FILE}`) SELECT * FROM x", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", "0A000"),
    (f"SELECT * FROM read_files('{FILE}', format => 'avro')", "UNSUPPORTED_CLAUSE", "0A000"),
    (f"SELECT * FROM read_files('{FILE}', format => 'text')", "PATH_NOT_ALLOWED", "42501"),
    (f"SELECT * FROM read_files('{FILE}', format => 'csv')", "PATH_NOT_ALLOWED", "42501"),
    (f"SELECT * FROM read_csv('{FILE}')", "UNRESOLVED_ROUTINE", "42883"),
    ("SELECT * FROM delta.`/etc`", "PATH_NOT_ALLOWED", "42501"),
    ("SELECT 1; SELECT 2", "MULTIPLE_STATEMENTS", "42601"),
    ("SELECT * FROM shop.stock@v99", "DELTA_VERSION_NOT_FOUND", "22003"),
    ("SELECT * FROM nowhere.t", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("SELECT nope FROM weather", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("SELECT 1 / 0", "DIVIDE_BY_ZERO", "22012"),
    ("SELEC 1", "PARSE_SYNTAX_ERROR", "42601"),
]

VERSIONS = [  # the query, and the sample's stock rows at that version
    ("SELECT count(*) FROM shop.stock@v0", 0),
    ("SELECT count(*) FROM shop.stock VERSION AS OF 0", 0),
    ("SELECT count(*) FROM shop.stock FOR VERSION AS OF 1 AS s", 1),
    ("SELECT count(*) FROM shop.stock@v3 s", 3),
    ("SELECT count(*) FROM shop.stock", 4),
]


class HttpDriver:
    """The statement API behind the other drivers' interface."""

    def __init__(self, server: RealServer) -> None:
        self._client = server.http()

    def run(self, text: str) -> list[list[str]]:
        answer = self._client.wait(self._client.submit(text))
        if answer["status"]["state"] != "SUCCEEDED":
            error = answer["status"]["error"]
            raise StatementFailed(f"{error['message']} {answer['status'].get('sql_state')}")
        return [[str(cell) for cell in row] for row in answer["result"]["data_array"]]

    def close(self) -> None:
        pass


@pytest.fixture(scope="module", params=["pyhive", "impyla-nosasl", "jdbc", "http"])
def client(request: pytest.FixtureRequest, server: RealServer) -> Iterator[Driver]:
    if request.param == "http":
        yield HttpDriver(server)
        return
    gateway: JavaGateway | None = request.getfixturevalue("jvm") if request.param == "jdbc" else None
    opened = open_driver(request.param, server.thrift_port, gateway)
    yield opened
    opened.close()


@pytest.mark.parametrize(("text", "condition", "sqlstate"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_refused(client: Driver, server: RealServer, text: str, condition: str, sqlstate: str) -> None:
    with pytest.raises(StatementFailed) as raised:
        client.run(text)
    said = str(raised.value)
    assert f"[{condition}] " in said and sqlstate in said
    assert str(server.lake) not in said and ".java:" not in said and "Traceback" not in said


def test_the_session_goes_on(client: Driver) -> None:
    assert client.run("SELECT 1") == [["1"]]


@pytest.mark.parametrize(("text", "version"), VERSIONS, ids=[text for text, _ in VERSIONS])
def test_old_versions(client: Driver, server: RealServer, text: str, version: int) -> None:
    rows = deltalake.DeltaTable(str(server.lake / "shop" / "stock"), version=version).to_pyarrow_table().num_rows
    assert client.run(text) == [[str(rows)]]
