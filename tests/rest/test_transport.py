"""Contents and recipients of REST catalog requests: over plain sockets, since an HTTP server would hide them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from catalog.rest.options import RestOptions
from catalog.rest.transport import NoAnswer, Transport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: seen=1; Path=/\r\n\r\n{}"


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yields a port that gives each connection the next answer, and the heads that it has received."""
    heads: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            for answer in answers:
                client, _ = listener.accept()
                with client:
                    heads.append(client.recv(65536).decode())
                    client.sendall(answer)

        threading.Thread(target=run, daemon=True).start()
        yield int(listener.getsockname()[1]), heads


def transport_to(uri: str) -> Transport:
    return Transport(RestOptions(name="away", uri=uri, token="s3cret", timeout_s=5))


def test_redirect_is_an_answer_and_its_target_sees_no_token() -> None:
    with answering(OK) as (other, seen):
        moved = f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{other}/x\r\nContent-Length: 0\r\n\r\n".encode()
        with answering(moved, moved) as (port, heads):
            transport = transport_to(f"http://127.0.0.1:{port}")
            assert [transport.send(method, "v1/config").status for method in ("GET", "POST")] == [307, 307]
        assert len(heads) == 2 and all("Bearer s3cret" in head for head in heads) and not seen


def test_cookies_are_not_sent_back() -> None:
    with answering(OK, OK) as (port, heads):
        transport = transport_to(f"http://127.0.0.1:{port}")
        for _ in range(2):
            assert transport.send("GET", "v1/config").status == 200
    assert len(heads) == 2 and "cookie:" not in heads[1].lower()


def test_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with answering(OK) as (port, heads):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        assert transport_to("http://catalog.invalid").send("GET", "v1/config").status == 200
    assert heads[0].startswith("GET http://catalog.invalid/v1/config HTTP/1.1\r\n")


def test_compressed_answers_are_neither_requested_nor_expanded() -> None:
    bomb = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"
    with answering(bomb) as (port, heads):
        answer = transport_to(f"http://127.0.0.1:{port}").send("GET", "v1/config")
    assert answer.body == {} and answer.size == 4
    assert "accept-encoding: identity\r\n" in heads[0].lower()


@pytest.mark.parametrize("path", ["v1/namespaces/a%1Fb/tables/t%20%C3%A9", "v1/x%2Fy?pageToken=a%2Bb&pageSize=5"])
def test_path_is_sent_as_it_is_encoded(path: str) -> None:
    with answering(OK) as (port, heads):
        transport_to(f"http://127.0.0.1:{port}").send("GET", path)
    assert heads[0].startswith(f"GET /{path} HTTP/1.1\r\n")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"SSH-2.0\r\n"])
def test_answer_that_is_cut_off_leaves_a_change_unknown(answer: bytes) -> None:
    with answering(answer) as (port, _), pytest.raises(NoAnswer) as error:
        transport_to(f"http://127.0.0.1:{port}").send("POST", "v1/x", {})
    assert error.value.was_sent
