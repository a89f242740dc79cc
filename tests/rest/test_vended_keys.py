"""Tables on an S3 that accepts only the keys vended for each table by its REST catalog.

The connector is Hadoop's own, from Maven; the S3 is a process that checks each signature (`tests.rest.s3_server`).
pyiceberg, with its own keys, returns a table's content.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.connectors import installed_jars
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run
from tests.fix_spark import start_spark
from tests.paths import ROOT
from tests.rest.conftest import RestServer, S3Server
from tests.rest.s3_keys import give_out, secret_of

JARS = ROOT / ".oracle-s3a"
pytestmark = pytest.mark.spark
with_connector = pytest.mark.oracle


@pytest.fixture(scope="module")
def driver() -> Iterator[SparkDriver]:
    assert JARS.exists(), "make oracle gets Hadoop's connector for S3, by Maven"
    jars = ":".join(map(str, installed_jars(JARS)))
    found = start_spark(
        conf={
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.extraClassPath": jars,
            # The operator's secrets, which do not apply to a catalog's vended ones: a lookup there fails.
            "spark.hadoop.fs.s3a.bucket.b.security.credential.provider.path": "nowhere://secrets",
            "spark.sql.files.maxPartitionBytes": "1m",  # a task for each file
            "spark.sql.files.openCostInBytes": "1m",
        }
    )
    yield found
    found.stop()


@pytest.fixture
def session(tmp_path: Path, server: RestServer, store: S3Server, driver: SparkDriver) -> Iterator[LakeSession]:
    server.vend(keys=3600, warehouse="s3://b", config=store.properties())
    opened = open_session(tmp_path, server, driver)
    yield opened
    opened.close()
    server.vend()


def open_session(folder: Path, server: RestServer, driver: SparkDriver) -> LakeSession:
    options = EngineOptions(
        lake_folder=str(folder),
        allowed_roots=("s3://b",),
        rest_catalogs=(server.options(vended_credentials=True, name="elsewhere"),),
    )
    return LakeEngine(open_sources(options), driver).open_session(
        Identity("ann"), settings={}, catalog=None, schema=None
    )


def read(server: RestServer, name: str) -> list[dict[str, Any]]:
    other = RestCatalog(
        "other",
        uri=server.uri,
        token="a-fixed-token",
        **{"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"},
    )
    found: list[dict[str, Any]] = other.load_table(name).scan().to_arrow().sort_by("id").to_pylist()
    return found


def scopes(requests: list[tuple[str, str, str, int]]) -> set[tuple[str, str]]:
    """Returns each key's folder, and the first two segments of its used paths."""
    found = set()
    for key, _, path, status in requests:
        assert status not in (400, 403), (path, status)
        prefix = json.loads(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)))[0]
        found.add((prefix, "/".join(path.split("/")[:3])))
    return found


