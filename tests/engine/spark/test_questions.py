"""Driver callbacks: authorized callers, and the answers."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from engine.spark.questions import QuestionServer

FILES = pa.table({"path": ["a", "b"], "size": [1, 2]})


def answer(question: dict[str, Any]) -> pa.Table | dict[str, Any]:
    if question["scan"] == 2:
        return {"rows": 7, "label": "ä"}
    if question["scan"] != 0:
        raise ValueError("no such scan")
    return FILES


followed: list[tuple[dict[str, Any], list[bytes]]] = []


def follow(question: dict[str, Any], lines: Iterable[bytes]) -> None:
    followed.append((question, list(lines)))


@pytest.fixture
def server() -> Iterator[QuestionServer]:
    opened = QuestionServer(answer, follow)
    yield opened
    opened.close()


def ask(server: QuestionServer, password: str, question: str) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(f"{password}\n{question}\n".encode())
        connection.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while part := connection.recv(1 << 16):
                received += part
        except ConnectionResetError:
            pass
        return received


def test_the_answer_is_a_table(server: QuestionServer) -> None:
    failure, stream = ask(server, server.password, json.dumps({"scan": 0})).split(b"\n", 1)
    assert failure == b"null"
    assert pa.ipc.open_stream(stream).read_all() == FILES


def test_the_answer_is_a_value(server: QuestionServer) -> None:
    failure, value, rest = ask(server, server.password, json.dumps({"scan": 2})).split(b"\n")
    assert (failure, json.loads(value), rest) == (b"null", {"rows": 7, "label": "ä"}, b"")
    assert value.isascii(), "Java reads a line byte by byte"


def test_a_failure_is_told(server: QuestionServer) -> None:
    assert json.loads(ask(server, server.password, json.dumps({"scan": 1}))) == "ValueError: no such scan"


def test_what_is_announced_is_read_to_its_end(server: QuestionServer) -> None:
    followed.clear()
    said = json.dumps({"statement": "a", "result": {}})
    assert ask(server, server.password, said + '\n["f", 0, 1]\n["f", 0, 2]') == b""
    assert followed == [({"statement": "a", "result": {}}, [b'["f", 0, 1]\n', b'["f", 0, 2]\n'])]


@pytest.mark.parametrize("password", ["", "0" * 64, "0" * 1000])
def test_nobody_else_gets_an_answer(server: QuestionServer, password: str) -> None:
    assert ask(server, password, json.dumps({"scan": 0})) == b""


def test_the_thread_that_takes_questions_goes_on_after_an_error(
    server: QuestionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_passwords_differ(server: QuestionServer) -> None:
    other = QuestionServer(answer, follow)
    other.close()
    assert other.password != server.password and len(server.password) == 64
