"""A server process killed by a signal, as after a crash in native code: clients reconnect."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyhive import hive
from thrift.transport.TTransport import TTransportException

from tests.clients.http_client import HttpClient
from tests.gateway.http.conftest import eventually
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("crashed")
    (folder / "lake").mkdir()
    (folder / "local").mkdir()
    started = ServerProcess(folder, str(folder / "lake"), GATEWAY_SPARK_LOCAL_DIR=str(folder / "local"))
    yield started
    if started.popen.poll() is None:
        started.popen.kill()
    started.end()


def rows(port: int) -> list[tuple[int]]:
    with closing(hive.connect("127.0.0.1", port)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("SELECT id FROM kept ORDER BY id")
        return list(cursor.fetchall())


def answers(port: int) -> bool:
    """Returns whether the Thrift port gives the table's rows to a client that connects now."""
    try:
        return rows(port) == [(1,), (2,)]
    except (TTransportException, OSError):
        return False


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as response:
        return str(response.read().decode())


@pytest.mark.parametrize("number", [pytest.param(signal.SIGSEGV, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_server_that_crashed_serves_again_on_its_ports(process: ServerProcess, number: signal.Signals) -> None:
    ports = process.ports()
    http, server, jvms = HttpClient(ports["http"]), process.server_pid, process.jvms()
    http.run("CREATE TABLE IF NOT EXISTS kept AS SELECT id FROM VALUES (1), (2) AS v(id)")
    folder = process.port_file.parent / "local"
    left = list(folder.iterdir())
    assert left and jvms
    os.kill(server, number)
    assert eventually(lambda: answers(ports["thrift"]), START_S), process.output
    assert process.server_pid != server and process.ports() == ports
    assert f"the server's process {server} ended by {number.name}; starting it again" in process.output
    assert not any(Path(f"/proc/{jvm}").exists() for jvm in jvms)
    assert not any(each.exists() for each in left)
    assert http.rows("SELECT count(*) FROM kept") == [["2"]]
    restarts = process.output.count("starting it again")
    assert f"\ngateway_restarts_total {restarts}\n" in metrics(ports["http"])


def test_a_server_that_was_started_again_drains(process: ServerProcess) -> None:
    """And is the last to use it."""
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0, process.output
    assert process.output.rstrip().endswith("stopped") and not process.port_file.exists()


def test_the_server_ends_with_the_process_that_was_started(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    process = ServerProcess(tmp_path, str(tmp_path / "lake"))
    process.ports()
    server, jvms = process.server_pid, process.jvms()
    process.popen.kill()
    assert process.end() == -signal.SIGKILL
    assert jvms and eventually(lambda: not any(Path(f"/proc/{each}").exists() for each in (server, *jvms)))
