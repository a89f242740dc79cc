"""The server on its port: connections, bodies and clients that go away."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.authenticators.anonymous import Anonymous
from gateway.http.app import HttpOptions, create_app
from gateway.http.server import HttpServer
from gateway.lifecycle import Lifecycle
from gateway.sessions.operation_state import OperationState
from tests.gateway.http.conftest import STATEMENTS, Live, eventually, thrift_route

JSON = {"Content-Type": "application/json"}


def raw_post(live: Live, body: dict[str, object]) -> socket.socket:
    """Returns a connection on which a statement was just submitted and nothing read yet."""
    content = json.dumps(body).encode()
    head = f"POST {STATEMENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection(("127.0.0.1", live.port))
    connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    assert eventually(lambda: len(live.engine.runs) > 0)
    return connection


@pytest.mark.parametrize("on_wait_timeout", ["CONTINUE", "CANCEL"])
def test_a_client_that_hangs_up_before_it_knows_the_statement_ends_it(live: Live, on_wait_timeout: str) -> None:
    connection = raw_post(live, {"statement": "SLEEP 60", "wait_timeout": "50s", "on_wait_timeout": on_wait_timeout})
    (operation,) = live.registry.operations()
    assert operation.state is OperationState.RUNNING
    connection.close()
    assert eventually(lambda: operation.state is OperationState.CANCELED)
    assert eventually(lambda: all(session.closed for session in live.engine.sessions))


def test_a_client_that_stays_gets_its_answer(live: Live) -> None:
    connection = raw_post(live, {"statement": "SLEEP 0.8", "wait_timeout": "50s"})
    response = http.client.HTTPResponse(connection)
    response.begin()
    assert json.loads(response.read())["status"]["state"] == "SUCCEEDED"
    connection.close()


@pytest.mark.parametrize(("query", "ends"), [("&on_disconnect=CANCEL", True), ("", False)])
def test_a_waiting_poll_that_hangs_up_cancels_only_where_it_said_so(live: Live, query: str, ends: bool) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", live.port)
    connection.request("POST", STATEMENTS, json.dumps({"statement": "SLEEP 60", "wait_timeout": "0s"}), JSON)
    statement = json.loads(connection.getresponse().read())["statement_id"]
    connection.request("GET", f"{STATEMENTS}/{statement}?wait_timeout=50s{query}")
    (operation,) = live.registry.operations()
    connection.close()
    assert eventually(lambda: operation.state is OperationState.CANCELED, 10 if ends else 1) == ends


def test_a_connection_serves_many_requests(live: Live) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", live.port)
    for _ in range(20):
        connection.request("POST", STATEMENTS, json.dumps({"statement": "SELECT 1"}), JSON)
        own = connection.sock
        response = connection.getresponse()
        assert json.loads(response.read())["result"]["data_array"] == [["1"]]
        assert connection.sock is own  # the client closes it when the server requests that
    connection.close()


def test_a_body_of_unstated_length_is_refused_and_ends_the_connection(live: Live) -> None:
    """Bytes after it could be taken for a separate request."""
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"POST {STATEMENTS} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    answer = b""
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        connection.sendall(head + f"{len(smuggled):x}\r\n".encode() + smuggled + b"\r\n0\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(4096):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 411 ") and b"LENGTH_REQUIRED" in answer
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"POST /api/2.0/sql/statements HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/2.0/sql/statements HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_end_with_an_error_of_the_client(live: Live, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer == b"" or answer.split()[1].startswith((b"4", b"505")), answer


def test_health_is_answered_while_as_many_clients_wait_as_may(live: Live) -> None:
    waiting = [raw_post(live, {"statement": "SLEEP 60", "wait_timeout": "50s"}) for _ in range(3)]
    for path in ("/healthz", "/readyz"):
        with urllib.request.urlopen(live.url + path, timeout=60) as response:
            assert response.status == 200
    for connection in waiting:
        connection.close()


def test_eight_clients_at_once_get_their_own_rows(live: Live) -> None:
    def rows_of(n: int) -> int:
        request = urllib.request.Request(live.url + STATEMENTS, json.dumps({"statement": f"ROWS {n}"}).encode(), JSON)
        while True:
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = json.loads(response.read())
            if "result" in answer:
                return len(answer["result"]["data_array"])
            request = urllib.request.Request(f"{live.url}{STATEMENTS}/{answer['statement_id']}?wait_timeout=5s")

    with ThreadPoolExecutor(8) as clients:
        assert list(clients.map(rows_of, range(50))) == list(range(50))


def test_a_port_that_is_taken_is_an_error_and_stopping_is_safe(live: Live) -> None:
    app = create_app(Lifecycle(), Anonymous(), HttpOptions())
    second = HttpServer(app, thrift_route(), "127.0.0.1", live.port)
    with pytest.raises(OSError):
        second.start()
    second.stop()


def test_a_stopped_server_leaves_no_thread(live: Live) -> None:
    before = threading.active_count()
    app = create_app(Lifecycle(), Anonymous(), HttpOptions())
    server = HttpServer(app, thrift_route(), "127.0.0.1", 0)
    server.start()
    assert threading.active_count() > before
    server.stop()
    assert eventually(lambda: threading.active_count() <= before)


def test_connections_that_say_nothing_hold_up_nobody(live: Live) -> None:
    silent = [socket.create_connection(("127.0.0.1", live.port)) for _ in range(20)]
    request = urllib.request.Request(
        f"{live.url}{STATEMENTS}", b'{"statement": "SELECT 1", "wait_timeout": "50s"}', JSON
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        assert json.loads(response.read())["status"]["state"] == "SUCCEEDED"
    late = http.client.HTTPConnection("127.0.0.1", live.port)
    late.sock = silent[0]
    late.request("GET", "/healthz")
    assert late.getresponse().status == 200
    for connection in silent:
        connection.close()