@with_connector
def test_rows_are_written_changed_and_read_with_the_keys_of_their_table(
    session: LakeSession, server: RestServer, store: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store.requests()
    run(session, "CREATE TABLE elsewhere.a.made PARTITIONED BY (bucket(2, id)) AS SELECT id, 'x' AS s FROM range(6)")
    run(session, "CREATE TABLE elsewhere.b.plain (id BIGINT, s STRING) TBLPROPERTIES ('format-version' = '2')")
    run(session, "INSERT INTO elsewhere.b.plain VALUES (1, 'one'), (7, 'seven')")
    run(session, "INSERT INTO elsewhere.b.plain SELECT id + 20, s FROM elsewhere.a.made")
    run(
        session,
        "MERGE INTO elsewhere.a.made t USING elsewhere.b.plain s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT *",
    )
    run(session, "DELETE FROM elsewhere.a.made WHERE id = 2")
    run(session, "UPDATE elsewhere.b.plain SET s = 'changed' WHERE id = 7")
    text = "SELECT t.id, t.s, p.s AS p FROM elsewhere.a.made t JOIN elsewhere.b.plain p USING (id) ORDER BY id"
    assert rows(session, text)[:3] == [(1, "one", "one"), (7, "seven", "changed"), (20, "x", "x")]
    for name in ("a.made", "b.plain"):
        ours = rows(session, f"SELECT id, s FROM elsewhere.{name} ORDER BY id")
        assert ours == [(each["id"], each["s"]) for each in read(server, name)], name
    shown = [str(rows(session, f"EXPLAIN {mode} {text}")) for mode in ("", "EXTENDED", "FORMATTED", "CODEGEN", "COST")]
    run(session, "CREATE OR REPLACE TABLE elsewhere.a.made AS SELECT 1L AS id")
    assert rows(session, "SELECT * FROM elsewhere.a.made") == [(1,)]
    assert rows(session, "SELECT count(*) FROM elsewhere.b.plain.files")[0][0] > 0
    run(session, "CALL elsewhere.system.rewrite_data_files(table => 'b.plain', options => map('rewrite-all', 'true'))")
    requests = store.requests()
    assert scopes(requests) == {("b/a/made", "b/a/made"), ("b/b/plain", "b/b/plain")}
    shown += [str(rows(session, "SET")), str(rows(session, "SHOW TBLPROPERTIES elsewhere.a.made"))]
    logged = (each for each in caplog.records if each.name.partition(".")[0] in ("catalog", "engine", "gateway"))
    shown.append("\n".join(each.getMessage() for each in logged))  # an S3 client logs its requests in debug mode
    for key in {request[0] for request in requests}:
        assert [each for each in shown if secret_of(key) in each or key in each] == []


@with_connector
def test_the_keys_of_one_table_open_no_other(
    tmp_path: Path, session: LakeSession, server: RestServer, store: S3Server, driver: SparkDriver
) -> None:
    """Nor does a path, though it is in the same bucket and was read just now."""
    run(session, "CREATE TABLE elsewhere.a.own AS SELECT id FROM range(3)")
    assert rows(session, "SELECT count(*) FROM elsewhere.a.own") == [(3,)]
    folder = "s3://b/a/own"
    (path,) = {str(each[0]) for each in rows(session, "SELECT file_path FROM elsewhere.a.own.files")}
    assert path.startswith(folder)
    for text in (f"SELECT * FROM parquet.`{path}`", f"SELECT * FROM iceberg.`{folder}`"):
        with pytest.raises((SqlError, OSError)):
            run(session, text)
    keys = give_out("b/elsewhere", 3600)
    server.vend(config={**store.properties(), **keys})
    assert rows(session, "SELECT sum(id) FROM elsewhere.a.own") == [(3,)]  # by keys that are valid for an hour
    fresh = open_session(tmp_path / "fresh", server, driver)
    store.requests()
    with pytest.raises((SqlError, OSError)) as caught:
        run(fresh, "SELECT sum(id) FROM elsewhere.a.own")
    fresh.close()
    assert {status for key, _, _, status in store.requests() if key == keys["s3.access-key-id"]} == {403}
    assert keys["s3.secret-access-key"] not in str(caught.value) and keys["s3.session-token"] not in str(caught.value)


@with_connector
def test_keys_are_renewed_while_a_statement_runs(
    tmp_path: Path, session: LakeSession, server: RestServer, store: S3Server, driver: SparkDriver
) -> None:
    run(session, "CREATE TABLE elsewhere.b.many AS SELECT id FROM range(10)")
    for first in range(10, 80, 10):
        run(session, f"INSERT INTO elsewhere.b.many SELECT id FROM range({first}, {first + 10})")
    server.vend(keys=8, warehouse="s3://b", config=store.properties())
    fresh = open_session(tmp_path / "fresh", server, driver)  # without earlier keys
    store.slow(2.0)
    store.requests()
    try:
        assert rows(fresh, "SELECT count(*), sum(id) FROM elsewhere.b.many") == [(80, sum(range(80)))]
    finally:
        store.slow(0)
        fresh.close()
    requests = store.requests()
    assert scopes(requests) == {("b/b/many", "b/b/many")}
    assert len({key for key, method, path, _ in requests if path.endswith(".parquet")}) > 1


def test_a_spark_without_the_connector_refuses_by_name(
    tmp_path: Path, server: RestServer, store: S3Server, spark_driver: SparkDriver
) -> None:
    server.vend(keys=3600, warehouse="s3://b", config=store.properties())
    opened = open_session(tmp_path, server, spark_driver)
    run(opened, "CREATE TABLE elsewhere.a.unread (id BIGINT)")
    for text in ("INSERT INTO elsewhere.a.unread SELECT 1", "CREATE TABLE elsewhere.a.unmade AS SELECT 1 AS id"):
        error = refuse(opened, text)
        assert error.condition == "REST_CREDENTIALS_NOT_IN_SPARK" and "prepare --with s3" in str(error)
    assert ("a", "unmade") not in server.other_client().list_tables("a")
    assert rows(opened, "DESCRIBE elsewhere.a.unread")
    opened.close()
    server.vend()
