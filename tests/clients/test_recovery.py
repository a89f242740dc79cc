"""A gateway that is killed while clients work: they find their statements, sessions, results and rows again."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from impala import dbapi as impala
from pyhive import hive

from tests.gateway.http.conftest import eventually
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]

ROWS = 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("recovered")
    (made / "lake").mkdir()
    return made


@pytest.fixture(scope="module")
def process(folder: Path) -> Iterator[ServerProcess]:
    started = ServerProcess(folder, str(folder / "lake"))
    yield started
    if started.popen.poll() is None:
        started.popen.kill()
    started.end()


def call(port: int, method: str, path: str, body: object = None) -> dict[str, Any]:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/2.0/sql{path}", content, method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=120) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def submit(port: int, text: str, **options: object) -> dict[str, Any]:
    return call(port, "POST", "/statements", {"statement": text, "wait_timeout": "50s", **options})


def ended(port: int, statement: dict[str, Any]) -> dict[str, Any]:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        answer = call(port, "GET", f"/statements/{statement['statement_id']}?wait_timeout=20s")
        if answer["status"]["state"] not in ("PENDING", "RUNNING"):
            return answer
    raise AssertionError("the statement does not end")


def kill(process: ServerProcess, http: int) -> None:
    """Kills the server, and returns when the next one is ready."""
    killed = process.server_pid
    os.kill(killed, signal.SIGKILL)

    def is_back() -> bool:
        with suppress(OSError, urllib.error.URLError, ValueError):
            if process.server_pid != killed:
                return bool(submit(http, "SELECT 1")["status"]["state"] == "SUCCEEDED")
        return False

    assert eventually(is_back, START_S)


def test_http_client_finds_its_statements_and_its_session(process: ServerProcess, folder: Path) -> None:
    http = process.ports()["http"]
    submit(http, "CREATE TABLE written (id BIGINT)")
    session = call(http, "POST", "/sessions", {})["session_id"]
    submit(http, "DECLARE VARIABLE x INT DEFAULT 41", session_id=session)
    known = [submit(http, text) for text in ("SELECT 1 AS a, array('x', NULL) AS b", "SELECT id FROM range(200000)")]
    known.append(submit(http, "SELECT missing"))
    slow = "SELECT count(*) FROM range(2000000) WHERE sha2(CAST(id AS STRING), 512) > ''"
    running = submit(http, slow, wait_timeout="0s")
    insert = f"INSERT INTO written SELECT id FROM range({ROWS}) WHERE sha2(CAST(id AS STRING), 512) > ''"
    writing = submit(http, insert, wait_timeout="0s", session_id=session)
    kill(process, http)
    for statement in known:
        assert ended(http, statement) == statement
    assert ended(http, running)["result"]["data_array"] == [["2000000"]]
    assert ended(http, writing)["result"]["data_array"][0][0] == str(ROWS)
    written = DeltaTable(str(folder / "lake" / "default" / "written")).to_pyarrow_table()["id"].to_pylist()
    assert sorted(written) == list(range(ROWS))
    assert submit(http, "SELECT x + 1", session_id=session)["result"]["data_array"] == [["42"]]


def test_half_read_result_continues_over_pyhive(process: ServerProcess) -> None:
    """With the handles of before, over a new connection: PyHive does not connect again by itself."""
    ports = process.ports()
    first = hive.connect("127.0.0.1", ports["thrift"])
    cursor = first.cursor(arraysize=1000)
    cursor.execute("SET spark.sql.shuffle.partitions = 7")
    cursor.execute("CREATE TEMPORARY VIEW answer AS SELECT 42 AS value")
    cursor.execute(f"SELECT id FROM range(0, {ROWS}, 1, 3)")
    got = [row[0] for row in cursor.fetchmany(12_345)]
    kill(process, ports["http"])
    with closing(hive.connect("127.0.0.1", ports["thrift"])) as second:
        first._client = second._client
        while rows := cursor.fetchmany(50_000):
            got += [row[0] for row in rows]
        assert sorted(got) == list(range(ROWS))
        cursor.execute("SELECT value FROM answer")
        assert cursor.fetchall() == [(42,)]
        cursor.execute("SET spark.sql.shuffle.partitions")
        assert cursor.fetchall() == [("spark.sql.shuffle.partitions", "7")]


@pytest.mark.slow
def test_half_read_result_continues_over_impyla(process: ServerProcess) -> None:
    ports = process.ports()
    connection = impala.connect("127.0.0.1", ports["thrift"], auth_mechanism="PLAIN", user="ada", password="x")
    cursor = connection.cursor(user="ada")
    cursor.execute(f"SELECT id FROM range(0, {ROWS}, 1, 3)")
    got = [row[0] for row in cursor.fetchmany(12_345)]
    kill(process, ports["http"])
    second = impala.connect("127.0.0.1", ports["thrift"], auth_mechanism="PLAIN", user="ada", password="x")
    # Each cursor has the client's service, whose socket is the connection's.
    cursor.session.client, cursor._last_operation.session.client = (second.service.client,) * 2
    while rows := cursor.fetchmany(50_000):
        got += [row[0] for row in rows]
    assert sorted(got) == list(range(ROWS))


def test_shutdown_leaves_one_state_folder_with_the_open_sessions(process: ServerProcess, folder: Path) -> None:
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0, process.output
    (left,) = (folder / "lake" / ".state" / "gateways").iterdir()
    assert "." not in left.name  # neither one that is being created nor one that was taken over
    assert not list((folder / "lake").rglob(".*.tmp*")) and not process.jvms()
