"""A gateway with its state folder in MinIO that is killed: the next process, without a local file, continues."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyhive import hive

from tests.clients.test_recovery import ROWS, call, ended, kill, submit
from tests.server_process import ServerProcess
from tests.stores.s3_lake import BUCKET, MINIO_KEYS, S3Server, minio_server

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow, pytest.mark.minio]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with minio_server(tmp_path_factory.mktemp("minio")) as server:
        yield server


@pytest.fixture
def process(tmp_path: Path, store: S3Server) -> Iterator[ServerProcess]:
    (tmp_path / "lake").mkdir()
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text(MINIO_KEYS["secret"])
    (tmp_path / "gateway.toml").write_text(
        f"""
        [state]
        folder = "s3://{BUCKET}/state"
        [[storage.credentials]]
        name = "state"
        urls = ["s3://{BUCKET}"]
        access_key_id = "{MINIO_KEYS["key"]}"
        secret_access_key = "file:{secret}"
        endpoint = "{store.url}"
        region = "us-east-1"
        """
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = (str(tmp_path / "lake"), "--config", str(tmp_path / "gateway.toml"))
    started = ServerProcess(tmp_path, *arguments, "--http-port", str(port), "--thrift-port", "0")
    yield started
    if started.popen.poll() is None:
        os.kill(started.popen.pid, signal.SIGTERM)
    started.end()


def test_clients_continue_after_a_kill(process: ServerProcess, tmp_path: Path, store: S3Server) -> None:
    ports = process.ports()
    http = ports["http"]
    submit(http, "CREATE TABLE written (id BIGINT)")
    session = call(http, "POST", "/sessions", {})["session_id"]
    submit(http, "DECLARE VARIABLE x INT DEFAULT 41", session_id=session)
    long = submit(http, "SELECT id FROM range(200000)", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    first = hive.connect("127.0.0.1", ports["thrift"])
    cursor = first.cursor(arraysize=1000)
    cursor.execute(f"SELECT id FROM range(0, {ROWS}, 1, 3)")
    got = [row[0] for row in cursor.fetchmany(12_345)]
    time.sleep(3)  # the position is stored after a second without a response
    insert = f"INSERT INTO written SELECT id FROM range({ROWS}) WHERE sha2(CAST(id AS STRING), 512) > ''"
    writing = submit(http, insert, wait_timeout="0s", session_id=session)
    kill(process, http)
    found = ended(http, long)
    assert (found["status"], found["manifest"]) == (long["status"], long["manifest"])
    assert ended(http, writing)["result"]["data_array"][0][0] == str(ROWS)
    written = DeltaTable(str(tmp_path / "lake" / "default" / "written")).to_pyarrow_table()["id"].to_pylist()
    assert sorted(written) == list(range(ROWS))
    assert submit(http, "SELECT x + 1", session_id=session)["result"]["data_array"] == [["42"]]
    with closing(hive.connect("127.0.0.1", process.ports()["thrift"])) as second:
        first._client = second._client
        while rows := cursor.fetchmany(50_000):
            got += [row[0] for row in rows]
    assert sorted(got) == list(range(ROWS))


def test_idle_gateway_sends_a_bounded_number_of_requests(process: ServerProcess, store: S3Server) -> None:
    """In 20 s: 10 puts of the lease and 20 listings, and perhaps one for leases that the former test has left."""
    process.ports()
    time.sleep(5)
    store.requests()
    time.sleep(20)
    methods = [method for method, path, _ in store.requests() if "state" in path]
    assert methods.count("PUT") <= 11 and methods.count("GET") <= 23
