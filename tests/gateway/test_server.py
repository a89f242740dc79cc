"""The server as a whole with a scripted engine: start, ready, drain, and starts that fail."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catalog.conditions import HostNotLoopback, PortFileUnwritable, PortInUse, SparkUnavailable, StateFolderNotUsable
from engine.runtime.results import empty_result
from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from gateway.lifecycle import Ports
from gateway.server import OnFailure, Progress, Server
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import STATEMENTS, eventually

JSON = {"Content-Type": "application/json"}


class SmallServer:
    """A server, its engine, and its output at start."""

    def __init__(self, **flags: object) -> None:
        settings = {"server.thrift_port": 0, "server.http_port": 0, "server.drain_deadline_s": 5, "lake.folder": "x"}
        settings["state.folder"] = "none"
        self.engine, self.steps = ArrowEngine(), list[str]()
        self.config: Config = load_config(None, {}, settings | {k.replace("__", "."): v for k, v in flags.items()})
        self.server = Server(self.config, self.steps.append, self.open_engine)

    def open_engine(self, config: Config, progress: Progress, on_failure: OnFailure) -> ArrowEngine:
        progress("opening the engine")
        self.fail = on_failure
        return self.engine


def get(ports: Ports, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{ports.http}{path}", timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def submit(ports: Ports, text: str, wait: str = "10s") -> dict[str, object]:
    body = json.dumps({"statement": text, "wait_timeout": wait}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{ports.http}{STATEMENTS}", body, JSON)
    with urllib.request.urlopen(request, timeout=60) as response:
        answer: dict[str, object] = json.loads(response.read())
        return answer


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except OSError:
        return False
    return True


@pytest.fixture
def port_file(tmp_path: Path) -> Path:
    return tmp_path / "ports.json"


@pytest.fixture
def threads() -> Iterator[None]:
    """Whatever a test starts must end with it."""
    before = threading.active_count()
    yield
    assert eventually(lambda: threading.active_count() <= before)


def test_a_server_starts_answers_and_leaves_nothing_behind(port_file: Path, threads: None) -> None:
    secure = SmallServer(server__port_file=str(port_file))
    ports = secure.server.start()
    assert json.loads(port_file.read_text()) == {"thrift": ports.thrift, "http": ports.http}
    assert get(ports, "/readyz") == 200 and is_open(ports.thrift)
    assert submit(ports, "SELECT 1")["status"] == {"state": "SUCCEEDED"}
    secure.server.drain()
    assert secure.engine.closed and all(session.closed for session in secure.engine.sessions)
    assert not port_file.exists() and not is_open(ports.thrift) and not is_open(ports.http)


def test_default_state_folder_that_cannot_be_created_is_left_out(tmp_path: Path, threads: None) -> None:
    """As in a lake on a read-only disk; a folder that is set has to be usable."""
    (tmp_path / "file").touch()
    small = SmallServer(lake__folder=str(tmp_path / "file" / "lake"), state__folder="")
    ports = small.server.start()
    assert submit(ports, "SELECT 1")["status"] == {"state": "SUCCEEDED"}
    small.server.drain()
    with pytest.raises(StateFolderNotUsable) as raised:
        SmallServer(state__folder=str(tmp_path / "file" / "state")).server.start()
    assert "Not a directory" in raised.value.message


def test_health_is_answered_while_the_engine_starts() -> None:
    seen: list[tuple[int, int]] = []

    class Slow(SmallServer):
        def open_engine(self, config: Config, progress: Progress, on_failure: OnFailure) -> ArrowEngine:
            ports = Ports(thrift=0, http=config.server.http_port)
            seen.append((get(ports, "/healthz"), get(ports, "/readyz")))
            return self.engine

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    secure = Slow(server__http_port=port)
    secure.server.start()
    secure.server.drain()
    assert seen == [(200, 503)]


def test_a_running_statement_ends_before_the_server_does() -> None:
    secure = SmallServer()
    ports = secure.server.start()
    answers: list[dict[str, object]] = []
    asking = threading.Thread(target=lambda: answers.append(submit(ports, "SLEEP 0.5")))
    asking.start()
    assert eventually(lambda: len(secure.engine.runs) == 1)
    secure.server.drain()
    asking.join()
    assert answers[0]["status"] == {"state": "SUCCEEDED"} and "result" in answers[0]


def test_a_statement_past_the_deadline_is_cancelled() -> None:
    secure = SmallServer(server__drain_deadline_s=0.1)
    ports = secure.server.start()
    submit(ports, "SLEEP 60", "0s")
    assert eventually(lambda: len(secure.engine.runs) == 1)
    secure.server.drain()
    assert secure.engine.runs[0].context.cancel.reason is not None and secure.engine.closed


@pytest.mark.parametrize("interface", ["thrift", "http"])
def test_a_taken_port_is_found_before_the_engine_starts(interface: str, threads: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        secure = SmallServer(**{f"server__{interface}_port": taken.getsockname()[1]})
        with pytest.raises(PortInUse, match=f"The {interface} port"):
            secure.server.start()
    assert secure.steps == []


def test_another_machines_address_is_refused(threads: None) -> None:
    with pytest.raises(HostNotLoopback):
        SmallServer(server__host="0.0.0.0").server.start()


def test_a_failed_engine_takes_the_ports_with_it(threads: None) -> None:
    class Broken(SmallServer):
        def open_engine(self, config: Config, progress: Progress, on_failure: OnFailure) -> ArrowEngine:
            raise RuntimeError("no Spark")

    secure = Broken()
    with pytest.raises(RuntimeError, match="no Spark"):
        secure.server.start()


@pytest.mark.parametrize("name", ["missing/ports.json", "", "file/ports.json"])
def test_a_port_file_that_cannot_be_written_is_found_before_the_engine_starts(
    tmp_path: Path, threads: None, name: str
) -> None:
    (tmp_path / "file").touch()
    secure = SmallServer(server__port_file=str(tmp_path / name))
    with pytest.raises(PortFileUnwritable):
        secure.server.start()
    assert secure.steps == [] and [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_failed_last_step_stops_the_engine(tmp_path: Path, threads: None) -> None:
    class Moved(SmallServer):
        def open_engine(self, config: Config, progress: Progress, on_failure: OnFailure) -> ArrowEngine:
            folder.rename(tmp_path / "elsewhere")
            return self.engine

    (folder := tmp_path / "run").mkdir()
    secure = Moved(server__port_file=str(folder / "ports.json"))
    with pytest.raises(PortFileUnwritable):
        secure.server.start()
    assert secure.engine.closed


def test_an_engine_that_does_not_close_does_not_keep_the_ports(threads: None) -> None:
    class Stuck(ArrowEngine):
        def close(self) -> None:
            raise RuntimeError("Spark hangs")

    secure = SmallServer()
    secure.engine = Stuck()
    ports = secure.server.start()
    with pytest.raises(RuntimeError, match="Spark hangs"):
        secure.server.drain()
    assert not is_open(ports.http) and not is_open(ports.thrift)


def test_a_statement_that_nothing_ends_does_not_hold_up_the_end(threads: None) -> None:
    freed = threading.Event()
    secure = SmallServer(server__drain_deadline_s=0.1)
    secure.engine.answers["HANG"] = lambda context: (freed.wait(60), empty_result())[1]
    ports = secure.server.start()
    submit(ports, "HANG", wait="0s")
    assert eventually(lambda: bool(secure.engine.runs))
    secure.server.drain()
    assert secure.engine.closed and secure.server.leaves_threads
    freed.set()
    assert eventually(lambda: not secure.server.leaves_threads)


def test_readiness_says_that_spark_is_away_and_health_stays(threads: None) -> None:
    secure = SmallServer()
    ports = secure.server.start()
    assert get(ports, "/readyz") == 200
    secure.engine.unready_reason = "its process ended"
    assert (get(ports, "/readyz"), get(ports, "/healthz")) == (503, 200)
    secure.engine.unready_reason = None
    assert get(ports, "/readyz") == 200
    secure.server.drain()


@pytest.mark.parametrize("registered_first", [True, False])
def test_permanent_failure_notifies_process(threads: None, registered_first: bool) -> None:
    secure, reported = SmallServer(), list[bool]()
    secure.server.start()
    error = SparkUnavailable("it failed 5 times in a row")
    steps: list[Callable[[], object]] = [
        lambda: secure.server.on_failure(lambda: reported.append(True)),
        lambda: secure.fail(error),
    ]
    for step in steps if registered_first else reversed(steps):
        step()
    secure.fail(SparkUnavailable("another one"))
    assert reported == [True] and secure.server.failure is error
    secure.server.drain()


def test_the_public_url_names_the_server_and_begins_its_links(threads: None) -> None:
    secure = SmallServer(server__public_url="https://sql.example:8443/lake", server__http_trusted_proxies=["127.0.0.1"])
    ports = secure.server.start()
    body = json.dumps({"statement": "SELECT 1", "disposition": "EXTERNAL_LINKS", "wait_timeout": "50s"}).encode()
    for host, status in (("sql.example:8443", 200), ("evil.example", 403)):
        request = urllib.request.Request(f"http://127.0.0.1:{ports.http}{STATEMENTS}", body, JSON | {"Host": host})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                (link,) = json.loads(response.read())["result"]["external_links"]
                assert link["external_link"].startswith("https://sql.example:8443/lake/api/2.0/sql/results/")
        except urllib.error.HTTPError as error:
            assert error.code == status
    secure.server.drain()


def test_ipv6(threads: None) -> None:
    secure = SmallServer(server__host="::1")
    ports = secure.server.start()
    with urllib.request.urlopen(f"http://[::1]:{ports.http}/readyz", timeout=60) as response:
        assert response.status == 200
    secure.server.drain()
