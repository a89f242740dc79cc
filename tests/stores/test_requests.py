"""Numbers of requests that statements send to the object store with the log and the catalog.

Spark reads and writes data files in the store's folder directly; `tests/rest/test_vended_keys.py` tests the connector's
requests.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.entries import TableEntry
from catalog.names import TableName
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.storage.storage import open_storage
from tests.engine.lake_sessions import rows, run
from tests.fix_spark import QUICK_JAVA, start_spark
from tests.simulation.model import CREATE_VIEW_REQUESTS, INSERT_REQUESTS
from tests.stores.s3_lake import BUCKET, S3Lake, S3Server, s3_server

pytestmark = pytest.mark.spark

LAKES = "lakes"
Request = tuple[str, str, int]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the store's objects."""
    found = tmp_path_factory.mktemp("store")
    (found / BUCKET / LAKES).mkdir(parents=True)
    return found


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[S3Server]:
    with s3_server(folder) as server:
        yield server


@pytest.fixture(scope="module")
def driver(folder: Path) -> Iterator[SparkDriver]:
    found = start_spark(
        conf={
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.extraJavaOptions": QUICK_JAVA,
            "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
            "spark.hadoop.fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
            f"spark.hadoop.fs.viewfs.mounttable.{BUCKET}.link./{LAKES}": (folder / BUCKET / LAKES).as_uri(),
        }
    )
    yield found
    found.stop()


class Server:
    """A server over a lake, whose requests are counted."""

    def __init__(self, lake: S3Lake, store: S3Server, driver: SparkDriver, bucket: Path) -> None:
        self.lake, self.store, self.driver, self.bucket = lake, store, driver, bucket
        engine = LakeEngine(lake.sources, driver)
        self.session: LakeSession = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)

    def other(self) -> Server:
        return Server(self.lake.other(), self.store, self.driver, self.bucket)

    def run(self, *texts: str) -> None:
        for text in texts:
            self.requests(text)

    def requests(self, text: str) -> list[Request]:
        """Returns the requests from a statement and its post-commit tasks."""
        self.store.requests()
        run(self.session, text)
        return self._completed_requests()

    def rows(self, text: str) -> tuple[list[tuple[Any, ...]], list[Request]]:
        """Returns a query's rows and its requests."""
        self.store.requests()
        found = rows(self.session, text)
        return found, self._completed_requests()

    def _completed_requests(self) -> list[Request]:
        """Returns the requests, when the newest version has its checksum, unless it is the first."""
        found, until_s = self.store.requests(), time.monotonic() + 30
        while max(_versions(found), default=0) not in {0, *_checksums(found)}:
            assert time.monotonic() < until_s, found
            time.sleep(0.02)
            found += self.store.requests()
        return [request for request in found if not _is_data(request)]


def _versions(requests: list[Request]) -> set[int]:
    return {int(path[-25:-5]) for method, path, status in requests if _is_log_put(method, path, "json", status)}


def _checksums(requests: list[Request]) -> set[int]:
    return {int(path[-24:-4]) for method, path, status in requests if _is_log_put(method, path, "crc", status)}


def _is_log_put(method: str, path: str, suffix: str, status: int) -> bool:
    return method == "PUT" and status == 200 and re.search(rf"/_delta_log/\d{{20}}\.{suffix}$", path) is not None


def _is_data(request: Request) -> bool:
    return "/_delta_log/" not in request[1] and request[1].endswith(".parquet")


@pytest.fixture(autouse=True)
def _any_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine statements may outlast the interval in which the server's cached state counts as fresh."""
    monkeypatch.setattr("catalog.store.file_store._SEEN_S", 50.0)
    monkeypatch.setattr("engine.formats.delta.writing.vacuum._JUST_S", 50.0)


@pytest.fixture
def server(store: S3Server, driver: SparkDriver, folder: Path) -> Server:
    """Over an empty lake with the schema `s`."""
    found = Server(S3Lake(f"{LAKES}/{next(_numbers)}"), store, driver, folder / BUCKET)
    found.run("CREATE SCHEMA s")
    return found


