"""Client behavior on the port: pipelining, slow sending, flooding, disconnecting; other clients are unaffected."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import struct
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from gateway.http.connection import Connection, HttpLimits
from gateway.http.wire import begin_answer, parse_head
from gateway.http.workers import Workers
from tests.gateway.arrow_engine import rows
from tests.gateway.http.conftest import STATEMENTS, Live, eventually, serving_http

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
WIDTH = 12 << 20
# More than both sides' socket buffers hold.
WIDE = rows(pa.table({"s": ["x" * WIDTH]}))
POST = f"POST {STATEMENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()


def connect(live: Live) -> socket.socket:
    return socket.create_connection(("127.0.0.1", live.port), timeout=60)


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def post(text: str) -> bytes:
    body = json.dumps({"statement": text, "wait_timeout": "50s"}).encode()
    return POST + b"Content-Length: %d\r\n\r\n" % len(body) + body


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def ensure_well(live: Live) -> None:
    with urllib.request.urlopen(live.url + "/healthz", timeout=60) as response:
        assert response.status == 200
    assert live.deaths == []


@pytest.mark.parametrize("count", [2, 50])
def test_pipelined_requests_are_answered_in_their_order(live: Live, count: int) -> None:
    """They arrive immediately as a connection's first bytes, and have no principal."""
    with connect(live) as connection:
        connection.sendall(b"".join(post(f"ROWS {n}") for n in range(count)) + HEALTH)
        incoming, answers = connection.makefile("rb"), []
        for _ in range(count + 1):
            assert incoming.readline() == b"HTTP/1.1 200 OK\r\n"
            headers = http.client.parse_headers(incoming)
            answers.append(json.loads(incoming.read(int(headers["Content-Length"]))))
    assert [len(answer["result"]["data_array"]) for answer in answers[:-1]] == list(range(count))
    assert answers[-1] == {"status": "ok"}
    ensure_well(live)


@pytest.mark.parametrize(
    "sent",
    [b"", b"G", HEALTH[:-2], POST, POST + b"Content-Length: 50\r\n\r\n{"],
    ids=["", "byte", "head", "post", "body"],
)
def test_clients_that_dawdle_hold_no_worker(live: Live, sent: bytes) -> None:
    """A hundred clients with six workers."""
    dawdlers = [connect(live) for _ in range(100)]
    for byte in sent:
        for dawdler in dawdlers:
            dawdler.sendall(bytes([byte]))
    assert eventually(lambda: live.server.connection_count() == 100)
    ensure_well(live)
    with connect(live) as connection:
        connection.sendall(post("SELECT 1"))
        assert read_answer(connection)[0] == 200
    for dawdler in dawdlers:
        dawdler.close()
    assert eventually(lambda: live.server.connection_count() == 0)


def server_end(connection: socket.socket) -> int:
    """Returns the server's descriptor of a connection."""
    address = connection.getsockname()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as end:
            if end.type == socket.SOCK_STREAM and end.getpeername() == address:
                return int(name)
    raise AssertionError("the connection is not accepted")


def test_request_runs_once_while_a_forked_process_has_a_former_socket(live: Live) -> None:
    """The kernel reports the former socket under the number that a later connection has too."""
    with connect(live) as former:
        former.sendall(HEALTH)
        assert read_answer(former)[0] == 200
        number = server_end(former)
        copy = os.dup(number)
    try:
        assert eventually(lambda: live.server.connection_count() == 0)
        with connect(live) as connection:
            connection.sendall(HEALTH)
            assert read_answer(connection)[0] == 200
            assert server_end(connection) == number
            for count in range(1, 200):
                connection.sendall(post(f"ROWS {count}"))
                assert read_answer(connection)[0] == 200
                assert [run.text for run in live.engine.runs].count(f"ROWS {count}") == 1
    finally:
        os.close(copy)
    ensure_well(live)


def is_holding(live: Live, size_bytes: int) -> bool:
    return live.server.held_bytes() > size_bytes


