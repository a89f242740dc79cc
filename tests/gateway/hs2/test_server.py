"""The port: both transports, invalid bytes, limits, and disconnected clients."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TTransportException

from gateway.hs2 import transport
from gateway.hs2.gen import TCLIService
from gateway.hs2.gen import ttypes as t
from gateway.hs2.messages import encode_struct, format_header
from gateway.hs2.server import ThriftServer, ThriftSettings, listen
from gateway.registry import Registry
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.hs2.wire import connect, log_in, open_session, read_all, sasl_frame, serving, unframed_client
from tests.gateway.http.conftest import eventually

DEADLINE_S = 60.0


def call(name: str, request: object) -> bytes:
    body = encode_struct(getattr(TCLIService, f"{name}_args")(request))
    return format_header(name, TMessageType.CALL, 1) + body


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


OPEN = call("OpenSession", t.TOpenSessionReq(9, "ada"))


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


@pytest.fixture
def engine() -> ArrowEngine:
    return ArrowEngine()


@pytest.fixture
def served(engine: ArrowEngine) -> Iterator[tuple[int, ThriftServer, Registry]]:
    with serving(engine) as server:
        yield server


@pytest.fixture
def port(served: tuple[int, ThriftServer, Registry]) -> int:
    return served[0]


# -------------------------------------------------------------------------------------------------------- transports


def test_unframed_client_connects_without_login(port: int, engine: ArrowEngine) -> None:
    with unframed_client(port) as client:
        session = open_session(client, username="grace")
        response = client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))
        assert response.status.statusCode == t.TStatusCode.SUCCESS_STATUS
    assert engine.sessions[0].principal == "grace"


def test_a_sasl_client_is_who_it_logs_in_as(port: int, engine: ArrowEngine) -> None:
    with connect(port) as connection:
        log_in(connection, "ada")
        connection.sendall(framed(call("OpenSession", t.TOpenSessionReq(9, "mallory"))))
        assert int.from_bytes(connection.recv(4), "big") > 50
    assert engine.sessions[0].principal == "ada"


def test_a_message_may_come_byte_by_byte_and_two_may_come_at_once(port: int, engine: ArrowEngine) -> None:
    with connect(port) as connection:
        for byte in sasl_frame(1, b"PLAIN") + sasl_frame(2, b"\0ada\0x") + framed(OPEN):
            connection.sendall(bytes([byte]))
        connection.sendall(framed(OPEN) * 2)
        wait_for(lambda: len(engine.sessions) == 3)


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (sasl_frame(1, b"GSSAPI"), b"\x03"),
        (sasl_frame(1, b"PLAIN") + sasl_frame(2, b"no credentials"), b"\x04"),
        (b"\x01\xff\xff\xff\xff", b""),  # a 4 GiB login
        (b"\x00\x00\x00\x20" + OPEN, b""),  # a framed transport without SASL
        (b"\x16\x03\x01\x02\x00\x01", b""),  # TLS
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"\x80\x02rubbish...............", b""),
        (sasl_frame(1, b"PLAIN") + sasl_frame(2, b"\0ada\0x") + b"\x7f\xff\xff\xff", b"\x05"),  # a 2 GiB message
        (sasl_frame(1, b"PLAIN") + sasl_frame(2, b"\0ada\0x") + framed(b"\x80"), b"\x05"),
        (sasl_frame(1, b"PLAIN") + sasl_frame(2, b"\0ada\0x") + framed(b""), b"\x05"),
        (b"", b""),
    ],
    ids=range(11),
)
def test_foreign_protocol_gets_a_short_answer(
    port: int, content: bytes, answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(port) as connection:
        connection.sendall(content)
        if not content:
            connection.shutdown(socket.SHUT_WR)
        assert read_all(connection)[: len(answer) or None] == answer
    assert all(record.levelno <= logging.INFO for record in caplog.records)
    with unframed_client(port) as client:
        open_session(client)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([b"", b"\x01", b"\x80\x01", OPEN[:40], sasl_frame(1, b"PLAIN")]), st.binary(max_size=60))
def test_foreign_bytes_end_the_connection_or_are_answered(
    port: int, caplog: pytest.LogCaptureFixture, start: bytes, rest: bytes
) -> None:
    """Never a hang, and never more in the log than a line."""
    caplog.clear()
    with connect(port) as connection:
        connection.sendall(start + rest)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)
    assert len(caplog.records) <= 1
    assert all(record.levelno <= logging.INFO for record in caplog.records)


def test_a_log_in_has_a_deadline(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "HANDSHAKE_S", 0.5)
    for beginning in (b"", b"\x01", sasl_frame(1, b"PLAIN")):
        with connect(port) as connection:
            connection.sendall(beginning)
            assert read_all(connection) == b""


def test_a_message_has_a_deadline_once_it_has_begun(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MESSAGE_S", 0.2)
    with connect(port) as connection:
        log_in(connection)
        connection.sendall(framed(OPEN)[:20])
        assert read_all(connection) == b""
    with connect(port) as connection:
        connection.sendall(OPEN[:20])
        assert read_all(connection) == b""


def test_connections_are_limited(engine: ArrowEngine, caplog: pytest.LogCaptureFixture) -> None:
    with serving(engine, ThriftSettings(connections_max=2)) as (port, server, _):
        with connect(port) as first, connect(port) as second:
            log_in(first)
            log_in(second)
            with connect(port) as third:
                assert read_all(third) == b""
        wait_for(lambda: server.connection_count() == 0)
        with connect(port) as fourth:
            log_in(fourth)
    assert "refused" in caplog.text


def test_connection_limit_per_address(engine: ArrowEngine) -> None:
    with serving(engine, ThriftSettings(connections_max=3, connections_per_address_max=1)) as (port, _, _):
        with connect(port) as first:
            log_in(first)
            with connect(port) as second:
                assert read_all(second) == b""
            with socket.create_connection(("127.0.0.1", port), DEADLINE_S, ("127.0.0.2", 0)) as other:
                log_in(other)


@pytest.mark.parametrize("opens", [False, True])
def test_a_connection_without_a_session_may_not_idle_for_ever(
    served: tuple[int, ThriftServer, Registry], monkeypatch: pytest.MonkeyPatch, opens: bool
) -> None:
    monkeypatch.setattr(transport, "SESSIONLESS_S", 1.0)
    port, server, _ = served
    with connect(port) as connection:
        log_in(connection)
        if opens:
            connection.sendall(framed(OPEN))
            assert connection.recv(4)
            assert not eventually(lambda: server.connection_count() == 0, 1.5)
        else:
            assert read_all(connection) == b""
            wait_for(lambda: server.connection_count() == 0)


def test_claimed_lengths_and_half_sent_messages_hold_up_nobody(port: int) -> None:
    """A hundred clients per kind, while others are served."""
    begun = [framed(OPEN)[:-1], (32 << 20).to_bytes(4, "big"), b"\x00"]
    half_open = []
    for position in range(100):
        connection = connect(port)
        half_open.append(connection)
        if position % 4 == 3:
            connection.sendall(b"\x80\x01\x00\x01\x00\x00\x00\x0bOpenSession")
        else:
            log_in(connection)
            connection.sendall(begun[position % 4])
    with unframed_client(port) as client:
        response = client.ExecuteStatement(t.TExecuteStatementReq(open_session(client), "SELECT 1"))
        assert response.status.statusCode == t.TStatusCode.SUCCESS_STATUS
    for connection in half_open:
        connection.close()


def test_messages_are_limited(engine: ArrowEngine) -> None:
    with serving(engine, ThriftSettings(message_bytes_max=1000)) as (port, _, _), unframed_client(port) as client:
        session = open_session(client)
        client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))
        with pytest.raises((EOFError, OSError, TTransportException)):
            client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT " + "1" * 1000))


# -------------------------------------------------------------------------------------------------- going away


def test_the_sessions_of_a_connection_end_with_it(
    served: tuple[int, ThriftServer, Registry], engine: ArrowEngine
) -> None:
    port, _, registry = served
    with unframed_client(port) as keeper:
        remaining = open_session(keeper)
        with unframed_client(port) as client:
            session = open_session(client)
            client.ExecuteStatement(t.TExecuteStatementReq(session, "SLEEP 600", runAsync=True))
            client.ExecuteStatement(t.TExecuteStatementReq(remaining, "SELECT 1"))  # another's session, which stays
            wait_for(lambda: len(engine.runs) == 2)
        wait_for(lambda: engine.sessions[1].closed)
        (sleeping,) = (run for run in engine.runs if run.text == "SLEEP 600")
        assert sleeping.context.cancel.reason is not None
        assert len(registry.sessions()) == 1
        keeper.ExecuteStatement(t.TExecuteStatementReq(remaining, "SELECT 1"))


@pytest.mark.parametrize("run_async", [False, True], ids=["synchronous", "held poll"])
def test_a_client_that_hangs_up_is_noticed_while_its_thread_waits(
    port: int, engine: ArrowEngine, run_async: bool
) -> None:
    with unframed_client(port) as client:
        session = open_session(client)
        client.send_ExecuteStatement(t.TExecuteStatementReq(session, "SLEEP 600", runAsync=run_async))
        if run_async:
            operation = client.recv_ExecuteStatement().operationHandle
            client.send_GetOperationStatus(t.TGetOperationStatusReq(operation))
        wait_for(lambda: engine.runs)
    wait_for(lambda: engine.runs[0].context.cancel.reason is not None)
    wait_for(lambda: engine.sessions[0].closed)


CLIENT = """
import sys
from pyhive import hive
cursor = hive.connect("127.0.0.1", int(sys.argv[1]), username="ada").cursor()
cursor.execute("SLEEP 600", async_=sys.argv[2] != "synchronous")
if sys.argv[2] == "held poll":
    while True:
        cursor.poll()
