"""The ports survive whatever bytes come, on fresh and on reused connections."""

from __future__ import annotations

import json
import logging
import socket
import urllib.request

import pytest

from gateway.hs2.gen import ttypes as t
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.fuzz import Fuzzer
from tests.gateway.hs2.test_server import OPEN, call, framed
from tests.gateway.hs2.wire import log_in, open_session, sasl_frame, serving, unframed_client
from tests.gateway.http.conftest import STATEMENTS, eventually, serving_http

SEED = 20250
COUNTS = [1500, pytest.param(10_000, marks=pytest.mark.slow)]


def http(line: str, *headers: str, body: bytes = b"", length: str | None = None) -> bytes:
    head = [line, "Host: localhost", *headers, f"Content-Length: {len(body) if length is None else length}", "", ""]
    return "\r\n".join(head).encode() + body


EXECUTE = call("GetTables", t.TGetTablesReq(t.TSessionHandle(t.THandleIdentifier(b"\1" * 16, b"\2" * 16))))
STATEMENT = json.dumps({"statement": "SELECT 1", "wait_timeout": "0s"}).encode()
JSON = "Content-Type: application/json"
THRIFT = "Content-Type: application/x-thrift"
BASIC = "Authorization: Basic YWRhOng="
HTTP_SAMPLES = [
    http("GET /healthz HTTP/1.1"),
    http("GET /healthz HTTP/1.0", "Connection: keep-alive"),
    http("GET / HTTP/1.1", "Accept: text/html"),
    http("GET /%00%ff?a=%zz HTTP/1.1"),
    http(f"POST {STATEMENTS} HTTP/1.1", JSON, body=STATEMENT),
    http(f"POST {STATEMENTS} HTTP/1.1", JSON, "Expect: 100-continue", body=STATEMENT),
    http(f"POST {STATEMENTS} HTTP/1.1", JSON, body=b"\xff\x00{" * 50),
    http(f"POST {STATEMENTS} HTTP/1.1", JSON, length="-1"),
    http(f"POST {STATEMENTS} HTTP/1.1", JSON, length="99999999999999999999"),
    http(f"POST {STATEMENTS} HTTP/1.1", JSON, "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n"),
    http(f"GET {STATEMENTS}/00000000-0000-0000-0000-000000000000?wait_timeout=1s HTTP/1.1"),
    http("POST /cliservice HTTP/1.1", THRIFT, BASIC, body=OPEN),
    http("POST /sql/1.0/warehouses/x HTTP/1.1", THRIFT, "Authorization: Bearer t", body=OPEN),
    http("POST /cliservice/ HTTP/1.1", THRIFT, "Cookie: hive.server2.auth=ada!1!0", body=EXECUTE),
    http("POST /cliservice HTTP/1.1", THRIFT, BASIC, body=call("GetInfo", t.TGetInfoReq(None, 13))),
    http("POST /cliservice HTTP/1.1", THRIFT, body=b"\x80\x01\x00\x01\xff\xff\xff\xff"),
    http("HEAD /readyz HTTP/1.1", "Connection: close"),
    b"GET /healthz HTTP/1.1\r\n" + b"X: " + b"x" * 70_000,
    b"\r\n\r\n\r\n",
]


@pytest.mark.parametrize("count", COUNTS)
def test_the_http_port_survives_random_bytes(count: int, caplog: pytest.LogCaptureFixture) -> None:
    with serving_http(limits=Limits(linger_s=0, sessions_max=count)) as live:
        fuzzer = Fuzzer(live.port, HTTP_SAMPLES, SEED)
        assert fuzzer.run(count) > count // 3 and fuzzer.bytes_answered > 50 * count
        with urllib.request.urlopen(live.url + "/healthz", timeout=60) as response:
            assert response.status == 200
        request = urllib.request.Request(
            live.url + STATEMENTS, b'{"statement": "SELECT 1"}', {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.loads(response.read())["result"]["data_array"] == [["1"]]
        assert live.deaths == [] and live.engine.runs
        assert eventually(lambda: live.server.connection_count() == 0, 30) and live.server.held_bytes() == 0
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def greet(connection: socket.socket) -> None:
    connection.settimeout(30)
    log_in(connection)


THRIFT_SAMPLES = [
    OPEN,
    EXECUTE,
    call("GetInfo", t.TGetInfoReq(None, 13)),
    framed(OPEN),
    framed(EXECUTE),
    framed(call("CloseSession", t.TCloseSessionReq(t.TSessionHandle(None)))),
    sasl_frame(1, b"PLAIN") + sasl_frame(5, b"\0ada\0x") + framed(OPEN),
    sasl_frame(1, b"PLAIN") + sasl_frame(2, b"\xff\0ada"),
    sasl_frame(1, b"GSSAPI"),
    b"\xff\xff\xff\xff",
    b"\x80\x01\x00\x01\xff\xff\xff\xff",
    framed(b"\x80\x01\x00\x01\x00\x00\x00\x04Open"),
    http("GET / HTTP/1.1"),
]


@pytest.mark.parametrize("count", COUNTS)
def test_the_thrift_port_survives_random_bytes(count: int, caplog: pytest.LogCaptureFixture) -> None:
    deaths: list[str] = []
    with serving(ArrowEngine(), on_death=deaths.append) as (port, server, registry):
        fuzzer = Fuzzer(port, THRIFT_SAMPLES, SEED, greet)
        assert fuzzer.run(count) > count // 20 and fuzzer.bytes_answered > count
        with unframed_client(port) as client:
            session = open_session(client)
            response = client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))
            assert response.status.statusCode == t.TStatusCode.SUCCESS_STATUS
        assert deaths == []
        assert eventually(lambda: server.connection_count() == 0 and registry.sessions() == ())
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
