"""Two gateways as processes over one lake and one state folder: crashes, suspension and a rolling restart."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive

from tests.gateway.http.conftest import STATEMENTS, eventually
from tests.server_process import ServerProcess

ANSWER_S = 300
pytestmark = pytest.mark.timeout(3 * ANSWER_S)


@dataclass
class Member:
    """One of the gateways, which can be started again on its ports."""

    folder: Path
    process: ServerProcess
    http: int
    thrift: int

    @classmethod
    def start(cls, folder: Path, *arguments: str) -> Member:
        folder.mkdir(exist_ok=True)
        process = ServerProcess(folder, *arguments, str(folder.parent / "lake"), **_environment(folder.parent))
        ports = process.ports()
        return cls(folder, process, ports["http"], ports["thrift"])

    def restart(self) -> None:
        """Restarts it as a rolling restart does: SIGTERM, its end, and a new process on the same ports."""
        self.process.popen.terminate()
        assert self.process.end() == 0, self.process.output
        self.process.port_file.unlink(missing_ok=True)
        ports = ("--http-port", str(self.http), "--thrift-port", str(self.thrift))
        self.process = Member.start(self.folder, *ports).process

    def call(self, method: str, path: str, body: object = None) -> Any:
        return call(self.http, method, path, body)

    def submit(self, text: str, wait: str = "50s") -> Any:
        return self.call("POST", STATEMENTS, {"statement": text, "wait_timeout": wait})

    def rows(self, text: str) -> list[list[str]]:
        answer = self.result(self.submit(text))
        assert answer["status"] == {"state": "SUCCEEDED"}, answer
        found: list[list[str]] = answer["result"].get("data_array", [])
        return found

    def versions(self, table: str) -> list[str]:
        return [row[0] for row in self.rows(f"DESCRIBE HISTORY {table}")]

    def result(self, statement: Any) -> Any:
        """Returns the response to a statement when it has ended."""
        end = time.monotonic() + ANSWER_S
        while statement["status"]["state"] in ("PENDING", "RUNNING") and time.monotonic() < end:
            statement = self.call("GET", f"{STATEMENTS}/{statement['statement_id']}?wait_timeout=10s")
        return statement


def _environment(folder: Path) -> dict[str, str]:
    return {"GATEWAY_STATE_FOLDER": str(folder / "state"), "GATEWAY_SERVER_DRAIN_DEADLINE_S": "20"}


def call(port: int, method: str, path: str, body: object = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Connection": "close"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", content, headers, method=method)
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.loads(response.read() or b"null")


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Member, Member]]:
    folder = tmp_path_factory.mktemp("gateways")
    (folder / "lake").mkdir()
    made = (Member.start(folder / "a"), Member.start(folder / "b"))
    yield made
    for member in made:
        member.process.popen.terminate()
        member.process.end()


@pytest.mark.slow
def test_statements_of_a_killed_gateway_continue_at_the_other_one(gateways: tuple[Member, Member]) -> None:
    first, second = gateways
    first.rows("CREATE TABLE killed (id BIGINT)")
    done = first.submit("SELECT id FROM range(10)")
    slow = "INSERT INTO killed SELECT id FROM range(1000000) WHERE length(sha2(CAST(id AS STRING), 512)) > 0"
    running = first.submit(slow, wait="0s")
    os.kill(first.process.server_pid, signal.SIGKILL)
    assert second.call("GET", f"{STATEMENTS}/{done['statement_id']}")["result"] == done["result"]
    assert second.result(running)["status"] == {"state": "SUCCEEDED"}
    assert second.rows("SELECT count(*), count(DISTINCT id) FROM killed") == [["1000000", "1000000"]]
    assert second.versions("killed") == ["1", "0"]
    assert eventually(lambda: _is_ready(first.http), ANSWER_S)
    assert first.call("GET", f"{STATEMENTS}/{done['statement_id']}")["result"] == done["result"]


@pytest.mark.slow
def test_half_read_result_of_a_killed_gateway_continues_at_the_other_one(gateways: tuple[Member, Member]) -> None:
    first, second = gateways
    former, current = (hive.connect("127.0.0.1", member.thrift) for member in gateways)
    cursor = former.cursor(arraysize=1000)
    cursor.execute("SELECT id FROM range(0, 50000, 1, 4)")
    rows = cursor.fetchmany(1234)
    other = former.cursor()
    other.execute("CREATE TEMPORARY VIEW answers AS SELECT 42 AS answer")
    os.kill(first.process.server_pid, signal.SIGKILL)
    # The driver's only reconnect: its handles are used on another connection.
    former._client = current._client
    while more := cursor.fetchmany(5000):
        rows += more
    assert sorted(row[0] for row in rows) == list(range(50000))
    other = former.cursor()
    other.execute("SELECT answer FROM answers")
    assert other.fetchall() == [(42,)]
    assert eventually(lambda: _is_ready(first.http), ANSWER_S)
    again = hive.connect("127.0.0.1", first.thrift)
    former._client = again._client
    other = former.cursor()
    other.execute("SELECT answer + 1 FROM answers")
    assert other.fetchall() == [(43,)]


@pytest.mark.slow
def test_suspended_gateway_that_continues_commits_nothing(gateways: tuple[Member, Member]) -> None:
    first, second = gateways
    first.rows("CREATE TABLE paused (id BIGINT)")
    slow = "INSERT INTO paused SELECT id FROM range(2000000) WHERE length(sha2(CAST(id AS STRING), 512)) > 0"
    running = first.submit(slow, wait="0s")
    suspended = first.process.server_pid
    os.kill(suspended, signal.SIGSTOP)
    try:
        assert second.result(running)["status"] == {"state": "SUCCEEDED"}
        assert second.versions("paused") == ["1", "0"]
    finally:
        os.kill(suspended, signal.SIGCONT)
    assert eventually(lambda: not Path(f"/proc/{suspended}").exists(), ANSWER_S)
    assert eventually(lambda: _is_ready(first.http), ANSWER_S)
    for member in gateways:
        assert member.rows("SELECT count(*), count(DISTINCT id) FROM paused") == [["2000000", "2000000"]]
        assert member.versions("paused") == ["1", "0"]


@pytest.mark.slow
def test_rolling_restart_under_load_fails_no_statement(gateways: tuple[Member, Member]) -> None:
    gateways[0].rows("CREATE TABLE rolled (id BIGINT)")
    with_balancer = Balancer([member.http for member in gateways])
    stopping, clients = threading.Event(), [LoadClient(with_balancer.port, number) for number in range(4)]
    threads = [threading.Thread(target=client.run, args=[stopping]) for client in clients]
    for thread in threads:
        thread.start()
    try:
        time.sleep(5)
        for member in gateways:
            member.restart()
            time.sleep(5)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
        with_balancer.close()
    outcomes = sum((client.outcomes for client in clients), Counter[str]())
    print(dict(outcomes))
    failed = [problem for client in clients for problem in client.problems]
    assert not failed, failed[:3]
    assert outcomes["read"] > 20 and outcomes["written"] > 5
    counted = gateways[0].rows("SELECT count(*), count(DISTINCT id) FROM rolled")
    assert counted == [[str(outcomes["written"])] * 2]


def _is_ready(port: int) -> bool:
    with suppress(OSError):
        return bool(call(port, "POST", STATEMENTS, {"statement": "SELECT 1"})["status"]["state"])
    return False


class Balancer:
    """A TCP proxy that gives each connection to the next gateway that accepts it."""

    def __init__(self, ports: list[int]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self._count, self._ports = len(ports), cycle(ports)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                if (server := self._connect()) is None:
                    client.close()
                    continue
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=[source, target], daemon=True).start()

    def _connect(self) -> socket.socket | None:
        for _ in range(self._count):
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", next(self._ports)))
        return None


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
    for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):
            end.shutdown(how)


class LoadClient:
    """Runs statements, and polls them by id; repeats only 503 with Retry-After, and reads after connection errors."""

    def __init__(self, port: int, number: int) -> None:
        self._port, self._next = port, number * 1_000_000
        self.outcomes, self.problems = Counter[str](), list[str]()

    def run(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                self._run_one()
            except Exception as error:  # noqa: BLE001
                self.problems.append(repr(error))

    def _run_one(self) -> None:
        self._next += 1
        is_write = self._next % 4 == 0
        text = f"INSERT INTO rolled VALUES ({self._next})" if is_write else "SELECT max(id) FROM range(200000)"
        answer = self._call("POST", STATEMENTS, {"statement": text, "wait_timeout": "0s"})
        path = f"{STATEMENTS}/{answer['statement_id']}"
        while answer["status"]["state"] in ("PENDING", "RUNNING"):
            answer = self._call("GET", f"{path}?wait_timeout=1s")
        if answer["status"]["state"] != "SUCCEEDED":
            self.problems.append(f"{text}: {answer['status']}")
            return
        again = self._call("GET", path)
        if not is_write and again["result"]["data_array"] != [["199999"]]:
            self.problems.append(f"{text}: {again}")
        self.outcomes["written" if is_write else "read"] += 1

    def _call(self, method: str, path: str, body: object = None) -> Any:
        for _ in range(600):
            try:
                return call(self._port, method, path, body)
            except urllib.error.HTTPError as error:
                if error.code != 503 or "Retry-After" not in error.headers:
                    raise RuntimeError(f"{method} {path}: {error.code} {error.read()!r}") from error
                self.outcomes["503"] += 1
            except OSError as error:
                if method == "POST":
                    raise
                self.outcomes[f"connection error: {type(error).__name__}"] += 1
            time.sleep(0.1)
        raise RuntimeError(f"{method} {path} was not answered")


def tool(member: Member, name: str, **arguments: object) -> Any:
    """Returns the structured result of a tool of MCP."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return member.call("POST", "/api/2.0/mcp/sql", message)["result"]["structuredContent"]