def test_a_table_is_made_by_eight_requests(server: Server) -> None:
    for text in ("CREATE TABLE s.a (id BIGINT)", "CREATE TABLE s.b (id BIGINT)"):
        sent = server.requests(text)
        assert len(sent) <= 8, sent
    assert server.other().lake.names("s") == ["a", "b"]


def test_a_row_is_inserted_by_six_requests(server: Server) -> None:
    server.run("CREATE TABLE s.a (id BIGINT)", "INSERT INTO s.a VALUES (1)")
    for number in (2, 3):
        sent = server.requests(f"INSERT INTO s.a VALUES ({number})")
        assert len(sent) <= 6, sent
    assert rows(server.other().session, "SELECT sum(id) FROM s.a") == [(6,)]


def test_simulated_statements_take_as_many_requests_as_the_simulation_assumes(server: Server) -> None:
    server.run("CREATE TABLE s.a (id BIGINT)", "INSERT INTO s.a VALUES (1)")
    assert len(server.requests("INSERT INTO s.a VALUES (2)")) == INSERT_REQUESTS
    assert len(server.requests("CREATE VIEW s.v AS SELECT 1 AS x")) == CREATE_VIEW_REQUESTS


@pytest.mark.parametrize("text", ["INSERT INTO s.i VALUES (2)", "UPDATE s.i SET id = 3 WHERE id = 1"])
def test_a_change_of_an_iceberg_table_looks_for_a_delta_log_before_and_after_it(server: Server, text: str) -> None:
    server.run("CREATE TABLE s.i (id BIGINT) USING iceberg", "INSERT INTO s.i VALUES (1)")
    sent = server.requests(text)
    listed = [number for number, (method, path, _) in enumerate(sent) if path.endswith("/_delta_log/")]
    committed = next(number for number, (method, path, _) in enumerate(sent) if method == "PUT" and ".json" in path)
    assert len(listed) == 2 and listed[0] < committed < listed[1], sent


def test_a_server_that_has_just_started_reads_thirteen_files_by_eight_requests(server: Server) -> None:
    server.run("CREATE TABLE s.a (id BIGINT)", *(f"INSERT INTO s.a VALUES ({number})" for number in range(13)))
    entry = server.lake.sources.catalog.view().resolve(A)
    assert isinstance(entry, TableEntry)
    log = f"{entry.location}/_delta_log"
    _wait_for(server, f"{log}/_last_checkpoint")
    found, sent = server.other().rows("SELECT sum(id + 1) FROM s.a WHERE id + 1 > 0")
    assert found == [(91,)]
    assert len(sent) <= 8, sent


# Seconds that a request to a distant store takes.
FAR_S = 0.1


def test_statements_on_a_distant_store_wait_for_few_requests(server: Server) -> None:
    """Their time there is the number of requests that follow one another."""
    server.run("CREATE TABLE s.a (id BIGINT)", *(f"INSERT INTO s.a VALUES ({number})" for number in range(13)))
    reader, counts = server.other(), dict[str, int]()
    with server.store.distant(FAR_S):
        for name, (text, _) in ROUND_TRIPS.items():
            server.store.round_trips()
            run(reader.session, text)
            counts[name] = server.store.round_trips()
            reader._completed_requests()
    assert {name: count for name, count in counts.items() if count > ROUND_TRIPS[name][1]} == {}


# A read: the log's hint and listing, the checkpoint with the commits, and the catalog again. A change: the listing, the
# catalog, its file's footer; then its commit by three: the version before, the commit, the version before again.
ROUND_TRIPS = {
    "cold SELECT": ("SELECT sum(id + 1) FROM s.a WHERE id + 1 > 0", 4),
    "warm SELECT": ("SELECT sum(id + 2) FROM s.a WHERE id + 2 > 0", 2),
    "INSERT": ("INSERT INTO s.a VALUES (14)", 6),
    "UPDATE": ("UPDATE s.a SET id = -1 WHERE id = 3", 6),
}


