"""Comparison with the REST catalog in Iceberg's own compatibility tests: our requests, and pyiceberg as another
client.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.view.metadata import ViewVersion

from catalog.rest.options import RestOptions
from catalog.rest.transport import SILENT_S
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import SLOW, refuse, rows, run
from tests.paths import ROOT

JARS = ROOT / ".oracle-rest"
pytestmark = [pytest.mark.oracle, pytest.mark.spark]

MAIN = "org.apache.iceberg.rest.RESTCatalogServer"
START_S = 60


class RealServer:
    """`uri` is its address; tables are in `folder`."""

    def __init__(self, folder: Path) -> None:
        assert JARS.exists(), "make oracle gets the jars of the server, by Maven"
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Its names are in a file, so that it may be started again."""
        spark = Path(pyspark.__file__).parent / "jars"
        jars = [*JARS.glob("*.jar"), *spark.glob("hadoop-client-*.jar"), *spark.glob("commons-logging-*.jar")]
        settings = {
            "CATALOG_REST_PORT": str(self._port),
            "CATALOG_WAREHOUSE": str(self.folder),
            "CATALOG_URI": f"jdbc:sqlite:{self.folder}.db",
            "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        }
        self.process = subprocess.Popen(
            ["java", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp", ":".join(map(str, jars)), MAIN],
            env={**os.environ, **settings},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _wait(self) -> None:
        ends = time.monotonic() + START_S
        while True:
            try:
                with urllib.request.urlopen(f"{self.uri}/v1/config"):
                    return
            except OSError:
                assert self.process.poll() is None and time.monotonic() < ends, "the server does not come up"
                time.sleep(0.2)

    def options(self, **given: Any) -> RestOptions:
        return RestOptions(**{"name": "real", "uri": self.uri, "nested": True, **given})

    def other_client(self) -> RestCatalog:
        return RestCatalog("other", uri=self.uri)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    found = RealServer(tmp_path_factory.mktemp("warehouse"))
    try:
        yield found
    finally:
        found.stop()


def open_session(server: RealServer, folder: Path, driver: SparkDriver, **given: Any) -> LakeSession:
    options = EngineOptions(
        lake_folder=str(folder), allowed_roots=(str(server.folder),), rest_catalogs=(server.options(**given),)
    )
    return LakeEngine(open_sources(options), driver).open_session(
        Identity("ann"), settings={}, catalog=None, schema=None
    )


@pytest.fixture
def session(server: RealServer, tmp_path: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    opened = open_session(server, tmp_path, spark_driver)
    for schema in ("a", "`a.b`", "c"):
        run(opened, f"CREATE SCHEMA IF NOT EXISTS real.{schema}")
    yield opened
    for schema in ("`a.b`", "a", "c"):
        run(opened, f"DROP SCHEMA IF EXISTS real.{schema} CASCADE")
    assert rows(opened, "SHOW SCHEMAS IN real") == []
    opened.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_is_made_changed_and_read(session: LakeSession, server: RealServer, version: int) -> None:
    run(
        session,
        "CREATE TABLE real.a.t (id BIGINT NOT NULL COMMENT 'k', at TIMESTAMP, p STRING) "
        f"PARTITIONED BY (day(at), bucket(4, id)) TBLPROPERTIES ('format-version' = '{version}')",
    )
    values = "(1, TIMESTAMP'2024-01-01 00:00:00Z', 'x'), (2, TIMESTAMP'2024-01-02 00:00:00Z', 'y'), (3, NULL, NULL)"
    run(session, f"INSERT INTO real.a.t VALUES {values}")
    run(session, "ALTER TABLE real.a.t RENAME COLUMN p TO page")
    run(session, "ALTER TABLE real.a.t ADD COLUMN more STRUCT<a: INT>")
    run(session, "ALTER TABLE real.a.t REPLACE PARTITION FIELD day(at) WITH hour(at) AS hourly")
    run(session, "ALTER TABLE real.a.t WRITE ORDERED BY id DESC")
    run(session, "UPDATE real.a.t SET page = 'z', more = named_struct('a', 1) WHERE id = 2")
    run(session, "DELETE FROM real.a.t WHERE id = 1")
    run(
        session,
        "MERGE INTO real.a.t t USING (SELECT 9L AS id) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    )
    found = rows(session, "SELECT id, page, more.a FROM real.a.t ORDER BY id")
    assert found == [(2, "z", 1), (3, None, None), (9, None, None)]
    read = server.other_client().load_table("a.t").scan(selected_fields=("id", "page")).to_arrow().sort_by("id")
    assert [(each["id"], each["page"]) for each in read.to_pylist()] == [(2, "z"), (3, None), (9, None)]
    run(session, "ALTER TABLE real.a.t CREATE BRANCH audit")
    run(session, "INSERT INTO real.a.t.branch_audit (id) VALUES (10)")
    run(session, "CALL real.system.fast_forward('a.t', 'main', 'audit')")
    run(session, "CALL real.system.rewrite_data_files(table => 'a.t', options => map('rewrite-all', 'true'))")
    run(session, "CALL real.system.expire_snapshots(table => 'a.t', retain_last => 1, older_than => now())")
    run(session, "CALL real.system.remove_orphan_files('a.t')")
    assert rows(session, "SELECT count(*) FROM real.a.t") == [(4,)]
    assert server.other_client().load_table("a.t").scan().to_arrow().num_rows == 4


def test_a_table_is_made_of_a_query_and_replaced(session: LakeSession, server: RealServer) -> None:
    run(session, "CREATE TABLE real.c.made PARTITIONED BY (bucket(2, id)) AS SELECT id FROM range(5)")
    assert refuse(session, "CREATE TABLE real.c.made AS SELECT 1 AS id").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    first = server.other_client().load_table("c.made")
    run(session, "CREATE OR REPLACE TABLE real.c.made AS SELECT 'x' AS name")
    after = server.other_client().load_table("c.made")
    assert after.metadata.table_uuid == first.metadata.table_uuid and after.scan().to_arrow()["name"].to_pylist() == [
        "x"
    ]
    at = first.metadata.current_snapshot_id
    assert rows(session, f"SELECT sum(id) FROM real.c.made VERSION AS OF {at}") == [(10,)]
    run(session, "ALTER TABLE real.c.made RENAME TO real.`a.b`.moved")
    assert rows(session, "SHOW TABLES IN real.`a.b`") == [("a.b", "moved", False)]
    run(session, "DROP TABLE real.`a.b`.moved PURGE")
    assert not server.other_client().list_tables("c")


def test_writers_meet(session: LakeSession, server: RealServer) -> None:
    run(session, "CREATE TABLE real.c.met (id BIGINT)")
    mine = server.other_client().load_table("c.met")
    run(session, "INSERT INTO real.c.met VALUES (1)")
    added = pa.table({"id": pa.array([2], pa.int64())})
    try:
        mine.append(added)
    except CommitFailedException:
        server.other_client().load_table("c.met").append(added)
    run(session, "INSERT INTO real.c.met VALUES (3)")
    assert rows(session, "SELECT * FROM real.c.met ORDER BY id") == [(1,), (2,), (3,)]
    assert len(server.other_client().load_table("c.met").history()) == 3


def test_properties_of_schemas(session: LakeSession, server: RealServer) -> None:
    run(session, "CREATE SCHEMA real.p COMMENT 'one' WITH DBPROPERTIES ('x' = 'y')")
    run(session, "COMMENT ON SCHEMA real.p IS 'two'")
    assert server.other_client().load_namespace_properties("p").items() >= {"comment": "two", "x": "y"}.items()
    run(session, "COMMENT ON SCHEMA real.p IS NULL")
    assert "comment" not in server.other_client().load_namespace_properties("p")
    assert refuse(session, "CREATE SCHEMA real.p").condition == "SCHEMA_ALREADY_EXISTS"
    run(session, "DROP SCHEMA real.p")


def test_a_view_of_the_server(session: LakeSession, server: RealServer) -> None:
    run(session, "CREATE TABLE real.c.base AS SELECT id FROM range(3)")
    text = {"type": "sql", "sql": "SELECT id FROM base WHERE id > 0", "dialect": "spark"}
    keys = {"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": ["c"]}
    version = ViewVersion.model_validate({**keys, "representations": [text]})
    schema = Schema(NestedField(1, "id", LongType(), required=False), schema_id=0)
    server.other_client().create_view("c.v", schema, version)
    assert rows(session, "SELECT * FROM real.c.v ORDER BY id") == [(1,), (2,)]
    assert rows(session, "SHOW VIEWS IN real.c") == [("c", "v", False)]
    run(session, "DROP VIEW real.c.v")
    assert not server.other_client().list_views("c")


def test_a_view_is_made_there(session: LakeSession, server: RealServer) -> None:
    run(session, "CREATE TABLE real.c.base AS SELECT id, named_struct('x y', id) AS s FROM range(3)")
    run(session, "CREATE VIEW real.c.made (n COMMENT 'doubled', s) COMMENT 'one' AS SELECT id * 2, s FROM real.c.base")
    assert rows(session, "SELECT n, s.`x y` FROM real.c.made ORDER BY n") == [(0, 0), (2, 1), (4, 2)]
    first = server.other_client().load_view("c.made").metadata
    run(session, "CREATE OR REPLACE VIEW real.c.made AS SELECT 'x' AS name, DATE'2024-01-01' AS day")
    second = server.other_client().load_view("c.made").metadata
    assert second.view_uuid == first.view_uuid and second.current_version_id != first.current_version_id
    assert [str(each.field_type) for each in second.schemas[-1].fields] == ["string", "date"]
    assert rows(session, "SELECT name FROM real.c.made") == [("x",)]
    assert refuse(session, "CREATE VIEW real.c.made AS SELECT 1 AS one").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    run(session, "DROP VIEW real.c.made")
    assert not server.other_client().list_views("c")


def test_the_server_is_started_again_between_rows_and_their_commit(session: LakeSession, server: RealServer) -> None:
    run(session, "CREATE TABLE real.c.kept AS SELECT id FROM range(3)")
    server.stop()
    error = refuse(session, "INSERT INTO real.c.kept VALUES (9)")
    assert error.condition == "REST_CATALOG_NOT_AVAILABLE"
    server.start()
    time.sleep(SILENT_S)
    run(session, "INSERT INTO real.c.kept VALUES (10)")
    assert rows(session, "SELECT * FROM real.c.kept ORDER BY id") == [(0,), (1,), (2,), (10,)]
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(run, session, f"INSERT INTO real.c.kept {SLOW}")
        while not list((server.folder / "c" / "kept" / "data").glob("*.parquet")) and not made.done():
            time.sleep(0.01)
        server.stop()
        server.start()
        assert made.result(120) == 1
    assert sorted(server.other_client().load_table("c.kept").scan().to_arrow()["id"].to_pylist()) == [0, 0, 1, 2, 10]


@pytest.mark.parametrize("given", [{"credential": "id:secret"}, {"token": "a-token"}])
def test_credentials_are_taken(
    server: RealServer, tmp_path: Path, spark_driver: SparkDriver, given: dict[str, str]
) -> None:
    opened = open_session(server, tmp_path, spark_driver, **given)
    run(opened, "CREATE SCHEMA IF NOT EXISTS real.d")
    run(opened, "DROP SCHEMA real.d")
    opened.close()
