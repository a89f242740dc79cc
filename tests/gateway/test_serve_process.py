"""`delta-gateway serve` as a process: its output, its end, and its exit code."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from gateway.configuration.loader import load_config
from tests.gateway.http.conftest import STATEMENTS, eventually
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]
LAKE = "<an empty folder>"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[ServerProcess] = []
    lake = tmp_path / "lake"
    lake.mkdir()

    def build(*arguments: str, **environment: str) -> ServerProcess:
        given = [str(lake) if argument == LAKE else argument for argument in arguments]
        started.append(ServerProcess(tmp_path, *given, **environment))
        return started[-1]

    yield build
    for process in started:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yields a server with an empty lake, for the tests that can share one; a slow machine may take long to drain
    it.
    """
    folder = tmp_path_factory.mktemp("served")
    (folder / "lake").mkdir()
    with started(folder, 0o022, GATEWAY_SERVER_DRAIN_DEADLINE_S="200") as process:
        yield process


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yields a server with a JSON log and another umask than the inherited one."""
    folder = tmp_path_factory.mktemp("set")
    with started(folder, 0o077, "--log-format", "json", GATEWAY_LAKE_UMASK="0022") as process:
        yield process


@contextmanager
def started(folder: Path, umask: int, *arguments: str, **environment: str) -> Iterator[ServerProcess]:
    """Yields a server over an empty lake, which inherits `umask`; its catalog is `folder/catalog`."""
    before = os.umask(umask)
    try:
        (folder / "lake").mkdir(exist_ok=True)
        environment["GATEWAY_LAKE_CATALOG_FOLDER"] = str(folder / "catalog")
        process = ServerProcess(folder, *arguments, str(folder / "lake"), **environment)
    finally:
        os.umask(before)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()


def submit(ports: dict[str, int], text: str, wait: str = "50s") -> dict[str, Any]:
    body = json.dumps({"statement": text, "wait_timeout": wait}).encode()
    url = f"http://127.0.0.1:{ports['http']}{STATEMENTS}"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=90) as response:
        answer: dict[str, Any] = json.loads(response.read())
        return answer


def test_a_java_that_is_stopped_holds_up_no_request(running: ServerProcess) -> None:
    process, ports = running, running.ports()
    url = f"http://127.0.0.1:{ports['http']}"
    assert submit(ports, "SELECT 1")["status"]["state"] == "SUCCEEDED"
    jvms = process.jvms()
    for jvm in jvms:
        os.kill(jvm, signal.SIGSTOP)
    try:
        for path, expected in (("/readyz", 503), ("/healthz", 200), ("/readyz", 503)):
            assert status_of(url + path) == expected
        body = json.dumps({"statement": "SELECT 1 + 1", "wait_timeout": "5s"}).encode()
        assert status_of(url + STATEMENTS, body) in (200, 503)
    finally:
        for jvm in jvms:
            os.kill(jvm, signal.SIGCONT)
    assert eventually(lambda: status_of(url + "/readyz") == 200)
    assert submit(ports, "SELECT 2")["result"]["data_array"] == [["2"]]


def status_of(url: str, body: bytes | None = None) -> int:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # longer than any answer may take
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_files_have_the_modes_of_the_inherited_umask_without_those_of_others(running: ServerProcess) -> None:
    ensure_modes(running, "0640", "0750")


def test_a_server_says_how_to_connect_serves_and_drains(running: ServerProcess) -> None:
    """And is the last to use that server."""
    process, ports = running, running.ports()
    assert eventually(lambda: "Ctrl-C or SIGTERM stops it." in process.output)
    for line in (
        f"serves {process.port_file.parent / 'lake'}: no tables\n  A table is a folder with Delta's _delta_log",
        f"Console http://127.0.0.1:{ports['http']}\n",
        f"beeline -u jdbc:hive2://127.0.0.1:{ports['thrift']}/",
        f'hive.connect("127.0.0.1", {ports["thrift"]})',
        f'"jdbc:hive2://127.0.0.1:{ports["http"]}/;transportMode=http;httpPath=cliservice"',
        f'delta-gateway sql "SHOW TABLES" --server http://127.0.0.1:{ports["http"]}',
    ):
        assert line in process.output
    assert submit(ports, "SELECT 1 + 1")["result"]["data_array"] == [["2"]]
    jvms = process.jvms()
    assert jvms
    submit(ports, "CREATE TABLE few (n BIGINT, CHECK (n < 4711))")
    refused = submit(ports, "INSERT INTO few SELECT max(id) FROM range(4712)")
    assert "DELTA_VIOLATE_CONSTRAINT" in str(refused) and "4711" in str(refused)

    slow = "SELECT count(*) FROM range(2000000) WHERE sha2(cast(id AS string), 256) LIKE 'zz%'"
    answers: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: answers.append(submit(ports, slow)))
    asking.start()
    assert not eventually(lambda: bool(answers), 0.5)  # it runs, for a second or more
    process.popen.send_signal(signal.SIGTERM)
    asking.join()
    assert answers[0]["status"] == {"state": "SUCCEEDED"} and answers[0]["result"]["data_array"] == [["0"]]
    assert process.end() == 0
    assert "draining" in process.output and process.output.rstrip().endswith("stopped")
    assert not process.port_file.exists()
    for part in ("Traceback", "\tat org.", "Abort", "4711"):  # a statement's failure is its client's, with its values
        assert part not in process.output
    assert eventually(lambda: not any(Path(f"/proc/{jvm}").exists() for jvm in jvms))


def test_a_signal_during_the_start_ends_the_start(start: Any) -> None:
    process = start(LAKE)
    assert eventually(lambda: "starting Java" in process.output, START_S)
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0
    assert process.output.rstrip().endswith("stopped before it was ready")
    assert not process.port_file.exists()


def test_a_configuration_that_is_wrong_is_one_line(start: Any, tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[server]\nhtpp_port = 1\n")
    process = start("--config", str(file))
    assert process.end() == 2
    assert process.output.startswith("delta-gateway: [CONFIG_UNKNOWN_KEY]") and process.output.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "environment", "condition"),
    [
        pytest.param((LAKE, "--host", "0.0.0.0"), {}, "HOST_NOT_LOOPBACK", marks=pytest.mark.slow),
        pytest.param((LAKE, "--host", "::"), {}, "HOST_NOT_LOOPBACK", marks=pytest.mark.slow),
        pytest.param((), {"GATEWAY_SERVER_HOST": "0.0.0.0"}, "HOST_NOT_LOOPBACK", marks=pytest.mark.slow),
        pytest.param((), {"GATEWAY_SERVER_THRIFT_PROT": "1"}, "CONFIG_UNKNOWN_KEY", marks=pytest.mark.slow),
        pytest.param(("/no/such/lake",), {}, "LAKE_NOT_FOUND", marks=pytest.mark.slow),
        ((), {"JAVA_HOME": "/no/such/java"}, "JAVA_NOT_FOUND"),
    ],
)
def test_a_start_that_fails_is_one_line_that_says_why(
    start: Any, arguments: tuple[str, ...], environment: dict[str, str], condition: str
) -> None:
    process = start(*(arguments or (LAKE,)), **environment)
    assert process.end() == 2
    last = process.output.rstrip().splitlines()[-1]
    assert last.startswith(f"delta-gateway: [{condition}]") and "Traceback" not in process.output


def test_start_messages_as_json(start: Any) -> None:
    process = start("/no/such/lake", "--log-format", "json")
    assert process.end() == 2
    (line,) = process.output.splitlines()
    said = json.loads(line)
    assert said["level"] == "ERROR" and said["message"].startswith("delta-gateway: [LAKE_NOT_FOUND]")


def test_a_taken_port_is_named_at_once(start: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start(LAKE, "--http-port", str(port), "--thrift-port", "0")
        assert process.end() == 2
    assert f"http port {port}" in process.output and "starting Java" not in process.output


STATEMENTS_THAT_WRITE = (
    "CREATE SCHEMA s",
    "CREATE TABLE s.t (id INT, p INT) PARTITIONED BY (p)"
    " TBLPROPERTIES ('delta.checkpointInterval' = '3', 'delta.enableChangeDataFeed' = 'true',"
    " 'delta.enableDeletionVectors' = 'true')",
    "INSERT INTO s.t VALUES (1, 1), (2, 1), (3, 2)",
    "INSERT INTO s.t SELECT id, id % 3 FROM range(100)",
    "UPDATE s.t SET id = 5 WHERE id = 1",
    "DELETE FROM s.t WHERE id = 2",
    "OPTIMIZE s.t",
    "CREATE TABLE s.i (id INT) USING iceberg",
    "INSERT INTO s.i SELECT id FROM range(10)",
    "CREATE VIEW s.v AS SELECT * FROM s.t",
)


def modes(folder: Path) -> dict[str, set[str]]:
    """Returns the modes of files and folders at and below `folder`, each with an example."""
    found: dict[str, set[str]] = {"files": set(), "folders": set()}
    for each in (folder, *folder.rglob("*")):
        kind = "folders" if each.is_dir() else "files"
        found[kind].add(f"{stat.S_IMODE(each.stat().st_mode):04o}")
    return found


def ensure_modes(process: ServerProcess, files: str, folders: str) -> None:
    """Checks the modes of a new schema's files; the catalog is the server's alone in any case."""
    ports, folder = process.ports(), process.port_file.parent
    for text in STATEMENTS_THAT_WRITE:
        answer = submit(ports, text)
        assert answer["status"]["state"] == "SUCCEEDED", answer
    assert modes(folder / "lake" / "s") == {"files": {files}, "folders": {folders}}
    assert modes(folder / "catalog") == {"files": {"0600"}, "folders": {"0700"}}


def test_files_have_the_modes_of_the_setting(configured: ServerProcess) -> None:
    ensure_modes(configured, "0644", "0755")


def test_json_log_consists_of_records(configured: ServerProcess) -> None:
    """And is the last to use that server."""
    process, ports = configured, configured.ports()
    address = f"http://127.0.0.1:{ports['http']}"
    assert eventually(lambda: address in process.output)
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0
    messages = [json.loads(line)["message"] for line in process.output.splitlines()]
    (line,) = [message for message in messages if address in message]
    assert f"lake: no tables; console and HTTP {address}, Thrift 127.0.0.1:{ports['thrift']}" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inherited", "setting", "files", "folders"),
    [(0o077, "", "0600", "0700"), (0o077, "0027", "0640", "0750"), (0o022, "0077", "0600", "0700")],
)
def test_files_have_the_modes_of_both_umasks(
    tmp_path: Path, inherited: int, setting: str, files: str, folders: str
) -> None:
    with started(tmp_path, inherited, **({"GATEWAY_LAKE_UMASK": setting} if setting else {})) as process:
        ensure_modes(process, files, folders)


@pytest.mark.parametrize("setting", ["27", "0727", "0028", "rw", "00027"])
def test_invalid_umask(setting: str) -> None:
    with pytest.raises(SqlError) as caught:
        load_config(None, {"GATEWAY_LAKE_UMASK": setting}, {})
    assert caught.value.condition == "CONFIG_INVALID_VALUE" and "lake.umask" in caught.value.full_message
