"""Driver callbacks: authorized callers, and the answers."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from engine.spark.driver_callbacks import CallbackServer

FILES = pa.table({"path": ["a", "b"], "size": [1, 2]})


def answer(query_text: dict[str, Any]) -> pa.Table | dict[str, Any]:
    if query_text["scan"] == 2:
        return {"rows": 7, "label": "ä"}
    if query_text["scan"] != 0:
        raise ValueError("no such scan")
    return FILES


followed: list[tuple[dict[str, Any], list[bytes]]] = []


def follow(query_text: dict[str, Any], lines: Iterable[bytes]) -> None:
    followed.append((query_text, list(lines)))


@pytest.fixture
def server() -> Iterator[CallbackServer]:
    opened = CallbackServer(answer, follow)
    yield opened
    opened.close()


def ask(server: CallbackServer, password: str, query_text: str) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(f"{password}\n{query_text}\n".encode())
        connection.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while part := connection.recv(1 << 16):
                received += part
        except ConnectionResetError:
            pass
        return received


def test_the_answer_is_a_table(server: CallbackServer) -> None:
    failure, stream = ask(server, server.password, json.dumps({"scan": 0})).split(b"\n", 1)
    assert failure == b"null"
    assert pa.ipc.open_stream(stream).read_all() == FILES


def test_the_answer_is_a_value(server: CallbackServer) -> None:
    failure, value, rest = ask(server, server.password, json.dumps({"scan": 2})).split(b"\n")
    assert (failure, json.loads(value), rest) == (b"null", {"rows": 7, "label": "ä"}, b"")
    assert value.isascii(), "Java reads a line byte by byte"


def test_callback_failure_is_reported(server: CallbackServer) -> None:
    assert json.loads(ask(server, server.password, json.dumps({"scan": 1}))) == "ValueError: no such scan"


def test_streamed_lines_are_read_to_the_end(server: CallbackServer) -> None:
    followed.clear()
    said = json.dumps({"statement": "a", "result": {}})
    assert ask(server, server.password, said + '\n["f", 0, 1]\n["f", 0, 2]') == b""
    assert followed == [({"statement": "a", "result": {}}, [b'["f", 0, 1]\n', b'["f", 0, 2]\n'])]


@pytest.mark.parametrize("password", ["", "0" * 64, "0" * 1000])
def test_wrong_password_gets_no_answer(server: CallbackServer, password: str) -> None:
    assert ask(server, password, json.dumps({"scan": 0})) == b""


def test_callback_thread_continues_after_error(server: CallbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = 0

    def fail() -> None:
        nonlocal failures
        failures += 1
        if failures <= 2:
            raise OSError("no descriptors left")

    monkeypatch.setattr(server._server, "service_actions", fail)
    stream = ask(server, server.password, json.dumps({"scan": 0})).partition(b"\n")[2]
    assert pa.ipc.open_stream(stream).read_all() == FILES
    while failures <= 2:
        time.sleep(0.01)
    assert ask(server, server.password, json.dumps({"scan": 0})).startswith(b"null")


def test_passwords_differ(server: CallbackServer) -> None:
    other = CallbackServer(answer, follow)
    other.close()
    assert other.password != server.password and len(server.password) == 64