@pytest.mark.slow
def test_any_gateway_polls_a_statement_of_mcp(gateways: tuple[Member, Member]) -> None:
    first, second = gateways
    slow = "SELECT count(*) FROM range(3000000) WHERE length(sha2(CAST(id AS STRING), 512)) > 0"
    begun = tool(first, "execute_sql_read_only", query=slow, wait_seconds=0)
    ended = begun
    while ended["status"]["state"] in ("PENDING", "RUNNING"):
        ended = tool(second, "poll_sql_result", statement_id=begun["statement_id"], wait_seconds=10)
    assert ended["result"] == {"data_array": [["3000000"]]}
    assert tool(first, "poll_sql_result", statement_id=begun["statement_id"]) == ended


@pytest.mark.slow
def test_statement_of_mcp_continues_after_its_gateway_was_killed(gateways: tuple[Member, Member]) -> None:
    first, second = gateways
    done = tool(first, "execute_sql_read_only", query="SELECT id FROM range(3)")
    os.kill(first.process.server_pid, signal.SIGKILL)
    assert tool(second, "poll_sql_result", statement_id=done["statement_id"]) == done
    assert eventually(lambda: _is_ready(first.http), ANSWER_S)


@pytest.mark.slow
def test_call_of_mcp_that_waits_at_a_stopping_gateway_continues_elsewhere(gateways: tuple[Member, Member]) -> None:
    first, second = gateways
    query = "SELECT count(*) FROM range(40000000) WHERE length(sha2(CAST(id AS STRING), 512)) > 0"
    answers: list[Any] = []
    waiting = threading.Thread(
        target=lambda: answers.append(tool(first, "execute_sql_read_only", query=query, wait_seconds=50))
    )
    waiting.start()
    assert eventually(lambda: any(query in row[0] for row in first.rows("SELECT statement_text FROM system.queries")))
    first.restart()
    waiting.join(120)
    (answer,) = answers
    assert answer["status"]["state"] in ("RUNNING", "SUCCEEDED")
    while answer["status"]["state"] in ("PENDING", "RUNNING"):
        answer = tool(second, "poll_sql_result", statement_id=answer["statement_id"], wait_seconds=20)
    assert answer["result"] == {"data_array": [["40000000"]]}
