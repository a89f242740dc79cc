"""`delta-gateway sql` against a server on a port, with a scripted engine."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gateway.__main__ import _COMMANDS, main
from gateway.authenticators.anonymous import Anonymous
from gateway.http.app import HttpOptions, create_app
from gateway.http.server import HttpServer
from gateway.lifecycle import Lifecycle, Ports
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import ArrowEngine, rows
from tests.gateway.http.conftest import eventually, thrift_route
from tests.paths import ROOT


@dataclass
class Server:
    engine: ArrowEngine
    registry: Registry
    url: str


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 2000)
    engine, lifecycle = ArrowEngine(), Lifecycle()
    registry = Registry(engine, Limits(linger_s=0))
    http = HttpServer(create_app(lifecycle, Anonymous(), HttpOptions()), thrift_route(), "127.0.0.1", 0)
    http.start()
    lifecycle.become_ready(registry, Ports(thrift=1, http=http.port))
    yield Server(engine, registry, f"http://127.0.0.1:{http.port}")
    registry.drain(0)
    http.stop()


def run(server: Server, *arguments: str) -> int:
    return main(["sql", "--server", server.url, *arguments])


def test_a_table_by_default(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(server, "ROWS 2") == 0
    assert capsys.readouterr().out == "id | name\n---+------\n 0 | row 0\n 1 | row 1\n(2 rows)\n"
    assert server.registry.operations() == ()  # it was closed


def test_every_chunk_is_written_in_every_format(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(server, "ROWS 300") == 0
    assert capfd.readouterr().out.endswith("299 | row 299\n(300 rows)\n")
    assert run(server, "ROWS 300", "--format", "json") == 0
    assert [row["id"] for row in json.loads(capfd.readouterr().out)] == list(range(300))
    assert run(server, "ROWS 300", "--format", "csv") == 0
    assert capfd.readouterr().out.splitlines() == ["id,name", *(f"{i},row {i}" for i in range(300))]


def test_arrow_chunks_become_one_stream(server: Server, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(server, "ROWS 300", "--format", "arrow") == 0
    table = pa.ipc.open_stream(capfdbinary.readouterr().out).read_all()
    assert table["id"].to_pylist() == list(range(300))


def test_parquet_is_written_as_it_comes(server: Server, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(server, "ROWS 300", "--format", "parquet") == 0
    assert pq.read_table(pa.BufferReader(capfdbinary.readouterr().out))["id"].to_pylist() == list(range(300))


def test_a_statement_is_watched_until_ctrl_c(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("gateway.cli.sql.time", SimpleNamespace(sleep=sleep))
    assert run(server, "ROWS 1", "--watch", "2") == 130
    assert slept == [2, 2, 2] and capsys.readouterr().out.count("(1 row)") == 3


def test_a_failure_goes_to_the_error_output(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(server, "SELEKT") == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("delta-gateway: [PARSE_SYNTAX_ERROR.TEST] Syntax error")


def test_the_statement_may_come_from_a_file_or_the_standard_input(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.sql"
    file.write_text("ROWS 1")
    assert run(server, "-f", str(file)) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("ROWS 1"))
    assert run(server) == 0
    first, second = capsys.readouterr().out.split("(1 row)\n")[:2]
    assert first == second
    assert run(server, "-f", str(tmp_path / "missing.sql")) == 1


def test_several_statements_run_in_one_session(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "two.sql"
    file.write_text("USE a; ROWS 1;\nSELECT 1")
    for arguments in (["USE a; ROWS 1; SELECT 1"], ["-c", "USE a; ROWS 1", "-c", "SELECT 1"], ["-f", str(file)]):
        assert run(server, *arguments, "--format", "csv") == 0
        assert capsys.readouterr() == ("id,name\n0,row 0\n1\n1\n", "")
    assert len(server.engine.sessions) == 3 and server.registry.sessions() == ()


def test_first_error_ends_the_run_unless_it_continues(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "wrong.sql"
    file.write_text("ROWS 1;\n\nSELEKT;\nSELECT 1;")
    assert run(server, "-f", str(file), "--format", "csv") == 1
    out, err = capsys.readouterr()
    assert out == "id,name\n0,row 0\n" and err.startswith(f"delta-gateway: {file}:3: [PARSE_SYNTAX_ERROR.TEST]")
    assert run(server, "-f", str(file), "--continue-on-error", "--format", "csv") == 1
    assert capsys.readouterr().out == "id,name\n0,row 0\n1\n1\n"


def test_variables_of_the_command_line_are_parameters(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.engine.answers["SELECT :n"] = rows(pa.table({"n": [5]}))
    assert run(server, "SELECT :n; SELECT 1", "-v", "n=5", "-v", "other=x", "--format", "csv") == 0
    assert [[(each.name, each.value) for each in made.parameters] for made in server.engine.runs] == [[("n", "5")], []]


def test_markdown_and_null(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.engine.answers["NULLS"] = rows(pa.table({"i": [1, None], "a|b": ["x|y\nz", None]}))
    assert run(server, "NULLS", "--format", "markdown") == 0
    assert capsys.readouterr().out == "| i | a\\|b |\n| ---: | --- |\n| 1 | x\\|y<br>z |\n| NULL | NULL |\n"
    assert run(server, "NULLS", "--format", "csv", "--null", "") == 0
    assert capsys.readouterr().out == 'i,a|b\n1,"x|y\nz"\n,\n'


def test_parquet_has_the_rows_of_one_statement(server: Server, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(server, "USE a; ROWS 2", "--format", "parquet") == 0
    assert pq.read_table(pa.BufferReader(capfdbinary.readouterr().out)).num_rows == 2
    assert run(server, "ROWS 2; ROWS 3", "--format", "parquet") == 1
    out, err = capfdbinary.readouterr()
    assert pq.read_table(pa.BufferReader(out)).num_rows == 2 and b"the rows of one statement" in err


def test_catalog_and_schema_are_the_sessions(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.engine.tables["shop", "t"] = pa.table({})
    assert run(server, "SELECT 1", "--catalog", "c", "--schema", "shop") == 0
    (session,) = server.engine.sessions
    assert (session.current_catalog, session.current_schema) == ("c", "shop")
    assert run(server, "SELECT 1", "--schema", "nowhere") == 1
    assert "SCHEMA_NOT_FOUND" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "127.0.0.1:1", "ftp://x", "http://", "http://x:y", "http://a b"]
)
def test_a_server_that_is_not_there(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "SELECT 1", "--server", address]) == 1
    assert capsys.readouterr().err.startswith("delta-gateway: ")


@pytest.mark.parametrize("answer", [b"<html>", b"[1]", b"\xff"])
def test_a_server_of_another_kind(answer: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as other:
        threading.Thread(target=other.handle_request).start()
        assert main(["sql", "SELECT 1", "--server", f"http://127.0.0.1:{other.server_port}"]) == 1
    assert "does not answer like a delta-gateway" in capsys.readouterr().err


def start(server: Server, *arguments: str) -> subprocess.Popen[bytes]:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets background processes ignore it
    command = [sys.executable, "-m", "gateway", "sql", "--server", server.url, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.clients
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_process_that_ends_takes_its_statement_with_it(server: Server, number: int, code: int) -> None:
    process = start(server, "SLEEP 60")
    assert eventually(lambda: len(server.registry.operations()) == 1)
    (operation,) = server.registry.operations()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    assert eventually(lambda: operation.state is OperationState.CANCELED)


@pytest.mark.clients
def test_a_reader_that_has_enough_is_no_error(server: Server) -> None:
    process = start(server, "ROWS 100000")
    assert process.stdout and process.stderr
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    assert (process.wait(60), errors) == (0, b"")
    process.stderr.close()


def test_the_release_and_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--version"], ["--help"], ["sql", "--help"], ["serve", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert "delta-gateway 0." in shown and "[server]" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["sql", "--format", "xml"],
        ["config", "extra"],
        ["serve", "lake", "--port", "1"],
        ["sql", "--s"],
        ["sql", "ROWS 1", "-f", "file.sql"],
        ["sql", "ROWS 1", "-v", "no-name=1"],
    ],
)
def test_a_wrong_command_line_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err


def test_without_arguments_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert set(_COMMANDS) <= set(shown.split()) and "examples:" in shown


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"\nexamples:\n  delta-gateway {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["sql", "serve", "config", "prepare"])
def test_help_has_environment_variables(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "\nenvironment:\n  " in capsys.readouterr().out


def test_only_requested_command_is_imported() -> None:
    """Otherwise a statement from the terminal would wait for imports that only the server needs."""
    code = "import sys; import gateway.cli.sql; print({'flask', 'py4j', 'thrift'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == "set()\n"