sys.stdin.read()
"""


@pytest.mark.clients
@pytest.mark.parametrize("manner", ["synchronous", "held poll", "between calls"])
def test_a_killed_client_leaves_nothing_running(
    served: tuple[int, ThriftServer, Registry], engine: ArrowEngine, manner: str
) -> None:
    port, server, registry = served
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(port), manner], stdin=subprocess.PIPE)
    try:
        wait_for(lambda: any(run.text == "SLEEP 600" for run in engine.runs))
        (run,) = (run for run in engine.runs if run.text == "SLEEP 600")
        ended = threading.Event()
        run.context.cancel.on_cancel(ended.set)
        assert not ended.is_set()
    finally:
        client.kill()
        client.communicate()
    assert ended.wait(DEADLINE_S)
    wait_for(lambda: registry.sessions() == () and server.connection_count() == 0)
    assert engine.sessions[0].closed


def test_stopping_hangs_up_on_everybody(engine: ArrowEngine) -> None:
    with serving(engine) as (port, server, registry), connect(port) as idle, unframed_client(port) as client:
        log_in(idle)
        session = open_session(client)
        client.ExecuteStatement(t.TExecuteStatementReq(session, "SLEEP 600", runAsync=True))
        server.stop()
        assert read_all(idle) == b""
        assert registry.sessions() == () and server.connection_count() == 0
        with pytest.raises(OSError):
            connect(port)


def test_hundreds_of_clients_that_connect_at_once_are_not_reset() -> None:
    with listen("127.0.0.1", 0) as listener, ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(listener.getsockname(), DEADLINE_S)) for _ in range(600)
        ]
        for client in clients:
            client.sendall(b"x")
        accepted = [stack.enter_context(listener.accept()[0]) for _ in clients]
        assert {connection.recv(1) for connection in accepted} == {b"x"}
