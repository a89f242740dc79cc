"""Request heads: accepted ones, and rejected ones with their status; nothing else can happen."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.wire import (
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    Head,
    RequestRefused,
    find_head_end,
    format_answer,
    parse_head,
)

BODY_MAX = 1000


def head(*lines: str, first: str = "POST /x HTTP/1.1", host: str = "Host: localhost") -> bytes:
    return "\r\n".join([first, *([host] if host else []), *lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (head(), {"method": "POST", "target": "/x", "version": "HTTP/1.1", "length": 0, "is_kept_alive": True}),
        (head(first="GET /a%20b?c=d HTTP/1.1"), {"target": "/a%20b?c=d"}),
        (head("Content-Length: 1000"), {"length": 1000}),
        (head("content-length:  7 \t"), {"length": 7}),
        (head("Content-Length: 007"), {"length": 7}),
        (head("Connection: close"), {"is_kept_alive": False}),
        (head("Connection: Keep-Alive, Close"), {"is_kept_alive": False}),
        (head("Connection: TE", "Connection: close"), {"is_kept_alive": False}),
        (head(first="GET / HTTP/1.0"), {"version": "HTTP/1.0", "is_kept_alive": False}),
        (head("Connection: keep-alive", first="GET / HTTP/1.0"), {"is_kept_alive": True}),
        (head(first="GET / HTTP/1.0", host=""), {"headers": ()}),
        (head(first="GET / HTTP/1.2"), {"version": "HTTP/1.1"}),
        (head("Transfer-Encoding: Chunked"), {"is_chunked": True, "is_kept_alive": False, "length": 0}),
        (head("Expect: 100-Continue"), {"expects_continue": True}),
        (head("Expect: 100-continue", first="GET / HTTP/1.0"), {"expects_continue": False}),
        (
            head("X: \t caf\xe9  au lait ", "Y:"),
            {"headers": (("host", "localhost"), ("x", "caf\xe9  au lait"), ("y", ""))},
        ),
    ],
)
def test_valid_request_header_is_parsed(content: bytes, expected: dict[str, object]) -> None:
    assert find_head_end(bytearray(content + b"rest"), 0) == len(content)
    parsed = parse_head(content, BODY_MAX)
    assert {name: getattr(parsed, name) for name in expected} == expected


BAD, LARGE = HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (head("Content-Length: -1"), BAD),
        (head("Content-Length: +1"), BAD),
        (head("Content-Length: x"), BAD),
        (head("Content-Length: 1e2"), BAD),
        (head("Content-Length: 0x10"), BAD),
        (head("Content-Length: 1_0"), BAD),
        (head("Content-Length: 1 0"), BAD),
        (head("Content-Length: \xb2"), BAD),
        (head("Content-Length:"), BAD),
        (head("Content-Length: 5, 5"), BAD),
        (head("Content-Length: 5", "Content-Length: 5"), BAD),
        (head("Content-Length: 5", "content-length: 6"), BAD),
        (head("Content-Length: 1001"), LARGE),
        (head("Content-Length: " + "9" * 5000), LARGE),
        (head("Content-Length: 5", "Transfer-Encoding: chunked"), BAD),
        (head("Transfer-Encoding: chunked", "Content-Length: 5"), BAD),
        (head("Transfer-Encoding: chunked", first="POST / HTTP/1.0"), BAD),
        (head("Transfer-Encoding: gzip"), HTTPStatus.NOT_IMPLEMENTED),
        (head("Transfer-Encoding: gzip, chunked"), HTTPStatus.NOT_IMPLEMENTED),
        (head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), HTTPStatus.NOT_IMPLEMENTED),
        (head("Transfer-Encoding:"), HTTPStatus.NOT_IMPLEMENTED),
        (head("Expect: coffee"), HTTPStatus.EXPECTATION_FAILED),
        (head("X : y"), BAD),
        (head(" X: y"), BAD),
        (head("X: a", " folded"), BAD),
        (head("no colon"), BAD),
        (head(": no name"), BAD),
        (head("X: a\x00b"), BAD),
        (head("X: a\rb"), BAD),
        (head("X\xe9: a"), BAD),
        (head(host=""), BAD),
        (head("Host: other"), BAD),
        (head(first=""), BAD),
        (head(first="GET"), BAD),
        (head(first="GET /"), BAD),
        (head(first="GET  / HTTP/1.1"), BAD),
        (head(first="GET / HTTP/1.1 "), BAD),
        (head(first="G\x00T / HTTP/1.1"), BAD),
        (head(first="GET /caf\xe9 HTTP/1.1"), BAD),
        (head(first="GET http://localhost/ HTTP/1.1"), BAD),
        (head(first="OPTIONS * HTTP/1.1"), BAD),
        (head(first="GET /x#y HTTP/1.1"), BAD),
        (head(first="GET / HTTP/2.0"), HTTPStatus.HTTP_VERSION_NOT_SUPPORTED),
        (head(first="GET / HTTP/0.9"), HTTPStatus.HTTP_VERSION_NOT_SUPPORTED),
        (head(first="GET / http/1.1"), BAD),
        (b"GET / HTTP/1.1\nHost: localhost\n\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: localhost\n\r\n", BAD),
        (head(*(f"X{n}: y" for n in range(HEADERS_MAX))), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
    ],
)
def test_invalid_request_header_is_rejected(content: bytes, status: HTTPStatus) -> None:
    end = find_head_end(bytearray(content), 0)
    assert end == len(content)
    with pytest.raises(RequestRefused) as refused:
        parse_head(content, BODY_MAX)
    assert refused.value.status is status


@pytest.mark.parametrize("is_ended", [False, True])
@pytest.mark.parametrize(
    ("start", "status"),
    [
        (b"GET / HTTP/1.1\r\nX: ", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (b"GET /", HTTPStatus.REQUEST_URI_TOO_LONG),
        (b"", HTTPStatus.REQUEST_URI_TOO_LONG),
    ],
)
def test_request_header_length_is_limited(start: bytes, status: HTTPStatus, is_ended: bool) -> None:
    longest = start + b"x" * (HEAD_BYTES_MAX - len(start))
    assert find_head_end(bytearray(longest), 0) is None
    with pytest.raises(RequestRefused) as refused:
        find_head_end(bytearray(longest + (b"\r\n\r\n" if is_ended else b"x")), 0)
    assert refused.value.status is status


@given(st.lists(st.sampled_from([b"\r", b"\n", b"x", b"\r\n", b"\r\n\r\n", b"yz"]), max_size=12))
def test_the_end_is_found_however_the_bytes_arrive(pieces: list[bytes]) -> None:
    whole = find_head_end(bytearray(b"".join(pieces)), 0)
    buffer, searched, found = bytearray(), 0, None
    for byte in b"".join(pieces):
        buffer.append(byte)
        if found is None:
            found = find_head_end(buffer, searched)
            searched = len(buffer)
    assert found == whole


@given(st.binary(max_size=200))
def test_arbitrary_header_bytes_are_parsed_or_rejected(content: bytes) -> None:
    try:
        assert isinstance(parse_head(content + b"\r\n\r\n", BODY_MAX), Head)
    except RequestRefused as refused:
        assert 400 <= refused.status < 600 and refused.reason


@pytest.mark.parametrize(
    ("first", "line", "has_body", "connection"),
    [
        ("GET / HTTP/1.1", "X: y", True, None),
        ("HEAD / HTTP/1.1", "X: y", False, None),
        ("GET / HTTP/1.1", "Connection: close", True, b"close"),
        ("GET / HTTP/1.0", "Connection: keep-alive", True, b"keep-alive"),
    ],
)
def test_an_answer_says_its_length_and_whether_it_is_the_last(
    first: str, line: str, has_body: bool, connection: bytes | None
) -> None:
    answer = format_answer("200 OK", [("X-A", "b")], [b"12", b"345"], parse_head(head(line, first=first), BODY_MAX))
    fields, _, body = answer.content.partition(b"\r\n\r\n")
    lines = fields.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 200 OK" and b"Content-Length: 5" in lines and b"X-A: b" in lines
    assert body == (b"12345" if has_body else b"")
    assert next((item[12:] for item in lines if item.startswith(b"Connection: ")), None) == connection
    assert answer.is_last is (connection == b"close")
