"""A thousand idle clients with a session each, and their cost for the server."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client
from tests.gateway.hs2.wire import connect, log_in
from tests.paths import ROOT

CONNECTIONS = 1000
BYTES_MAX = 100 << 20
SERVER = """
import json, sys
from gateway.sessions.limits import Limits
from tests.gateway.http.conftest import serving_http
with serving_http(limits=Limits(sessions_max=5000), connections_max=5000) as live:
    print(json.dumps({"thrift": live.thrift_port, "http": live.port}), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def server() -> Iterator[tuple[int, dict[str, int]]]:
    """Yields a server process over the scripted engine, and its ports."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        yield process.pid, json.loads(process.stdout.readline())
        process.stdin.close()


def resident_bytes(process_id: int) -> int:
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


def opening() -> bytes:
    buffer = TMemoryBuffer()
    Client(TBinaryProtocol(buffer)).send_OpenSession(t.TOpenSessionReq(9, username="ada"))
    return bytes(buffer.getvalue())


def over_thrift(port: int, closing: ExitStack) -> None:
    connection: Any = closing.enter_context(connect(port))
    log_in(connection)
    message = opening()
    connection.sendall(len(message).to_bytes(4, "big") + message)
    answer = connection.makefile("rb")
    assert len(answer.read(int.from_bytes(answer.read(4), "big"))) > 16


def over_http(port: int, closing: ExitStack) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    closing.callback(connection.close)
    connection.request("POST", "/cliservice", opening(), {"Content-Type": "application/x-thrift"})
    response = connection.getresponse()
    assert response.status == 200 and len(response.read()) > 16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thrift", "http"])
def test_a_thousand_idle_connections_take_little_memory(server: tuple[int, dict[str, int]], name: str) -> None:
    process_id, ports = server
    join = {"thrift": over_thrift, "http": over_http}[name]
    with ExitStack() as closing:
        for _ in range(20):
            join(ports[name], closing)
        before = resident_bytes(process_id)
        for _ in range(CONNECTIONS):
            join(ports[name], closing)
        used = resident_bytes(process_id) - before
        print(f"{name}: {used / 2**20:.1f} MiB for {CONNECTIONS} connections")
        assert used < BYTES_MAX
