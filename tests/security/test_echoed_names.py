"""Long names, keys and values: an error repeats at most 200 characters from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.conditions import CatalogNotFound
from catalog.errors import ECHO_MAX, SqlError, shorten
from engine.main import LakeEngine
from engine.spark.session import SparkDriver
from gateway.hs2.gen import ttypes as t
from gateway.observability.status import describe
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.hs2.wire import V10
from tests.security.guarded_lake import ROOT, GuardedLake
from tests.security.secure_server import SESSIONS, STATEMENTS, SecureServer, basic

LONG = "q" * 5000
REQUESTS: list[tuple[str, str, object]] = [
    ("POST", STATEMENTS, {"statement": "SELECT 1", LONG: 1}),
    ("POST", STATEMENTS, {"statement": "SELECT 1", "parameters": [{"name": "a", LONG: 1}]}),
    ("POST", STATEMENTS, {"statement": "SELECT 1", "format": LONG}),
    ("POST", STATEMENTS, {"statement": "SELECT 1", "wait_timeout": LONG}),
    ("POST", STATEMENTS, {"statement": "SELECT 1", "session_id": LONG}),
    ("POST", STATEMENTS, {"statement": LONG}),
    ("POST", SESSIONS, {LONG: 1}),
    ("POST", SESSIONS, {"session_confs": {LONG: 1}}),
    ("POST", "/api/2.0/token/delete", {LONG: "x"}),
    ("GET", f"{STATEMENTS}/{LONG}", None),
    ("GET", f"/api/2.0/sql/history/queries?max_results={LONG}", None),
    ("GET", f"/{LONG}", None),
]
TEXTS = [
    "SELECT * FROM {long}",
    "SELECT * FROM {long}.t",
    "SELECT * FROM {long}.s.t",
    "SELECT * FROM `{long}`.`{long}`.`{long}`",
    "SELECT {long} FROM shop.t",
    "SELECT shop.t.{long} FROM shop.t",
    "SELECT {long}(1)",
    "SELECT * FROM {long}(1)",
    "SELECT :{long}",
    "SELECT CAST(1 AS {long})",
    "SELECT 1 {long} {long}",
    "{long}",
    "USE {long}",
    "USE CATALOG {long}",
    "USE SCHEMA spark_catalog.{long}",
    "SET {long} = 1",
    "SET {long}",
    "SET a.{long}.b = 1",
    "SET spark.sql.ansi.enabled = {long}",
    "SET spark.sql.{long} = 1",
    "SET TIME ZONE '{long}'",
    "SET VAR {long} = 1",
    "RESET {long}",
    "DESCRIBE {long}",
    "DROP TABLE {long}",
    "DROP SCHEMA {long}",
    "DROP FUNCTION shop.{long}",
    "DROP GROUP {long}",
    "SHOW TABLES IN {long}",
    "SHOW COLUMNS IN {long}",
    "CREATE TABLE shop.{long} (a INT)",
    "CREATE TABLE shop.n (a {long})",
    "CREATE TABLE shop.n (a INT) USING {long}",
    "CREATE TABLE shop.n (a INT, {long} INT, {long} INT)",
    "CREATE TABLE shop.n (a INT) TBLPROPERTIES ('delta.{long}' = '1')",
    "CREATE TABLE shop.n (a INT) TBLPROPERTIES ('delta.appendOnly' = '{long}')",
    "CREATE SCHEMA {long}",
    "INSERT INTO shop.t ({long}) VALUES (1)",
    "UPDATE shop.t SET {long} = 1",
    "DELETE FROM shop.t WHERE {long} = 1",
    "ALTER TABLE shop.t DROP COLUMN {long}",
    "GRANT SELECT ON shop.t TO {long}",
    "GRANT {long} ON shop.t TO eve",
    "REVOKE TOKEN '{long}'",
    "CALL system.{long}()",
    "EXECUTE IMMEDIATE '{long}'",
    "DECLARE a {long}",
    "BEGIN LEAVE {long}; END",
    "SELECT * FROM shop.t VERSION AS OF '{long}'",
    "SELECT * FROM shop.t TIMESTAMP AS OF '{long}'",
    "SELECT * FROM delta.`/{long}`",
]


def longest(text: str) -> int:
    """Returns the length of the longest part of the long name in `text`."""
    return max(map(len, "".join(each if each in "qQ" else " " for each in text).split()), default=0)


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_requests(server: SecureServer, method: str, path: str, body: object) -> None:
    answer = server.ask(method, path, body, **basic("ann"))
    known = {"statement": "SELECT 1"}
    assert longest(json.dumps(answer.body if answer.content[:1] == b"{" else answer.content.decode())) <= ECHO_MAX
    assert server.ask("POST", STATEMENTS, known, **basic("ann")).status == 200


def test_sessions_of_thrift(server: SecureServer) -> None:
    for configuration in ({LONG: "1"}, {f"use:{LONG}": "x"}, {"use:catalog": LONG}, {f"set:hiveconf:{LONG}": "1"}):
        with server.client("ann") as client:
            answer = client.OpenSession(t.TOpenSessionReq(client_protocol=V10, configuration=configuration))
            assert longest(answer.status.errorMessage or "") <= ECHO_MAX


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("echoed") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.table("shop/t")
    lake.do("root", "GRANT ALL PRIVILEGES ON CATALOG spark_catalog TO root")
    found = Registry(LakeEngine(lake.sources, spark_driver), Limits(linger_s=0))
    yield found
    found.drain(0)


@pytest.mark.spark
@pytest.mark.parametrize("text", TEXTS)
def test_statements(registry: Registry, text: str) -> None:
    operation = registry.open_session(ROOT).execute(text.format(long=LONG))
    operation.wait(60)
    if operation.error is not None:
        failure = describe(operation.error)
        assert longest(failure.message) <= ECHO_MAX and len(failure.name or "") <= ECHO_MAX
        assert failure.condition != "INTERNAL_ERROR"


@pytest.mark.parametrize(("catalog", "schema"), [(LONG, None), (None, LONG)])
def test_sessions(registry: Registry, catalog: str | None, schema: str | None) -> None:
    with pytest.raises(SqlError) as caught:
        registry.open_session(ROOT, catalog=catalog, schema=schema)
    assert longest(describe(caught.value).message) <= ECHO_MAX


@pytest.mark.parametrize("length", [0, ECHO_MAX - 1, ECHO_MAX, ECHO_MAX + 1, 5000])
def test_names_up_to_the_limit_are_repeated_whole(length: int) -> None:
    name = "q" * length
    assert shorten(name) == (name if length <= ECHO_MAX else f"{name[:199]}…")
    assert f"catalog {shorten(name)} cannot" in describe(CatalogNotFound(name)).message