def test_six_files_are_removed_by_one_request(server: Server) -> None:
    retention = "'delta.deletedFileRetentionDuration' = 'interval 0 seconds'"
    properties = f"TBLPROPERTIES ({retention}, 'delta.checkpointInterval' = '100')"
    server.run(f"CREATE TABLE s.a (id BIGINT) {properties}", *["INSERT INTO s.a VALUES (1)"] * 6)
    server.run("INSERT OVERWRITE s.a VALUES (2)")
    folder = server.bucket / server.lake.place / "lake/s/a"
    time.sleep(1.1)  # object times are whole seconds
    sent = server.requests("VACUUM s.a")
    assert len(list(folder.glob("*.parquet"))) == 1
    assert [method for method, _, _ in sent].count("POST") == 1
    assert len(sent) <= len(VACUUM_REQUESTS), sent
    for number in range(4):  # none waits for a writer elsewhere: both VACUUM versions are this server's
        sent = server.requests(f"INSERT INTO s.a VALUES ({number})")
        assert len(sent) <= 6, sent


@pytest.mark.slow
def test_statements_on_an_iceberg_table_take_as_many_requests_as_said(server: Server) -> None:
    server.run("CREATE TABLE s.other (id BIGINT) USING iceberg")
    counts = {"CREATE TABLE": len(server.requests("CREATE TABLE s.a (id BIGINT) USING iceberg"))}
    server.run("INSERT INTO s.a VALUES (0)")
    inserts = [len(server.requests(f"INSERT INTO s.a VALUES ({number})")) for number in range(1, 13)]
    counts["INSERT"] = max(inserts)
    reader = server.other()
    for state in ("cold", "warm"):
        found, sent = reader.rows("SELECT sum(id + 1) FROM s.a WHERE id + 1 > 0")
        assert found == [(91,)]
        counts[f"{state} SELECT of 13 files"] = len(sent)
    assert counts == ICEBERG_REQUESTS


def test_six_files_of_an_iceberg_table_are_removed_by_two_requests(server: Server) -> None:
    server.run("CREATE TABLE s.a (id BIGINT) USING iceberg", *["INSERT INTO s.a VALUES (1)"] * 6)
    server.run("INSERT OVERWRITE s.a VALUES (2)")
    folder = server.bucket / server.lake.place / "lake/s/a"
    sent = server.requests(EXPIRE)
    assert len(list(folder.rglob("*.parquet"))) == 1
    assert len(list(folder.rglob("snap-*.avro"))) == 1
    assert [method for method, _, _ in sent].count("POST") == 2
    assert not any(method == "DELETE" for method, _, _ in sent)
    assert len(sent) <= EXPIRE_REQUESTS, sent
    assert rows(server.other().session, "SELECT * FROM s.a") == [(2,)]


EXPIRE = "CALL system.expire_snapshots(table => 's.a', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)"
# Seven of them read the manifests of the remaining snapshot.
EXPIRE_REQUESTS = 20

# Current request counts. Each of these 13 versions has its own manifest.
ICEBERG_REQUESTS = {
    "CREATE TABLE": 10,
    "INSERT": 13,
    "cold SELECT of 13 files": 18,
    "warm SELECT of 13 files": 3,
}

# The remaining requests, with reasons.
VACUUM_REQUESTS = (
    "LIST log: the table is bound",
    "LIST generations: the catalog",
    "LIST log: what was committed until VACUUMs of the table were locked out, and the times of all commits",
    "LIST folder: its files",
    "LIST lake: tables without a record that may name these files",
    "LIST schema: its folders, and that it is no table itself",
    "PUT commit: it begins",
    "POST: the files",
    "PUT what this one notes; there is nothing to read where none has noted anything",
    "PUT commit: it ends",
    "HEAD: the table is still there",
    "PUT checksum",
)

A = TableName("spark_catalog", "s", "a")


def _wait_for(server: Server, path: str) -> None:
    folder, _, name = path.rpartition("/")
    until_s = time.monotonic() + 30
    while not open_storage(folder).exists(name):
        assert time.monotonic() < until_s
        time.sleep(0.02)
