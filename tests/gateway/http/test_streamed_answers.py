"""Long answers that have a length: their pieces are made while they are sent, and come as they are."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from gateway.http.connection import Connection, HttpLimits
from gateway.http.wire import Request, parse_head
from gateway.http.wsgi import STREAMED, run_application

PIECES = [b"abc", b"def"]


@pytest.fixture
def connection() -> Iterator[Connection]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        made = Connection(accepted, "127.0.0.1", HttpLimits(), None)
        with contextlib.closing(made):
            yield made


class Application:
    """Returns six bytes in two pieces, and counts generated ones."""

    def __init__(self, *, is_streamed: bool) -> None:
        self._is_streamed = is_streamed
        self.made = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ[STREAMED] = self._is_streamed
        start_response("200 OK", [("Content-Length", "6")])
        return self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        for piece in PIECES:
            self.made += 1
            yield piece


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize(("is_streamed", "made_first"), [(True, 0), (False, 2)])
def test_pieces_of_a_long_answer_are_made_when_they_are_sent(
    connection: Connection, version: str, is_streamed: bool, made_first: int
) -> None:
    application = Application(is_streamed=is_streamed)
    head = parse_head(f"GET / {version}\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n".encode(), 0)
    answer = run_application(application, Request(head=head, body=b"", peer="127.0.0.1"), connection)
    assert application.made == made_first
    content, is_last = answer.content, answer.is_last
    while answer.rest is not None:
        answer = answer.rest.next()
        content += answer.content
    fields, _, body = content.partition(b"\r\n\r\n")
    assert body == b"abcdef" and b"Content-Length: 6" in fields and b"Transfer-Encoding" not in fields
    assert not is_last


def test_head_response_has_no_body(connection: Connection) -> None:
    application = Application(is_streamed=True)
    head = parse_head(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)
    answer = run_application(application, Request(head=head, body=b"", peer="127.0.0.1"), connection)
    assert answer.rest is None and answer.content.endswith(b"\r\n\r\n") and not application.made