def test_clients_that_do_not_read_hold_no_worker(live: Live) -> None:
    """Ten clients leave large responses unread, with six workers; a late one gets all its response.

    They connect one after the other, since the server lets only some out of many concurrent ones wait for their
    results.
    """
    live.engine.answers["SELECT wide"] = WIDE
    deaf = [socket.socket() for _ in range(10)]
    for connection in deaf:
        connection.settimeout(60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)  # or the system buffers most bytes
        connection.connect(("127.0.0.1", live.port))
    for number, connection in enumerate(deaf, start=1):
        connection.sendall(post("SELECT wide"))
        assert eventually(partial(is_holding, live, number * WIDTH // 2))
    ensure_well(live)
    status, body = read_answer(deaf[0])
    assert status == 200 and json.loads(body)["result"]["data_array"] == [["x" * WIDTH]]
    for connection in deaf:
        connection.close()
    assert eventually(lambda: live.server.connection_count() == 0)


@pytest.mark.parametrize(
    ("limits", "sent", "status"),
    [
        ({"idle_s": 0.1}, b"", None),
        ({"idle_s": 0.1}, HEALTH, 200),
        ({"head_s": 0.1}, b"G", 408),
        ({"head_s": 0.1}, HEALTH + b"G", 408),
        ({"body_s": 0.1}, POST + b"Content-Length: 2\r\n\r\n{", 408),
    ],
)
def test_each_part_of_a_request_has_a_deadline(limits: dict[str, Any], sent: bytes, status: int | None) -> None:
    with serving_http(**limits) as live, connect(live) as connection:
        connection.sendall(sent)
        statuses = [int(line.split()[1]) for line in read_all(connection).splitlines() if line.startswith(b"HTTP/")]
        assert statuses[-1:] == ([status] if status else [])
        ensure_well(live)


def test_a_request_that_comes_in_part_is_refused_under_its_id() -> None:
    with serving_http(body_s=0.1) as live, connect(live) as connection:
        connection.sendall(POST + b"Content-Length: 2\r\nX-Request-Id: late-1\r\n\r\n{")
        assert b"\r\nX-Request-Id: late-1\r\n" in read_all(connection)


def test_a_request_that_comes_bit_by_bit_has_one_deadline_and_not_many() -> None:
    with serving_http(head_s=0.5) as live, connect(live) as connection:
        began = time.monotonic()
        connection.settimeout(0.05)
        answer = b""
        while not answer:
            connection.sendall(b"x")
            try:
                answer = connection.recv(4096)
            except TimeoutError:
                assert time.monotonic() - began < 30
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    with serving_http(write_s=0.2) as live, connect(live) as connection:
        live.engine.answers["SELECT wide"] = WIDE
        connection.sendall(post("SELECT wide"))
        assert eventually(lambda: len(live.registry.operations()) == 1)
        assert eventually(lambda: live.server.connection_count() == 0)


@pytest.mark.parametrize(
    ("head", "more", "status"),
    [
        (b"GET / HTTP/1.1\r\nX: ", 40 << 20, 431),
        (b"GET /", 40 << 20, 414),
        (POST + b"Content-Length: 40000000\r\n\r\n", 40_000_000, 413),
        (POST + b"Content-Length: 99999999999999999999999\r\n\r\n", 1 << 20, 413),
        (POST + b"Content-Length: -1\r\n\r\n", 40 << 20, 400),
        (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 1 << 20, 400),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 1 << 20, 400),
    ],
)
def test_oversized_request_gets_status_and_close(live: Live, head: bytes, more: int, status: int) -> None:
    """The client gets its answer though it reads only after it has sent everything."""
    with connect(live) as connection:
        connection.sendall(head + b"x" * more)
        found, body = read_answer(connection)
        assert found == status and json.loads(body)["message"]
        assert live.server.held_bytes() < 1 << 20
    ensure_well(live)


def test_expect_continue_gets_100(live: Live) -> None:
    body = b'{"statement": "SELECT 1", "wait_timeout": "50s"}'
    with connect(live) as connection:
        connection.sendall(POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert read_answer(connection)[0] == 200


def test_requests_that_are_large_together_are_bounded() -> None:
    with serving_http(held_bytes_max=1 << 20) as live:
        connections = [connect(live) for _ in range(8)]
        for connection in connections:
            connection.sendall(POST + b"Content-Length: 400000\r\n\r\n" + b" " * 399_999)
        assert eventually(lambda: 0 < live.server.held_bytes() <= 1 << 20)
        connections[-1].sendall(b" ")
        ensure_well(live)
        for connection in connections:
            connection.close()
        assert eventually(lambda: live.server.held_bytes() == 0)


def test_longest_idle_connection_is_closed() -> None:
    with serving_http(connections_max=10) as live:
        begun = connect(live)
        begun.sendall(b"G")
        assert eventually(lambda: live.server.held_bytes() == 1)
        idle = [connect(live) for _ in range(9)]
        assert eventually(lambda: live.server.connection_count() == 10)
        ensure_well(live)
        assert read_all(idle[0]) == b""
        begun.sendall(HEALTH[1:])
        assert read_answer(begun)[0] == 200
        for connection in (begun, *idle):
            connection.close()


def test_idle_connection_of_busiest_address_is_closed() -> None:
    with serving_http(connections_max=4) as live:
        other = socket.create_connection(("127.0.0.1", live.port), 20, ("127.0.0.2", 0))
        assert eventually(lambda: live.server.connection_count() == 1)
        idle = [connect(live) for _ in range(3)]
        assert eventually(lambda: live.server.connection_count() == 4)
        ensure_well(live)
        assert read_all(idle[0]) == b""
        other.sendall(HEALTH)
        assert read_answer(other)[0] == 200
        for connection in (other, *idle):
            connection.close()


def test_a_client_that_leaves_in_the_middle_is_forgotten(live: Live) -> None:
    for sent in (b"", b"G", POST + b"Content-Length: 9\r\n\r\n{", HEALTH * 20):
        with connect(live) as connection:
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # ends with a reset
    assert eventually(lambda: live.server.connection_count() == 0)
    ensure_well(live)


def test_a_server_that_stops_finishes_what_it_answers() -> None:
    with serving_http() as live, connect(live) as asking, connect(live) as idle:
        asking.sendall(post("SLEEP 0.5"))
        assert eventually(lambda: len(live.engine.runs) == 1)
        live.server.stop()
        status, body = read_answer(asking)
        assert status == 200 and json.loads(body)["status"]["state"] == "SUCCEEDED"
        assert read_all(idle) == b""


@pytest.mark.parametrize(("version", "is_reset"), [("1.0", True), ("1.1", False)])
def test_a_body_that_ends_early_does_not_look_whole(version: str, is_reset: bool) -> None:
    """HTTP/1.0 clients see only the connection's end; later ones miss the last chunk."""

    def pieces() -> Iterator[bytes]:
        yield b"id\n1\n"
        raise RuntimeError("the statement was closed")

    head = parse_head(f"GET /f HTTP/{version}\r\nHost: h\r\n\r\n".encode(), 0)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        connection = Connection(listener.accept()[0], "p", HttpLimits(), None)
        workers = Workers("w", None, lambda _: None, threads=1, threads_max=1)  # type: ignore[arg-type]
        connection.answer(begin_answer("200 OK", [], pieces(), lambda: None, head))
        connection.finish_writing()
        workers._serve(connection)
        connection.finish_writing()
        incoming = b""
        while b"id\n1\n" not in incoming:
            incoming += client.recv(1 << 16)
        workers._serve(connection)
        if is_reset:
            with pytest.raises(ConnectionResetError):
                client.recv(1 << 16)
        else:
            assert b"0\r\n\r\n" not in incoming + read_all(client)


def test_as_many_clients_can_wait_to_be_accepted_as_connections_may_be_open() -> None:
    limit_at = 28  # tcpi_sacked of tcp_info, which is the length of the queue of a listening socket
    with serving_http() as live:
        assert live.server.listener
        information = live.server.listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64)
    assert struct.unpack_from("I", information, limit_at) == (HttpLimits().connections_max,)
